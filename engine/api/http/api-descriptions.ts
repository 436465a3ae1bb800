/**
 * Describes each route of the HTTP interface, with bodies as JSON Schema and examples, for `GET /openapi.json`. Methods
 * and path parameters come from the table of served routes (`openapi.ts`); a test compares the two.
 */

import {
  absent,
  anyObject,
  conflict,
  done,
  errors,
  flag,
  json,
  anything,
  listOf,
  objectOf,
  refused,
  shown,
  text,
  whole,
} from './description-parts.ts';
import type { BodyDescription, RouteDescription } from './description-parts.ts';
import { consoleDescriptions } from './console-descriptions.ts';

export type { BodyDescription, RouteDescription } from './description-parts.ts';

const propsSchema = objectOf({
  props: objectOf(
    {
      n_val: whole,
      allow_mult: flag,
      last_write_wins: flag,
      chash_keyfun: { enum: ['STD', 'BUCKETONLY', 'CUSTOM'] },
    },
    ['n_val', 'allow_mult', 'chash_keyfun'],
  ),
});
const propsExample = {
  props: {
    n_val: 3,
    allow_mult: true,
    last_write_wins: false,
    r: 'quorum',
    w: 'quorum',
    chash_keyfun: 'STD',
  },
};
const propsBody: BodyDescription = { type: json, schema: propsSchema, example: propsExample };
const settingBody: BodyDescription = {
  type: json,
  schema: objectOf({ props: anyObject }),
  example: { props: { allow_mult: true, w: 'all' } },
};

const backupBody: BodyDescription = {
  type: json,
  schema: objectOf({ id: text, lease_ms: whole }, ['id']),
  example: { id: '20261127T020000Z-1', lease_ms: 3000 },
};

const getObject: RouteDescription = {
  summary: 'The object: its value, or its siblings',
  responses: {
    '200': { description: 'the value, described by headers', body: { type: anything } },
    '300': { description: 'siblings: a list of tags, or multipart/mixed', body: { type: anything } },
    '304': { description: 'the client has it' },
    '404': absent,
    ...errors,
  },
};

const putObject: RouteDescription = {
  summary: 'Stores a value; X-Riak-Vclock says what its writer has seen',
  request: { type: anything },
  responses: {
    '200': { description: 'stored; the object, for returnbody=true', body: { type: anything } },
    '204': { description: 'stored' },
    '409': conflict,
    '412': { description: 'the stated precondition does not hold' },
    '413': { description: 'a limit is exceeded' },
    ...errors,
  },
};

const deleteObject: RouteDescription = {
  summary: 'Deletes the object',
  responses: {
    '204': done,
    '404': absent,
    '412': { description: 'the precondition does not hold' },
    ...errors,
  },
};

const createObject: RouteDescription = {
  summary: 'Stores a value under a key that the server makes',
  request: { type: anything },
  responses: { '201': { description: 'stored under the path in Location' }, ...errors },
};

const getProps: RouteDescription = {
  summary: 'The properties of the bucket',
  responses: { '200': { description: 'all of them', body: propsBody }, '404': absent, '400': refused },
};

const putProps: RouteDescription = {
  summary: 'Sets some properties, on all nodes',
  request: settingBody,
  responses: {
    '204': done,
    '404': absent,
    '409': { description: 'chash_keyfun cannot change while the bucket has keys' },
    '415': { description: 'the body is no JSON' },
    ...errors,
  },
};

const resetProps: RouteDescription = {
  summary: 'The bucket has the properties of its type again',
  responses: { '204': done, '404': absent, '409': conflict, ...errors },
};

function listing(what: 'keys' | 'buckets', example: readonly string[]): RouteDescription {
  return {
    summary: `Lists the ${what}: ${what}=true in one object, ${what}=stream in one after the other`,
    responses: {
      '200': {
        description: 'the names',
        body: { type: json, schema: objectOf({ [what]: listOf(text) }), example: { [what]: example } },
      },
      '404': absent,
      ...errors,
    },
  };
}

const outcomeBody: BodyDescription = {
  type: json,
  schema: objectOf({
    transaction_id: text,
    outcome: { enum: ['committed', 'aborted', 'in_doubt', 'heuristic'] },
  }),
  example: {
    transaction_id: 'n1-0123456789ab-1',
    outcome: 'committed',
    operations: 1,
    branches: [{ node: 'n1', vote: 'commit' }],
  },
};

const runTransaction: RouteDescription = {
  summary: 'Puts and deletes that happen together or not at all',
  request: {
    type: json,
    schema: objectOf(
      { operations: listOf(objectOf({ op: { enum: ['put', 'delete'] }, key: text })), force_abort: flag },
      ['operations'],
    ),
    example: { operations: [{ op: 'put', bucket: 'accounts', key: 'ann', value: '90' }] },
  },
  responses: {
    '200': { description: 'committed, or aborted as asked', body: outcomeBody },
    '202': { description: 'in doubt: ask again by its name', body: outcomeBody },
    '409': { description: 'aborted', body: outcomeBody },
    ...errors,
  },
};

/** Descriptions by `METHOD /path`, as the routes state them. */
export const routeDescriptions: ReadonlyMap<string, RouteDescription> = new Map<string, RouteDescription>([
  ...['/buckets/:bucket/keys/:key', '/types/:type/buckets/:bucket/keys/:key', '/riak/:bucket/:key'].flatMap(
    (path): [string, RouteDescription][] => [
      [`GET ${path}`, getObject],
      [`PUT ${path}`, putObject],
      [`POST ${path}`, putObject],
      [`DELETE ${path}`, deleteObject],
    ],
  ),
  ...['/buckets/:bucket/keys', '/types/:type/buckets/:bucket/keys'].flatMap(
    (path): [string, RouteDescription][] => [
      [`POST ${path}`, createObject],
      [`GET ${path}`, listing('keys', ['apple', 'pear'])],
    ],
  ),
  ...['/buckets/:bucket/props', '/types/:type/buckets/:bucket/props'].flatMap(
    (path): [string, RouteDescription][] => [
      [`GET ${path}`, getProps],
      [`PUT ${path}`, putProps],
      [`DELETE ${path}`, resetProps],
    ],
  ),
  ['POST /riak/:bucket', createObject],
  ['PUT /riak/:bucket', putProps],
  [
    'GET /riak/:bucket',
    { ...getProps, summary: 'The old form: properties (props) and keys (keys) of the bucket' },
  ],
  ...['/buckets', '/types/:type/buckets', '/riak'].map((path): [string, RouteDescription] => {
    return [`GET ${path}`, listing('buckets', ['fruit'])];
  }),
  ['GET /types/:type/props', { ...getProps, summary: 'What the type’s buckets have that have set nothing' }],
  [
    'PUT /types/:type/props',
    { ...putProps, summary: 'Sets what the type’s buckets have that have set nothing' },
  ],
  [
    'GET /types',
    {
      summary: 'All bucket types',
      responses: {
        '200': {
          description: 'default first',
          body: {
            type: json,
            schema: objectOf({ types: listOf(objectOf({ name: text, props: anyObject })) }),
            example: { types: [{ name: 'default', props: propsExample.props }] },
          },
        },
      },
    },
  ],
  [
    'POST /types',
    {
      summary: 'Makes a bucket type',
      request: {
        type: json,
        schema: objectOf({ name: text, props: anyObject }, ['name']),
        example: { name: 'carts', props: { allow_mult: true } },
      },
      responses: {
        '201': {
          description: 'made',
          body: { type: json, schema: objectOf({ name: text }), example: { name: 'carts' } },
        },
        '409': { description: 'it exists' },
        ...errors,
      },
    },
  ],
  ['POST /transactions', runTransaction],
  ['POST /buckets/:bucket/transactions', { ...runTransaction, summary: 'The same, in one bucket' }],
  [
    'POST /types/:type/buckets/:bucket/transactions',
    { ...runTransaction, summary: 'The same, in one bucket of a type' },
  ],
  [
    'GET /transactions',
    {
      summary: 'Transactions in doubt on this node (state=in_doubt)',
      responses: {
        '200': {
          description: 'the list',
          body: {
            type: json,
            schema: objectOf({ transactions: listOf(anyObject) }),
            example: { transactions: [] },
          },
        },
        '400': refused,
      },
    },
  ],
  [
    'GET /transactions/:id',
    {
      summary:
        'The outcome of a transaction; with members=true what the coordinator and every member know of it',
      responses: { '200': { description: 'known', body: outcomeBody }, '404': absent },
    },
  ],
  [
    'POST /transactions/:id/resolve',
    {
      summary:
        'An operator’s decision, the last resort: over a prepared branch of this node, or to abandon what it waits for as a coordinator: lost branches of a decided transaction, or the outcome that only a lost node knows; or to abandon what was decided by hand for a coordinator that is gone',
      request: {
        type: json,
        schema: objectOf({ heuristic: { enum: ['commit', 'rollback', 'abandon'] } }),
        example: { heuristic: 'rollback' },
      },
      responses: { '200': { description: 'decided', body: outcomeBody }, '404': absent, '400': refused },
    },
  ],
  [
    'GET /mapred',
    {
      summary: 'How MapReduce is asked for',
      responses: { '200': { description: 'a text', body: { type: 'text/plain' } } },
    },
  ],
  [
    'POST /mapred',
    {
      summary: 'MapReduce: inputs through map, link and reduce phases; chunked=true streams the results',
      request: {
        type: json,
        schema: objectOf({ inputs: {}, query: listOf(anyObject), timeout: whole }, ['inputs', 'query']),
        example: {
          inputs: 'fruit',
          query: [
            { reduce: { language: 'erlang', module: 'riak_kv_mapreduce', function: 'reduce_count_inputs' } },
          ],
        },
      },
      responses: {
        '200': { description: 'the results', body: { type: json, schema: { type: 'array' }, example: [2] } },
        '500': { description: 'a phase failed' },
        '501': { description: 'a Wasm phase on a node without Wasm' },
        ...errors,
      },
    },
  ],
  ['GET /wasm/modules', { summary: 'The registered Wasm modules', responses: shown('the list') }],
  [
    'GET /wasm/modules/:id',
    { summary: 'One Wasm module', responses: { ...shown('what is known of it'), '404': absent } },
  ],
  [
    'PUT /wasm/modules/:id',
    {
      summary: 'Registers a Wasm module (.wasm or .wat) on all nodes',
      request: { type: anything },
      responses: {
        ...shown('registered'),
        '201': { description: 'registered anew' },
        '409': conflict,
        '501': { description: 'this node runs without Wasm' },
        ...errors,
      },
    },
  ],
  [
    'DELETE /wasm/modules/:id',
    {
      summary: 'Removes a Wasm module from all nodes',
      responses: { ...shown('deleted; which nodes know'), '404': absent, '409': conflict, ...errors },
    },
  ],
  [
    'GET /cluster',
    {
      summary: 'Who is in the cluster, in what state, and what moves',
      responses: shown('as this node sees it'),
    },
  ],
  [
    'POST /cluster/leave',
    {
      summary: 'This node leaves; force=true also as the last one of its rack',
      responses: { '202': { description: 'it has begun' }, '409': conflict },
    },
  ],
  [
    'POST /cluster/standby',
    {
      summary: 'This node goes into STANDBY (takes writes, serves no client); return=true takes it back',
      responses: { ...shown('it is so now'), '409': conflict },
    },
  ],
  [
    'GET /upgrade',
    {
      summary: 'Which versions of peer messages the members speak, and the cluster’s minimum',
      responses: shown('the versions'),
    },
  ],
  [
    'POST /upgrade/finalize',
    {
      summary: 'Raises the cluster’s minimum to what this node speaks; the way back ends',
      responses: { ...shown('it is recorded at every member'), '409': conflict },
    },
  ],
  [
    'POST /backup/hold',
    {
      summary: 'Holds this node’s writes back for a backup, for at most lease_ms',
      request: backupBody,
      responses: {
        ...shown('writes wait; what the node knows of its cluster'),
        '400': refused,
        '409': conflict,
      },
    },
  ],
  [
    'POST /backup/cut',
    {
      summary: 'Pins the segments of this moment, while writes are held back',
      request: backupBody,
      responses: { ...shown('the segments'), '400': refused, '409': conflict },
    },
  ],
  [
    'POST /backup/release',
    {
      summary: 'Lets writes go on',
      request: backupBody,
      responses: { ...shown('whether they were held without a break'), '400': refused },
    },
  ],
  [
    'POST /backup/end',
    {
      summary: 'Releases the pinned segments of a backup',
      request: backupBody,
      responses: { ...shown('they are released'), '400': refused },
    },
  ],
  [
    'GET /backup/:id/segments/:number',
    {
      summary: 'Bytes of a pinned segment, from the offset from, at most as many as bytes',
      responses: {
        '200': { description: 'none at its end', body: { type: 'application/octet-stream' } },
        '400': refused,
        '404': absent,
      },
    },
  ],
  [
    'POST /backup/restore',
    {
      summary: 'Merges objects of a backup at their owners; overwrite=true replaces what these hold',
      request: { type: 'application/octet-stream' },
      responses: { ...shown('each owner has them durably'), ...errors },
    },
  ],
  [
    'GET /aae',
    { summary: 'How the replicas compare themselves', responses: { ...shown('per peer'), '404': absent } },
  ],
  [
    'POST /aae/sweep',
    {
      summary: 'Begins a full comparison',
      responses: { '202': { description: 'it has begun' }, '404': absent, '409': conflict },
    },
  ],
  ...consoleDescriptions,
  [
    'GET /ping',
    { summary: 'Is it there?', responses: { '200': { description: 'OK', body: { type: 'text/html' } } } },
  ],
  [
    'GET /stats',
    {
      summary: 'Some of the statistics under Riak’s names, with the version of Riak whose features there are',
      responses: {
        '200': {
          description: 'as published last; the statistics listener has all',
          body: {
            type: json,
            schema: objectOf({
              riak_kv_version: text,
              riak_core_version: text,
              lockstep_version: text,
              nodename: text,
            }),
            example: {
              riak_kv_version: '2.2.3',
              riak_core_version: '2.2.3',
              lockstep_version: '0.1.0',
              nodename: 'n1',
            },
          },
        },
      },
    },
  ],
  [
    'GET /',
    {
      summary: 'What this listener serves',
      responses: { '200': { description: 'HTML or JSON, and Link headers', body: { type: 'text/html' } } },
    },
  ],
  ['GET /openapi.json', { summary: 'This description', responses: shown('an OpenAPI 3.1 document') }],
]);

/** Describes the console's routes for `GET /openapi.json`. */
import { absent, anyObject, errors, flag, json, listOf, objectOf, shown, text } from './description-parts.ts';
import type { RouteDescription } from './description-parts.ts';

function consoleFile(path: string, type: string, what: string): [string, RouteDescription] {
  const responses = { '200': { description: what, body: { type } }, '404': absent };
  return [`GET ${path}`, { summary: `The console: ${what}`, responses }];
}

const shownName = objectOf({ text, path: text });
const appleName = { text: 'apple', path: 'apple' };
const someDot = { node: 'n1', incarnation: '0123456789ab', counter: 1_812_000_000_000, at_ms: 1_769_531_250 };

const consoleBuckets: RouteDescription = {
  summary: 'Buckets of a type, at most 200; complete says whether these are all',
  responses: {
    '200': {
      description: 'each name as text, and percent-encoded for paths',
      body: {
        type: json,
        schema: objectOf({ buckets: listOf(shownName), complete: flag }),
        example: { buckets: [appleName], complete: true },
      },
    },
    '404': absent,
    ...errors,
  },
};

const consoleKeys: RouteDescription = {
  summary: 'A page of a bucket’s keys: about as many as limit (at most 200), from the token from on',
  responses: {
    '200': {
      description: 'next is what from of the next page is',
      body: {
        type: json,
        schema: objectOf({
          keys: listOf(shownName),
          next: { type: ['integer', 'null'] },
          complete: flag,
        }),
        example: { keys: [appleName], next: null, complete: true },
      },
    },
    '404': absent,
    ...errors,
  },
};

const consoleObject: RouteDescription = {
  summary: 'A key’s siblings, at most 20, tombstones included, with their causal context',
  responses: {
    '200': {
      description: 'of each value the first 1,024 bytes, as text or as hexadecimal digits',
      body: {
        type: json,
        schema: objectOf(
          { key: shownName, owners: listOf(text), context: listOf(anyObject), siblings: listOf(anyObject) },
          ['key', 'owners', 'context', 'siblings'],
        ),
        example: {
          key: appleName,
          owners: ['n1', 'n2', 'n3'],
          context: [someDot],
          siblings: [
            { dot: someDot, deleted: false, bytes: 3, preview: { form: 'text', shown: 'red', bytes: 3 } },
          ],
        },
      },
    },
    '404': absent,
    ...errors,
  },
};

/** Descriptions by `METHOD /path`, as the routes state them. */
export const consoleDescriptions: readonly (readonly [string, RouteDescription])[] = [
  consoleFile('/console', 'text/html', 'the page'),
  consoleFile('/console/page.js', 'text/javascript', 'its script'),
  consoleFile('/console/page.css', 'text/css', 'its style sheet'),
  [
    'GET /console/overview',
    {
      summary: 'What this node knows of itself and of the cluster, for the console',
      responses: {
        '200': {
          description: 'bounded: at most 100 transactions in doubt, and one line per member',
          body: {
            type: json,
            schema: objectOf({ node: text, version: text, cluster: anyObject, client: anyObject }),
            example: {
              node: 'n1',
              version: '0.1.0',
              cluster: {},
              client: { role: 'read', may_act: false },
            },
          },
        },
      },
    },
  ],
  [
    'GET /console/versions',
    { summary: 'Which version of peer messages each member speaks', responses: shown('per member') },
  ],
  ['GET /console/types/:type/buckets', consoleBuckets],
  ['GET /console/types/:type/buckets/:bucket/keys', consoleKeys],
  ['GET /console/types/:type/buckets/:bucket/keys/:key', consoleObject],
];

/** Compares the description of the HTTP interface with a whole node: it has every route, and every example is valid. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { defaultConfig } from '../../config/config.ts';
import type { NodeId } from '../../base/ids.ts';
import { Node } from '../../node/node.ts';
import { createRealIo } from '../../real/io.ts';
import { routeDescriptions } from './api-descriptions.ts';

interface Operation {
  readonly summary: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly responses: Readonly<Record<string, unknown>>;
}

let node: Node | undefined;
let base = '';
const directory = mkdtempSync(join(tmpdir(), 'lockstep-openapi-'));

beforeAll(async () => {
  const io = createRealIo({ dataDirectory: directory, logLevel: 'error', node: 'n1' });
  const off = { pbListen: undefined, statsListen: undefined };
  const config = { ...off, name: 'n1' as NodeId, listen: '127.0.0.1:0', peerListen: '127.0.0.1:0' };
  node = await Node.start(io, defaultConfig('openapi', config));
  base = `http://${node.addresses.http ?? ''}`;
});

afterAll(async () => {
  await node?.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function described(): Promise<Readonly<Record<string, Readonly<Record<string, Operation>>>>> {
  const document = (await (await fetch(`${base}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  return document.paths;
}

test('the description has exactly the routes and methods that the node serves', async () => {
  const paths = await described();
  const listed = await (await fetch(`${base}/no-such-path`)).text();
  const served = listed.split('\n').flatMap((line) => (line.startsWith('  /') ? [line.trim()] : []));
  expect(Object.keys(paths).sort()).toEqual(
    served.map((path) => path.replaceAll(/:([a-z]+)/g, '{$1}')).sort(),
  );
  const told: string[] = [];
  for (const path of served) {
    const operations = paths[path.replaceAll(/:([a-z]+)/g, '{$1}')] ?? {};
    const refused = await fetch(`${base}${path.replaceAll(/:[a-z]+/g, 'x')}`, { method: 'PATCH' });
    const allowed = (refused.headers.get('Allow') ?? '').split(', ').filter((method) => method !== 'HEAD');
    expect(
      Object.keys(operations)
        .map((method) => method.toUpperCase())
        .sort(),
      path,
    ).toEqual(allowed.sort());
    for (const [method, { summary, responses, parameters = [] }] of Object.entries(operations)) {
      expect(summary, `${method} ${path} has no description`).not.toBe('');
      expect(Object.keys(responses).length).toBeGreaterThan(0);
      expect(parameters.map(({ name }) => `:${name}`)).toEqual(
        [...path.matchAll(/:[a-z]+/g)].map(([name]) => name),
      );
      told.push(`${method.toUpperCase()} ${path}`);
    }
  }
  expect(told.sort()).toEqual([...routeDescriptions.keys()].sort());
});

test('each operation states its role and how to send credentials', async () => {
  const document = (await (await fetch(`${base}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
    readonly components: { readonly securitySchemes: object };
  };
  expect(Object.keys(document.components.securitySchemes)).toEqual(['bearer', 'basic']);
  expect(document.paths['/ping']?.['get']).toMatchObject({ security: [], 'x-lockstep-role': 'open' });
  expect(document.paths['/cluster/leave']?.['post']).toMatchObject({
    security: [{ bearer: [] }, { basic: [] }],
    'x-lockstep-role': 'admin',
    responses: { '401': expect.anything() as object, '403': expect.anything() as object },
  });
});

test('every example matches its schema', () => {
  const ajv = new Ajv({ strict: true });
  let examples = 0;
  for (const [route, { request, responses }] of routeDescriptions) {
    const bodies = [request, ...Object.values(responses).map(({ body }) => body)];
    for (const body of bodies) {
      if (body?.schema === undefined) continue;
      examples += 1;
      expect(ajv.validate(body.schema, body.example), `${route}: ${ajv.errorsText()}`).toBe(true);
    }
  }
  expect(examples).toBeGreaterThan(20);
});

test('the answers of the node match the schemas', async () => {
  const ajv = new Ajv({ strict: true });
  const answers: [string, string][] = [
    ['GET /buckets/:bucket/props', '/buckets/b/props'],
    ['GET /buckets/:bucket/keys', '/buckets/b/keys?keys=true'],
    ['GET /buckets', '/buckets?buckets=true'],
    ['GET /types', '/types'],
    ['GET /transactions', '/transactions?state=in_doubt'],
    ['GET /cluster', '/cluster'],
    ['GET /console/overview', '/console/overview'],
    ['GET /console/versions', '/console/versions'],
    ['GET /console/types/:type/buckets', '/console/types/default/buckets'],
    ['GET /console/types/:type/buckets/:bucket/keys', '/console/types/default/buckets/b/keys'],
    ['GET /stats', '/stats'],
    ['GET /openapi.json', '/openapi.json'],
  ];
  for (const [route, path] of answers) {
    const schema = routeDescriptions.get(route)?.responses['200']?.body?.schema ?? {};
    const body: unknown = await (await fetch(`${base}${path}`)).json();
    expect(ajv.validate(schema, body), `${route}: ${ajv.errorsText()}`).toBe(true);
  }
});

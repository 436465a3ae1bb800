/**
 * Counts how often a request computes its key's token and looks its replicas up, on every protocol. Each node that takes
 * part in a request does it once at the most: the steps of a request pass the key's place on.
 */
import { beforeAll, describe, expect, it, vi } from 'vitest';

import type { ClientRequest } from '../../../engine/api/pbc/client-codec.ts';
import { present } from '../../../engine/base/assert.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { Router } from '../../../engine/buckets/router.ts';
import { Ring } from '../../../engine/cluster/ring/ring.ts';
import { routeToken } from '../../../engine/cluster/ring/token.ts';
import type { Io } from '../../../engine/io/io.ts';
import { PbConnection } from '../../workload/pb-connection.ts';
import type { RedisCommand } from '../../workload/redis-connection.ts';
import { RedisConnection } from '../../workload/redis-connection.ts';
import { MemberHarness, second } from './member-harness.ts';

/** Six nodes in three racks: three hold a key, three do not. */
const harness = new MemberHarness('placement-lookups', 6, { aae_enabled: false, redis_bucket: 'b' }, 3);
const name = 'k';
const replicas = harness.cluster.ring.placement(routeToken('STD', byteStringOf('b'), byteStringOf(name)));
const [primary, next] = replicas.map(({ node }) => String(node));
const other = harness.cluster.names.find((node) => replicas.every((member) => member.node !== node));
const asked = {
  'its primary': present(primary, 'a primary'),
  'another replica': present(next, 'a second replica'),
  'a node without a copy': present(other, 'a node without a copy'),
} as const;

type Asked = keyof typeof asked;

let io: Io;

beforeAll(async () => {
  await harness.startAll();
  io = harness.world.addHost('c1').boot();
});

async function through<Result>(talking: Promise<Result>): Promise<Result> {
  await harness.world.runUntil(talking, 10 * second);
  return talking;
}

async function http(node: string, method: 'GET' | 'PUT', body?: string): Promise<void> {
  const { status } = await harness.ask(node, method, `/buckets/b/keys/${name}`, body);
  expect([200, 204]).toContain(status);
}

async function transact(node: string): Promise<void> {
  const body = JSON.stringify({ operations: [{ op: 'put', bucket: 'b', key: name, value: 'v' }] });
  const { body: answer } = await harness.ask(node, 'POST', '/transactions', body);
  expect(answer.toString()).toContain('"committed"');
}

async function pb(node: string, request: ClientRequest): Promise<void> {
  const talking = async (): Promise<unknown> => {
    const address = harness.cluster.address(node, 'pb');
    const connection = await PbConnection.open(io, { address }, second);
    const exchange = await connection.ask(request, 5 * second);
    connection.close();
    return exchange.kind === 'lost' ? undefined : exchange.answer.kind;
  };
  expect(['stored', 'got']).toContain(await through(talking()));
}

async function redis(node: string, command: RedisCommand): Promise<void> {
  const talking = async (): Promise<unknown> => {
    const address = harness.cluster.address(node, 'redis');
    const connection = await RedisConnection.open(io, { address }, second);
    const exchange = await connection.ask([command], 5 * second);
    connection.close();
    return exchange.kind === 'lost' ? undefined : exchange.answer[0]?.kind;
  };
  expect(['text', 'bulk']).toContain(await through(talking()));
}

/** How many tokens and placements the nodes look up while a request runs. */
async function lookups(ask: () => Promise<void>): Promise<readonly [number, number]> {
  const tokens = vi.spyOn(Router.prototype, 'tokenOf');
  const placements = vi.spyOn(Ring.prototype, 'placement');
  try {
    await ask();
    return [tokens.mock.calls.length, placements.mock.calls.length];
  } finally {
    tokens.mockRestore();
    placements.mockRestore();
  }
}

const b = Buffer.from('b');
const key = Buffer.from(name);

/** A node that forwards looks the key up, and so does the node that it forwards to. */
type Expected = Readonly<Record<Asked, readonly [tokens: number, placements: number]>>;

const onlyHere: Expected = {
  'its primary': [1, 1],
  'another replica': [1, 1],
  'a node without a copy': [1, 1],
};
const forwardedByOthers: Expected = { ...onlyHere, 'a node without a copy': [2, 2] };

const requests: readonly (readonly [string, Expected, (node: string) => Promise<void>])[] = [
  ['an HTTP PUT', forwardedByOthers, (node) => http(node, 'PUT', 'v')],
  ['an HTTP GET', onlyHere, (node) => http(node, 'GET')],
  [
    'a binary put',
    forwardedByOthers,
    (node) => pb(node, { kind: 'put', message: { bucket: b, key, content: { value: b } } }),
  ],
  ['a binary get', onlyHere, (node) => pb(node, { kind: 'get', message: { bucket: b, key } })],
  ['GET', onlyHere, (node) => redis(node, ['GET', name])],
  // A replica replaces what the key holds. A node without a copy learns that it cannot, and makes a get and a put.
  ['SET', { ...onlyHere, 'a node without a copy': [4, 4] }, (node) => redis(node, ['SET', name, 'v'])],
  // The request to the primary carries the token.
  [
    'a transaction of one put',
    { 'its primary': [1, 1], 'another replica': [1, 2], 'a node without a copy': [1, 2] },
    transact,
  ],
];

describe('the place of a key is looked up once by each node that decides', () => {
  for (const [what, expected, ask] of requests)
    for (const where of Object.keys(asked) as Asked[])
      it(`${what}, asked of ${where}`, async () => {
        expect(await lookups(() => ask(asked[where]))).toEqual(expected[where]);
      });
});

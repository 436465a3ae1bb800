/**
 * Tests levels across datacenters: what a client is told holds in the datacenter of the node that it asked, wherever
 * the key's primary is. Replicas near the client receive the far datacenter's messages late.
 */
import { beforeEach, describe, expect, it } from 'vitest';

import { byteStringOf } from '../../../engine/base/ids.ts';
import { routeToken } from '../../../engine/cluster/ring/token.ts';
import type { Reply } from '../../../engine/api/redis/reply-reader.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { RedisCommand } from '../../workload/redis-connection.ts';
import { RedisConnection } from '../../workload/redis-connection.ts';
import { requestKinds } from '../../../engine/peer/wire/kinds.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import { World } from '../../world/world.ts';

const near = ['a1', 'a2', 'a3'] as const;
const far = ['b1', 'b2', 'b3'] as const;
const lateUs = 100_000;
/** The requests that replicate a transaction's writes. */
const writes = new Set([requestKinds.mergeObject, requestKinds.mergeBatch]);

class Datacenters {
  readonly world: World;
  readonly cluster: Cluster;
  readonly #client;
  #io: Io | undefined;

  constructor(seed: string) {
    this.world = new World({ seed, logLevel: 'trace' });
    const nodes = [...near, ...far].map((name) => ({
      name,
      datacenter: name.startsWith('a') ? 'dc1' : 'dc2',
      rack: `r${name.slice(1)}`,
    }));
    this.cluster = new Cluster(this.world, nodes, { request_timeout_ms: 3_000, redis_bucket: 'b' });
    this.#client = this.world.addHost('c1');
  }

  async start(): Promise<void> {
    this.#io = this.#client.boot();
    const names = [...near, ...far];
    for (const name of names) this.cluster.start(name);
    await this.world.runUntil(() => names.every((name) => this.cluster.serves(name)), 10_000_000);
    await this.pass(300_000);
    // In the client's datacenter only the node that it asks is near the far one; the others receive its messages late.
    const late = { minUs: lateUs, meanUs: 1, tailOneIn: 1_000_000, tailUs: 1 };
    this.world.network.slow([...far], ['a2', 'a3'], late);
  }

  async pass(us: number): Promise<void> {
    const untilUs = this.world.nowUs + us;
    this.world.at(untilUs, 'test', () => undefined);
    await this.world.run({ untilUs });
  }

  /** Keys whose primary is in that datacenter, or is that node. */
  keys(place: string, count: number): readonly string[] {
    const keys: string[] = [];
    for (let index = 0; keys.length < count; index++) {
      const key = `k${index}`;
      const token = routeToken('STD', byteStringOf('b'), byteStringOf(key));
      const primary = this.cluster.ring.placement(token)[0];
      if (primary?.datacenter === place || primary?.node === place) keys.push(key);
    }
    return keys;
  }

  async transact(node: string, body: object): Promise<string> {
    const answer = await this.#ask(node, 'POST', '/transactions', body);
    return answer.body;
  }

  /** The result of a majority read near the node. */
  async read(node: string, key: string): Promise<string> {
    const { status, body } = await this.#ask(node, 'GET', `/buckets/b/keys/${key}?r=quorum`);
    return status === 200 ? body : String(status);
  }

  /** Commands of one Redis connection, each sent when the one before is answered. */
  async redis(node: string, commands: readonly RedisCommand[]): Promise<readonly string[]> {
    const io = (this.#io ??= this.#client.boot());
    const talk = async (): Promise<readonly string[]> => {
      const connection = await RedisConnection.open(
        io,
        { address: this.cluster.address(node, 'redis') },
        1_000_000,
      );
      const shown: string[] = [];
      for (const command of commands) {
        const exchange = await connection.ask([command], 5_000_000);
        shown.push(exchange.kind === 'lost' ? 'lost' : exchange.answer.map(textOf).join(' '));
      }
      connection.close();
      return shown;
    };
    const talking = talk();
    await this.world.runUntil(talking, 60_000_000);
    return talking;
  }

  async #ask(
    node: string,
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly body: string }> {
    const response = this.world.httpClient(this.#client).request(
      this.cluster.address(node, 'http'),
      {
        method,
        path,
        headers: { 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      10_000_000,
    );
    await this.world.runUntil(response, 20_000_000);
    const { status, body: bytes } = await response;
    return { status, body: bytes.toString() };
  }
}

function textOf(reply: Reply): string {
  if (reply.kind === 'bulk') return reply.bytes.toString();
  if (reply.kind === 'integer') return String(reply.value);
  if (reply.kind === 'text' || reply.kind === 'error') return reply.text;
  return 'nil';
}

describe('through a node of one datacenter, on keys whose primary is in the other', () => {
  let room: Datacenters;
  beforeEach(async () => {
    room = new Datacenters('two datacenters');
    await room.start();
  });

  it('a committed transaction is seen by reads at quorum of that node from its answer on', async () => {
    const put = (key: string, value: string): object => ({ op: 'put', bucket: 'b', key, value });
    const bodies = [
      // One put; several of one primary; with an id; several primaries; on condition.
      ...room.keys('dc2', 3).map((key) => [put(key, 'one')]),
      room.keys('b2', 2).map((key) => put(key, 'two')),
      room.keys('dc2', 4).map((key) => put(key, 'three')),
      [...room.keys('dc1', 2), ...room.keys('dc2', 2)].map((key) => put(key, 'four')),
      [{ ...put(room.keys('dc2', 9)[8] ?? '', 'five'), if_absent: true }],
    ];
    for (const [index, operations] of bodies.entries()) {
      const more = index % 2 === 0 ? {} : { id: `id${index}` };
      const answer = await room.transact('a1', { operations, ...more });
      expect(answer).toContain('"committed"');
      expect(answer).not.toContain('pending');
      for (const operation of operations) {
        const { key, value } = operation as { readonly key: string; readonly value: string };
        expect(await room.read('a1', key)).toBe(value);
      }
    }
    expect(room.world.failures).toEqual([]);
  });

  it('no branch counts as confirmed while the writes of the far datacenter do not come through', async () => {
    room.world.network.meddle([...far], [...near], { kind: 'message-filter', oneIn: 1, frames: writes });
    const put = (key: string): object => ({ op: 'put', bucket: 'b', key, value: 'v' });
    const bodies = [room.keys('b2', 1).map(put), room.keys('b3', 2).map(put), room.keys('dc2', 4).map(put)];
    for (const operations of bodies) {
      const answer = await room.transact('a1', { operations, timeout_ms: 2_000 });
      expect(answer).toMatch(/"in_doubt"|"pending":true/);
      expect(answer).not.toContain('"aborted"');
    }
    const key = room.keys('b1', 6).at(-1) ?? '';
    const [set, del] = await room.redis('a1', [
      ['SET', key, 'v'],
      ['DEL', key],
    ]);
    expect(set).toBe('OK');
    expect(del).toMatch(/^(NOQUORUM|INDOUBT)/);
  });

  it.each(['a1', 'a2', 'b1'])(
    'the Redis commands of one connection at %s see each other, wherever the primary is',
    async (node) => {
      for (const key of [...room.keys('dc1', 2), ...room.keys('dc2', 2)]) {
        const shown = await room.redis(node, [
          ['SET', key, 'v'],
          ['DEL', key],
          ['SETNX', key, 'w'],
          ['SETNX', key, 'x'],
          ['SET', key, 'y', 'XX'],
          ['EXPIRE', key, 100],
          ['PERSIST', key],
          ['GETDEL', key],
          ['GET', key],
          ['EXPIRE', key, 100],
          ['SET', key, 'z', 'XX'],
          ['SETNX', key, 'q'],
          ['INCR', `${key}n`],
          ['INCR', `${key}n`],
          ['GETDEL', `${key}n`],
          ['DEL', key],
        ]);
        const right = 'OK 1 1 0 OK 1 1 y nil 0 nil 1 1 2 2 1';
        expect(shown.join(' '), key).toBe(right);
      }
      expect(room.world.failures).toEqual([]);
    },
    60_000,
  );

  it('at DC_EACH_SAFE_QUORUM the other datacenter sees it, too', async () => {
    const [key = ''] = room.keys('dc1', 1);
    const operations = [{ op: 'put', bucket: 'b', key, value: 'v' }];
    const answer = await room.transact('b1', { operations, consistency: 'DC_EACH_SAFE_QUORUM' });
    expect(answer).toContain('"committed"');
    for (const node of ['a2', 'b2']) expect(await room.read(node, key)).toBe('v');
  });
});

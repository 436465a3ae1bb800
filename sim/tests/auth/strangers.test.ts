/**
 * Tests unauthorized requests on whole nodes: clients without credentials, with wrong ones, and with an insufficient
 * role, on every listener, at the same time as authorized ones. Their requests have no effect, and each node counts
 * exactly the attempts that it received, by listener and reason.
 */
import { expect, test } from 'vitest';

import type { Role } from '../../../engine/auth/role.ts';
import type { ClientRequest } from '../../../engine/api/pbc/client-codec.ts';
import { assert, present } from '../../../engine/base/assert.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { Address } from '../../../engine/io/network.ts';
import { pick } from '../../../engine/io/random.ts';
import { PbConnection } from '../../workload/pb-connection.ts';
import type { RedisCommand } from '../../workload/redis-connection.ts';
import { RedisConnection } from '../../workload/redis-connection.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import type { HttpClient } from '../../world/world.ts';
import { World } from '../../world/world.ts';
import { worldTokens } from '../../world/cluster/world-credentials.ts';

const second = 1_000_000;
const names = ['n1', 'n2', 'n3'];
const patienceUs = 5 * second;

type Guise = 'missing' | 'wrong' | 'forbidden';
type Tries = Map<string, number>;

/** An attempt and its result: listener, disguise, and the first words of the answer. */
interface Try {
  readonly node: string;
  readonly listener: 'http' | 'pb' | 'redis' | 'stats';
  readonly guise: Guise;
}

class GuardedRoom {
  readonly world: World;
  readonly cluster: Cluster;
  readonly io: Io;
  readonly http: HttpClient;
  /** Attempts by `node listener reason`. */
  readonly tries: Tries = new Map();
  /** Answers that were no refusal. */
  readonly successes: string[] = [];

  constructor(seed: string) {
    this.world = new World({ seed, logLevel: 'info' });
    const nodes: PlanNode[] = names.map((name, index) => ({
      name,
      datacenter: 'dc1',
      rack: `r${index + 1}`,
    }));
    this.cluster = new Cluster(this.world, nodes, { credentials: 'world' });
    const host = this.world.addHost('stranger');
    this.io = host.boot();
    this.http = this.world.httpClient(host);
  }

  async start(): Promise<void> {
    for (const name of names) this.cluster.start(name);
    const serving = (): boolean => names.every((name) => this.cluster.serves(name));
    await this.world.runUntil(serving, 30 * second);
    assert(serving(), 'the nodes did not start');
    await this.world.run({ untilUs: this.world.nowUs + second });
  }

  /** Runs `work` while the world's time passes. */
  async through<T>(work: Promise<T>): Promise<T> {
    await this.world.runUntil(work, 120 * second);
    return work;
  }

  async attempt(one: Try): Promise<void> {
    const key = `${one.node} ${one.listener} ${one.guise}`;
    this.tries.set(key, (this.tries.get(key) ?? 0) + 1);
    const answer = await this.#answerTo(one);
    if (!/^(401|403|Unauthorized|Forbidden|NOAUTH|WRONGPASS|NOPERM)/.test(answer)) {
      this.successes.push(`${key}: ${answer}`);
    }
  }

  #answerTo({ node, listener, guise }: Try): Promise<string> {
    if (listener === 'pb') return this.#overPb(node, guise);
    if (listener === 'redis') return this.#overRedis(node, guise);
    return this.#overHttp(node, listener, guise);
  }

  async #overHttp(node: string, listener: 'http' | 'stats', guise: Guise): Promise<string> {
    const token = guise === 'wrong' ? 'a-token-of-nobody-at-all' : worldTokens.read;
    const headers = {
      'Content-Type': 'text/plain',
      ...(guise === 'missing' ? {} : { Authorization: `Bearer ${token}` }),
    };
    const [method, path] = listener === 'stats' ? statsTry : pick(this.io.random, httpTries);
    const request = {
      method,
      path,
      headers,
      ...(method === 'PUT' || method === 'POST' ? { body: '{}' } : {}),
    };
    const { status } = await this.http.request(this.cluster.address(node, listener), request, patienceUs);
    return String(status);
  }

  #door(node: string, port: 'pb' | 'redis'): { readonly address: Address } {
    return { address: this.cluster.address(node, port) };
  }

  async #overPb(node: string, guise: Guise): Promise<string> {
    const connection = await PbConnection.open(this.io, this.#door(node, 'pb'), patienceUs);
    if (guise === 'forbidden') await this.#pbAnswer(connection, authAs('reader', worldTokens.read));
    const wanted = guise === 'wrong' ? authAs('admin', worldTokens.read) : pick(this.io.random, pbTries);
    const answer = await this.#pbAnswer(connection, wanted);
    connection.close();
    return answer;
  }

  async #pbAnswer(connection: PbConnection, request: ClientRequest): Promise<string> {
    const exchange = await connection.ask(request, patienceUs);
    if (exchange.kind === 'lost') return `lost: ${exchange.reason}`;
    const { answer } = exchange;
    return answer.kind === 'failed' ? `${answer.code ?? ''} ${answer.text}` : answer.kind;
  }

  async #overRedis(node: string, guise: Guise): Promise<string> {
    const connection = await RedisConnection.open(this.io, this.#door(node, 'redis'), patienceUs);
    if (guise === 'forbidden') await connection.ask([['AUTH', worldTokens.read]], patienceUs);
    const wanted: RedisCommand = guise === 'wrong' ? ['AUTH', 'guess'] : pick(this.io.random, redisTries);
    const exchange = await connection.ask([wanted], patienceUs);
    connection.close();
    if (exchange.kind === 'lost') return `lost: ${exchange.reason}`;
    const [reply] = exchange.answer;
    return reply?.kind === 'error' ? reply.text : (reply?.kind ?? 'nothing');
  }

  ask(role: Role, node: string, method: 'GET' | 'PUT', path: string, body = ''): Promise<string> {
    return this.through(this.asking(role, node, method, path, body));
  }

  /** The same, while another task lets time pass. */
  async asking(role: Role, node: string, method: 'GET' | 'PUT', path: string, body: string): Promise<string> {
    const headers = { Authorization: `Bearer ${worldTokens[role]}`, 'Content-Type': 'text/plain' };
    const request = { method, path, headers, ...(method === 'PUT' ? { body } : {}) };
    const answer = await this.http.request(this.cluster.address(node, 'http'), request, patienceUs);
    return `${answer.status} ${answer.body.toString()}`.trim();
  }

  /** The nodes' counts, in the form of `tries`. */
  counted(): Tries {
    const counted: Tries = new Map();
    for (const node of names) {
      const { families } = present(this.cluster.statistics(node), `numbers of ${node}`);
      const family = families.find(({ family: { name } }) => name === 'svc_auth_failures_total');
      for (const { labels, value } of present(family, 'the family').samples) {
        if (value > 0) counted.set(`${node} ${labels['listener']} ${labels['reason']}`, value);
      }
    }
    return counted;
  }
}

const place = { bucket: Buffer.from('kept'), key: Buffer.from('k1') };
const pbTries: readonly ClientRequest[] = [
  { kind: 'put', message: { ...place, content: { value: Buffer.from('theirs') } } },
  { kind: 'delete', message: place },
  { kind: 'setBucket', message: { bucket: place.bucket, props: { allow_mult: true } } },
];
const redisTries: readonly RedisCommand[] = [
  ['SET', 'count', 'theirs'],
  ['DEL', 'count'],
  ['INCR', 'count'],
];
const httpTries: readonly (readonly ['PUT' | 'DELETE' | 'POST', string])[] = [
  ['PUT', '/buckets/kept/keys/k1'],
  ['DELETE', '/buckets/kept/keys/k1'],
  ['PUT', '/buckets/kept/props'],
  ['POST', '/cluster/leave?force=true'],
  ['POST', '/transactions'],
  ['PUT', '/wasm/modules/theirs'],
  ['POST', '/types'],
];
const statsTry = ['GET', '/metrics'] as const;

function authAs(name: string, token: string): ClientRequest {
  return { kind: 'auth', message: { user: Buffer.from(name), password: Buffer.from(token) } };
}

/** Statistics need the smallest role, so no role is insufficient there. */
const doors: readonly (readonly [Try['listener'], readonly Guise[]])[] = [
  ['http', ['missing', 'wrong', 'forbidden']],
  ['pb', ['missing', 'wrong', 'forbidden']],
  ['redis', ['missing', 'wrong', 'forbidden']],
  ['stats', ['missing', 'wrong']],
];

test.each(['guarded-1', 'guarded-2', 'guarded-3'])(
  'nothing of who may not come in has an effect, and every try is counted (%s)',
  async (seed) => {
    const room = new GuardedRoom(seed);
    await room.start();
    for (const key of ['k1', 'k2']) {
      expect(await room.ask('write', 'n1', 'PUT', `/buckets/kept/keys/${key}`, 'ours')).toBe('204');
    }
    const before = await room.ask('read', 'n2', 'GET', '/buckets/kept/props');
    const tries: Try[] = names.flatMap((node) =>
      doors.flatMap(([listener, guises]) =>
        guises.flatMap((guise) => Array.from({ length: 4 }, () => ({ node, listener, guise }))),
      ),
    );
    // All attempts at once, among authorized requests.
    const all = Promise.all(tries.map((one) => room.attempt(one)));
    const welcome = room.asking('write', 'n3', 'PUT', '/buckets/kept/keys/k3', 'ours');
    const [answer] = await room.through(Promise.all([welcome, all]));
    expect(answer).toBe('204');

    expect(room.successes).toEqual([]);
    expect(new Map([...room.counted()].sort())).toEqual(new Map([...room.tries].sort()));
    for (const node of names) {
      for (const key of ['k1', 'k2', 'k3'])
        expect(await room.ask('read', node, 'GET', `/buckets/kept/keys/${key}`)).toBe('200 ours');
      expect(await room.ask('read', node, 'GET', '/buckets/redis/keys?keys=true')).toBe('200 {"keys":[]}');
      expect(await room.ask('read', node, 'GET', '/wasm/modules')).not.toContain('theirs');
    }
    expect(await room.ask('read', 'n2', 'GET', '/buckets/kept/props')).toBe(before);
    expect(await room.ask('read', 'n1', 'GET', '/cluster')).not.toContain('LEAVING');
    expect(room.world.failures).toEqual([]);
  },
);

test('a node that comes back from a crash asks for credentials from its first moment', async () => {
  const room = new GuardedRoom('guarded-crash');
  await room.start();
  expect(await room.ask('write', 'n1', 'PUT', '/buckets/kept/keys/k1', 'ours')).toBe('204');
  room.cluster.crash('n2', 'dropAll', 'silent');
  room.cluster.start('n2');
  await room.world.runUntil(() => room.cluster.serves('n2'), 30 * second);
  await room.through(room.attempt({ node: 'n2', listener: 'http', guise: 'missing' }));
  await room.through(room.attempt({ node: 'n2', listener: 'redis', guise: 'forbidden' }));
  expect(room.successes).toEqual([]);
  expect(room.counted()).toEqual(room.tries);
  expect(await room.ask('read', 'n2', 'GET', '/buckets/kept/keys/k1')).toBe('200 ours');
});

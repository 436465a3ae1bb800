/** Tests bucket properties on whole nodes: partitions, power losses, and keys of buckets with another routing. */
import { expect, test } from 'vitest';

import { assert } from '../../../engine/base/assert.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import type { HttpClientRequest } from '../../world/http/http-client.ts';
import type { HttpClient } from '../../world/world.ts';
import { World } from '../../world/world.ts';

const second = 1_000_000;
const names = ['n1', 'n2', 'n3'];

/** Three nodes in three racks, and a client that asks each of them. */
class PropertyRoom {
  readonly world: World;
  readonly cluster: Cluster;
  readonly #client: HttpClient;

  constructor(seed: string) {
    this.world = new World({ seed, logLevel: 'info' });
    const nodes: PlanNode[] = names.map((name, index) => ({
      name,
      datacenter: 'dc1',
      rack: `r${index + 1}`,
    }));
    this.cluster = new Cluster(this.world, nodes, { gossip_interval_ms: 200 });
    const operator = this.world.addHost('operator');
    operator.boot();
    this.#client = this.world.httpClient(operator);
  }

  async start(...wanted: readonly string[]): Promise<void> {
    for (const name of wanted) this.cluster.start(name);
    const serving = (): boolean => wanted.every((name) => this.cluster.serves(name));
    await this.world.runUntil(serving, 30 * second);
    assert(serving(), `${wanted.join(' ')} did not start`);
    await this.pass(second);
  }

  pass(us: number): Promise<void> {
    return this.world.run({ untilUs: this.world.nowUs + us });
  }

  /** Sends a request; its answer comes while the world runs. */
  begin(node: string, asked: Omit<HttpClientRequest, 'headers'>): ReturnType<HttpClient['request']> {
    const isJson = /[/](props|types)$/.test(asked.path);
    const headers = { 'Content-Type': isJson ? 'application/json' : 'text/plain' };
    return this.#client.request(this.cluster.address(node, 'http'), { ...asked, headers }, 20 * second);
  }

  async ask(node: string, method: HttpClientRequest['method'], path: string, body = ''): Promise<string> {
    const asking = this.begin(node, { method, path, ...(body === '' ? {} : { body }) });
    await this.world.runUntil(asking, 30 * second);
    const answer = await asking;
    return `${answer.status} ${answer.body.toString()}`.trim();
  }

  set(node: string, bucket: string, props: object): Promise<string> {
    return this.ask(node, 'PUT', `/buckets/${bucket}/props`, JSON.stringify({ props }));
  }

  async props(node: string, bucket: string): Promise<Readonly<Record<string, unknown>>> {
    const text = await this.ask(node, 'GET', `/buckets/${bucket}/props`);
    const { props } = JSON.parse(text.slice(4)) as { props: Readonly<Record<string, unknown>> };
    return props;
  }
}

test('settings on both sides of a cut become the same everywhere, and survive a power loss', async () => {
  const room = new PropertyRoom('props');
  await room.start(...names);
  expect(await room.set('n1', 'b', { allow_mult: true })).toBe('204');
  for (const name of names) expect((await room.props(name, 'b'))['allow_mult']).toBe(true);

  room.world.network.partition(['n3'], ['n1', 'n2']);
  expect(await room.set('n1', 'b', { w: 'all', last_write_wins: true })).toBe('204');
  expect(await room.set('n3', 'b', { pw: 2 })).toBe('204');
  expect(await room.props('n2', 'b')).toMatchObject({ w: 'all', last_write_wins: true, pw: 0 });
  expect(await room.props('n3', 'b')).toMatchObject({ w: 'quorum', allow_mult: true, pw: 2 });
  room.world.network.heal();
  await room.pass(10 * second);
  const both = { w: 'all', last_write_wins: true, allow_mult: false, pw: 2 };
  for (const name of names) expect(await room.props(name, 'b')).toMatchObject(both);

  for (const name of names) room.cluster.crash(name, 'dropAll', 'silent');
  await room.start(...names);
  for (const name of names) expect(await room.props(name, 'b')).toMatchObject(both);
  expect(room.world.failures).toEqual([]);
});

test('keys of a bucket that routes by its name are found from every node, and cannot be sent elsewhere', async () => {
  const room = new PropertyRoom('keyfun');
  await room.start(...names);
  expect(await room.set('n2', 'users', { chash_keyfun: 'BUCKETONLY' })).toBe('204');
  for (let key = 0; key < 6; key++) {
    expect(await room.ask(names[key % 3] ?? 'n1', 'PUT', `/buckets/users/keys/k${key}`, `v${key}`)).toBe(
      '204',
    );
  }
  for (let key = 0; key < 6; key++) {
    for (const name of names)
      expect(await room.ask(name, 'GET', `/buckets/users/keys/k${key}`)).toBe(`200 v${key}`);
  }
  const listed = JSON.parse((await room.ask('n3', 'GET', '/buckets/users/keys?keys=true')).slice(4)) as {
    keys: string[];
  };
  expect(listed.keys.sort()).toEqual(['k0', 'k1', 'k2', 'k3', 'k4', 'k5']);
  expect(await room.set('n1', 'users', { chash_keyfun: 'STD' })).toMatch(
    /^409 chash_keyfun of the bucket users cannot change/,
  );
  expect(await room.ask('n1', 'DELETE', '/buckets/users/props')).toMatch(/^409/);
  expect(await room.set('n1', 'users', { chash_keyfun: 'CUSTOM', wasm_keyfun: 'none' })).toMatch(/^409/);
  expect(await room.set('n1', 'empty', { chash_keyfun: 'CUSTOM', wasm_keyfun: 'none' })).toBe('204');
  expect(await room.ask('n2', 'PUT', '/buckets/empty/keys/k', 'v')).toMatch(/^503 .*chash_keyfun CUSTOM/);
  expect(room.world.failures).toEqual([]);
});

test('a node that was down when a type was made drops no sibling that it takes when it comes back', async () => {
  for (const seed of ['type-a', 'type-b', 'type-c']) {
    const room = new PropertyRoom(seed);
    await room.start(...names);
    room.cluster.crash('n3', 'dropAll', 'silent');
    await room.pass(5 * second);
    expect(await room.ask('n1', 'POST', '/types', '{"name":"carts","props":{}}')).toMatch(/^201/);
    const path = '/types/carts/buckets/open/keys/k';
    for (const value of ['s1', 's2']) expect(await room.ask('n1', 'PUT', path, value)).toBe('204');
    await room.start('n3');
    expect(await room.ask('n2', 'GET', `${path}?r=all`)).toMatch(/^300/);
    expect(room.world.failures).toEqual([]);
  }
});

test('a node that is read as soon as it can be reached again drops no sibling', async () => {
  for (const seed of ['cut-a', 'cut-b', 'cut-c']) {
    const room = new PropertyRoom(seed);
    await room.start(...names);
    room.world.network.partition(['n3'], ['n1', 'n2']);
    await room.pass(20 * second);
    expect(await room.set('n1', 'b', { allow_mult: true })).toBe('204');
    for (const value of ['s1', 's2'])
      expect(await room.ask('n1', 'PUT', '/buckets/b/keys/k', value)).toBe('204');
    room.world.network.heal();
    for (let turn = 0; turn < 100; turn++) {
      await room.ask('n3', 'GET', '/buckets/b/keys/k');
      await room.pass(second / 10);
    }
    expect(await room.ask('n2', 'GET', '/buckets/b/keys/k?r=all')).toMatch(/^300/);
    expect(room.world.failures).toEqual([]);
  }
});

test('a write that is acknowledged while the routing of its bucket changes is found afterwards', async () => {
  for (const seed of ['keyfun-a', 'keyfun-b', 'keyfun-c']) {
    const room = new PropertyRoom(seed);
    await room.start(...names);
    let hasChanged = false;
    room.world.trace.on('props.changed', () => (hasChanged = true));
    const body = '{"props":{"chash_keyfun":"BUCKETONLY"}}';
    const change = room.begin('n1', { method: 'PUT', path: '/buckets/new/props', body });
    await room.world.runUntil(() => hasChanged, second);
    expect(await room.ask('n1', 'PUT', '/buckets/new/keys/k', 'v')).toBe('204');
    await room.world.runUntil(change, 30 * second);
    expect((await change).status).toBe(204);
    for (const name of names) expect(await room.ask(name, 'GET', '/buckets/new/keys/k')).toBe('200 v');
    expect(room.world.failures).toEqual([]);
  }
});

/**
 * Whole nodes in a world, for the tests of anti-entropy. It reads a node's objects from its durable store, opened on a
 * copy of its disk once the node has stopped, and its counts from `/metrics`.
 */
import { assert, present } from '../../../engine/base/assert.ts';
import type { PackedKey } from '../../../engine/base/object-key.ts';
import { unpackKey } from '../../../engine/base/object-key.ts';
import { replaceFile } from '../../../engine/io/disk.ts';
import { storeDefaults } from '../../../engine/storage/options.ts';
import { Store } from '../../../engine/storage/store.ts';
import { familiesOf } from '../../../engine/metrics/snapshot-families.ts';
import type { ParsedSample } from '../../check/metrics/exposition-text.ts';
import { parseExposition } from '../../check/metrics/exposition-text.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import type { HttpClient } from '../../world/world.ts';
import { World } from '../../world/world.ts';

/** Microseconds of virtual time. */
export const second = 1_000_000;

/** Settings of the harness: quick ticks, a small tree, and no hints, so that only anti-entropy can repair. */
const quick = {
  aae_tick_interval_seconds: 1,
  aae_segments: 256,
  hinted_handoff: false,
  write_consistency: 'DC_ONE',
};

/** The contents of a node's store: per packed key its bytes, in hexadecimal digits. */
export type Dump = ReadonlyMap<PackedKey, string>;

/** A cluster with one client; requests let virtual time pass until they are answered. */
export class TreeHarness {
  readonly world: World;
  readonly cluster: Cluster;
  readonly #client: HttpClient;

  constructor(seed: string, racks: number, settings: Readonly<Record<string, unknown>> = {}, perRack = 1) {
    this.world = new World({ seed, logLevel: 'info' });
    const nodes: PlanNode[] = [];
    for (let number = 1; number <= racks * perRack; number++) {
      nodes.push({ name: `n${number}`, datacenter: 'dc1', rack: `r${((number - 1) % racks) + 1}` });
    }
    this.cluster = new Cluster(this.world, nodes, { ...quick, ...settings });
    const operator = this.world.addHost('operator');
    operator.boot();
    this.#client = this.world.httpClient(operator);
  }

  async start(...names: readonly string[]): Promise<void> {
    const wanted = names.length === 0 ? this.cluster.names : names;
    for (const name of wanted) this.cluster.start(name);
    const serving = (): boolean => wanted.every((name) => this.cluster.serves(name));
    assert(await this.until(serving, 30 * second), `${wanted.join(' ')} did not start`);
    await this.pass(second / 2);
  }

  async stop(name: string): Promise<void> {
    assert((await this.cluster.stop(name, 30 * second)) !== 'stuck', `${name} did not stop`);
  }

  pass(us: number): Promise<void> {
    return this.world.run({ untilUs: this.world.nowUs + us });
  }

  async until(holds: () => boolean, budgetUs: number): Promise<boolean> {
    await this.world.runUntil(holds, budgetUs);
    return holds();
  }

  /** Puts `count` objects through a node. */
  async put(through: string, prefix: string, count: number, value = 'v'): Promise<void> {
    for (let index = 0; index < count; index++) {
      const answer = await this.http(through, 'PUT', `/buckets/b/keys/${prefix}${index}`, `${value}${index}`);
      assert(answer.status === 204, `a put was answered ${answer.status}: ${answer.body}`);
    }
  }

  async http(
    node: string,
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    body = '',
    port: 'http' | 'stats' = 'http',
    more: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly body: string }> {
    const headers = { 'Content-Type': 'text/plain', ...more };
    const request = { method, path, headers, ...(method === 'GET' ? {} : { body }) };
    const asking = this.#client.request(this.cluster.address(node, port), request, 10 * second);
    await this.world.runUntil(asking, 20 * second);
    const answer = await asking;
    return { status: answer.status, body: answer.body.toString() };
  }

  /**
   * Flips a bit of a value on a node's disk; once the node has dropped it from memory, that copy cannot be read.
   * Returns false if the value is not on the disk.
   */
  rot(name: string, value: string): boolean {
    const { disk } = this.cluster.host(name);
    for (const [path, content] of disk.durableFiles()) {
      const at = /^store\/\d+\.log$/.test(path) ? content.indexOf(value) : -1;
      if (at >= 0) return disk.rot(path, at, 3);
    }
    return false;
  }

  /** The sum of a family's samples at a node, as published at least a second from now. */
  async count(node: string, family: string): Promise<number> {
    return (await this.samples(node, family)).reduce((sum, { value }) => sum + value, 0);
  }

  /** The family's samples, likewise. */
  async samples(node: string, family: string): Promise<readonly ParsedSample[]> {
    await this.pass(2.1 * second);
    const { body } = await this.http(node, 'GET', '/metrics', '', 'stats');
    const found = present(
      parseExposition(body).find(({ name }) => name === family),
      family,
    );
    return found.samples;
  }

  /** The same at once: what a serving node counts now. */
  countNow(node: string, family: string): number {
    const snapshot = present(this.cluster.statistics(node), `the statistics of ${node}`);
    const found = present(
      familiesOf(snapshot).find((one) => one.family.name === family),
      family,
    );
    return found.samples.reduce((sum, { value }) => sum + value, 0);
  }

  /** Writes a file to the disk of a stopped node; `bytes` undefined removes it. */
  async writeFile(name: string, path: string, bytes: Buffer | undefined): Promise<void> {
    assert(bytes !== undefined && !this.cluster.isUp(name), `${path} on ${name}`);
    const host = this.cluster.host(name);
    const io = host.boot();
    const writing = replaceFile(io.disk, path, bytes);
    await this.world.runUntil(writing, second);
    host.stop();
  }

  /** The contents of a stopped node's store. */
  async dump(name: string): Promise<Dump> {
    assert(!this.cluster.isUp(name), `${name} must be down to be looked into`);
    const host = this.cluster.host(name);
    const io = host.boot();
    const found: { dump?: Map<PackedKey, string> } = {};
    io.spawn('dump', async () => {
      const store = await Store.open(io, 'store', { ...storeDefaults, nodeName: name });
      const dump = new Map<PackedKey, string>();
      for (const key of [...store.keys()].sort()) {
        if (unpackKey(key) === undefined) continue;
        dump.set(key, Buffer.from((await store.get(key)) ?? []).toString('hex'));
      }
      await store.close();
      found.dump = dump;
    });
    await this.until(() => found.dump !== undefined, 30 * second);
    host.stop();
    return present(found.dump, `the dump of ${name}`);
  }

  /** Stops all nodes and returns their contents; with one node per rack every node holds every key. */
  async dumps(): Promise<readonly Dump[]> {
    const dumps: Dump[] = [];
    for (const name of this.cluster.names) if (this.cluster.isUp(name)) await this.stop(name);
    for (const name of this.cluster.names) dumps.push(await this.dump(name));
    return dumps;
  }
}

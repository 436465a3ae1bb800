/**
 * Removes or empties every durable file of a stopped node, one at a time. Either what was written and the bucket
 * properties are back before the node answers a client, or the node refuses to start and says what to do. The log names
 * what is missing.
 */
import { describe, expect, test } from 'vitest';

import { assert } from '../../../engine/base/assert.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import type { HttpClient } from '../../world/world.ts';
import { World } from '../../world/world.ts';

const second = 1_000_000;
const ways = ['removed', 'emptied'] as const;
/** Events by which a node reports that its disk is not as it was left. */
const complaints = [
  'node.file.missing',
  'store.damage.found',
  'store.hint.ignored',
  'store.set.aside',
  'store.manifest.mended',
  'membership.identity.rejected',
  'membership.members.rejected',
  'aae.snapshot.rejected',
];
/**
 * Files that no start needs: a lock file is created when the lock is taken, and the contents of the others are derived
 * anew.
 */
const spared = /LOCK$|\.hint$|^aae\//u;

class Machines {
  readonly world: World;
  readonly cluster: Cluster;
  readonly #client: HttpClient;
  #complaints: string[] = [];

  constructor(seed: string, count: number) {
    this.world = new World({ seed, logLevel: 'info' });
    const nodes: PlanNode[] = Array.from({ length: count }, (_, index) => ({
      name: `n${index + 1}`,
      datacenter: 'dc1',
      rack: `r${index + 1}`,
    }));
    this.cluster = new Cluster(this.world, nodes, { gossip_interval_ms: 200, aae_tick_interval_seconds: 1 });
    const operator = this.world.addHost('operator');
    operator.boot();
    this.#client = this.world.httpClient(operator);
    for (const event of complaints) this.world.trace.on(event, () => void this.#complaints.push(event));
  }

  /** The events that n1 has logged since the last call. */
  complaints(): readonly string[] {
    const found = this.#complaints;
    this.#complaints = [];
    return found;
  }

  /** Starts the nodes; resolves with whether all serve. */
  async start(...names: readonly string[]): Promise<boolean> {
    for (const name of names) this.cluster.start(name);
    const refused = this.cluster.refusedStarts.length;
    const serving = (): boolean => names.every((name) => this.cluster.serves(name));
    const over = (): boolean => serving() || this.cluster.refusedStarts.length > refused;
    await this.world.runUntil(over, 60 * second);
    return serving();
  }

  async stop(name: string): Promise<void> {
    assert((await this.cluster.stop(name, 30 * second)) !== 'stuck', `${name} did not stop`);
  }

  pass(us: number): Promise<void> {
    return this.world.run({ untilUs: this.world.nowUs + us });
  }

  async ask(node: string, method: 'GET' | 'PUT', path: string, body = ''): Promise<string> {
    const headers = { 'Content-Type': path.endsWith('/props') ? 'application/json' : 'text/plain' };
    const request = { method, path, headers, ...(method === 'PUT' ? { body } : {}) };
    const asking = this.#client.request(this.cluster.address(node, 'http'), request, 20 * second);
    await this.world.runUntil(asking, 30 * second);
    const answer = await asking;
    return `${answer.status} ${answer.body.toString()}`.trim();
  }

  /** Two siblings under one key of a bucket that keeps them, and 6 plain keys. */
  async fill(node: string): Promise<void> {
    expect(await this.ask(node, 'PUT', '/buckets/sib/props', '{"props":{"allow_mult":true}}')).toBe('204');
    for (const value of ['one', 'two']) {
      expect(await this.ask(node, 'PUT', '/buckets/sib/keys/k', value)).toMatch(/^20[04]/u);
    }
    for (let key = 0; key < 6; key++) {
      expect(await this.ask(node, 'PUT', `/buckets/b/keys/k${key}`, `v${key}`)).toBe('204');
    }
  }

  /** This node shows everything that `fill` has written, complete and unchanged. */
  async mustHoldAll(node: string): Promise<void> {
    expect(await this.ask(node, 'GET', '/buckets/sib/props')).toContain('"allow_mult":true');
    const siblings = await this.ask(node, 'GET', '/buckets/sib/keys/k');
    expect(siblings).toMatch(/^300 Siblings:\n\S+\n\S+$/u);
    for (let key = 0; key < 6; key++) {
      expect(await this.ask(node, 'GET', `/buckets/b/keys/k${key}`)).toBe(`200 v${key}`);
    }
  }
}

/** A node's non-empty files after it has been filled and stopped. */
async function filesOf(count: number): Promise<readonly string[]> {
  const machines = await filled('files', count);
  return [...machines.cluster.host('n1').disk.durableFiles()]
    .filter(([, bytes]) => bytes.length > 0)
    .map(([path]) => path);
}

async function filled(seed: string, count: number): Promise<Machines> {
  const machines = new Machines(seed, count);
  const { names } = machines.cluster;
  assert(await machines.start(...names), 'the nodes do not start');
  await machines.pass(second);
  await machines.fill('n1');
  await machines.pass(second);
  await machines.stop('n1');
  machines.complaints();
  return machines;
}

describe('a node alone', () => {
  test('serves all that it held, or refuses to start and says why, whichever of its files is lost', async () => {
    const files = await filesOf(1);
    expect(files).toEqual(
      expect.arrayContaining(['identity', 'members', 'store/MANIFEST', 'hints/MANIFEST']),
    );
    for (const path of files)
      for (const how of ways) {
        const machines = await filled('files', 1);
        expect(machines.cluster.host('n1').disk.loseFile(path, how), path).toBe(true);
        const serves = await machines.start('n1');
        const refused = machines.cluster.refusedStarts.map(({ code }) => code);
        const isLog = /^store\/\d+\.log$/u.test(path);
        const said = machines.complaints().length > 0;
        if (path === 'store/MANIFEST') expect([path, how, refused]).toEqual([path, how, ['Corrupted']]);
        else if (!isLog) expect([path, how, refused]).toEqual([path, how, []]);
        if (!spared.test(path) && serves) expect([path, how, said]).toEqual([path, how, true]);
        if (serves && !isLog) await machines.mustHoldAll('n1');
        // A lost log is lost data: reads of it, or the start, are refused, and no older value is shown.
        if (serves && isLog)
          expect(await machines.ask('n1', 'GET', '/buckets/b/keys/k0')).not.toMatch(/^404/u);
      }
  }, 120_000);

  test('refuses to start without its store, and says what to do', async () => {
    const machines = await filled('store', 1);
    const { disk } = machines.cluster.host('n1');
    for (const path of [...disk.durableFiles().keys()].filter((one) => one.startsWith('store/')))
      disk.loseFile(path, 'removed');
    expect(await machines.start('n1')).toBe(false);
    expect(machines.cluster.refusedStarts.map(({ code }) => code)).toEqual(['FileMissing']);
  });
});

describe('a node of three', () => {
  test('serves all that it held whichever of its files is lost, but for the manifest of its store', async () => {
    const files = await filesOf(3);
    for (const path of files)
      for (const how of ways) {
        const machines = await filled('files', 3);
        expect(machines.cluster.host('n1').disk.loseFile(path, how), path).toBe(true);
        const serves = await machines.start('n1');
        const refused = machines.cluster.refusedStarts.map(({ code }) => code);
        expect([path, how, refused]).toEqual([path, how, path === 'store/MANIFEST' ? ['Corrupted'] : []]);
        if (!spared.test(path) && serves) {
          expect([path, how, machines.complaints().length > 0]).toEqual([path, how, true]);
        }
        if (serves) for (const name of machines.cluster.names) await machines.mustHoldAll(name);
        expect(machines.world.failures).toEqual([]);
      }
  }, 240_000);

  test('with an empty disk keeps all siblings that its peers send it before it knows what was set of buckets', async () => {
    const machines = await filled('wiped', 3);
    machines.cluster.host('n1').disk.wipe();
    assert(await machines.start('n1'), 'n1 does not start');
    for (const name of machines.cluster.names) await machines.mustHoldAll(name);
    await machines.pass(10 * second);
    for (const name of machines.cluster.names) await machines.mustHoldAll(name);
    expect(machines.world.failures).toEqual([]);
  });
});

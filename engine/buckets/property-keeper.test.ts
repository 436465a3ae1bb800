import fc from 'fast-check';
import { expect, test } from 'vitest';

import { present } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import type { ByteString, NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { settle, TestClock, TestLog } from '../api/testing/test-io.fixture.ts';
import { Buckets } from './buckets.ts';
import type { BucketProperties, PropertyValue } from './properties.ts';
import { typeProperties } from './properties.ts';
import type { NamedRecord } from './property-codec.ts';
import type { PropertyCondition } from './property-keeper.ts';
import { PropertyKeeper } from './property-keeper.ts';
import { recordName } from './property-codec.ts';
import { PropertyTable } from './property-table.ts';

const defaultType = byteStringOf('default');
const types = new Map([['default', typeProperties('default', new Map())]]);

/** Three nodes with property keepers. A test cuts their links, reads their files and decides which keys they hold. */
class Trio {
  readonly clock = new TestClock();
  readonly names = ['n1', 'n2', 'n3'] as NodeId[];
  /** What each node has saved, in the order of saving. */
  readonly files = new Map<NodeId, readonly NamedRecord[]>();
  readonly conditions = new Map<NodeId, PropertyCondition>();
  readonly buckets = new Map<NodeId, Buckets>();
  readonly keepers = new Map<NodeId, PropertyKeeper>();
  readonly held = new Set<string>();
  /** Of those in `held`, keys that lie where the present routing puts them. */
  readonly heldAnew = new Set<string>();
  readonly cut = new Set<NodeId>();
  failedTasks = 0;
  /** Messages that nodes have sent. */
  asked = 0;
  /** The page size of the nodes that boot from now on. */
  pageBytes = 1 << 20;
  /** Called after a node has saved records. */
  onSave: (node: NodeId) => void = () => undefined;

  constructor() {
    for (const name of this.names) this.boot(name);
  }

  /** Starts a new incarnation of a node from its file. */
  boot(name: NodeId): void {
    const buckets = new Buckets(types, new PropertyTable(this.files.get(name) ?? []));
    this.buckets.set(name, buckets);
    const spawn = (_: string, task: () => Promise<void>): void => {
      task().catch(() => (this.failedTasks += 1));
    };
    const keeper = new PropertyKeeper(
      { clock: this.clock, log: new TestLog(), spawn },
      buckets,
      {
        condition: this.conditions.get(name) ?? 'whole',
        save: async (records) => {
          this.files.set(name, [...(this.files.get(name) ?? []), ...records]);
          this.onSave(name);
        },
        complete: async () => void this.conditions.set(name, 'whole'),
      },
      {
        self: name,
        peers: () => this.names.filter((other) => other !== name),
        isRoutable: (peer) => this.#reaches(name, peer),
        isConnected: (peer) => this.#reaches(name, peer),
        ask: (peer, words, onAnswer) => {
          this.asked += 1;
          if (!this.#reaches(name, peer)) {
            onAnswer(new LockstepError('NoTargets'));
            return;
          }
          const asked = present(this.keepers.get(peer), 'a peer').answer(words);
          void asked.then(onAnswer, (error: unknown) => onAnswer(error as LockstepError));
        },
        holdsKeys: (prefix) => this.held.has(`${name} ${prefix}`),
        placesOf: (prefix) => {
          const some = this.heldAnew.has(`${name} ${prefix}`);
          return { some, former: !some && this.held.has(`${name} ${prefix}`) };
        },
        members: () => this.names.map((node) => ({ node, datacenter: 'dc1', rack: node })),
      },
      { recordsMax: 10, pageBytes: this.pageBytes },
    );
    this.keepers.set(name, keeper);
  }

  keeper(name: NodeId): PropertyKeeper {
    return present(this.keepers.get(name), 'a keeper');
  }

  epochAt(name: NodeId, record = flushed): number {
    return present(this.buckets.get(name), 'buckets').epochs.ofRecord(record);
  }

  /** Delivers every node's digest to every reachable node, three times, which is enough for three nodes. */
  async gossip(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      for (const [name, keeper] of this.keepers)
        for (const [peer, other] of this.keepers) {
          if (name !== peer && this.#reaches(name, peer)) keeper.heard(peer, other.digest);
        }
      await settle();
    }
  }

  async set(at: number, bucket: string, set: Record<string, PropertyValue>): Promise<string> {
    const node = present(this.names[at], 'a node');
    const done = this.keepers.get(node)?.set(defaultType, byteStringOf(bucket), new Map(Object.entries(set)));
    return outcomeOf(done);
  }

  async reset(at: number, bucket: string): Promise<string> {
    return outcomeOf(
      this.keepers.get(present(this.names[at], 'a node'))?.reset(defaultType, byteStringOf(bucket)),
    );
  }

  at(index: number, bucket: string): BucketProperties {
    return present(this.buckets.get(present(this.names[index], 'a node')), 'buckets').of(
      defaultType,
      byteStringOf(bucket),
    );
  }

  #reaches(from: NodeId, to: NodeId): boolean {
    return this.cut.has(from) === this.cut.has(to);
  }
}

async function outcomeOf(done: Promise<void> | undefined): Promise<string> {
  const ended = done?.then(
    () => 'done',
    (error: unknown) => (error instanceof LockstepError ? `${error.code}: ${error.message}` : String(error)),
  );
  await settle();
  return ended ?? 'nobody';
}

test('a setting takes effect on all reachable nodes, and on the others when they return', async () => {
  const trio = new Trio();
  trio.cut.add('n3' as NodeId);
  expect(await trio.set(0, 'b', { allow_mult: true, w: 'all' })).toBe('done');
  expect(trio.at(1, 'b')).toMatchObject({ allowMult: true, w: 'all' });
  expect(trio.at(2, 'b')).toMatchObject({ allowMult: false, w: 'default' });
  trio.cut.clear();
  await trio.gossip();
  expect(trio.at(2, 'b')).toMatchObject({ allowMult: true, w: 'all' });
  trio.boot('n3' as NodeId);
  expect(trio.at(2, 'b')).toMatchObject({ allowMult: true, w: 'all' });
  expect(await trio.reset(2, 'b')).toBe('done');
  expect(trio.at(0, 'b')).toMatchObject({ allowMult: false, w: 'default' });
});

test('a node that was away fetches all records, however few fit into a page', async () => {
  const trio = new Trio();
  trio.pageBytes = 1;
  for (const name of trio.names) trio.boot(name);
  trio.cut.add('n3' as NodeId);
  for (const bucket of ['a', 'b', 'c']) expect(await trio.set(0, bucket, { w: 'all' })).toBe('done');
  trio.cut.clear();
  await trio.gossip();
  expect(['a', 'b', 'c'].map((bucket) => trio.at(2, bucket).w)).toEqual(['all', 'all', 'all']);
});

const steps = fc.array(
  fc.record({
    at: fc.nat(2),
    bucket: fc.constantFrom('a', 'b'),
    cut: fc.constantFrom(undefined, 'n1', 'n2', 'n3'),
    set: fc.constantFrom<Record<string, PropertyValue> | undefined>(
      undefined,
      { allow_mult: true },
      { last_write_wins: true },
      { allow_mult: false, r: 1 },
      { chash_keyfun: 'BUCKETONLY' },
      { wasm_keyfun: 'm', chash_keyfun: 'CUSTOM' },
      { w: 'one', pw: 2 },
    ),
    reboots: fc.boolean(),
  }),
  { maxLength: 10 },
);

test('settings on both sides of partitions, with crashes in between, converge to a state that one client could have set', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (plan) => {
      const trio = new Trio();
      for (const { at, bucket, cut, set, reboots } of plan) {
        trio.cut.clear();
        if (cut !== undefined) trio.cut.add(cut as NodeId);
        await (set === undefined ? trio.reset(at, bucket) : trio.set(at, bucket, set));
        if (reboots) trio.boot(present(trio.names[at], 'a node'));
      }
      trio.cut.clear();
      await trio.gossip();
      for (const bucket of ['a', 'b']) {
        const [first, ...others] = [0, 1, 2].map((index) => trio.at(index, bucket));
        for (const other of others) expect(other).toEqual(first);
        expect(first?.allowMult === true && first.lastWriteWins).toBe(false);
        if (first?.chashKeyfun === 'CUSTOM') expect(first.wasmKeyfun).toBe('m');
      }
      expect(trio.failedTasks).toBe(0);
      expect(new Set([...trio.keepers.values()].map((keeper) => keeper.digest)).size).toBe(1);
    }),
    { numRuns: 60 },
  );
});

test('the routing changes only while every node confirms that it holds no key of the bucket', async () => {
  const trio = new Trio();
  const prefix = 'default'.length;
  const name = String.fromCharCode(prefix) + 'default' + '\0\x01b';
  trio.held.add(`n2 ${name}`);
  expect(await trio.set(0, 'b', { chash_keyfun: 'BUCKETONLY' })).toContain(
    'Conflict: chash_keyfun of the bucket b cannot change: n2 holds keys of it',
  );
  expect(await trio.set(0, 'b', { chash_keyfun: 'STD', r: 1 })).toBe('done');
  trio.held.clear();
  trio.cut.add('n3' as NodeId);
  expect(await trio.set(0, 'b', { chash_keyfun: 'BUCKETONLY' })).toContain(
    'NoTargets: chash_keyfun can change only',
  );
  trio.cut.clear();
  expect(await trio.set(0, 'b', { chash_keyfun: 'BUCKETONLY' })).toBe('done');
  trio.held.add(`n2 ${name}`);
  expect(await trio.reset(1, 'b')).toContain('Conflict');
  expect(trio.at(2, 'b').chashKeyfun).toBe('BUCKETONLY');
});

test('a write that arrives during a routing change reverts the change', async () => {
  const trio = new Trio();
  const name = `${String.fromCharCode('default'.length)}default\0\x01b`;
  trio.onSave = (node) => {
    if (node === 'n3') trio.held.add(`n3 ${name}`);
  };
  expect(await trio.set(0, 'b', { chash_keyfun: 'BUCKETONLY' })).toContain(
    'Conflict: chash_keyfun of the bucket b',
  );
  await trio.gossip();
  for (const index of [0, 1, 2]) expect(trio.at(index, 'b').chashKeyfun).toBe('STD');
});

test('a write by the new routing does not revert the change, and one by the former beside it cannot', async () => {
  const name = `${String.fromCharCode('default'.length)}default\0\x01b`;
  for (const isMixed of [false, true]) {
    const trio = new Trio();
    trio.onSave = (node) => {
      if (isMixed) trio.held.add(`n2 ${name}`);
      trio.held.add(`${node} ${name}`);
      trio.heldAnew.add(`n3 ${name}`).add(`n1 ${name}`);
    };
    if (!isMixed) trio.heldAnew.add(`n2 ${name}`);
    const outcome = await trio.set(0, 'b', { chash_keyfun: 'BUCKETONLY' });
    if (!isMixed) expect(outcome).toBe('done');
    else
      expect(outcome).toContain('has changed, and keys were written by it: n2 took keys by the former one');
    await trio.gossip();
    for (const index of [0, 1, 2]) expect(trio.at(index, 'b').chashKeyfun).toBe('BUCKETONLY');
  }
});

test('a type is created once, its buckets have its properties, and its routing cannot change', async () => {
  const trio = new Trio();
  const make = (at: number): Promise<string> =>
    outcomeOf(
      trio.keepers
        .get(present(trio.names[at], 'a node'))
        ?.createType('carts' as ByteString, new Map([['chash_keyfun', 'BUCKETONLY']])),
    );
  expect(await make(0)).toBe('done');
  expect(await make(1)).toBe('Conflict: the bucket type carts exists already');
  for (const buckets of trio.buckets.values()) {
    expect(buckets.of('carts' as ByteString, 'any' as ByteString)).toMatchObject({
      allowMult: true,
      chashKeyfun: 'BUCKETONLY',
    });
    expect(buckets.knowsType('charts' as ByteString)).toBe(false);
    expect(buckets.typeNames()).toEqual(['default', 'carts']);
  }
  const keeper = present(trio.keepers.get('n3' as NodeId), 'a keeper');
  expect(
    await outcomeOf(keeper.setType('carts' as ByteString, new Map([['chash_keyfun', 'STD']]))),
  ).toContain('Conflict: chash_keyfun and wasm_keyfun of a bucket type stand from its making');
  expect(await outcomeOf(keeper.setType('carts' as ByteString, new Map([['allow_mult', false]])))).toBe(
    'done',
  );
  expect(trio.buckets.get('n1' as NodeId)?.ofType('carts' as ByteString)?.allowMult).toBe(false);
});

test('the number of buckets with own properties is bounded; allow_mult with last_write_wins is refused', async () => {
  const trio = new Trio();
  for (let bucket = 0; bucket < 10; bucket++) expect(await trio.set(0, `b${bucket}`, { r: 1 })).toBe('done');
  expect(await trio.set(0, 'one more', { r: 1 })).toContain('TooLarge: 10 buckets and types');
  expect(await trio.set(0, 'b1', { allow_mult: true, last_write_wins: true })).toContain(
    'BadRequest: allow_mult and',
  );
});

test('a node that has lost its records serves none to peers, and starts when a peer has sent them', async () => {
  const trio = new Trio();
  expect(await trio.set(0, 'b', { allow_mult: true })).toBe('done');
  const lost = 'n3' as NodeId;
  trio.files.delete(lost);
  trio.conditions.set(lost, 'lost');
  trio.boot(lost);
  const keeper = present(trio.keepers.get(lost), 'a keeper');
  expect(trio.at(2, 'b').allowMult).toBe(false);
  expect(keeper.hasHeard('n1' as NodeId)).toBe(false);
  // A node that has all records does not wait for one that has none to send; one that lacks some does.
  expect(await trio.keeper('n1' as NodeId).hear(lost)).toBe(true);
  const other = 'n2' as NodeId;
  trio.conditions.set(other, 'lost');
  trio.boot(other);
  expect(await keeper.hear(other)).toBe(false);
  expect(await outcomeOf(keeper.catchUp(1_000_000))).toBe('done');
  expect(trio.at(2, 'b').allowMult).toBe(true);
  expect(keeper.hasHeard('n1' as NodeId)).toBe(true);
  trio.boot(lost);
  expect(trio.at(2, 'b').allowMult).toBe(true);
});

test('a node that has lost its records does not start when no peer has them; a new node starts', async () => {
  const trio = new Trio();
  const alone = 'n3' as NodeId;
  trio.cut.add(alone);
  trio.conditions.set(alone, 'lost');
  trio.boot(alone);
  const refused = outcomeOf(trio.keepers.get(alone)?.catchUp(0));
  expect(await refused).toContain('FileMissing: what was set of buckets (their properties) is lost');
  trio.conditions.set(alone, 'new');
  trio.boot(alone);
  expect(await outcomeOf(trio.keepers.get(alone)?.catchUp(0))).toBe('done');
});

test('records are compared again with each new connection, each new digest, and after a save that failed', async () => {
  const trio = new Trio();
  const [n1, n2, n3] = trio.names as [NodeId, NodeId, NodeId];
  const keeper = trio.keeper(n3);
  expect(keeper.hasHeard(n1)).toBe(false);
  expect([await keeper.hear(n1), keeper.hasHeard(n1)]).toEqual([true, true]);
  trio.cut.add(n3);
  expect(await trio.set(0, 'b', { allow_mult: true })).toBe('done');
  trio.cut.clear();
  keeper.peers.connected(n1);
  expect(keeper.hasHeard(n1)).toBe(false);
  expect([await keeper.hear(n1), trio.at(2, 'b').allowMult]).toEqual([true, true]);
  keeper.heard(n2, trio.keeper(n2).digest);
  expect(keeper.hasHeard(n2)).toBe(true);
  // A setting that did not reach n3 although its connections stand.
  trio.cut.add(n3);
  expect(await trio.set(0, 'b', { allow_mult: false })).toBe('done');
  trio.cut.clear();
  keeper.heard(n2, trio.keeper(n2).digest);
  expect(keeper.hasHeard(n2)).toBe(false);
  expect([await keeper.hear(n2), trio.at(2, 'b').allowMult]).toEqual([true, false]);
  trio.onSave = (node) => {
    // While it saves, it lacks what it saves.
    if (node === n3) expect(keeper.hasHeard(n1)).toBe(false);
    if (node === n3) throw new LockstepError('StorageFailed');
  };
  expect(await trio.set(0, 'b', { allow_mult: true })).toBe('done');
  expect(keeper.hasHeard(n1)).toBe(false);
});

test('a peer that lacks records is asked once for its own, however often it gossips', async () => {
  const trio = new Trio();
  const [, n2, n3] = trio.names as [NodeId, NodeId, NodeId];
  trio.cut.add(n2);
  await trio.set(0, 'b', { w: 'all' });
  await trio.set(1, 'c', { w: 'all' });
  trio.cut.clear();
  const { digest } = trio.keeper(n2);
  const keeper = trio.keeper(n3);
  keeper.heard(n2, digest);
  expect(await keeper.hear(n2)).toBe(true);
  const before = trio.asked;
  for (let round = 0; round < 5; round++) keeper.heard(n2, digest);
  expect([trio.asked, keeper.hasHeard(n2)]).toEqual([before, true]);
});

test('a leaving node takes no settings, and knows when a member has all of those that it took', async () => {
  const trio = new Trio();
  const [n1] = trio.names as [NodeId];
  const leaving = trio.keeper(n1);
  expect(leaving.hasSpread).toBe(true);
  // Set while no other member can be reached.
  trio.cut.add(n1);
  expect(await trio.set(0, 'b', { allow_mult: true })).toBe('done');
  leaving.close();
  await trio.gossip();
  expect(leaving.hasSpread).toBe(false);
  const refused = 'ShuttingDown: n1 leaves the cluster and takes no bucket properties any more';
  expect(await trio.set(0, 'c', { allow_mult: true })).toContain(refused);
  expect(await trio.reset(0, 'b')).toContain(refused);
  expect(await outcomeOf(leaving.createType(byteStringOf('t'), new Map()))).toContain(refused);
  expect(await outcomeOf(leaving.setType(defaultType, new Map()))).toContain(refused);
  trio.cut.clear();
  await trio.gossip();
  expect([leaving.hasSpread, trio.at(1, 'b').allowMult]).toEqual([true, true]);
  // What others set meanwhile is theirs to spread.
  trio.cut.add(n1);
  await trio.set(1, 'c', { allow_mult: true });
  expect(leaving.hasSpread).toBe(true);
  // A new incarnation does not know whether a member has its records.
  trio.boot(n1);
  expect(trio.keeper(n1).hasSpread).toBe(false);
  trio.cut.clear();
  await trio.gossip();
  expect(trio.keeper(n1).hasSpread).toBe(true);
});

const flushed = recordName(defaultType, byteStringOf('b'));

test('a flush is durable at every reachable node when it is answered, and survives their restarts', async () => {
  const trio = new Trio();
  const [n1, n2, n3] = trio.names as [NodeId, NodeId, NodeId];
  trio.cut.add(n3);
  await trio.keeper(n1).flush([flushed]);
  const epoch = trio.epochAt(n1);
  expect(epoch).toBeGreaterThan(0);
  trio.boot(n2);
  expect([trio.epochAt(n2), trio.epochAt(n3)]).toEqual([epoch, 0]);
  trio.cut.clear();
  await trio.gossip();
  expect(trio.epochAt(n3)).toBe(epoch);
});

test('a flush that reaches no majority of racks says so, and may take effect later', async () => {
  const trio = new Trio();
  const [n1, n2, n3] = trio.names as [NodeId, NodeId, NodeId];
  trio.cut.add(n1);
  await expect(trio.keeper(n1).flush([flushed])).rejects.toMatchObject({ code: 'NoQuorum', definite: false });
  trio.cut.clear();
  await trio.gossip();
  expect([trio.epochAt(n2), trio.epochAt(n3)]).toEqual([trio.epochAt(n1), trio.epochAt(n1)]);
});

test('a flush by a node whose clock is behind begins an epoch after those that others know', async () => {
  const trio = new Trio();
  const [n1, n2, n3] = trio.names as [NodeId, NodeId, NodeId];
  trio.cut.add(n3);
  trio.clock.aheadMs = 60_000;
  await trio.keeper(n1).flush([flushed]);
  const first = trio.epochAt(n1);
  trio.clock.aheadMs = 0;
  trio.cut.clear();
  await trio.keeper(n3).flush([flushed]);
  expect(trio.epochAt(n3)).toBeGreaterThan(first);
  expect([trio.epochAt(n1), trio.epochAt(n2)]).toEqual([trio.epochAt(n3), trio.epochAt(n3)]);
});

test('several buckets begin their epochs in one message', async () => {
  const trio = new Trio();
  const [n1, n2] = trio.names as [NodeId, NodeId];
  const names = ['b', 'c', 'e'].map((bucket) => recordName(defaultType, byteStringOf(bucket)));
  const before = trio.asked;
  await trio.keeper(n1).flush(names);
  expect(trio.asked - before).toBe(2);
  for (const name of names) expect(trio.epochAt(n2, name)).toBe(trio.epochAt(n1, name));
});

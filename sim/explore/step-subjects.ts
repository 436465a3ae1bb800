/**
 * What saves durably, and how a run makes it do so: one row for each subject of `lockstep-sim enumerate` beside `xa` and
 * `store-batch`. A row has plays; a play prepares a cluster, makes it save (every operation on the files that it names
 * is a step), and says after the heal what is wrong.
 */
import type { PlanNode } from '../plan/plan-node.ts';
import { nameOf, newestOf } from '../observe/store-dump.ts';
import { isSystemKey } from '../../engine/base/object-key.ts';
import { marksBytes, marksId } from '../workload/work-modules.ts';
import type { StepHarness } from './step-harness.ts';
import { second } from './step-harness.ts';
import type { TriedTransaction } from './transaction-plays.ts';
import { onePhase, runTransactions, twoPhase, verifyTransactions } from './transaction-plays.ts';

/** What a client knows of its writes: the last acknowledged value of each key, and those that may be there too. */
export interface Writes {
  readonly acknowledged: Map<string, string>;
  readonly possible: Map<string, Set<string>>;
  /** Numbers of the last change that was acknowledged, and of the last one that was asked for; -1: none. */
  readonly changes: { acknowledged: number; tried: number };
  /** The transactions, in their order. */
  readonly transactions: TriedTransaction[];
}

/** One play of a subject. */
export interface StepPlay {
  readonly name: string;
  readonly nodes: readonly PlanNode[];
  readonly settings: Readonly<Record<string, unknown>>;
  /** The files whose operations are steps. */
  readonly concerns: (path: string) => boolean;
  /** Events of the engine without which the play has missed its purpose. */
  readonly reaches: readonly string[];
  readonly prepare: (harness: StepHarness, writes: Writes) => Promise<void>;
  readonly act: (harness: StepHarness, writes: Writes) => Promise<void>;
  /** After the heal: what is wrong, beside what `verifyWrites` finds. */
  readonly verify: (harness: StepHarness, writes: Writes) => Promise<readonly string[]>;
}

/** One subject of the enumeration. */
export interface StepSubject {
  readonly name: string;
  /** What it saves, for people. */
  readonly saves: string;
  readonly plays: readonly StepPlay[];
}

const three: readonly PlanNode[] = [1, 2, 3].map((number) => ({
  name: `n${number}`,
  datacenter: 'dc1',
  rack: `r${number}`,
}));
const members = three.map(({ name }) => name);
const nothing = (): Promise<readonly string[]> => Promise.resolve([]);
const inStore = (path: string): boolean => path.startsWith('store/') || path === 'store';
const keys = Array.from({ length: 6 }, (_, index) => `k${index}`);
const settleUs = 30 * second;

/** Replicas that become equal within seconds, by anti-entropy. */
const repairing = {
  request_timeout_ms: 1000,
  gossip_interval_ms: 200,
  phi_mean_ms_min: 200,
  hint_drain_interval_ms: 500,
  aae_tick_interval_seconds: 1,
  aae_segments: 256,
  aae_snapshot_interval_seconds: 2,
};

/** Puts a value over what the client knows; records the outcome. */
async function put(
  harness: StepHarness,
  writes: Writes,
  node: string,
  key: string,
  value: string,
  query = '',
): Promise<void> {
  const { status } = await harness.ask(node, 'PUT', `/buckets/b/keys/${key}${query}`, value);
  const possible = writes.possible.get(key) ?? new Set<string>();
  writes.possible.set(key, possible.add(value));
  if (status < 200 || status > 299) return;
  writes.acknowledged.set(key, value);
}

const storeMerge: StepPlay = {
  name: 'merge',
  nodes: three.slice(0, 1),
  settings: { ...repairing, store_segment_bytes_max: 8192, aae_enabled: false },
  concerns: inStore,
  reaches: ['store.segments.merged', 'store.segment.rotated'],
  async prepare(harness, writes) {
    await harness.start(['n1']);
    for (const key of keys) await put(harness, writes, 'n1', key, `${key}/0/`.padEnd(900, 'x'));
  },
  async act(harness, writes) {
    for (let round = 1; round <= 3; round++) {
      for (const key of keys.slice(0, 4))
        await put(harness, writes, 'n1', key, `${key}/${round}/`.padEnd(900, 'x'));
    }
    await harness.pass(2 * second);
  },
  verify: nothing,
};

/** Two starts after a power loss: the log is scanned and its tail repaired, and the sealed segments get hint files. */
const restart: StepPlay = {
  ...storeMerge,
  name: 'restart',
  reaches: ['store.opened'],
  async act(harness, writes) {
    for (let round = 1; round <= 2; round++) {
      harness.cluster.crash('n1', 'torn', 'silent');
      harness.cluster.start('n1');
      await harness.pass(2 * second);
      for (const key of keys.slice(round))
        await put(harness, writes, 'n1', key, `${key}/${round}/`.padEnd(900, 'x'));
    }
    await harness.pass(second);
  },
};

const spare: PlanNode = { name: 'n4', datacenter: 'dc1', rack: 'r1', spare: true };
const moving = {
  ...repairing,
  gossip_interval_ms: 100,
  phi_mean_ms_min: 100,
  transfer_drop_delay_seconds: 1,
};
/** Ring changes save members and rings on every node; what they copy is a record of the store like any other. */
const inMembers = (path: string): boolean => !path.startsWith('aae');

/** The names of the owners that a node states, and of the nodes that change; undefined if it does not answer. */
async function ringAt(harness: StepHarness, node: string): Promise<string | undefined> {
  const { status, body } = await harness.ask(node, 'GET', '/cluster');
  if (status !== 200) return undefined;
  const { members: all } = JSON.parse(body) as {
    readonly members: readonly { readonly node: string; readonly owns: boolean; readonly move: string }[];
  };
  const owners = all.filter(({ owns }) => owns).map((member) => member.node);
  const changing = all.filter(({ move }) => move !== 'none').map((member) => member.node);
  return `${owners.toSorted().join(' ')}${changing.length > 0 ? `, changing ${changing.join(' ')}` : ''}`;
}

/** Every member names the members as owners, and nothing changes any more. */
async function verifyRing(harness: StepHarness): Promise<readonly string[]> {
  const endUs = harness.world.nowUs + 2 * settleUs;
  for (;;) {
    const expected = harness.cluster.members.toSorted().join(' ');
    const wrong: string[] = [];
    for (const node of harness.cluster.members) {
      const seen = await ringAt(harness, node);
      if (seen !== expected) wrong.push(`${node} calls ${seen ?? '(no answer)'} the owners, not ${expected}`);
    }
    if (wrong.length === 0 || harness.world.nowUs >= endUs) return wrong;
    await harness.pass(second);
  }
}

/** `ends`: the event with which the change is over, if nothing strikes it. */
const ringPlay = (name: string, nodes: readonly PlanNode[], changed: string, ends: string): StepPlay => ({
  name,
  nodes,
  settings: moving,
  concerns: inMembers,
  reaches: [ends],
  async prepare(harness, writes) {
    await harness.start(nodes.filter((node) => node.spare !== true).map((node) => node.name));
    for (const key of keys) await put(harness, writes, 'n1', key, `${key}/0`);
  },
  async act(harness) {
    harness.cluster.change(changed);
    await harness.pass(8 * second);
  },
  verify: verifyRing,
});

/** The properties of the bucket at each node, until all state the same. */
async function agreed(harness: StepHarness, path: string): Promise<readonly string[]> {
  const endUs = harness.world.nowUs + settleUs;
  for (;;) {
    const seen: string[] = [];
    for (const node of harness.cluster.members)
      seen.push((await harness.askUntil(node, path, [200, 404])).body);
    if (new Set(seen).size === 1 || harness.world.nowUs >= endUs) return seen;
    await harness.pass(second);
  }
}

const propertySteps: readonly Readonly<Record<string, unknown>>[] = [
  { allow_mult: false, last_write_wins: true, w: 1 },
  { allow_mult: true, last_write_wins: false, w: 2 },
  { allow_mult: true, last_write_wins: false, w: 3 },
];

const properties: StepPlay = {
  name: 'properties',
  nodes: three,
  settings: { ...repairing, aae_enabled: false },
  concerns: inStore,
  reaches: [],
  async prepare(harness) {
    await harness.start(members);
  },
  async act(harness, writes) {
    for (const [index, props] of propertySteps.entries()) {
      const body = JSON.stringify({ props });
      const answer = await harness.ask(
        members[index % 3] ?? 'n1',
        'PUT',
        '/buckets/p/props',
        body,
        'application/json',
      );
      writes.changes.tried = index;
      if (answer.status === 204) writes.changes.acknowledged = index;
    }
    await harness.pass(second);
  },
  async verify(harness, writes) {
    const { acknowledged, tried } = writes.changes;
    const seen = await agreed(harness, '/buckets/p/props');
    if (new Set(seen).size !== 1) return [`the members state different properties: ${seen.join(' | ')}`];
    const { props } = JSON.parse(seen[0] ?? '{"props":{}}') as { readonly props: Record<string, unknown> };
    const matches = (index: number): boolean =>
      Object.entries(propertySteps[index] ?? {}).every(([name, value]) => props[name] === value);
    const fits = propertySteps.findLastIndex((_, index) => index <= tried && matches(index));
    if (fits < acknowledged)
      return [
        `properties ${JSON.stringify(propertySteps[acknowledged])} were acknowledged, and ${seen[0] ?? ''} hold`,
      ];
    if (fits < 0) return [];
    // What is acknowledged stays, if all lose their power at once.
    for (const node of members) harness.cluster.crash(node, 'dropAll', 'silent');
    await harness.start(members);
    const after = await agreed(harness, '/buckets/p/props');
    if (after.some((one) => one !== seen[0]))
      return [`after a power loss of all: ${after.join(' | ')}, not ${seen[0] ?? ''}`];
    // The effect: two puts without a context are siblings where the bucket allows them.
    for (const [index, value] of ['one', 'two'].entries())
      await harness.ask(members[index] ?? 'n1', 'PUT', '/buckets/p/keys/k', value);
    const { status } = await harness.askUntil('n3', '/buckets/p/keys/k', [200, 300]);
    const wanted = props['allow_mult'] === true ? 300 : 200;
    return status === wanted
      ? []
      : [`with allow_mult ${String(props['allow_mult'])} a read answers ${status}, not ${wanted}`];
  },
};

const modules: StepPlay = {
  name: 'modules',
  nodes: three,
  settings: { ...repairing, aae_enabled: false, features_wasm: true },
  concerns: (path) => inStore(path) || path.startsWith('wasm'),
  reaches: [],
  async prepare(harness) {
    await harness.start(members);
  },
  async act(harness, writes) {
    for (const version of [2, 3]) {
      const answer = await harness.ask(
        members[version - 2] ?? 'n1',
        'PUT',
        `/wasm/modules/${marksId}`,
        marksBytes(version),
        'application/wasm',
      );
      writes.changes.tried = version;
      if (answer.status >= 200 && answer.status < 300) writes.changes.acknowledged = version;
    }
    await harness.pass(second);
  },
  async verify(harness, writes) {
    const before = writes.changes.acknowledged;
    const seen = await agreed(harness, '/wasm/modules');
    if (new Set(seen).size !== 1) return [`the members list different modules: ${seen.join(' | ')}`];
    const list = seen[0] ?? '';
    if (before < 0) return [];
    // After a power loss of all, what was acknowledged is still listed.
    for (const node of members) harness.cluster.crash(node, 'dropAll', 'silent');
    await harness.start(members);
    const after = await agreed(harness, '/wasm/modules');
    return after.every((one) => one === list)
      ? []
      : [`after a power loss of all: ${after.join(' | ')}, not ${list}`];
  },
};

/** The objects on each member's disk become the same. `wanted`: the keys that must be there. */
async function verifyCopies(harness: StepHarness): Promise<readonly string[]> {
  const differing = (): readonly string[] => {
    const byKey = new Map<string, Map<string, string>>();
    for (const node of harness.cluster.members) {
      const files = harness.cluster.host(node).disk.durableFiles();
      for (const [key, { bytes }] of newestOf(files, (one) => !isSystemKey(one))) {
        const copies = byKey.get(nameOf(key)) ?? new Map<string, string>();
        byKey.set(
          nameOf(key),
          copies.set(node, bytes === 'damaged' ? 'damaged' : Buffer.from(bytes).toString('base64')),
        );
      }
    }
    return [...byKey].flatMap(([key, copies]) => {
      const values = new Set(copies.values());
      return copies.size === harness.cluster.members.length && values.size === 1
        ? []
        : [`${key} lies on ${[...copies.keys()].join(' ')} in ${values.size} versions`];
    });
  };
  const endUs = harness.world.nowUs + settleUs;
  while (differing().length > 0 && harness.world.nowUs < endUs) await harness.pass(second);
  return differing();
}

const inHints = (path: string): boolean => path.startsWith('hints');

const drain: StepPlay = {
  name: 'drain',
  nodes: three,
  settings: { ...repairing, aae_enabled: false },
  concerns: (path) => inHints(path) || inStore(path),
  reaches: [],
  async prepare(harness, writes) {
    await harness.start(members);
    harness.cluster.crash('n3', 'keepAll', 'reset');
    await harness.pass(3 * second);
    for (const [index, key] of keys.entries())
      await put(harness, writes, members[index % 2] ?? 'n1', key, `${key}/0`);
    await harness.pass(second);
  },
  async act(harness) {
    harness.cluster.start('n3');
    await harness.pass(3 * second);
  },
  verify: verifyCopies,
};

const stored: StepPlay = {
  ...drain,
  name: 'store',
  // The coordinator may die before it has written a hint: anti-entropy repairs that.
  settings: repairing,
  concerns: inHints,
  reaches: [],
  async prepare(harness) {
    await harness.start(members);
    harness.cluster.crash('n3', 'keepAll', 'reset');
    await harness.pass(3 * second);
  },
  async act(harness, writes) {
    for (const [index, key] of keys.entries())
      await put(harness, writes, members[index % 2] ?? 'n1', key, `${key}/0`);
    await harness.pass(second);
    harness.cluster.start('n3');
    await harness.pass(3 * second);
  },
};

const snapshot: StepPlay = {
  name: 'snapshot',
  nodes: three,
  settings: { ...repairing, hinted_handoff: false },
  concerns: (path) => path.startsWith('aae'),
  reaches: ['aae.snapshot.saved'],
  async prepare(harness, writes) {
    await harness.start(members);
    for (const key of keys) await put(harness, writes, 'n1', key, `${key}/0`);
    await harness.until(() => (harness.events.get('aae.snapshot.saved') ?? 0) >= 3, 20 * second);
    await harness.pass(second);
  },
  async act(harness, writes) {
    // n3 alone has these. Its earlier snapshot states what the others hold: taken for the present one, it would hide
    // the difference from every exchange.
    const cut = harness.world.network.partition(['n3'], ['n1', 'n2']);
    for (const key of keys.slice(0, 3)) await put(harness, writes, 'n3', key, `${key}/1`, '?w=1');
    await harness.pass(3 * second);
    cut.lift();
    await harness.pass(4 * second);
  },
  async verify(harness) {
    const rejected = harness.events.get('aae.snapshot.rejected') ?? 0;
    const faults = rejected > 0 ? [`a snapshot was rejected ${rejected} times`] : [];
    return [...faults, ...(await verifyCopies(harness))];
  },
};

const transactionPlay = (name: string, rows: typeof onePhase): StepPlay => ({
  name,
  nodes: three,
  settings: { ...repairing, transaction_inquiry_ms: 250 },
  concerns: inStore,
  reaches: [],
  async prepare(harness) {
    await harness.start(members);
  },
  act: (harness, { transactions }) => runTransactions(harness, rows, transactions),
  verify: (harness, { transactions }) => verifyTransactions(harness, transactions),
});

/** The subjects, in the order of the help. */
export const stepSubjects: readonly StepSubject[] = [
  {
    name: 'store-merge',
    saves: 'segments, merges and the manifest of a store under overwrites and starts',
    plays: [storeMerge, restart],
  },
  {
    name: 'ring-change',
    saves: 'members and rings while a node joins, leaves, or replaces a dead one',
    plays: [
      ringPlay('join', [...three, spare], 'n4', 'transfer.done'),
      ringPlay(
        'leave',
        [...three, { name: 'n4', datacenter: 'dc1', rack: 'r1' }],
        'n4',
        'membership.departed',
      ),
      ringPlay('replace', [...three, { ...spare, replaces: 'n1' }], 'n4', 'transfer.done'),
    ],
  },
  {
    name: 'properties',
    saves: 'bucket properties and modules on the nodes to which they spread',
    plays: [properties, modules],
  },
  {
    name: 'hints',
    saves: 'hints for a node that is down, and their removal when they are delivered',
    plays: [stored, drain],
  },
  { name: 'snapshots', saves: 'the saved hash trees of anti-entropy', plays: [snapshot] },
  {
    name: 'transactions',
    saves: 'what the coordinator and the primaries of transactions write',
    plays: [transactionPlay('one-phase', onePhase), transactionPlay('two-phase', twoPhase)],
  },
];

/**
 * Every acknowledged write is read through every member, or a value that was tried later: nothing else, and nothing
 * less.
 */
export async function verifyWrites(harness: StepHarness, writes: Writes): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [key, value] of writes.acknowledged) {
    const possible = [...(writes.possible.get(key) ?? [])];
    const allowed = possible.slice(possible.indexOf(value));
    for (const node of harness.cluster.members) {
      const answer = await harness.askUntil(node, `/buckets/b/keys/${key}`, [200, 300, 404]);
      if (answer.status === 300 || (answer.status === 200 && allowed.includes(answer.body))) continue;
      wrong.push(
        `${key} through ${node}: ${answer.status} ${answer.body.slice(0, 20)}, not ${value.slice(0, 20)}`,
      );
    }
  }
  return wrong;
}

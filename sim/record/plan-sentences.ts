/** Says what a plan does, in sentences: its faults and what its clients ask. Pure. */
import { faultKinds } from '../faults/fault-table.ts';
import { bucketDeed, markedName } from '../evidence/bucket-changes.ts';
import type { Plan, PlanFault, PlanOperation } from '../plan/plan.ts';
import type { PlanTransaction } from '../plan/plan-transactions.ts';
import type { absenceNames, conditionNames } from '../plan/plan.ts';
import { keyOf } from '../plan/plan.ts';
import type { PlanSentence } from './recording.ts';

/** Virtual time in seconds: `1.204 s`. */
export function secondsOf(us: number): string {
  return `${(us / 1_000_000).toFixed(3)} s`;
}

/** A duration as people say it: `350 µs`, `4.2 ms`, `1.204 s`. */
export function durationOf(us: number): string {
  if (us < 1000) return `${us} µs`;
  return us < 1_000_000 ? `${Number((us / 1000).toFixed(1))} ms` : secondsOf(us);
}

/** The faults of the plan, what its operator does, then its operations client by client. Times count from the beginning of the storm. */
export function sentencesOf(plan: Plan): readonly PlanSentence[] {
  const faults = plan.faults.map((fault): PlanSentence => {
    const atUs = 'atUs' in fault.when ? fault.when.atUs : undefined;
    return { id: fault.id, atUs, kind: 'fault', text: faultSentence(fault, plan) };
  });
  const work = [
    ...plan.operations.map((one) => ({ one, who: `c${one.client}`, does: operationClause(plan, one) })),
    ...plan.transactions.map((one) => ({ one, who: `x${one.client}`, does: transactionClause(one) })),
    ...(plan.redisOperations ?? []).map((one) => ({
      one,
      who: `r${one.client}`,
      does: `sends Redis ${one.kind} on number ${one.key}`,
    })),
    ...(plan.jobs ?? []).map((one) => ({
      one,
      who: `j${one.client}`,
      does: `runs the job ${one.kind} over ${one.keys.length} keys`,
    })),
  ];
  const operations = work.map(({ one, who, does }): PlanSentence => {
    const text = `${durationOf(one.thinkUs)} after its last answer, client ${who} ${does}`;
    return { id: one.id, atUs: undefined, kind: 'operation', text };
  });
  const struck = faults.toSorted((left, right) => (left.atUs ?? 0) - (right.atUs ?? 0));
  return [...struck, ...operatorSentences(plan), ...operations];
}

/** What comes at its moment and is no fault: changes of buckets, backups, malformed input, scrapes. */
function operatorSentences({
  bucketChanges = [],
  backups = [],
  malformedInput,
  scrapes,
}: Plan): readonly PlanSentence[] {
  const all = [
    ...bucketChanges.map(({ id, atUs, node, kind, bucket, mark }) => {
      const deed = bucketDeed(kind, markedName({ kind, bucket }), mark);
      return { id, atUs, text: `an operator ${deed} at ${node}` };
    }),
    ...backups.map(({ id, atUs }) => ({ id, atUs, text: 'an operator takes a backup of the cluster' })),
    ...malformedInput.map(({ id, atUs, node, listener, form, bytes }) => {
      return { id, atUs, text: `${bytes} malformed bytes (${form}) reach the ${listener} port of ${node}` };
    }),
    ...scrapes.map(({ id, atUs, node }) => ({ id, atUs, text: `the metrics of ${node} are read` })),
  ];
  return all
    .toSorted((left, right) => left.atUs - right.atUs)
    .map(({ id, atUs, text }) => ({ id, atUs, kind: 'operation', text: `at ${secondsOf(atUs)} ${text}` }));
}

/** One fault as a sentence: `at 1.204 s n2 loses power for 300 ms (it keeps nothing unsynced)`. */
export function faultSentence(fault: PlanFault, plan?: Pick<Plan, 'nodes'>): string {
  const { when } = fault;
  const moment =
    'atUs' in when
      ? `at ${secondsOf(when.atUs)}`
      : `${durationOf(when.delayUs)} after event ${when.nth} "${when.event}" at ${when.host},`;
  const lasting = faultKinds[fault.kind].lasting ? ` for ${durationOf(fault.forUs)}` : '';
  return `${moment} ${deedOf(fault, plan)}${lasting}${parametersOf(fault)}`;
}

function deedOf({ kind, targets, params }: PlanFault, plan?: Pick<Plan, 'nodes'>): string {
  const [first = 'a node', second = 'another'] = targets;
  const all = listOf(targets);
  switch (kind) {
    case 'process-crash':
      return `${first} crashes and is away`;
    case 'process-pause':
      return `${first} stands still`;
    case 'graceful-restart':
      return `${first} is stopped in order`;
    case 'build-change':
      return `${first} is stopped in order, and starts as the ${String(params['build'])} build`;
    case 'upgrade':
      return params['rolled'] === 'yes'
        ? `an operator restarts all as today’s build and finalizes the upgrade through ${first}`
        : `an operator finalizes the upgrade through ${first}`;
    case 'power-loss':
      return `${first} loses power`;
    case 'torn-write':
      return `${first} loses power in the middle of its writes`;
    case 'permanent-node-loss':
      return `${first} dies for good`;
    case 'membership-change':
      return ringChangeOf(first, plan);
    case 'network-partition':
      return `${all} and the others are cut off from each other`;
    case 'one-way-partition':
      return params['direction'] === 'deaf'
        ? `${all} ${hears(targets)} nothing of the others, which hear ${targets.length === 1 ? 'it' : 'them'},`
        : `the others hear nothing of ${all}, which ${hears(targets)} them,`;
    case 'network-clog':
      return `messages of ${all} wait`;
    case 'network-delay':
      return `the link between ${first} and ${second} is slow`;
    case 'connection-reset':
      return `the connections between ${first} and ${second} are reset`;
    case 'slow-disk':
      return `the disk of ${first} is slow`;
    case 'clock-jump': {
      const byMs = Number(params['byMs']);
      const by = `${(Math.abs(byMs) / 3_600_000).toFixed(1)} hours`;
      return `the wall clock of ${first} jumps ${by} ${byMs < 0 ? 'back' : 'forward'}`;
    }
    case 'clock-strobe':
      return `the wall clock of ${first} jumps ${String(params['byMs'])} ms forward and back every ${String(params['periodMs'])} ms`;
    case 'clock-freeze':
      return `the wall clock of ${first} stands still`;
    default:
      return targets.length === 0
        ? `${faultKinds[kind].description} (${kind})`
        : `${faultKinds[kind].description} (${kind} at ${all})`;
  }
}

function hears({ length }: readonly string[]): string {
  return length === 1 ? 'hears' : 'hear';
}

/** What the ring change of a node is: its place in the plan determines it. */
function ringChangeOf(name: string, plan: Pick<Plan, 'nodes'> | undefined): string {
  const node = plan?.nodes.find((one) => one.name === name);
  if (node === undefined) return `${name} joins, leaves or replaces a dead node`;
  if (node.replaces !== undefined) return `${name} replaces ${node.replaces}`;
  return node.spare === true ? `${name} joins` : `${name} leaves`;
}

/** Kinds whose sentence says their parameters. */
const toldInFull: readonly PlanFault['kind'][] = [
  'one-way-partition',
  'clock-jump',
  'clock-strobe',
  'upgrade',
];

function parametersOf({ kind, params }: PlanFault): string {
  if (toldInFull.includes(kind)) return '';
  const parts = Object.entries(params).map(([name, value]) => `${name} ${value}`);
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
}

function operationClause(plan: Plan, operation: PlanOperation): string {
  const { kind, key, valueBytes, context, condition, over, absence, ifChanged } = operation;
  const { bucket, key: name } = keyOf(plan, key);
  const what = `${bucket}/${name}`;
  const seen = context === 'last' ? ', with the context of its last read' : '';
  const ways = `${over === undefined ? '' : ' over HTTP'}${condition === undefined ? '' : conditions[condition]}${absence === undefined ? '' : absences[absence]}${ifChanged === undefined ? '' : ', if it has changed'}`;
  const copies = copiesClause(operation);
  if (kind === 'get') return `reads ${what}${ways}; it ${copies}`;
  const deed = kind === 'put' ? `writes ${valueBytes} bytes to ${what}` : `deletes ${what}`;
  return `${deed}${seen}${ways}; it ${copies}`;
}

const absences: Readonly<Record<(typeof absenceNames)[number], string>> = {
  confirmed: ', with an absence confirmed',
  'confirmed-by-majority': ', with an absence confirmed by a majority',
};

const conditions: Readonly<Record<(typeof conditionNames)[number], string>> = {
  absent: ', on condition that the key holds nothing',
  unchanged: ', on condition that the key holds what it last read',
  differs: ', on condition that the key no longer holds a value that it last read',
};

function copiesClause({ need, quorum }: PlanOperation): string {
  if (quorum?.as === 'number') return `waits for ${quorum.count} copies`;
  const copies = `waits for ${need === 'level' ? 'the configured number of copies' : need}`;
  if (quorum === undefined) return copies;
  return `${copies}, and for ${quorum.count} ${quorum.as === 'primaries' ? 'primaries' : 'durable copies'} of them`;
}

const transactionDeeds: Readonly<Record<PlanTransaction['kind'], string>> = {
  transfer: 'moves an amount between accounts',
  append: 'appends to lists',
  twin: 'appends to both lists of pair',
  stamp: 'writes one value to the keys of triple',
  erase: 'deletes the keys of triple',
  restamp: 'reads, then writes the keys of triple',
  put: 'writes single key',
  move: 'moves a value between single keys',
  bunch: 'writes one value to keys with one primary, bunch',
  look: 'reads lists',
};

function transactionClause({ kind, places, forced, named }: PlanTransaction): string {
  const marks = [forced ? 'it must abort' : '', named ? 'under an idempotency key' : ''].filter(Boolean);
  const more = marks.length === 0 ? '' : ` (${marks.join(', ')})`;
  return `${transactionDeeds[kind]} ${listOf(places.map(String))}${more}`;
}

function listOf(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

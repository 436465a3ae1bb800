/**
 * Variants of a plan: the plan with one thing changed. A variant stays within the contract of faults: a fault is taken
 * over from another plan only if its kind may strike here, and invariants that it excuses are judged no more.
 */
import { keyOf } from '../../engine/config/config-key.ts';
import { configFields, configKeys } from '../../engine/config/keys.ts';
import type { Random } from '../../engine/io/random.ts';
import { pick } from '../../engine/io/random.ts';
import { faultKinds } from '../faults/fault-table.ts';
import type { Plan, PlanFault } from '../plan/plan.ts';
import type { Demand } from '../plan/swarm/fault-contract.ts';
import { faultContract } from '../plan/swarm/fault-contract.ts';
import { delays, priorities } from './order.ts';

/** A changed plan, and what was changed, for people. */
export interface Variant {
  readonly plan: Plan;
  readonly text: string;
}

/** Makes one change; undefined: this plan has nothing to change so. */
type Change = (plan: Plan, random: Random, donor: Plan) => Variant | undefined;

/** Settings on which the judged invariants depend, and the buckets' own. */
const fixedSettings: readonly string[] = ['features_wasm', 'aae_enabled', 'credentials'];
const eventDelayUsMax = 20_000;
const nthMax = 20;
const seedBound = 2 ** 31;

/** Each as often as it shall be drawn. */
const changes: readonly Change[] = [
  ...[fewerFaults, movedFault, movedFault, addedFault, addedFault, addedFault],
  ...[changedSetting, changedWork, changedWork, changedBucket, changedBackup, otherSeed, otherSeed],
  ...[(plan: Plan, random: Random) => ordered(plan, random), ordered],
];

/** A variant of `plan`; `donor` gives faults. If nothing else fits, the variant has another seed. */
export function variantOf(plan: Plan, donor: Plan, random: Random): Variant {
  const change = pick(random, changes);
  return change(plan, random, donor) ?? otherSeed(plan, random);
}

function fewerFaults(plan: Plan, random: Random): Variant | undefined {
  if (plan.faults.length === 0) return undefined;
  const at = random.below(plan.faults.length);
  const { kind = '' } = plan.faults[at] ?? {};
  return { plan: { ...plan, faults: plan.faults.toSpliced(at, 1) }, text: `without one ${kind}` };
}

/** At another instant, or at another occurrence of its event, or with another delay. */
function movedFault(plan: Plan, random: Random): Variant | undefined {
  const at = random.below(Math.max(1, plan.faults.length));
  const fault = plan.faults[at];
  if (fault === undefined) return undefined;
  const when =
    'atUs' in fault.when
      ? { atUs: random.below(plan.stormUs) }
      : { ...fault.when, nth: 1 + random.below(nthMax), delayUs: random.below(eventDelayUsMax) };
  return { plan: { ...plan, faults: plan.faults.with(at, { ...fault, when }) }, text: `${fault.kind} moved` };
}

function addedFault(plan: Plan, random: Random, donor: Plan): Variant | undefined {
  const fitting = donor.faults.filter((fault) => fits(fault, plan));
  if (fitting.length === 0) return undefined;
  const fault = pick(random, fitting);
  const numbers = plan.faults.map(({ id }) => Number(id.slice(1))).filter(Number.isInteger);
  const added = { ...fault, id: `f${Math.max(-1, ...numbers) + 1}` };
  const terms = faultContract[fault.kind];
  const excused = new Set(Object.keys((terms.drawn ? terms.excuses : undefined) ?? {}));
  const floors = Object.fromEntries(Object.entries(plan.floors).filter(([name]) => !excused.has(name)));
  return { plan: { ...plan, faults: [...plan.faults, added], floors }, text: `one more ${fault.kind}` };
}

/** Whether the contract lets the fault strike in the plan. */
function fits({ kind, targets, when }: PlanFault, plan: Plan): boolean {
  const terms = faultContract[kind];
  if (!terms.drawn) return false;
  const hosts = new Set(hostsOf(plan));
  const isThere = targets.every((name) => hosts.has(name)) && ('atUs' in when || hosts.has(when.host));
  if (!isThere || !(terms.demands ?? []).every((demand) => isMet(demand, plan))) return false;
  const spares = new Set(plan.nodes.filter(({ spare }) => spare === true).map(({ name }) => name));
  if (
    kind === 'membership-change'
      ? !targets.every((name) => spares.has(name))
      : targets.some((name) => spares.has(name))
  )
    return false;
  // A whole rack of another cluster is none here, and all nodes but one are no minority.
  if (faultKinds[kind].aim === 'side' && !isPartOf(targets, plan)) return false;
  return plan.faults.filter((fault) => fault.kind === kind).length < terms.count[1];
}

function isPartOf(targets: readonly string[], plan: Plan): boolean {
  const racks = new Set(
    plan.nodes
      .filter(({ name }) => targets.includes(name))
      .map(({ datacenter, rack }) => `${datacenter}/${rack}`),
  );
  const members = plan.nodes.filter(({ spare }) => spare !== true).length;
  return racks.size <= 1 && targets.length < members;
}

function isMet(demand: Demand, { nodes, settings, transactionClients, redisOperations = [] }: Plan): boolean {
  switch (demand) {
    case 'peers':
      return nodes.filter(({ spare }) => spare !== true).length > 1;
    case 'racks':
      return new Set(nodes.map(({ datacenter, rack }) => `${datacenter}/${rack}`)).size > 1;
    case 'transactions':
      return transactionClients > 0;
    case 'branches':
      return transactionClients > 0 || redisOperations.length > 0;
    case 'modules':
      return settings['features_wasm'] === true;
    case 'credentials':
      return settings['credentials'] !== undefined;
    case 'spares':
      return nodes.some(({ spare }) => spare === true);
    case 'anti-entropy':
      return settings['aae_enabled'] !== false;
    case 'spare-copies':
      return false;
  }
}

function changedSetting(plan: Plan, random: Random): Variant | undefined {
  const tried = configFields.flatMap((field) => {
    const { trial } = configKeys[field];
    const name = keyOf(field);
    return 'untried' in trial || fixedSettings.includes(name) ? [] : [{ name, trial }];
  });
  const { name, trial } = pick(random, tried);
  const others = trial.filter((value) => value !== plan.settings[name]);
  if (others.length === 0) return undefined;
  const value = pick(random, others);
  return {
    plan: { ...plan, settings: { ...plan.settings, [name]: value } },
    text: `${name} ${String(value)}`,
  };
}

/** One operation, transaction, Redis operation or job is left out, or comes at once, or later. */
function changedWork(plan: Plan, random: Random): Variant | undefined {
  const lists = (['operations', 'transactions', 'redisOperations', 'jobs'] as const).filter(
    (list) => (plan[list]?.length ?? 0) > 1,
  );
  if (lists.length === 0) return undefined;
  const list = pick(random, lists);
  const work: readonly { readonly id: string; readonly thinkUs: number }[] = plan[list] ?? [];
  const at = random.below(work.length);
  const one = work[at];
  if (one === undefined) return undefined;
  const how = pick(random, ['left out', 'at once', 'later'] as const);
  const thinkUs = how === 'at once' ? 0 : 20_000 + one.thinkUs * 3;
  const changed = how === 'left out' ? work.toSpliced(at, 1) : work.with(at, { ...one, thinkUs });
  return { plan: { ...plan, [list]: changed }, text: `${one.id} ${how}` };
}

/** A change of a bucket's properties is left out, or comes at another instant, or through another node. */
function changedBucket(plan: Plan, random: Random): Variant | undefined {
  const { bucketChanges = [] } = plan;
  const at = random.below(Math.max(1, bucketChanges.length));
  const one = bucketChanges[at];
  if (one === undefined) return undefined;
  const how = pick(random, ['left out', 'moved', 'through another node'] as const);
  const members = plan.nodes.filter(({ spare }) => spare !== true);
  const other =
    how === 'moved'
      ? { ...one, atUs: random.below(plan.stormUs) }
      : { ...one, node: pick(random, members).name };
  const changed = how === 'left out' ? bucketChanges.toSpliced(at, 1) : bucketChanges.with(at, other);
  return { plan: { ...plan, bucketChanges: changed }, text: `${one.id} ${how}` };
}

/** A backup is left out, or taken at another instant. */
function changedBackup(plan: Plan, random: Random): Variant | undefined {
  const { backups = [] } = plan;
  const at = random.below(Math.max(1, backups.length));
  const one = backups[at];
  if (one === undefined) return undefined;
  const how = pick(random, ['left out', 'moved'] as const);
  const changed =
    how === 'left out'
      ? backups.toSpliced(at, 1)
      : backups.with(at, { ...one, atUs: random.below(plan.stormUs) });
  return { plan: { ...plan, backups: changed }, text: `${one.id} ${how}` };
}

/** All that the world draws is drawn again. */
function otherSeed(plan: Plan, random: Random): Variant {
  const seed = random.below(seedBound);
  return { plan: { ...plan, seed }, text: `seed ${seed}` };
}

function ordered(plan: Plan, random: Random): Variant {
  const hosts = hostsOf(plan);
  const { paces, text } = random.chance(2, 3) ? priorities(hosts, random) : delays(hosts, random);
  return { plan: { ...plan, paces }, text };
}

/** Nodes and clients that have work. */
function hostsOf(plan: Plan): readonly string[] {
  const clients = (sort: string, count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `${sort}${index}`);
  const used = (work: readonly { readonly client: number }[] = []): number =>
    work.reduce((most, { client }) => Math.max(most, client + 1), 0);
  return [
    ...plan.nodes.map(({ name }) => name),
    ...clients('c', plan.clients),
    ...clients('x', plan.transactionClients),
    ...clients('r', used(plan.redisOperations)),
    ...clients('j', used(plan.jobs)),
  ];
}

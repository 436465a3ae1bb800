/**
 * Guesses which part of a failing plan its violation is about: the faults of the hosts that it names, the work on the
 * keys and by the clients that it names. Plans of such a part alone are a tenth as large and run first, before a large
 * plan is shrunk step by step. Pure: whether a guess is right, its run shows.
 */
import type { BusyTimes } from './busy.ts';
import type { Plan } from './plan.ts';
import { keyOf, withoutRecord } from './plan.ts';
import type { PlanTransaction } from './plan-transactions.ts';
import type { RunTimes } from './shrink.ts';
import { endedAt, hostsOf, keepingWork, stormUsMin, withoutFloors } from './shrink.ts';

/** What a violation names. */
export interface Suspicion {
  /** Keys, without their buckets, and transactions. */
  readonly subjects: readonly string[];
  /** Nodes and clients. */
  readonly hosts: readonly string[];
  /** Ids of work that it is about, where more is known than its text. */
  readonly ids?: readonly string[];
}

/** What the text of a violation names: `bucket/key` names, and the plan's hosts. */
export function suspicionIn(text: string, plan: Plan): Suspicion {
  const keys = [...text.matchAll(/[a-z]+\/([a-z]\d+(?:\.\d+)?)\b/g)].map(([, key]) => key ?? '');
  // The name of a transaction begins with that of its coordinator.
  const coordinators = [...text.matchAll(/\b(\w+)-[0-9a-f]{12}-\d+\b/g)].map(([, name]) => name ?? '');
  const words = new Set([...text.split(/[^\w.-]+/), ...coordinators]);
  return {
    subjects: [...new Set(keys)],
    hosts: hostsOf(plan).filter((name) => words.has(name)),
  };
}

/** The letter with which names of the keys begin that transactions of a kind work on. */
const keyLetters: Readonly<Record<PlanTransaction['kind'], string>> = {
  ...{ transfer: 'a', append: 'l', look: 'l', twin: 'w', stamp: 's', erase: 's', restamp: 's' },
  ...{ put: 'o', move: 'o', bunch: 'u' },
};

/** Parts of the plan, the smallest first; each at most once, and none as large as the plan. */
export function suspectedParts(
  failing: Plan,
  named: Suspicion,
  { violationUs = 0, busy = {} }: RunTimes,
): readonly Plan[] {
  const whole = withoutFloors(withoutRecord(failing));
  const ends = violationUs >= stormUsMin && violationUs < whole.stormUs;
  const plan = ends ? endedAt(whole, violationUs) : whole;
  const near = plan.faults.filter(({ targets }) => isNear(targets, named.hosts));
  const ids = concernedIn(plan, named);
  const none = workOf(plan, () => false, busy);
  const concerned = workOf(plan, ({ id }) => ids.has(id), busy);
  const all = workOf(plan, () => true, busy);
  const parts = [
    { faults: [], ...none },
    { faults: [], ...concerned },
    { faults: near, ...concerned },
    { faults: plan.faults, ...concerned },
    { faults: near, ...all },
  ].map((part) => ({ ...plan, malformedInput: [], scrapes: [], ...part }));
  const sizes = parts.map((part) => JSON.stringify(part));
  return parts.filter((_, at) => sizes.indexOf(sizes[at] ?? '') === at);
}

/** Whether a fault strikes a host that the violation names; where it names none, it may be any. */
function isNear(targets: readonly string[], hosts: Suspicion['hosts']): boolean {
  return hosts.length === 0 || targets.some((name) => hosts.includes(name));
}

type Work = Pick<
  Plan,
  'operations' | 'transactions' | 'redisOperations' | 'jobs' | 'bucketChanges' | 'backups'
>;

/** The plan's work of which an item is kept if its test says so. */
function workOf(plan: Plan, isKept: (item: { readonly id: string }) => boolean, busy: BusyTimes): Work {
  const { operations, transactions, redisOperations, jobs, bucketChanges, backups } = plan;
  return {
    operations: keepingWork(operations, isKept, busy),
    transactions: keepingWork(transactions, isKept, busy),
    ...(redisOperations === undefined ? {} : { redisOperations: keepingWork(redisOperations, isKept, busy) }),
    ...(jobs === undefined ? {} : { jobs: keepingWork(jobs, isKept, busy) }),
    ...(bucketChanges === undefined ? {} : { bucketChanges: bucketChanges.filter(isKept) }),
    ...(backups === undefined ? {} : { backups: backups.filter(isKept) }),
  };
}

/** Ids of the work on the keys that the violation names, of clients that it names, and all of operators. */
function concernedIn(plan: Plan, { subjects, hosts, ids = [] }: Suspicion): ReadonlySet<string> {
  const keys = new Set(subjects);
  const primaries = new Set(subjects.map((key) => key.split('.', 1)[0]));
  const { operations, transactions, redisOperations = [], jobs = [] } = plan;
  const { bucketChanges = [], backups = [] } = plan;
  const known = new Set(ids);
  // Which keys of Redis and of jobs a violation means, its text does not tell; nor which of a named transaction.
  const ofNamed = <T extends { readonly client: number }>(sort: string, work: readonly T[]): readonly T[] => {
    const named = work.filter(({ client }) => hosts.includes(`${sort}${client}`));
    return named.length > 0 || keys.size > 0 || known.size > 0 ? named : work;
  };
  const ofKeys = transactions.filter(({ kind, places }) =>
    places.some((place) => primaries.has(`${keyLetters[kind]}${place}`)),
  );
  const concerned = [
    ...operations.filter(({ key }) => keys.has(keyOf(plan, key).key)),
    ...(ofKeys.length > 0 ? ofKeys : ofNamed('x', transactions)),
    ...ofNamed('r', redisOperations),
    ...ofNamed('j', jobs),
    ...bucketChanges,
    ...backups,
  ];
  return new Set([...concerned.map(({ id }) => id), ...known]);
}

/**
 * Guesses which part of a failing plan its violation is about: the faults of the hosts that it names, the work on the
 * keys and by the clients that it names. Plans of such a part alone are a tenth as large and run first, before a large
 * plan is shrunk step by step. Pure: whether a guess is right, its run shows.
 */
import type { Plan } from '../plan/plan.ts';
import { keyOf, withoutRecord } from '../plan/plan.ts';
import type { PlanTransaction } from '../plan/plan-transactions.ts';
import { endedAt, keepingWork, stormUsMin, withoutFloors } from '../plan/shrink.ts';
import type { Recording } from './recording.ts';

/** The letter with which names of the keys begin that transactions of a kind work on. */
const keyLetters: Readonly<Record<PlanTransaction['kind'], string>> = {
  ...{ transfer: 'a', append: 'l', look: 'l', twin: 'w', stamp: 's', erase: 's', restamp: 's' },
  ...{ put: 'o', move: 'o', bunch: 'u' },
};

/** Parts of the plan, the smallest first; each at most once, and none as large as the plan. */
export function suspectedParts(failing: Recording): readonly Plan[] {
  const { concern } = failing;
  if (concern === undefined) return [];
  const whole = withoutFloors(withoutRecord(failing.plan));
  const stormUs = failing.phases.find(({ name }) => name === 'storm')?.atUs ?? 0;
  const endUs = concern.atUs - stormUs;
  const plan = endUs >= stormUsMin && endUs < whole.stormUs ? endedAt(whole, endUs) : whole;
  const near = plan.faults.filter(({ targets }) => targets.some((name) => isNamed(failing, name)));
  const ids = concernedIn(failing, plan);
  const none = workOf(plan, () => false);
  const concerned = workOf(plan, ({ id }) => ids.has(id));
  const all = workOf(plan, () => true);
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

/** Whether the violation names the host; where it names none, it may be any. */
function isNamed({ concern, lanes }: Recording, name: string): boolean {
  const named = concern?.lanes ?? [];
  return named.length === 0 || named.some((lane) => lanes[lane]?.name === name);
}

type Work = Pick<
  Plan,
  'operations' | 'transactions' | 'redisOperations' | 'jobs' | 'bucketChanges' | 'backups'
>;

/** The plan's work of which an item is kept if its test says so. */
function workOf(plan: Plan, isKept: (item: { readonly id: string }) => boolean): Work {
  const { operations, transactions, redisOperations, jobs, bucketChanges, backups } = plan;
  return {
    operations: keepingWork(operations, isKept),
    transactions: keepingWork(transactions, isKept),
    ...(redisOperations === undefined ? {} : { redisOperations: keepingWork(redisOperations, isKept) }),
    ...(jobs === undefined ? {} : { jobs: keepingWork(jobs, isKept) }),
    ...(bucketChanges === undefined ? {} : { bucketChanges: bucketChanges.filter(isKept) }),
    ...(backups === undefined ? {} : { backups: backups.filter(isKept) }),
  };
}

/** Ids of the work on the keys that the violation names, of Redis clients and jobs that it names, and all of operators. */
function concernedIn({ concern, lanes, subjects }: Recording, plan: Plan): ReadonlySet<string> {
  const keys = new Set((concern?.subjects ?? []).map((subject) => subjects[subject] ?? ''));
  const primaries = new Set([...keys].map((key) => key.split('.', 1)[0]));
  const clients = new Set((concern?.lanes ?? []).map((lane) => lanes[lane]?.name ?? ''));
  const { operations, transactions, redisOperations = [], jobs = [] } = plan;
  const { bucketChanges = [], backups = [] } = plan;
  // Which keys of Redis and of jobs a violation means, its text does not tell.
  const ofNamed = <T extends { readonly client: number }>(sort: string, work: readonly T[]): readonly T[] => {
    const named = work.filter(({ client }) => clients.has(`${sort}${client}`));
    return named.length > 0 || keys.size > 0 ? named : work;
  };
  const concerned = [
    ...operations.filter(({ key }) => keys.has(keyOf(plan, key).key)),
    ...transactions.filter(({ kind, places }) =>
      places.some((place) => primaries.has(`${keyLetters[kind]}${place}`)),
    ),
    ...ofNamed('r', redisOperations),
    ...ofNamed('j', jobs),
    ...bucketChanges,
    ...backups,
  ];
  return new Set(concerned.map(({ id }) => id));
}

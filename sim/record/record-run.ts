/** Runs a plan once, judges it, and records it. */
import { backupOperator, describeBackup } from '../evidence/backups.ts';
import {
  bucketOperator,
  bucketReader,
  describeBucketChange,
  describeProperties,
} from '../evidence/bucket-changes.ts';
import { describeOperation } from '../evidence/history.ts';
import { describeJob, describeListing } from '../evidence/jobs.ts';
import { describeRedis } from '../evidence/redis.ts';
import { keysOfRedis } from '../evidence/redis-keys.ts';
import { describeTransaction } from '../evidence/transactions.ts';
import type { Outcome } from '../evidence/history.ts';
import { invariantTable } from '../check/invariants.ts';
import { findNamed } from '../check/named.ts';
import { claimsOf } from '../check/metrics/reconcile/reconciliation.ts';
import { holds } from '../check/metrics/reconcile/claims.ts';
import type { Invariant } from '../check/user-invariants.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunResult } from '../runner/result.ts';
import { brokenInvariant } from '../runner/broken.ts';
import type { RunOutcome, RunSettings } from '../runner/run-outcome.ts';
import { runPlan } from '../runner/run.ts';
import { judgeOutcome } from '../runner/judge-outcome.ts';
import { handleOf } from './places.ts';
import { sentencesOf } from './plan-sentences.ts';
import type { Concern, CounterRow, RecordedOperation, Recording } from './recording.ts';
import { recordingFormat } from './recording.ts';
import { Recorder } from './recorder.ts';
import { writersOf } from './value-writers.ts';

/** Most rows of equal counters that a recording holds for one account. */
const equalRowsMax = 40;

/**
 * Records the run of a plan. `stopwatch`: milliseconds of real time. The verdict is that of one run: `determinism`, which needs two, is not judged. Throws what
 * the run throws.
 */
export async function recordRun(
  plan: Plan,
  stopwatch: () => number,
  invariants: readonly Invariant[] = [],
): Promise<Recording> {
  const startMs = stopwatch();
  const recorder = new Recorder(plan);
  const attach: RunSettings['attach'] = (world, cluster) => recorder.attach(world, cluster);
  const outcome = await runPlan(plan, { attach, uncovered: true });
  recorder.finish();
  const result = judgeOutcome(plan, outcome, stopwatch() - startMs, invariants);
  const operations = operationsOf(outcome, recorder);
  const { lanes, subjects, messages, marks, bands, states, phases, leftOut } = recorder;
  return {
    format: recordingFormat,
    plan,
    result,
    phases,
    concern: concernOf(result, operations, recorder),
    counters: countersOf(outcome, recorder, areCountersRight(result)),
    lanes,
    subjects: subjects.names,
    messageKinds: messages.kinds,
    messages: messages.messages,
    marks,
    bands,
    operations,
    states,
    sentences: sentencesOf(plan),
    leftOut,
  };
}

interface Described {
  readonly client: string;
  readonly node: string;
  readonly invokedUs: number;
  readonly completedUs: number | undefined;
  readonly outcome: Outcome;
}

function operationsOf(outcome: RunOutcome, recorder: Recorder): readonly RecordedOperation[] {
  const add: Add = (id, one, text, names) => ({
    id,
    lane: recorder.laneOf(one.client),
    node: one.node === '' ? -1 : recorder.laneOf(one.node),
    invokedUs: one.invokedUs,
    completedUs: one.completedUs ?? -1,
    outcome: one.outcome,
    text,
    about: [...new Set(names.map((name) => recorder.subjects.of(name)))],
  });
  const all = [
    ...outcome.history.map((one) => add(`#${one.id}`, one, describeOperation(one), [one.key])),
    ...outcome.transactions.map((one) => {
      const keys = [...one.reads, ...one.writes].map(({ key }) => key);
      // An attempt is described by its id and its outcome.
      const xids = one.xids.flatMap((attempt) => attempt.split(' ', 1));
      return add(`#t${one.id}`, one, describeTransaction(one), [...keys, ...xids]);
    }),
    ...outcome.redis.map((one) => add(`#${one.id}`, one, describeRedis(one), keysOfRedis(one))),
    ...outcome.jobs.map((one) => add(`#${one.id}`, one, describeJob(one), one.keys)),
    ...bucketOperationsOf(outcome, add),
    ...outcome.listings.map((one) => add('', one, describeListing(one), one.names)),
    ...outcome.backups.map((one) =>
      add(one.id, { ...one, client: backupOperator, node: '' }, describeBackup(one), []),
    ),
  ];
  return all.toSorted((left, right) => left.invokedUs - right.invokedUs);
}

type Add = (id: string, one: Described, text: string, names: readonly string[]) => RecordedOperation;

/** Changes of buckets, and what was looked up and tried after the calm. */
function bucketOperationsOf({ bucketChanges }: RunOutcome, add: Add): readonly RecordedOperation[] {
  const { changes, statements, effects } = bucketChanges;
  const at = (client: string, node: string, atUs: number, outcome: Outcome): Described => ({
    ...{ client, node, invokedUs: atUs, completedUs: atUs, outcome },
  });
  return [
    ...changes.map((one) =>
      add(one.id, { ...one, client: bucketOperator }, describeBucketChange(one), [one.bucket]),
    ),
    ...statements.map(({ node, bucket, atUs, seen }) => {
      const found = seen === undefined ? 'fail' : `ok ${describeProperties(seen)}`;
      const one = at(bucketReader, node, atUs, seen === undefined ? 'fail' : 'ok');
      return add('', one, `${bucketReader} reads the properties of ${bucket} at ${node}: ${found}`, [bucket]);
    }),
    ...effects.map(({ node, bucket, atUs, values, allowMult }) => {
      const found = values === undefined ? 'fail' : `ok ${values} values (siblings allowed: ${allowMult})`;
      const one = at(bucketReader, node, atUs, values === undefined ? 'fail' : 'ok');
      const text = `${bucketReader} reads ${bucket}/k at ${node} after two puts without a context: ${found}`;
      return add('', one, text, [bucket]);
    }),
  ];
}

function concernOf(
  result: RunResult,
  operations: readonly RecordedOperation[],
  recorder: Recorder,
): Concern | undefined {
  const broken = brokenInvariant(result);
  if (broken === undefined) return undefined;
  const row = findNamed(invariantTable, broken.invariant);
  const text = broken.firstBad?.text ?? broken.reasons[0] ?? '';
  const named = recorder.subjects.inText(text);
  // A command of a pipeline, `#q36.3 r2`, is its pipeline's.
  const whole = `${text.replace(/(#q\d+)\.\d+ /g, '$1 ')} `;
  // Texts of checks describe an operation by its number and client: `#12 c1`; of buckets, all changes matter.
  const isNamed = (one: RecordedOperation): boolean =>
    broken.invariant === 'listings'
      ? text.startsWith(`${one.text}: `) && one.completedUs === broken.firstBad?.atUs
      : isInText(one);
  const isInText = (one: RecordedOperation): boolean =>
    broken.invariant === 'bucket-properties'
      ? one.text.startsWith(`${one.id} ${bucketOperator} `) && one.about.some((at) => named.includes(at))
      : whole.includes(`${handleOf(recorder, one)} `);
  const called = operations.flatMap((one, at) => (isNamed(one) ? [at] : []));
  const writers = called.length > 0 ? called : writersOf(text, operations, recorder);
  const concerned = writers.length > 0 ? writers : attemptsOf(named, operations, recorder);
  const about = concerned.flatMap((at) => operations[at]?.about ?? []);
  const lanes = recorder.lanes.flatMap(({ name }, at) => (wordIn(name, text) ? [at] : []));
  return {
    atUs: broken.firstBad?.atUs ?? result.virtualUs,
    text,
    invariant: broken.invariant,
    promise: row?.promise ?? '',
    breach: row?.breach ?? '',
    subjects: [...new Set([...about, ...named])],
    lanes,
    operations: concerned,
  };
}

/** The clients' transactions of which an attempt is among the named subjects. */
function attemptsOf(
  named: readonly number[],
  operations: readonly RecordedOperation[],
  { subjects }: Recorder,
): readonly number[] {
  const xids = named.filter((subject) => xidForm.test(subjects.names[subject] ?? ''));
  return operations.flatMap(({ about }, at) => (xids.some((xid) => about.includes(xid)) ? [at] : []));
}

/** The name of a transaction. */
const xidForm = /^\w+-[0-9a-f]{12}-\d+$/;

function wordIn(word: string, text: string): boolean {
  return text.split(/[^\w.-]+/).includes(word);
}

/** Whether the counters were judged, and every one of them was right. */
function areCountersRight({ reports }: RunResult): boolean {
  return reports.some(({ invariant, ok }) => invariant === 'metrics-reconcile' && ok);
}

/**
 * The newest account of each incarnation, differences first; equal rows only as many as people read. `isRight`: no row
 * of any account differs, so the older accounts are not read again.
 */
function countersOf({ accounts }: RunOutcome, recorder: Recorder, isRight: boolean): readonly CounterRow[] {
  const newest = new Map(accounts.map((account) => [`${account.node}/${account.life}`, account]));
  /** When each incarnation's row of that name was last equal. */
  const equalUs = new Map<string, number>();
  const rowsOf = (account: RunOutcome['accounts'][number]): readonly CounterRow[] =>
    claimsOf(account).claims.map((claim) => {
      const isEqual = holds(claim);
      const name = `${account.node}/${account.life}/${claim.what}`;
      if (isEqual) equalUs.set(name, account.atUs);
      return {
        lane: recorder.laneOf(account.node),
        incarnation: account.life,
        atUs: account.atUs,
        ...(isEqual ? {} : { heldUs: equalUs.get(name) ?? 0 }),
        moment: account.moment,
        name: claim.what,
        counted: String(claim.value),
        expected: claim.least === claim.most ? String(claim.least) : `${claim.least} to ${claim.most}`,
        holds: isEqual,
      };
    });
  const read = isRight ? accounts.filter((one) => newest.get(`${one.node}/${one.life}`) === one) : accounts;
  const all = read
    .toSorted((left, right) => left.atUs - right.atUs)
    .map((account) => [account, rowsOf(account)] as const);
  const broken = all.flatMap(([, rows]) => rows.filter((row) => !row.holds));
  const equal = all.flatMap(([account, rows]) =>
    newest.get(`${account.node}/${account.life}`) !== account
      ? []
      : rows.filter((row) => row.holds && row.counted !== '0').slice(0, equalRowsMax),
  );
  return [...broken.slice(0, 200), ...equal];
}

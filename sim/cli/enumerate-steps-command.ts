/**
 * `enumerate` of a subject that saves (explore/step-subjects.ts): every durable step, struck in a run of its own, over
 * worker threads. A failing point is its own replay (`--only` with its description).
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { sampleOf } from '../explore/crash-point-pairs.ts';
import type { StepRun, SubjectPoint } from '../explore/durable-steps.ts';
import { countByStrike, describeSubjectPoint, pointsOf } from '../explore/durable-steps.ts';
import { stepStrikes, strikeTexts } from '../explore/step-harness.ts';
import type { StepSubject } from '../explore/step-subjects.ts';
import { stepSubjects } from '../explore/step-subjects.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { Task } from '../runner/task.ts';
import { startProgress } from './progress.ts';

/** What `enumerate` takes as its argument, with what it strikes: the table of the help. */
export const enumerated: readonly { readonly name: string; readonly text: string }[] = [
  { name: 'xa', text: 'a transaction over three primaries, at its named steps' },
  { name: 'store-batch', text: 'atomic batches on a store alone, every state after a crash' },
  ...stepSubjects.map(({ name, saves }) => ({ name, text: saves })),
];

/** Options of the enumeration of a subject. */
export interface StepOptions {
  readonly subject: StepSubject;
  readonly jobs: number;
  /** Only points whose description contains this text: `drain n1 sync`. */
  readonly only: string | undefined;
  /** Most runs; of more points a sample is taken. Undefined: all. */
  readonly limit: number | undefined;
  /** Seed of the sample. Undefined: 1. */
  readonly seed: number | undefined;
  /** The build whose engine is run; undefined: this program's own. */
  readonly build: string | undefined;
}

/** The result of an enumeration of a subject. */
export interface StepEnumeration {
  readonly subject: string;
  /** Runs with a strike. */
  readonly runs: number;
  /** Number of matching points. */
  readonly possible: number;
  /** All points by strike. */
  readonly points: Readonly<Record<string, number>>;
  /** Runs that did not come to their step. */
  readonly missed: number;
  readonly seconds: number;
  /** `drain n1 sync hints/00000001.log 2 power-loss: …`, in the order of the points. */
  readonly failures: readonly string[];
}

const optionsThatDoNotApply = ['pairs'] as const;

/** Throws `BadRequest` for an option that would have no effect. */
export function mustApplyToSteps(name: string, given: Readonly<Record<string, unknown>>): void {
  const idle = optionsThatDoNotApply.filter((option) => given[option] !== undefined);
  if (idle.length === 0) return;
  throw new LockstepError(
    'BadRequest',
    `enumerate ${name} has no --pairs; --only, --limit, --seed, --jobs, --mutant and --json apply`,
  );
}

/** Strikes every matching step. Throws `BadRequest` if none matches, because an empty enumeration must not pass. */
export async function enumerateSteps(options: StepOptions): Promise<StepEnumeration> {
  const { subject, jobs, only = '', limit = Infinity, seed = 1 } = options;
  const startMs = performance.now();
  const failures = new Map<string, string>();
  const pool = new Pool(options.build ?? buildDirectory, jobs);
  let missed = 0;
  try {
    const plain = await runAll(
      pool,
      subject.plays.map(({ name }) => ({ subject: subject.name, play: name, point: undefined })),
      () => undefined,
    );
    note(failures, plain);
    const all = plain.flatMap(pointsOf);
    const named = all.filter((one) => describeSubjectPoint(one).includes(only));
    if (named.length === 0) throw new LockstepError('BadRequest', noneMatches(only, all));
    const chosen = sampleOf(named, limit, seed);
    const progress = startProgress(chosen.length);
    const runs = await runAll(pool, chosen, (run) => {
      note(failures, [run]);
      if (!run.struck) missed += 1;
      progress.ran(failures.size, describeSubjectPoint(run.at));
    }).finally(() => progress.stop());
    return {
      subject: subject.name,
      runs: runs.length,
      possible: named.length,
      points: countByStrike(all),
      missed,
      seconds: Math.round((performance.now() - startMs) / 100) / 10,
      failures: [...plain.map(({ at }) => at), ...chosen].flatMap(
        (at) => failures.get(describeSubjectPoint(at)) ?? [],
      ),
    };
  } finally {
    await pool.close();
  }
}

async function runAll(
  pool: Pool,
  points: readonly SubjectPoint[],
  ran: (run: StepRun) => void,
): Promise<readonly StepRun[]> {
  const tasks: Task[] = points.map((at) => ({ kind: 'durableStep', at }));
  const runs = new Map<string, StepRun>();
  await pool.performAll(tasks.values(), (_, answer) => {
    if (answer.kind !== 'stepStruck') return;
    runs.set(describeSubjectPoint(answer.result.at), answer.result);
    ran(answer.result);
  });
  return points.flatMap((at) => runs.get(describeSubjectPoint(at)) ?? []);
}

function note(failures: Map<string, string>, runs: readonly StepRun[]): void {
  for (const { at, faults } of runs) {
    const name = describeSubjectPoint(at);
    if (faults.length > 0) failures.set(name, `${name}: ${faults.join('; ')}`);
  }
}

function noneMatches(only: string, all: readonly SubjectPoint[]): string {
  const example = all[0] === undefined ? 'PLAY NODE OPERATION FILE N STRIKE' : describeSubjectPoint(all[0]);
  return `no point's description contains "${only}"; one reads ${example}, the strikes are ${stepStrikes.join(', ')}`;
}

/** The result as text. */
export function stepsText(enumeration: StepEnumeration): string {
  const { subject, runs, possible, points, missed, seconds, failures } = enumeration;
  const sampled = runs === possible ? 'all there are' : `a sample of ${possible}`;
  const counts = Object.entries(points).map(([strike, count]) => `${strike} ${count}`);
  return [
    ...failures,
    `${subject}: ${runs} runs in ${seconds} s, ${sampled}; ${missed} did not come to their step`,
    `points: ${counts.join(', ')}`,
    failures.length === 0 ? 'all held' : `${failures.length} failed`,
  ].join('\n');
}

/** The subjects and strikes, for the help. */
export function enumerateHelp(): string {
  const width = Math.max(
    ...[...enumerated, ...stepStrikes.map((name) => ({ name }))].map(({ name }) => name.length),
  );
  const subjects = enumerated.map(({ name, text }) => `  ${name.padEnd(width)}  ${text}`);
  const strikes = stepStrikes.map((name) => `  ${name.padEnd(width)}  ${strikeTexts[name]}`);
  return [
    '',
    'What can be enumerated:',
    ...subjects,
    '',
    'Strikes at a durable step (all but xa and store-batch):',
    ...strikes,
    '',
    'Examples:',
    '  lockstep-sim enumerate hints                            every step',
    '  lockstep-sim enumerate ring-change --limit 200 --json   a sample',
    "  lockstep-sim enumerate store-merge --only power-loss    one strike's",
    '  lockstep-sim enumerate hints --mutant hint-removed-before-ack',
  ].join('\n');
}

/**
 * `lockstep-sim mutants`: checks that every mutant of the catalogue is still detected, by one of the invariants that it
 * names and within its number of seeds. The engine changes, so a mutant may lose its effect or be masked by another
 * safeguard. Works in real time.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { invariantNames } from '../check/invariants.ts';
import { findNamed, nearestNames } from '../check/named.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { EnumeratedMutant, Mutant } from '../mutants/mutant.ts';
import { stepMutants } from '../mutants/step-mutants.ts';
import { transactionMutants } from '../mutants/transaction-mutants.ts';
import { Pool } from '../runner/pool/pool.ts';
import type { RunResult } from '../runner/result.ts';
import { shrinkFailure } from '../runner/shrink-failure.ts';
import { planOfSeed } from '../runner/task.ts';
import { present } from '../../engine/base/assert.ts';
import { subjectNamed } from '../explore/durable-steps.ts';
import { enumerateTransactions } from './enumerate-command.ts';
import { enumerateSteps } from './enumerate-steps-command.ts';
import { mutateBuild } from './mutate-build.ts';

/** What to check. */
export interface MutantsOptions {
  /** Names or codes; empty for the whole catalogue. */
  readonly only: readonly string[];
  readonly jobs: number;
  /** Real time in which the failing plan of each mutant is shrunk, in milliseconds; 0: it is not. */
  readonly shrinkMs: number;
  readonly onChecked: (row: CatchRow) => void;
}

/** One row of the catch matrix. */
export interface CatchRow {
  readonly name: string;
  readonly code: string;
  readonly title: string;
  /** The scenario, or the crash points, that expose it. */
  readonly scenario: string;
  /** The invariants by one of which it must be noticed; none: it must not be. */
  readonly expected: readonly string[];
  /** The invariants that broke, each with the lowest seed in which it did; 0 for crash points. */
  readonly broken: Readonly<Record<string, number>>;
  /** It broke what was expected, or nothing where nothing was. */
  readonly noticed: boolean;
  /** Number of runs. */
  readonly seeds: number;
  readonly cpuSeconds: number;
  /** Faults and operations of the smallest plan found. */
  readonly shrunk?: { readonly faults: number; readonly operations: number };
}

type AnyMutant = Mutant | EnumeratedMutant;

const all: readonly AnyMutant[] = [...mutants, ...transactionMutants, ...stepMutants];

/** Checks the mutants one after the other. Throws `NotFound` for an unknown name, with the nearest ones. */
export async function checkMutants(options: MutantsOptions): Promise<readonly CatchRow[]> {
  const chosen = options.only.length === 0 ? all : options.only.map(mustFind);
  const rows: CatchRow[] = [];
  for (const mutant of chosen) {
    const start = process.cpuUsage();
    const row = 'scenario' in mutant ? await ofScenario(mutant, options) : await ofPoints(mutant, options);
    const { user, system } = process.cpuUsage(start);
    const checked = { ...row, cpuSeconds: Math.round((user + system) / 100_000) / 10 };
    rows.push(checked);
    options.onChecked(checked);
  }
  return rows;
}

function mustFind(name: string): AnyMutant {
  const found = findNamed(all, name);
  if (found !== undefined) return found;
  throw new LockstepError(
    'NotFound',
    `there is no mutant "${name}"; the nearest are ${nearestNames(all, name)}`,
  );
}

type UntimedRow = Omit<CatchRow, 'cpuSeconds'>;

/** Runs seeds until one breaks what is expected; all of them where nothing is. */
async function ofScenario(mutant: Mutant, { jobs, shrinkMs }: MutantsOptions): Promise<UntimedRow> {
  const { scenario, oracles, seedsMax } = mutant;
  const pool = new Pool(await mutateBuild(mutant), jobs);
  const broken: Record<string, number> = {};
  let seeds = 0;
  let caught: { readonly result: RunResult; readonly invariant: string } | undefined;
  try {
    const tasks = (function* () {
      for (let seed = 1; seed <= seedsMax && caught === undefined; seed++)
        yield { kind: 'seed', scenario, seed } as const;
    })();
    await pool.performAll(tasks, (task, answer) => {
      if (answer.kind !== 'ran') return;
      seeds += 1;
      for (const { ok, vacuous, invariant } of answer.result.reports) {
        if (ok || vacuous) continue;
        broken[invariant] = Math.min(broken[invariant] ?? Infinity, task.seed);
        if ((oracles as readonly string[]).includes(invariant))
          caught ??= { result: answer.result, invariant };
      }
    });
    const shrunk =
      caught === undefined || shrinkMs === 0
        ? undefined
        : await sizeOf(pool, caught.result, caught.invariant, shrinkMs);
    const noticed = oracles.length === 0 ? Object.keys(broken).length === 0 : caught !== undefined;
    const row = { ...identityOf(mutant), scenario, expected: oracles, broken, noticed, seeds };
    return shrunk === undefined ? row : { ...row, shrunk };
  } finally {
    await pool.close();
  }
}

async function sizeOf(
  pool: Pool,
  result: RunResult,
  invariant: string,
  shrinkMs: number,
): Promise<NonNullable<CatchRow['shrunk']>> {
  const plan = planOfSeed(result.scenario, result.seed);
  const signal = AbortSignal.timeout(Math.ceil(shrinkMs));
  const shrunk = await shrinkFailure(pool, plan, result, invariant as Lowercase<string>, { signal });
  return { faults: shrunk.faults[1], operations: shrunk.operations[1] };
}

/** A failure reads `POINT: INVARIANT: …`, or says what the keys hold. */
const named = new RegExp(`(?<![\\w-])(${invariantNames.join('|')})(?=: )`, 'g');

async function ofPoints(mutant: EnumeratedMutant, { jobs }: MutantsOptions): Promise<UntimedRow> {
  if (mutant.subject !== undefined) return ofSteps(mutant, jobs);
  const { exposedBy, oracles } = mutant;
  const { failures, runs } = await enumerateTransactions({
    ...{ pairs: false, jobs, only: exposedBy, limit: undefined, seed: undefined },
    build: await mutateBuild(mutant),
  });
  const found = new Set(failures.flatMap((failure) => failure.match(named) ?? []));
  if (failures.some((failure) => failure.includes('the keys hold'))) found.add('values');
  return {
    ...identityOf(mutant),
    scenario: `enumerate xa --only '${exposedBy}'`,
    expected: oracles,
    broken: Object.fromEntries([...found].map((invariant) => [invariant, 0])),
    noticed: oracles.some((oracle) => found.has(oracle)),
    seeds: runs,
  };
}

async function ofSteps(mutant: EnumeratedMutant, jobs: number): Promise<UntimedRow> {
  const { exposedBy, oracles, subject: name = '' } = mutant;
  const subject = present(subjectNamed(name), `the subject ${name}`);
  const { failures, runs } = await enumerateSteps({
    ...{ subject, jobs, only: exposedBy, limit: undefined, seed: undefined },
    build: await mutateBuild(mutant),
  });
  return {
    ...identityOf(mutant),
    scenario: `enumerate ${name} --only '${exposedBy}'`,
    expected: oracles,
    broken: failures.length > 0 ? { values: 0 } : {},
    noticed: failures.length > 0,
    seeds: runs,
  };
}

function identityOf({ name, code, title }: AnyMutant): Pick<CatchRow, 'name' | 'code' | 'title'> {
  return { name, code, title };
}

/** One line of the matrix. */
export function rowText({
  name,
  code,
  scenario,
  expected,
  broken,
  noticed,
  seeds,
  cpuSeconds,
  shrunk,
}: CatchRow): string {
  const found = Object.entries(broken).map(([invariant, seed]) =>
    seed === 0 ? invariant : `${invariant} in seed ${seed}`,
  );
  const words = found.length === 0 ? 'no invariant broken' : found.join(', ');
  const size = shrunk === undefined ? '' : `; ${shrunk.faults} faults and ${shrunk.operations} operations`;
  const wanted = noticed ? '' : `; expected ${expected.length === 0 ? 'nothing' : expected.join(' or ')}`;
  return `${noticed ? 'noticed' : 'MISSED '} ${name} (${code}) by ${scenario}: ${words}${wanted} (${seeds} runs, ${cpuSeconds} CPU s${size})`;
}

/**
 * `npm run bench hunt`: a duel of guided exploration against plain seeds of the swarm. Each contender hunts the same
 * mutants of the catalogue with the same seeds on one thread, until a run fails or its processor time is spent. Guided
 * begins with a corpus that runs of the unchanged engine have filled, as a user's second campaign does; what filling
 * cost stands above the table.
 *
 * A mutant that a contender did not notice counts with all the time it had: a ratio then is a bound, marked `>` or `<`.
 */
import process from 'node:process';

import { swarm } from '../../scenarios/swarm.ts';
import { engineWith } from '../cli/mutate-build.ts';
import { Corpus } from '../guide/corpus.ts';
import { explore } from '../guide/explore.ts';
import type { ExplorerState } from '../guide/explorer.ts';
import { Explorer } from '../guide/explorer.ts';
import { mutants } from '../mutants/catalogue.ts';
import type { Mutant } from '../mutants/mutant.ts';
import type { Plan } from '../plan/plan.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import { WorldRandom } from '../world/core/random.ts';
import { figure, median, table } from './figures.ts';
import { processorSeconds } from './processor-time.ts';

/** Options of this benchmark. */
export interface HuntOptions {
  /** Begins no further mutant after so many seconds of processor time. */
  readonly seconds: number;
  /** Processor time of each contender for each mutant, in seconds. */
  readonly budget: number;
  /** Runs of the unchanged engine that fill the corpus. */
  readonly warm: number;
  /** Seeds the order of the mutants. */
  readonly order: number;
  readonly firstSeed: number;
  /** Names of mutants; empty: all of the catalogue. */
  readonly only: readonly string[];
  readonly json: boolean;
}

/** How one contender fared with one mutant. */
export interface Hunt {
  readonly noticed: boolean;
  readonly runs: number;
  readonly cpuSeconds: number;
}

/** One row of the duel. */
export interface Duel {
  readonly mutant: string;
  readonly plain: Hunt;
  readonly guided: Hunt;
}

/** What the duels sum up to: plain's time divided by guided's. */
export interface HuntSummary {
  readonly median: number;
  /** The median over the quarter of the mutants that cost plain most. */
  readonly hardestQuarter: number;
  readonly noticedByPlain: number;
  readonly noticedByGuided: number;
}

/** A corpus that is filled, and what its explorer knows. */
type Warm = { readonly corpus: Corpus['state']; readonly explorer: ExplorerState };

const planOfSeed = (seed: number): Plan => generatePlan(swarm, seed);

/** Runs the duel and prints it. */
export async function run(options: HuntOptions): Promise<void> {
  const beganSeconds = processorSeconds(process.pid);
  const warm = await fill(options);
  const warmSeconds = processorSeconds(process.pid) - beganSeconds;
  const duels: Duel[] = [];
  for (const mutant of drawn(options)) {
    if (processorSeconds(process.pid) - beganSeconds >= options.seconds) break;
    const build = await engineWith(mutant.name);
    const plain = await hunt(build, options, undefined);
    const guided = await hunt(build, options, warm);
    duels.push({ mutant: mutant.name, plain, guided });
    process.stderr.write(`${rowOf(duels.at(-1)).join('  ')}\n`);
  }
  const summary = summaryOf(duels);
  if (options.json) console.log(JSON.stringify({ warmSeconds, duels, summary }));
  else console.log(textOf(options, warmSeconds, duels, summary));
}

function drawn({ only, order }: HuntOptions): readonly Mutant[] {
  const left = mutants.filter(({ name }) => only.length === 0 || only.includes(name));
  const random = WorldRandom.root(`hunt/${order}`);
  const chosen: Mutant[] = [];
  while (left.length > 0) chosen.push(...left.splice(random.below(left.length), 1));
  return chosen;
}

async function fill({ warm, firstSeed }: HuntOptions): Promise<Warm> {
  const explorer = new Explorer(new Corpus(), firstSeed, planOfSeed);
  const pool = new Pool(buildDirectory, 1);
  const goesOn = (): boolean => explorer.state.runs < warm;
  try {
    await explore({
      ...{ explorer, pool, scenario: swarm.name, twice: 'eighth', goesOn },
      onRun: () => undefined,
    });
  } finally {
    await pool.close();
  }
  return structuredClone({ corpus: explorer.corpus.state, explorer: explorer.state });
}

/** Hunts one mutant; `warm`: undefined for plain seeds. */
async function hunt(build: string, options: HuntOptions, warm: Warm | undefined): Promise<Hunt> {
  const { budget, firstSeed } = options;
  const beganSeconds = processorSeconds(process.pid);
  const spent = (): number => processorSeconds(process.pid) - beganSeconds;
  const pool = new Pool(build, 1);
  let noticed = false;
  let runs = 0;
  // Both contenders begin behind the seeds that filled the corpus.
  const nextSeed = firstSeed + options.warm;
  try {
    if (warm === undefined) {
      for (; !noticed && spent() < budget; runs++)
        noticed = await fails(pool, { kind: 'seed', scenario: swarm.name, seed: nextSeed + runs });
    } else {
      const { corpus, explorer: state } = structuredClone(warm);
      const explorer = new Explorer(new Corpus(corpus), firstSeed, planOfSeed, { ...state, nextSeed });
      while (!noticed && spent() < budget) {
        const attempts = explorer.next();
        const reached: (readonly string[])[] = [];
        for (const attempt of attempts) {
          if (noticed || spent() >= budget) break;
          const task =
            attempt.kind === 'seed'
              ? ({ kind: 'seed', scenario: swarm.name, seed: attempt.seed } as const)
              : ({ kind: 'plan', plan: attempt.plan } as const);
          const cells: string[] = [];
          noticed = await fails(pool, task, cells);
          reached.push(cells);
          runs += 1;
        }
        explorer.took(attempts.slice(0, reached.length), reached);
      }
    }
    return { noticed, runs, cpuSeconds: spent() };
  } finally {
    await pool.close();
  }
}

type HuntTask =
  | { readonly kind: 'seed'; readonly scenario: string; readonly seed: number }
  | { readonly kind: 'plan'; readonly plan: Plan };

/** Whether the run fails, or the engine breaks down in it. Adds what it reached to `cells`. */
async function fails(pool: Pool, task: HuntTask, cells: string[] = []): Promise<boolean> {
  try {
    const answer = await pool.perform({ ...task, twice: 'eighth' });
    if (answer.kind !== 'ran') return false;
    cells.push(...answer.reached);
    return answer.result.verdict === 'failed';
  } catch {
    // The mutant makes the simulator itself fail: it is noticed.
    return true;
  }
}

/** Plain's time divided by guided's. */
function ratioOf({ plain, guided }: Duel): number {
  return plain.cpuSeconds / guided.cpuSeconds;
}

/** Sums up; mutants that neither contender noticed say nothing and are left out. */
export function summaryOf(duels: readonly Duel[]): HuntSummary {
  const told = duels.filter(({ plain, guided }) => plain.noticed || guided.noticed);
  const hardest = told
    .toSorted((left, right) => right.plain.cpuSeconds - left.plain.cpuSeconds)
    .slice(0, Math.ceil(told.length / 4));
  return {
    median: median(told.map(ratioOf)),
    hardestQuarter: median(hardest.map(ratioOf)),
    noticedByPlain: duels.filter(({ plain }) => plain.noticed).length,
    noticedByGuided: duels.filter(({ guided }) => guided.noticed).length,
  };
}

function rowOf(duel: Duel | undefined): readonly string[] {
  if (duel === undefined) return [];
  const { mutant, plain, guided } = duel;
  const cells = ({ noticed, runs, cpuSeconds }: Hunt): readonly string[] => [
    String(runs),
    `${noticed ? '' : '> '}${figure(cpuSeconds)}`,
  ];
  const neither = !plain.noticed && !guided.noticed;
  const bound = plain.noticed ? (guided.noticed ? '' : '< ') : '> ';
  return [mutant, ...cells(plain), ...cells(guided), neither ? '-' : `${bound}${figure(ratioOf(duel))}`];
}

function textOf(
  { budget, warm }: HuntOptions,
  warmSeconds: number,
  duels: readonly Duel[],
  { median: middle, hardestQuarter, noticedByPlain, noticedByGuided }: HuntSummary,
): string {
  const head = ['mutant', 'plain runs', 'CPU s', 'guided runs', 'CPU s', 'plain / guided'];
  return [
    `The corpus: ${warm} runs, ${figure(warmSeconds)} CPU s. Each contender has ${budget} CPU s for a mutant.`,
    table([head, ...duels.map(rowOf)]),
    `Noticed of ${duels.length}: plain ${noticedByPlain}, guided ${noticedByGuided}.`,
    `Plain's time divided by guided's: median ${figure(middle)}, hardest quarter ${figure(hardestQuarter)}.`,
  ].join('\n');
}

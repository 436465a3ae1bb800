/** `lockstep-sim conform`: plans on real processes of this machine, and whether what came of them is what the world says. */
import type { Command } from 'commander';

import { LockstepError } from '../../engine/base/errors.ts';
import { fillAfter, fillList, fillLines } from '../../reports/columns.ts';
import { many } from '../../reports/numbers.ts';
import { scenarios } from '../../scenarios/catalogue.ts';
import type { Conformance } from '../conform/conform.ts';
import { conform } from '../conform/conform.ts';
import type { Plan } from '../plan/plan.ts';
import { planOfSeed } from '../runner/task.ts';
import { exitCodes } from './complaints.ts';
import { interruptedExitCode, Interruption } from './interruption.ts';
import type { Output } from './option-values.ts';
import { wholeNumber } from './option-values.ts';
import { planToReplay } from './replay-command.ts';

/** Progress is shown once a command has taken so long. */
const quietMs = 2000;
/** Differences of one plan that are printed; `--json` has all. */
const shownMax = 20;

interface ConformFlags {
  readonly all?: boolean;
  readonly seed?: number;
  readonly keepFiles?: boolean;
  readonly json?: boolean;
}

/** A plan that was not compared: nothing of it is portable, or its processes could not be run. */
interface Refused {
  readonly scenario: string;
  readonly seed: number;
  readonly refused: string;
  /** It says something about this machine, not about the plan. */
  readonly isFault: boolean;
}

type Row = Conformance | Refused;

/** Adds `conform`. */
export function addConform(program: Command, { print, setExitCode }: Output): void {
  program
    .command('conform')
    .description('run the portable part of plans on real processes too, and name what differs from the world')
    .argument('[scenario|plan.json...]', 'scenarios, or plan files')
    .option('--all', 'every scenario; those of which nothing is portable are listed')
    .option('--seed <s>', 'the seed of the scenarios (default: 1; a plan file has its own)', wholeNumber)
    .option('--keep-files', 'leave the files of the processes, and print where they are')
    .option('--json', 'print one line of JSON')
    .action(async (what: readonly string[], flags: ConformFlags) => {
      const show = (row: Row): void => {
        if (flags.json !== true) print(rowText(row));
      };
      const plans = await plansOf(what, flags);
      if (flags.json !== true) print(heading);
      const { rows, isInterrupted } = await conformAll(plans, flags, show);
      const differing = rows.filter((row) => 'conforms' in row && !row.conforms).length;
      const conforming = rows.filter((row) => 'conforms' in row && row.conforms).length;
      if (flags.json === true) print(JSON.stringify({ conforming, differing, plans: rows }));
      else print(`${many(conforming, 'plan')} of ${rows.length} conform, ${differing} differ`);
      if (differing > 0) setExitCode(exitCodes.failed);
      else if (rows.some((row) => 'isFault' in row && row.isFault)) setExitCode(exitCodes.fault);
      else setExitCode(isInterrupted ? interruptedExitCode : exitCodes.passed);
    });
}

async function plansOf(what: readonly string[], flags: ConformFlags): Promise<readonly Plan[]> {
  if (flags.all === true) {
    if (what.length > 0) throw new LockstepError('BadRequest', 'name scenarios, or take --all; not both');
    return scenarios.map(({ name }) => planOfSeed(name, flags.seed ?? 1));
  }
  if (what.length === 0)
    throw new LockstepError('BadRequest', 'which plan? Name scenarios or plan files, or add --all');
  const plans: Plan[] = [];
  for (const one of what) {
    const isFile = one.endsWith('.json');
    plans.push(await planToReplay(one, isFile ? flags.seed : (flags.seed ?? 1)));
  }
  return plans;
}

/** Runs one plan after another. A single plan of which nothing is portable is the caller's mistake. */
async function conformAll(
  plans: readonly Plan[],
  { keepFiles }: ConformFlags,
  show: (row: Row) => void,
): Promise<{ readonly rows: readonly Row[]; readonly isInterrupted: boolean }> {
  const interruption = new Interruption();
  const rows: Row[] = [];
  try {
    for (const plan of plans) {
      const progress = showPhases(
        `${plan.scenario}, seed ${plan.seed} (${rows.length + 1} of ${plans.length})`,
      );
      try {
        const row = await conform(plan, {
          signal: interruption.signal,
          onPhase: progress.now,
          ...(keepFiles === true ? { keepFiles } : {}),
        });
        rows.push(row);
        progress.stop();
        show(row);
      } catch (error) {
        progress.stop();
        if (interruption.hasCome) break;
        if (plans.length === 1 || !(error instanceof Error)) throw error;
        const isFault = !(error instanceof LockstepError && error.code === 'BadRequest');
        const row = { scenario: plan.scenario, seed: plan.seed, refused: error.message, isFault };
        rows.push(row);
        show(row);
      }
    }
  } finally {
    interruption.forget();
  }
  return { rows, isInterrupted: interruption.hasCome };
}

/** Shows on stderr in which phase a run is: a line that is written again and again, or one for each phase. */
function showPhases(title: string): { readonly now: (phase: string) => void; stop(): void } {
  const startMs = performance.now();
  const isOnTerminal = process.stderr.isTTY;
  let phase = '';
  const say = (): void => {
    const seconds = Math.round((performance.now() - startMs) / 1000);
    const line = `${title}: ${phase}, ${seconds} s`;
    process.stderr.write(isOnTerminal ? `\r\u001b[K${line}` : `${line}\n`);
  };
  const timer = setInterval(say, isOnTerminal ? quietMs / 2 : 5 * quietMs);
  return {
    now: (next) => {
      phase = next;
      if (performance.now() - startMs > quietMs) say();
    },
    stop: () => {
      clearInterval(timer);
      if (isOnTerminal) process.stderr.write('\r\u001b[K');
    },
  };
}

const titleWidth = 31;
const heading = `${'scenario'.padEnd(titleWidth)}  faults  operations  compared  differ  seconds`;

function rowText(row: Row): string {
  const title = row.scenario.padEnd(titleWidth);
  if ('refused' in row)
    return fillAfter(`${title}  `, (indent) =>
      fillLines(`${row.isFault ? 'not run' : 'not portable'}: ${row.refused}`, indent),
    );
  const compared = Object.values(row.compared).reduce((sum, count) => sum + count, 0);
  const planned = Object.values(row.faults).reduce((sum, count) => sum + count, 0);
  const figures = [
    `${row.struck}/${planned}`.padStart(6),
    String(row.operations).padStart(10),
    String(compared).padStart(8),
    String(row.differences.length).padStart(6),
    row.seconds.toFixed(1).padStart(7),
  ];
  const shown = row.differences
    .slice(0, shownMax)
    .flatMap(({ kind, name, world, processes }) => [
      ...fillLines(`  ${kind} ${name}`, ''),
      ...fillAfter('    the world: ', (indent) => fillLines(world, indent)).split('\n'),
      ...fillAfter('    processes: ', (indent) => fillLines(processes, indent)).split('\n'),
    ]);
  const more = row.differences.length - shownMax;
  return [
    `${title}  ${figures.join('  ')}`,
    ...leftOutLines(row),
    ...shown,
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...(row.files === undefined ? [] : [`  files: ${row.files}`]),
  ].join('\n');
}

function leftOutLines({ leftOut, conforms }: Conformance): readonly string[] {
  if (leftOut.length === 0) return [];
  if (!conforms)
    return leftOut.flatMap(({ what, count, why }) => fillLines(`not ported: ${count} ${what}: ${why}`, '  '));
  const items = leftOut.map(({ what, count }) => `${count} ${what}`);
  return [fillAfter('  not ported: ', (indent) => fillList(items, indent))];
}

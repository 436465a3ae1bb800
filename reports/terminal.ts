/**
 * Renders the simulator's results as text for a terminal. It computes nothing: every number comes from its arguments.
 * With a colourless chalk the text is the same, without colours.
 *
 * A failure's first screen fits 80 columns and 24 lines: the broken invariant with its promise, the first violation, the
 * smallest plan in sentences, and how far the run got. Its last line, however long, is the command that replays it.
 */
import type { ChalkInstance } from 'chalk';

import { invariantTable } from '../sim/check/invariants.ts';
import { findNamed } from '../sim/check/named.ts';
import type { CheckReport } from '../sim/check/report.ts';
import type { CoverageSummary, Novelty } from '../sim/coverage/coverage.ts';
import type { Failure, RunResult, ScenarioSummary, Shrunk, Summary } from '../sim/runner/result.ts';
import type { Plan, RecordedRun } from '../sim/plan/plan.ts';
import { sentencesOf } from '../sim/record/plan-sentences.ts';
import { brokenInvariant, brokenInvariants } from '../sim/runner/broken.ts';
import type { Divergence } from '../sim/runner/run-marks.ts';
import { cutLine, fillAfter, fillLines, fillList } from './columns.ts';
import { grouped, many } from './numbers.ts';

/** Most scenarios that are named as not reached. */
const namesMax = 6;

/** Most characters of a violation on a single line. */
const lineMax = 160;

/** The whole outcome of `run`. */
export function renderSummary(summary: Summary, paint: ChalkInstance): string {
  const rows = summary.scenarios.map((one) => renderScenario(one, paint));
  const failures = summary.scenarios.flatMap((one) =>
    one.failure === undefined ? [] : ['', renderFailure(one.failure, paint)],
  );
  const head = [renderVerdict(summary, paint), ...renderLimit(summary, paint), ...renderNovelty(summary)];
  return [...head, ...rows, ...failures].join('\n');
}

/** The outcome of one run. */
export function renderRun(result: RunResult, paint: ChalkInstance): string {
  const { outcomes } = result;
  const head = `${paintVerdict(result.verdict, paint)} ${result.scenario}, seed ${result.seed}`;
  const counts = `${outcomes.ok} ok, ${outcomes.fail} failed, ${outcomes.unknown} unknown`;
  const lines = [
    `${head}: ${grouped(result.events)} events, ${seconds(result.virtualUs)} of virtual time`,
    `  operations: ${counts}`,
    renderCounts('faults', result.struck),
    ...result.reports.map((report) => `  ${renderCheck(report, paint)}`),
    `  digest: ${result.digest}`,
  ];
  if (result.because !== '') lines.push(`  ${result.because}`);
  return lines.join('\n');
}

/** One line that names the violation and its place, for a log or above a progress bar. */
export function renderFailureLine(result: RunResult): string {
  const broken = brokenInvariant(result);
  const first = broken?.firstBad?.text ?? (result.outOfMemory === true ? broken?.reasons[0] : undefined);
  return `${failureSentence(result, broken)}${first === undefined ? '' : ` ${oneLine(first)}`}`;
}

/** One line with the faults of the plan that were not injected, and why; empty if all were. */
export function renderMissed({ missed }: RunResult): string {
  if (missed.length === 0) return '';
  const each = missed.map(({ id, kind, targets, why }) => `${id} ${kind} ${targets.join(' ')} (${why})`);
  const many = missed.length === 1 ? '1 fault of the plan' : `${missed.length} faults of the plan`;
  return `${many} did not strike: ${each.join(', ')}`;
}

/**
 * Says at which event a replay left the run that its plan records, and what that means for its verdict.
 */
export function renderDivergence(recorded: RecordedRun, found: Divergence, result: RunResult): string {
  const { equalEvents, event, atUs, lines } = found;
  const place =
    equalEvents + 1 >= event
      ? `at event ${grouped(event)}`
      : `between the events ${grouped(equalEvents + 1)} and ${grouped(event)}`;
  const broken = brokenInvariant(result)?.invariant;
  const still =
    broken === recorded.broke
      ? `It breaks ${recorded.broke} all the same.`
      : `It does not break ${recorded.broke} now, which need not mean that the cause is gone: the plan meets other events.`;
  const text = `this run is not the recorded one (Lockstep ${recorded.version}, ${many(recorded.events, 'event')}): it differs ${place}, ${seconds(atUs)} of virtual time. ${still}`;
  return [...fillLines(text, ''), ...lines.map((line) => cutLine(`  ${line}`))].join('\n');
}

/** What a plan file that passes, and records no run, leaves open. */
export function renderUnrecorded(): string {
  const text =
    'the plan records no run: it was written by hand, edited in a page, or kept by a build that recorded none. So replay cannot say whether this is the run that the plan was kept for.';
  return fillLines(text, '').join('\n');
}

function renderVerdict(
  { passed, unknownBeyondCap, scenarios, interrupted }: Summary,
  paint: ChalkInstance,
): string {
  const seeds = scenarios.reduce((sum, one) => sum + one.seeds, 0);
  if (passed) return paint.green(seeds === 1 ? 'The run passed.' : `All ${grouped(seeds)} runs passed.`);
  const failed = scenarios.reduce((sum, one) => sum + one.failed, 0);
  if (interrupted === true && failed === 0)
    return paint.yellow(`Ended by Ctrl-C after ${many(seeds, 'run')}, none of which failed.`);
  if (failed > 0) return paint.red(`${grouped(failed)} of ${grouped(seeds)} runs failed.`);
  return paint.yellow(unknownBeyondCap ? 'Too many runs ended without a verdict.' : 'No run was made.');
}

/** How far the runs came when their time was limited. */
function renderLimit({ scenarios, limit }: Summary, paint: ChalkInstance): readonly string[] {
  if (limit === undefined) return [];
  const { forMs, notReached } = limit;
  const seeds = scenarios.map((one) => one.seeds);
  const [least, most] = [Math.min(...seeds), Math.max(...seeds)];
  const each = least === most ? `${least}` : `${least} to ${most}`;
  const of = `${scenarios.length} of ${scenarios.length + notReached.length} scenarios`;
  const line = `Reached in ${forMs / 1000} s: ${of}, ${each} ${most === 1 ? 'seed' : 'seeds'} of each.`;
  return notReached.length === 0
    ? [line]
    : [line, paint.yellow(`Not reached, so nothing is known of: ${listCut(notReached)}`)];
}

/** The first names; all of them are in `--json`. */
function listCut(names: readonly string[]): string {
  const more = names.length - namesMax;
  return more <= 0 ? names.join(', ') : `${names.slice(0, namesMax).join(', ')} and ${more} more`;
}

/** The chance that the next run reaches something that none of these has reached. */
function renderNovelty({ coverage }: Summary): readonly string[] {
  if (coverage?.novelty === undefined) return [];
  return fillLines(`Coverage: ${noveltySentence(coverage, coverage.novelty)}`, '');
}

/** `812 cells reached, 90 empty; the next run reaches a new one with a chance of 34 % (25 to 44 %).` */
export function noveltySentence({ reached, empty }: CoverageSummary, { chance, low, high }: Novelty): string {
  const percent = (share: number): string => (share * 100).toFixed(share < 0.1 ? 1 : 0);
  const between = `${percent(low)} to ${percent(high)} %`;
  return `${many(reached, 'cell')} reached, ${grouped(empty)} empty; the next run reaches a new one with a chance of ${percent(chance)} % (${between}).`;
}

function renderScenario(one: ScenarioSummary, paint: ChalkInstance): string {
  const verdict = one.failed > 0 ? 'failed' : one.unknown > 0 ? 'unknown' : 'passed';
  const checks = Object.entries(one.checks).map(
    ([invariant, made]) => `${invariant} ${grouped(made?.checked ?? 0)}`,
  );
  return [
    `${paintVerdict(verdict, paint)} ${paint.bold(one.name)}: ${one.passed} passed, ${one.failed} failed, ${one.unknown} unknown`,
    `  ${grouped(one.events)} events, ${grouped(one.operations)} operations, ${seconds(one.virtualMs * 1000)} of virtual time`,
    renderList('compared', checks),
    renderCounts('faults', one.struck),
    ...renderBroken(one.broken),
  ].join('\n');
}

function renderBroken(broken: ScenarioSummary['broken']): readonly string[] {
  const parts = Object.entries(broken).map(([invariant, seeds = []]) => `${invariant} in ${seeds.join(' ')}`);
  return parts.length === 0 ? [] : [renderList('broken, in which seeds', parts)];
}

/** Lines of a first screen: what every terminal shows without scrolling. */
const screenLinesMax = 24;

/**
 * A failure's first screen: verdict, promise and breach, the first violation, the smallest plan in sentences, how far
 * the run got, how many other seeds failed the same way; its last line replays it.
 */
export function renderFailure(failure: Failure, paint: ChalkInstance): string {
  const { result, shrunk, replay } = failure;
  const broken = brokenInvariant(shrunk?.result ?? result) ?? brokenInvariant(result);
  const [first = '', ...further] = fillLines(headline(result, broken), '');
  const head = [
    paint.red.bold(first),
    ...fillLines(further.join(' '), '  '),
    ...renderBreach(broken),
    ...renderAlsoBroken(result, broken),
  ];
  if (broken?.firstBad !== undefined) {
    const { atUs, text } = broken.firstBad;
    head.push(...cutTo(violationLinesMax, fillLines(`first bad event, at ${seconds(atUs)}: ${text}`, '  ')));
  }
  if (shrunk === undefined) {
    for (const reason of (broken?.reasons ?? []).slice(broken?.firstBad === undefined ? 0 : 1, 3))
      head.push(...cutTo(2, fillLines(`then: ${reason}`, '  ')).map((line) => paint.dim(line)));
  }
  const progress = result.outOfMemory === true ? [] : renderProgress(result).split('\n');
  const tail = [...progress, ...renderOthers(failure), ...renderFiles(failure)];
  tail.push(`replay: ${commandLine(replay)}`);
  const room = screenLinesMax - head.length - tail.length;
  const plan = shrunk === undefined ? [] : [...renderShrunk(shrunk), ...renderPlan(shrunk.plan, room - 2)];
  return [...head, ...plan, ...tail].join('\n');
}

/** Most lines of a violation on a first screen. */
const violationLinesMax = 4;

function cutTo(linesMax: number, lines: readonly string[]): readonly string[] {
  return lines.length <= linesMax
    ? lines
    : [...lines.slice(0, linesMax - 1), `${lines[linesMax - 1] ?? ''} …`];
}

/** What the breach of the promise means. */
function renderBreach(broken: CheckReport | undefined): readonly string[] {
  const row =
    broken === undefined || broken.vacuous ? undefined : findNamed(invariantTable, broken.invariant);
  return row === undefined ? [] : fillLines(`what that means: ${row.breach}.`, '  ');
}

function renderOthers({ others }: Failure): readonly string[] {
  if (others === undefined || others.failed === 0) return [];
  const seeds = others.seeds.length === 0 ? '' : `: ${others.seeds.slice(0, 10).join(' ')}`;
  const more = others.sameWay > 10 ? ' …' : '';
  return fillLines(
    `of ${many(others.failed, 'other failed seed')}, ${grouped(others.sameWay)} failed the same way${seeds}${more}`,
    '  ',
  );
}

function renderFiles({ result, shrunk, replay, shrinks, kept, page }: Failure): readonly string[] {
  const lines: string[] = [];
  if (shrunk !== undefined) {
    const seed = ['replay', result.scenario, '--seed', String(result.seed), ...addedTo(replay)];
    lines.push(`  this seed: ${commandLine(seed)}`);
  }
  if (shrinks !== undefined) lines.push(`  shrinks it further: ${commandLine(shrinks)}`);
  if (kept !== undefined) lines.push(`  kept: ${kept.join(', ')}`);
  if (page !== undefined) lines.push(`  page: ${page}`);
  return lines;
}

/** The mutant or module that the failing run had; a replay needs it too. */
function addedTo(replay: readonly string[]): readonly string[] {
  return ['--mutant', '--scenarios'].flatMap((flag) => {
    const at = replay.indexOf(flag);
    return at < 0 ? [] : replay.slice(at, at + 2);
  });
}

/** The broken invariant with its promise: `calm, seed 7 broke durability (INV4): every later read …`. */
function headline(result: RunResult, broken: CheckReport | undefined): string {
  const sentence = failureSentence(result, broken);
  if (broken === undefined || broken.vacuous || result.verdict === 'unknown') return sentence;
  const row = findNamed(invariantTable, broken.invariant);
  return row === undefined ? sentence : `${sentence.slice(0, -1)}: ${row.promise}.`;
}

/** What broke beside the invariant of the headline, the gravest first. */
function renderAlsoBroken(result: RunResult, broken: CheckReport | undefined): readonly string[] {
  const others = brokenInvariants(result).filter(({ invariant, vacuous }) => {
    return !vacuous && invariant !== broken?.invariant;
  });
  return others.length === 0 ? [] : [renderList('also broken', others.map(nameOf))];
}

/** How far the run got. */
function renderProgress({ virtualUs, outcomes, struck }: RunResult): string {
  const operations = outcomes.ok + outcomes.fail + outcomes.unknown;
  const faults = Object.values(struck).reduce((sum, times) => sum + times, 0);
  const parts = [
    `${seconds(virtualUs)} of virtual time`,
    many(operations, 'operation'),
    `${many(faults, 'fault')} struck`,
  ];
  return renderList('got as far as', parts);
}

function failureSentence(result: RunResult, broken: CheckReport | undefined): string {
  const where = `${result.scenario}, seed ${result.seed}`;
  if (result.verdict === 'unknown') return `${where} ended without a verdict: ${result.because}.`;
  if (broken === undefined) return `${where} failed.`;
  return broken.vacuous
    ? `${where} proves nothing about ${nameOf(broken)}: it compared ${broken.checked}.`
    : `${where} broke ${nameOf(broken)}.`;
}

/** `durability (INV4)`; an invariant of the user has no code. */
function nameOf({ invariant }: CheckReport): string {
  const row = findNamed(invariantTable, invariant);
  return row === undefined ? invariant : `${row.name} (${row.code})`;
}

function renderShrunk({ operations, faults, runs, minimal }: Shrunk): readonly string[] {
  const certificate = minimal ? 'none of it can be left out' : 'the time was up before more was tried';
  const found = `the smallest plan found in ${many(runs, 'run')}: ${faults[0]} -> ${many(faults[1], 'fault')}, ${operations[0]} -> ${many(operations[1], 'operation')}; ${certificate}`;
  return fillLines(found, '  ');
}

/** What the smallest plan does, in sentences: as many as `linesMax` lines hold, at least two. */
function renderPlan(plan: Plan, linesMax: number): readonly string[] {
  const lines: string[] = [];
  const sentences = sentencesOf(plan);
  for (const [shown, { text }] of sentences.entries()) {
    const next = fillLines(text, '      ').map((line, at) =>
      at === 0 ? line.replace('      ', '    - ') : line,
    );
    const rest = sentences.length - shown;
    if (shown >= 2 && lines.length + next.length + (rest > 1 ? 1 : 0) > linesMax)
      return [...lines, `    and ${rest} more`];
    lines.push(...next);
  }
  return lines;
}

function renderCheck(report: CheckReport, paint: ChalkInstance): string {
  const skipped = report.skipped === 0 ? '' : `, skipped ${grouped(report.skipped)}`;
  const line = `${report.invariant} ${report.ok ? 'holds' : 'is broken'}: compared ${grouped(report.checked)}${skipped}`;
  if (report.ok) return line;
  return [paint.red(line), ...report.reasons.map((reason) => `    ${reason}`)].join('\n');
}

function renderCounts(label: string, counts: Readonly<Partial<Record<string, number>>>): string {
  const parts = Object.entries(counts).map(([kind, times]) => `${kind} ${times ?? 0}`);
  return renderList(label, parts.length === 0 ? ['none'] : parts);
}

/** Its items over as many lines as they take. */
function renderList(label: string, items: readonly string[]): string {
  return fillAfter(`  ${label}: `, (indent) => fillList(items, indent));
}

function paintVerdict(verdict: RunResult['verdict'], paint: ChalkInstance): string {
  if (verdict === 'passed') return paint.green('passed');
  return verdict === 'failed' ? paint.red('FAILED') : paint.yellow('unknown');
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length <= lineMax ? line : `${line.slice(0, lineMax - 1)}…`;
}

/** The command as a user types it: arguments with spaces are quoted. */
export function commandLine(words: readonly string[]): string {
  return ['npx', 'lockstep-sim', ...words]
    .map((word) => (/^[\w./:=-]+$/.test(word) ? word : `'${word}'`))
    .join(' ');
}

function seconds(us: number): string {
  return `${(us / 1_000_000).toFixed(3)} s`;
}

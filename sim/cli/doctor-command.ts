/**
 * `lockstep-sim doctor`: makes one plan's run in many ways that must not matter, and compares the digests. Where one
 * differs it names the first different event, with the events before it in both runs.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { SimulatorFault } from '../runner/simulator-fault.ts';
import type { Plan } from '../plan/plan.ts';
import { buildDirectory } from '../runner/pool/build.ts';
import { Pool } from '../runner/pool/pool.ts';
import { runPlan } from '../runner/run.ts';

/** One way to make the run. */
export interface Way {
  readonly name: string;
  readonly digest: () => Promise<string>;
  /** The run's events as lines; undefined for a way that cannot show them. */
  readonly trace: (() => Promise<readonly string[]>) | undefined;
}

/** How a way compares with the first. */
export interface Finding {
  readonly name: string;
  readonly digest: string;
  /** Undefined: the digests are equal. */
  readonly difference?: Difference;
}

/** Where two runs part. */
export interface Difference {
  /** Index of the first different event; undefined if the events are not known, or are equal line by line. */
  readonly event: number | undefined;
  /** The events before it, which are equal, and those from it on, of the first run and of the other. */
  readonly before: readonly string[];
  readonly first: readonly string[];
  readonly other: readonly string[];
}

/** Events that are shown before the first different one, and from it on. */
const windowEvents = 5;

/** The process of a child may print as much as the trace of the longest run. */
const outputBytesMax = 1 << 30;

/**
 * All ways for one plan. `what`: the arguments of `digest` and `replay` that name it. `nodes`: other Node.js programs.
 */
export function waysOf(plan: Plan, what: readonly string[], nodes: readonly string[]): readonly Way[] {
  const inProcess = (name: string, settings: Parameters<typeof runPlan>[1] = {}): Way => ({
    name,
    digest: async () => (await runPlan(plan, settings)).digest,
    trace: async () => (await runPlan(plan, { ...settings, trace: true })).trace,
  });
  const child = (name: string, how: Child = {}): Way => ({
    name,
    digest: () => Promise.resolve(called(['digest', ...what], how).trim()),
    trace: () =>
      Promise.resolve(
        called(['replay', ...what, '--trace'], how)
          .split('\n')
          .filter(isEvent),
      ),
  });
  return [
    inProcess('this process'),
    inProcess('again in this process'),
    inProcess('with a trace', { trace: true }),
    inProcess('without observers and checks', { unobserved: true }),
    { name: 'the bundle that threads run', digest: () => digestOfBundle(plan), trace: undefined },
    child('another process'),
    child('another time zone', { environment: { TZ: 'Pacific/Chatham' } }),
    child('another language', { environment: { LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8' } }),
    child('another seed of hashes', { flags: ['--hash-seed=20011', '--random-seed=7'] }),
    child('another size of the heap', { flags: ['--max-semi-space-size=1'] }),
    ...nodes.map((node) => child(`Node.js ${versionOf(node)}`, { node })),
  ];
}

/** Compares every way with the first one. */
export async function diagnose(ways: readonly Way[]): Promise<readonly Finding[]> {
  const [first, ...others] = ways;
  if (first === undefined) return [];
  const wanted = await first.digest();
  const findings: Finding[] = [{ name: first.name, digest: wanted }];
  for (const other of others) {
    const digest = await other.digest();
    const { name } = other;
    if (digest === wanted) findings.push({ name, digest });
    else findings.push({ name, digest, difference: await differenceOf(first, other) });
  }
  return findings;
}

async function differenceOf(first: Way, other: Way): Promise<Difference> {
  const [left, right] = [await first.trace?.(), await other.trace?.()];
  if (left === undefined || right === undefined) return unknown;
  const at = left.findIndex((line, index) => line !== right[index]);
  const event = at >= 0 ? at : left.length < right.length ? left.length : undefined;
  if (event === undefined) return unknown;
  return {
    event,
    before: left.slice(Math.max(0, event - windowEvents), event),
    first: left.slice(event, event + windowEvents),
    other: right.slice(event, event + windowEvents),
  };
}

const unknown: Difference = { event: undefined, before: [], first: [], other: [] };

/** The findings as text. */
export function doctorText(title: string, findings: readonly Finding[]): string {
  const [wanted] = findings;
  const lines = findings.map(({ name, digest, difference }) => {
    return `  ${difference === undefined ? 'same   ' : 'DIFFERS'} ${name}${difference === undefined ? '' : `: ${digest}`}`;
  });
  const windows = findings.flatMap(({ name, difference }) => {
    if (difference === undefined) return [];
    const { event, before, first, other } = difference;
    if (event === undefined)
      return [
        `  ${name}: its events are not known, or are equal: run it again, perhaps it differs by chance`,
      ];
    const block = (head: string, events: readonly string[]): readonly string[] => [
      `  ${head}:`,
      ...(events.length === 0 ? ['    (the run ends)'] : events.map((line) => `    ${line}`)),
    ];
    return [
      `  ${name} parts at event ${event}`,
      ...block('before it, equal', before),
      ...block('in this process', first),
      ...block(`in ${name}`, other),
    ];
  });
  return [`${title}: ${wanted?.digest ?? ''}`, ...lines, ...windows].join('\n');
}

interface Child {
  readonly node?: string;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** The output of this program as a child. Throws `SimulatorFault` if it could not run. */
function called(
  words: readonly string[],
  { node = process.execPath, flags = [], environment = {} }: Child,
): string {
  const program = join(buildDirectory, 'sim/main.js');
  const { stdout, stderr, error, status } = spawnSync(node, [...flags, program, ...words], {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
    maxBuffer: outputBytesMax,
  });
  // A run whose invariants fail has a digest and a trace nevertheless.
  if (error === undefined && status !== null && stdout !== '') return stdout;
  throw new SimulatorFault(`${node} ${words.join(' ')}`, error ?? new Error(stderr));
}

function isEvent(line: string): boolean {
  return /^\d+\.\d{6} /.test(line);
}

async function digestOfBundle(plan: Plan): Promise<string> {
  const pool = new Pool(buildDirectory, 1);
  try {
    const answer = await pool.perform({ kind: 'plan', plan });
    return answer.kind === 'ran' ? answer.result.digest : '';
  } finally {
    await pool.close();
  }
}

function versionOf(node: string): string {
  const { stdout, error } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  if (error !== undefined) throw new SimulatorFault(`${node} --version`, error);
  return stdout.trim();
}

/**
 * The signature of a failure: what broke and how, without the names and numbers that differ from seed to seed. Failures
 * of one signature most likely have one cause, so reports list them together.
 */
import type { CheckReport } from '../check/report.ts';
import { brokenInvariant } from './broken.ts';

/** What is read of a run's result. */
interface Judged {
  readonly verdict: 'passed' | 'failed' | 'unknown';
  readonly reports: readonly CheckReport[];
}

/** What is replaced, in this order. */
const particulars: readonly (readonly [RegExp, string])[] = [
  [/«[^»]*»/g, '«…»'],
  [/"[^"]*"/g, '"…"'],
  // Transaction ids, hashes, times, then names of hosts and keys.
  [/\b[\w.]{1,64}-[0-9a-f]{12}-\d+\b/g, '<transaction>'],
  [/\b[0-9a-f]{12,}\b/g, '<hash>'],
  [/\b[a-z]+\/[a-z]\d+(\.\d+)?\b/g, '<key>'],
  [/#t?\d+/g, '#'],
  [/\b[a-z]{1,2}\d+(\.\d+)?\b/g, '<name>'],
  [/-?\d[\d.,]*/g, '<n>'],
  // A list of three reads as a list of one.
  [/(<name>|<key>|<n>|«…»)(?:(?:, | and | )\1)+/g, '$1'],
];

/** `durability: # <name> put <key> «…» at <name>: ok in <n> ms: lost`; undefined for a run that did not fail. */
export function signatureOf(result: Judged): string | undefined {
  if (result.verdict !== 'failed') return undefined;
  const broken = brokenInvariant(result);
  if (broken === undefined) return undefined;
  if (broken.vacuous) return `${broken.invariant}: compared too little`;
  return `${broken.invariant}: ${generalized(broken).slice(0, 200)}`;
}

/** What an operation's description, and a value that was seen, become in a breach. */
const circumstances: readonly (readonly [RegExp, string])[] = [
  [/# <name> .*?: (?:ok|fail|unknown)(?: in <n> ms)?(?: \([^)]*\))?/g, '<operation>'],
  [/\b(saw|read|has|holds) (?:nothing|«…»|<n>)/g, '$1 <value>'],
];

/**
 * Whether two reports tell of the same kind of breach: the same invariant, broken in the same way. Which operation,
 * value, key or node shows it may differ, as it does between a plan and a smaller one that fails for the same cause.
 */
export function isSameBreach(left: CheckReport, right: CheckReport): boolean {
  return left.invariant === right.invariant && breachOf(left) === breachOf(right);
}

function breachOf(report: CheckReport): string {
  let text = generalized(report);
  for (const [pattern, name] of circumstances) text = text.replaceAll(pattern, name);
  return text;
}

function generalized({ firstBad, reasons }: CheckReport): string {
  let text = firstBad?.text ?? reasons[0] ?? '';
  for (const [pattern, name] of particulars) text = text.replaceAll(pattern, name);
  return text.replaceAll(/\s+/g, ' ');
}

/** Failures of one signature. */
export interface FailureCluster {
  readonly signature: string;
  /** The seeds, smallest first, at most twenty; `count` counts all. */
  readonly seeds: readonly number[];
  readonly count: number;
  /** The violation of the smallest seed, as the check states it. */
  readonly example: string;
}

/** The violation by which the result's run failed, as the check states it. */
export function exampleOf(result: Judged): string {
  const broken = brokenInvariant(result);
  return broken?.firstBad?.text ?? broken?.reasons[0] ?? '';
}

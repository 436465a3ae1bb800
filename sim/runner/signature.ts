/**
 * The signature of a failure: what broke and how, without the names and numbers that differ from seed to seed. Failures
 * of one signature most likely have one cause, so reports list them together.
 */
import type { CheckReport } from '../check/report.ts';
import { brokenInvariant, brokenInvariants } from './broken.ts';

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
  [/#[a-z]?\d+(?:\.\d+)?(?!\w)/g, '#'],
  [/\b[a-z]{1,2}\d+(\.\d+)?\b/g, '<name>'],
  [/-?\d[\d.,]*/g, '<n>'],
  // A list of three reads as a list of one.
  [/(<name>|<key>|<n>|«…»)(?:(?:, | and | )\1)+/g, '$1'],
];

/** `durability: <operation>: lost`; undefined for a run that did not fail. */
export function signatureOf(result: Judged): string | undefined {
  return signaturesOf(result)[0];
}

/** The signatures of all that a failed run broke, the gravest first; what compared too little only if nothing broke. */
export function signaturesOf(result: Judged): readonly string[] {
  if (result.verdict !== 'failed') return [];
  const broken = brokenInvariants(result);
  const [first] = broken;
  if (first?.vacuous === true) return [`${first.invariant}: compared too little`];
  return broken
    .filter(({ vacuous }) => !vacuous)
    .map((report) => `${report.invariant}: ${breachOf(report).slice(0, 200)}`);
}

/** What an operation's description, with what it saw or left, a Redis command and a value that was seen become in a breach. */
const circumstances: readonly (readonly [RegExp, string])[] = [
  [
    /# <name> .*?: (?:ok|fail|unknown)(?: in <n> ms)?(?: \([^)]*\))?(?: (?:saw|left)(?: (?:nil|nothing|<n>|«…»))+)*/g,
    '<operation>',
  ],
  [/\b[A-Z]{3,}(?: \w+)*(?= \()/g, '<command>'],
  [/\banswered \w+ to\b/g, 'answered <value> to'],
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
  /** How many of these failures have each other signature, too. Absent: none has another. */
  readonly beside?: Readonly<Record<string, number>>;
}

/**
 * Joins a cluster with the largest one whose signature all its failures have, too: one fault of the engine breaks a
 * graver promise in some of its runs only. The clusters come the largest first, then by their smallest seeds.
 */
export function joinedClusters(clusters: readonly FailureCluster[]): readonly FailureCluster[] {
  const sorted = clusters.toSorted(
    (left, right) => right.count - left.count || (left.seeds[0] ?? 0) - (right.seeds[0] ?? 0),
  );
  const joined: FailureCluster[] = [];
  for (const cluster of sorted) {
    const at = joined.findIndex(({ signature }) => cluster.beside?.[signature] === cluster.count);
    const known = joined[at];
    if (known === undefined) joined.push(cluster);
    else joined[at] = togetherOf(known, cluster);
  }
  return joined;
}

/** Most failed seeds that are named; further ones would show the same causes again. */
export const clusterSeedsMax = 20;

/** The first with the failures of the second. */
function togetherOf(first: FailureCluster, second: FailureCluster): FailureCluster {
  const seeds = [...first.seeds, ...second.seeds].toSorted((left, right) => left - right);
  return { ...first, seeds: seeds.slice(0, clusterSeedsMax), count: first.count + second.count };
}

/** The violation by which the result's run failed, as the check states it. */
export function exampleOf(result: Judged): string {
  const broken = brokenInvariant(result);
  return broken?.firstBad?.text ?? broken?.reasons[0] ?? '';
}

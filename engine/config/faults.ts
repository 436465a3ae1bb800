/**
 * Faults of a configuration. All faults of a file are collected and reported at once, each with its place, the given
 * value and the allowed ones.
 */
import { distance } from 'fastest-levenshtein';

import { LockstepError } from '../base/errors.ts';

/** One fault. */
export interface ConfigFault {
  /** The file or the environment variable at fault. */
  readonly source: string;
  /** Line of the file, from 1; absent if the fault has no single line. */
  readonly line?: number;
  /** The key with its path (`seeds[1].address`); empty for the whole document. */
  readonly key: string;
  /** What was given, and what is allowed. */
  readonly problem: string;
}

/** `ConfigInvalid` with every fault found; the message has one line per fault. */
export class ConfigError extends LockstepError {
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super('ConfigInvalid', faults.map(describeFault).join('\n'));
    this.faults = faults;
  }
}

/** Collects the faults of one file and its environment. */
export class FaultList {
  readonly #faults: ConfigFault[] = [];

  /** Whether no fault has been added. */
  get empty(): boolean {
    return this.#faults.length === 0;
  }

  add(fault: ConfigFault): void {
    this.#faults.push(fault);
  }

  /** The error with all faults, sorted by line. */
  error(): ConfigError {
    return new ConfigError(this.#faults.toSorted((left, right) => (left.line ?? 0) - (right.line ?? 0)));
  }
}

/** The fault as one line: `lockstep.yaml:3: num_tokens: 300 given; allowed: …`. */
export function describeFault(fault: ConfigFault): string {
  const place = fault.line === undefined ? fault.source : `${fault.source}:${fault.line}`;
  return fault.key === '' ? `${place}: ${fault.problem}` : `${place}: ${fault.key}: ${fault.problem}`;
}

/** The problem text for a key that is not in the table; names the nearest known key. */
export function unknownKey(known: readonly string[], given: string): string {
  const nearest = nearestName(known, given);
  return nearest === undefined ? 'unknown key' : `unknown key; the nearest known key is ${nearest}`;
}

/**
 * The name with the smallest edit distance to `given`, ignoring case; the first of equals, undefined if `known` is
 * empty.
 */
export function nearestName(known: readonly string[], given: string): string | undefined {
  let nearest: string | undefined;
  let edits = Infinity;
  // No key is longer than this, and computing the distance takes quadratic time.
  const wanted = given.slice(0, 64).toLowerCase();
  for (const name of known) {
    const count = distance(wanted, name.toLowerCase());
    if (count >= edits) continue;
    nearest = name;
    edits = count;
  }
  return nearest;
}

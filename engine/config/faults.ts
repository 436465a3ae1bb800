/**
 * What is wrong with a configuration. All faults of a file are gathered and reported at once, each naming where it
 * stands, what was given and what is allowed.
 */
import { distance } from 'fastest-levenshtein';

import { LockstepError } from '../base/errors.ts';

export interface ConfigFault {
  /** The file, or the environment variable, that says it. */
  readonly source: string;
  /** Line of the file, from 1; absent when it is no single line's fault. */
  readonly line?: number;
  /** The key with its path (`seeds[1].address`); empty for the whole document. */
  readonly key: string;
  /** What was given and what is allowed. */
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

/** Gathers faults of one file and its environment. */
export class FaultList {
  readonly #faults: ConfigFault[] = [];

  get empty(): boolean {
    return this.#faults.length === 0;
  }

  add(fault: ConfigFault): void {
    this.#faults.push(fault);
  }

  /** The error that carries all faults, in the order of their lines. */
  error(): ConfigError {
    return new ConfigError(this.#faults.toSorted((left, right) => (left.line ?? 0) - (right.line ?? 0)));
  }
}

/** `lockstep.yaml:3: num_tokens: 300 given; allowed: …`. */
export function describeFault(fault: ConfigFault): string {
  const place = fault.line === undefined ? fault.source : `${fault.source}:${fault.line}`;
  return fault.key === '' ? `${place}: ${fault.problem}` : `${place}: ${fault.key}: ${fault.problem}`;
}

/** The sentence for a key that is not in the table: it names the nearest one. */
export function unknownKey(known: readonly string[], given: string): string {
  const nearest = nearestName(known, given);
  return nearest === undefined ? 'unknown key' : `unknown key; the nearest known key is ${nearest}`;
}

/** The name fewest edits away from `given` (case does not count); the first of equals, undefined for none. */
export function nearestName(known: readonly string[], given: string): string | undefined {
  let nearest: string | undefined;
  let edits = Infinity;
  // No key is longer than this, and the distance is quadratic.
  const wanted = given.slice(0, 64).toLowerCase();
  for (const name of known) {
    const count = distance(wanted, name.toLowerCase());
    if (count >= edits) continue;
    nearest = name;
    edits = count;
  }
  return nearest;
}

/**
 * `resource-bounds` (INV23), nothing is left behind: a node that was stopped in order holds no timer, connection,
 * listener, file, lock or task, and it did stop. Each stopped node is one comparison.
 */
import type { Tally } from './report.ts';

/** What a stopped node held; empty when nothing leaked. */
export interface StopRecord {
  readonly node: string;
  readonly atUs: number;
  /** The stop came to an end. */
  readonly stopped: boolean;
  /** Names of what was left, for people. */
  readonly left: readonly string[];
}

/** Compares every stop for `resource-bounds` (resources.ts). */
export function compareStops(stops: readonly StopRecord[], tally: Tally): void {
  for (const { node, atUs, stopped, left } of stops) {
    tally.compare(stopped && left.length === 0, atUs, () =>
      stopped ? `${node} stopped and left behind: ${left.join(', ')}` : `${node} does not stop`,
    );
  }
}

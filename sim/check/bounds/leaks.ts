/**
 * `resource-bounds` (INV23), no leaks: a node that was stopped gracefully, amid the load or at the end of the run, holds
 * no timer, connection, listener, file, lock or task, and its last stop completed. Each stop is one comparison.
 */
import type { Tally } from '../report.ts';

/** The resources that a stopped node still held; empty without a leak. */
export interface StopRecord {
  readonly node: string;
  readonly atUs: number;
  /** The stop completed. */
  readonly stopped: boolean;
  /** Names of the leaked resources, for reports. */
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

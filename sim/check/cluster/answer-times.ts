/**
 * `liveness` (INV22) during the faults: a node answers every request that states a time within that time, whatever its
 * peers, its disk and the network do; the answer may be an error. Each request is one comparison, which the floor of
 * `liveness` does not count: its own comparisons are far fewer.
 */
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** One request that a node received whole. */
export interface AnswerTime {
  readonly node: string;
  readonly what: string;
  readonly atUs: number;
  /** From its arrival, or the answer to the one before it on its connection, by the node's clock and without pauses. */
  readonly tookUs: number;
  readonly allowedUs: number;
  /** How late the node's timers were allowed to be. */
  readonly lateUs: number;
  /** The request has an idempotency key, which the node may have to fence. */
  readonly hasId: boolean;
  /** Otherwise the connection ended first. */
  readonly answered: boolean;
}

/** The fence of an idempotency key may add a quarter to the time of a transaction (`Coordinator.run`). */
const fenceShare = 1.25;

/** What a node may take beyond the allowed time, in microseconds: for the answer itself, once its time is up. */
const spareUs = 50_000;

/** Checks that no request waited longer than it was allowed to. */
export function checkAnswerTimes(times: readonly AnswerTime[]): CheckReport {
  const tally = new Tally('liveness');
  for (const { node, what, atUs, tookUs, allowedUs, lateUs, hasId, answered } of times) {
    const most = (hasId ? fenceShare : 1) * allowedUs + 2 * lateUs + spareUs;
    tally.compare(tookUs <= most, atUs, () => {
      const how = answered ? 'was answered after' : 'had no answer for';
      return `${node}: a ${what} that had ${ms(allowedUs)} ms ${how} ${ms(tookUs)} ms`;
    });
  }
  return tally.report();
}

function ms(us: number): number {
  return Math.round(us / 1000);
}

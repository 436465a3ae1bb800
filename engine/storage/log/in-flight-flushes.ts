/** Decides when a further flush may be launched beside those in flight; `group-commit.ts` explains why. */
import type { PendingFlush } from './pending-flush.ts';

/** A flush under way. */
export interface InFlightFlush {
  readonly gathering: PendingFlush;
  /** Must land before another flush leaves: it begins a segment, or writes zeros ahead. */
  readonly alone: boolean;
  /** When it left, in microseconds of the monotonic clock. */
  readonly leftUs: number;
  /** Resolves with the error, or undefined. Never rejects. */
  readonly written: Promise<unknown>;
}

/** Limit of flushes in flight, and of those of any size. */
export const flightsMax = 3;
const busyFlightsMax = 2;
/**
 * A flush with fewer writers is answered in one step. Beyond `busyFlightsMax`, all flushes in flight together have
 * fewer.
 */
export const splitWritersMin = 8;

/** Whether `next` may leave while `flights` are in flight, the oldest first. */
export function mayLeave(flights: readonly InFlightFlush[], { identity, dones }: PendingFlush): boolean {
  const [ahead] = flights;
  if (ahead === undefined) return true;
  if (flights.length >= flightsMax || flights.some(({ alone }) => alone)) return false;
  const { gathering } = ahead;
  if (gathering.identity.number !== identity.number) return false;
  if (flights.length < busyFlightsMax) return dones.length * 2 >= gathering.dones.length;
  const writers = flights.reduce((sum, flight) => sum + flight.gathering.dones.length, dones.length);
  return writers < splitWritersMin;
}

/** What flies to the disk, and when one more flight may leave (group-commit.ts says why). */
import type { PendingFlush } from './pending-flush.ts';

/** A flush under way. */
export interface InFlightFlush {
  readonly gathering: PendingFlush;
  /** No other may leave before it has landed: it begins a segment, or writes zeros ahead. */
  readonly alone: boolean;
  /** Settles without rejecting; what went wrong, or undefined. */
  readonly written: Promise<unknown>;
}

/** Flushes under way at most, and how many of any size. */
export const flightsMax = 3;
const busyFlightsMax = 2;
/** A flush of fewer writers is answered at once; beyond `busyFlightsMax` all under way carry fewer together. */
export const splitWritersMin = 8;

/** `next` may leave while `flights` are under way, the oldest first. */
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

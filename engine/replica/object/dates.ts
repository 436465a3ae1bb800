/**
 * Dates versions: HTTP's Last-Modified, and the age of a deletion.
 *
 * The coordinating replica dates a version by its wall clock, never by its dot. A dot's counter is beyond everything
 * that its writer has seen (`dots.ts`), so one clock that was wrong for a second, or one forged context, would date all
 * later writes. Dates order nothing; dots decide which write wins.
 *
 * A date in the future says nothing of the actual time. A caller that shows, compares or ages by it treats it as now
 * (RFC 9110 section 8.8.2.1). Earlier versions of the engine have stored such dates, and a wrong clock still produces
 * them.
 */
import type { StoredObject } from './object.ts';

/**
 * The largest difference, in milliseconds, between two clocks that are assumed to be synchronized. Within it a key's
 * dates do not go back from one clock to the other. What is farther ahead is treated as wrong and not followed.
 */
export const clockSkewMsMax = 60_000;

/**
 * The date of a write made now on top of `current`, in milliseconds since the epoch: the wall clock, or the latest date
 * of `current` if another clock set it a little ahead.
 */
export function dateOfWrite(current: StoredObject | undefined, nowMs: number): number {
  let latestMs = Math.max(0, nowMs);
  if (current === undefined) return latestMs;
  for (const { lastModifiedMs } of current.siblings)
    if (lastModifiedMs > latestMs && lastModifiedMs - nowMs <= clockSkewMsMax) latestMs = lastModifiedMs;
  return latestMs;
}

/** The latest date of the object's versions, in milliseconds since the epoch. */
export function latestDateMs({ siblings }: StoredObject): number {
  let latestMs = 0;
  for (const { lastModifiedMs } of siblings) if (lastModifiedMs > latestMs) latestMs = lastModifiedMs;
  return latestMs;
}

/** Milliseconds since the object's latest date; 0 if that is in the future. */
export function ageMs(object: StoredObject, nowMs: number): number {
  return Math.max(0, nowMs - latestDateMs(object));
}

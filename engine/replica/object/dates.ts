/**
 * The dates of versions: what HTTP calls Last-Modified, and how old a deletion is.
 *
 * A version is dated by the wall clock of the replica that coordinates its write, never by its dot: a dot's counter is
 * beyond all that its writer has seen (dots.ts), so one clock that was wrong for a second, or one forged context, would
 * date whatever is written on top of it. Dates order nothing; which write wins is the dots' matter.
 *
 * A date that lies in the future says nothing of when: who shows, compares or ages by it takes it for no later than now
 * (RFC 9110 section 8.8.2.1). Earlier versions of the engine have stored such dates, and a wrong clock still does.
 */
import type { StoredObject } from './object.ts';

/**
 * How far apart clocks are taken to be that are set by whatever sets clocks, in milliseconds. Between two that are no
 * farther apart, a key's dates do not go back; what is farther ahead is taken for wrong, and not followed.
 */
export const clockSkewMsMax = 60_000;

/**
 * The date of a write that is made now on top of `current`, in milliseconds since the epoch: the clock's, or that of
 * what stands there already, where another clock has dated it a little ahead.
 */
export function dateOfWrite(current: StoredObject | undefined, nowMs: number): number {
  let latestMs = Math.max(0, nowMs);
  if (current === undefined) return latestMs;
  for (const { lastModifiedMs } of current.siblings)
    if (lastModifiedMs > latestMs && lastModifiedMs - nowMs <= clockSkewMsMax) latestMs = lastModifiedMs;
  return latestMs;
}

/** The latest date of the object's versions. */
export function latestDateMs({ siblings }: StoredObject): number {
  let latestMs = 0;
  for (const { lastModifiedMs } of siblings) if (lastModifiedMs > latestMs) latestMs = lastModifiedMs;
  return latestMs;
}

/** How long the object has been as it is, in milliseconds; 0 for one of the future. */
export function ageMs(object: StoredObject, nowMs: number): number {
  return Math.max(0, nowMs - latestDateMs(object));
}

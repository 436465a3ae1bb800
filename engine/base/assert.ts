/**
 * Assertions. A failed assertion is a bug in this program, never a fault of the world: bad input, a broken
 * disk or a silent peer are reported as values or as a `LockstepError` (see errors.ts).
 */

/** Thrown when the program contradicts itself. Nothing catches it on purpose. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws `AssertionError` unless `condition` holds. The message says what was expected. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** The value, or an `AssertionError` naming `what` when it is absent. For "it is there by construction". */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new AssertionError(`${what} is absent`);
  return value;
}

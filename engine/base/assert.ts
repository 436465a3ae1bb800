/**
 * Assertions. A failed assertion is a bug in this program. Faults of the environment (bad input, a broken disk, a
 * silent peer) are no assertions: callers report them as values or as a `LockstepError` (`errors.ts`).
 */

/** Thrown when the program contradicts itself. No code catches it on purpose. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** Throws `AssertionError` unless `condition` holds. `message` states what was expected. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/**
 * Returns `value`, or throws `AssertionError` naming `what` if it is undefined. For values that exist by construction.
 */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new AssertionError(`${what} is absent`);
  return value;
}

/** Throws `AssertionError`. For the default of a `switch` that handles every kind of `value`: a new kind fails to compile. */
export function unreachable(value: never, what: string): never {
  throw new AssertionError(`${what} is unknown: ${JSON.stringify(value)}`);
}

/**
 * Assertions. A failed assertion is a bug in this program. Faults of the environment (bad input, a broken disk, a
 * silent peer) are no assertions: callers report them as values or as a `LockstepError` (`errors.ts`).
 *
 * A node whose state contradicts itself must not answer, write or send anything more. So a failure is reported to
 * listeners before it is thrown, and the listener of the ports ends the node at once (`io/io.ts`): no `catch` on the way
 * can turn the failure into an answer.
 *
 * Cheap assertions always run. Those that cost more than a few comparisons run only where the ports ask for them
 * (`Io.checks`).
 */
import { Listeners } from './listeners.ts';

/** Thrown when the program contradicts itself. No code catches it on purpose. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

/** A value that a message shows. */
export type Found = string | number | boolean | undefined;

type Listener = (error: AssertionError) => void;

const listeners = new Listeners<AssertionError>();

/**
 * Calls `listener` with every assertion that fails in this process, before it is thrown. The listener may end the
 * process or the simulated one. Returns a function that removes it.
 */
export function onFailedAssertion(listener: Listener): () => void {
  return listeners.add(listener);
}

/**
 * Reports and throws `AssertionError`. `message` states what was expected; `found` are the values that contradict it.
 * On hot paths callers compare first, `if (!holds) failAssertion(…)`, so that the values cost nothing while it holds.
 */
export function failAssertion(message: string, ...found: readonly Found[]): never {
  const error = new AssertionError(found.length === 0 ? message : `${message}; found ${found.join(', ')}`);
  listeners.notify(error);
  throw error;
}

/** Fails unless `condition` holds. `message` states what was expected. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) failAssertion(message);
}

/** Returns `value`; fails, naming `what`, if it is undefined. For values that exist by construction. */
export function present<T>(value: T | undefined, what: string): T {
  if (value === undefined) failAssertion(`${what} is absent`);
  return value;
}

/** Fails. For the default of a `switch` that handles every kind of `value`: a new kind fails to compile. */
export function unreachable(value: never, what: string): never {
  failAssertion(`${what} is unknown: ${JSON.stringify(value)}`);
}

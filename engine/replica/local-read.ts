/** Reads one key of this node's own store as a value: at once if memory holds the answer, otherwise as a promise. */
import { Deferred } from '../base/deferred.ts';
import type { LockstepError } from '../base/errors.ts';
import type { PackedKey } from '../base/object-key.ts';
import type { LocalStore } from './key-slots.ts';
import { refusal } from './key-slots.ts';

/** The outcome of a read. Without an error, `bytes` are the key's value, or undefined if it has none. */
export interface LocalRead {
  readonly error: LockstepError | undefined;
  readonly bytes: Uint8Array | undefined;
  /** The key has a value that is longer than the caller asked for, and was not read. */
  readonly isWithheld?: boolean;
}

/**
 * Reads a key. Never throws and never rejects; failures are in `error`. A value longer than `bytesMax` bytes is not
 * fetched from the disk.
 */
export function readLocally(
  store: Pick<LocalStore, 'tryRead'>,
  key: PackedKey,
  bytesMax?: number,
): LocalRead | Promise<LocalRead> {
  const call = new Call();
  const outcome = store.tryRead(
    key,
    (error, bytes, withheldBytes) =>
      call.hear(withheldBytes === undefined ? { error, bytes } : { error, bytes, isWithheld: true }),
    bytesMax,
  );
  if (outcome !== 'ok') return { error: refusal(outcome), bytes: undefined };
  return call.answer ?? call.wait();
}

/** A read whose answer may come before `wait` is called. */
class Call {
  answer: LocalRead | undefined;
  #later: Deferred<LocalRead> | undefined;

  hear(answer: LocalRead): void {
    this.answer = answer;
    this.#later?.resolve(answer);
  }

  wait(): Promise<LocalRead> {
    this.#later = new Deferred<LocalRead>();
    return this.#later.promise;
  }
}

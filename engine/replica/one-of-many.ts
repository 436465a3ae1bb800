/** One of several writes that a replica coordinates together, and the check of a write's conditions. */
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { Change, Step } from './key-slots.ts';
import type { VersionVector } from './object/dots.ts';
import { compareVectors } from './object/dots.ts';
import type { StoredObject } from './object/object.ts';
import { liveSiblings } from './object/object.ts';

/** What must hold of the stored object for a write to happen. */
interface Conditions {
  readonly ifNoneMatch: boolean;
  /** The stored context must equal this one; undefined: no condition. */
  readonly ifContext: VersionVector | undefined;
}

/**
 * Observes several coordinated writes, each by its index. The methods are as those of `WriteListener`; `applied` is
 * called, if at all, before `coordinateMany` returns.
 */
export interface ManyListener {
  /** Nothing was done, and no other method is called: the write would have had to wait. */
  unready(index: number): void;
  applied(index: number, object: StoredObject, bytes: Uint8Array): void;
  durable(index: number): void;
  failed(index: number, error: LockstepError): void;
}

/** Makes the object that a write leaves behind. Throws if its conditions do not hold. */
type Written<W> = (write: W, current: StoredObject | undefined, lost: boolean) => StoredObject;

/** One of several writes that are coordinated together. */
export class OneOfMany<W extends { readonly token: Token }> implements Step {
  readonly token: Token;
  readonly #listener: ManyListener;
  readonly #index: number;
  readonly #write: W;
  readonly #written: Written<W>;

  constructor(listener: ManyListener, index: number, write: W, written: Written<W>) {
    this.token = write.token;
    this.#listener = listener;
    this.#index = index;
    this.#write = write;
    this.#written = written;
  }

  next(current: StoredObject | undefined, lost: boolean): Change {
    return { object: this.#written(this.#write, current, lost), bytes: undefined };
  }

  applied(object: StoredObject, bytes: Uint8Array): void {
    this.#listener.applied(this.#index, object, bytes);
  }

  done(error: LockstepError | undefined): void {
    if (error === undefined) this.#listener.durable(this.#index);
    else this.#listener.failed(this.#index, error);
  }
}

/** The error of a condition that cannot be checked because this node's copy of the key cannot be read. */
export function unreadable(): LockstepError {
  return new LockstepError(
    'Corrupted',
    "this node's copy of the key cannot be read, and no condition on it is checked until it has been fetched anew",
  );
}

/** Throws `PreconditionFailed` if the write's conditions do not hold of `current`, and `Corrupted` if that is `lost`. */
export function checkConditions(write: Conditions, current: StoredObject | undefined, lost: boolean): void {
  if (lost && (write.ifNoneMatch || write.ifContext !== undefined)) throw unreadable();
  if (write.ifNoneMatch && current !== undefined && liveSiblings(current).length > 0) {
    throw new LockstepError('PreconditionFailed', 'match_found');
  }
  if (write.ifContext === undefined) return;
  if (current === undefined || compareVectors(current.context, write.ifContext) !== 'equal') {
    throw new LockstepError('PreconditionFailed', 'modified');
  }
}

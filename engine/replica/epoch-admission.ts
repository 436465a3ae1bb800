/**
 * Refuses what carries a former epoch of a flushed bucket (`buckets/epochs.ts`), so that nothing that was flushed is
 * served or acknowledged by this replica any more. A later epoch is learnt durably before anything is done in it: a
 * majority of the replicas that answered in an epoch then knows it, and no later quorum goes back to the one before.
 */
import { LockstepError } from '../base/errors.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';

/** The epochs that this node knows. */
export interface EpochKnowledge {
  judge(key: PackedKey): 'present' | 'former' | 'later';
  /** Learns the key's epoch. Calls `learnt` once: when it is durable and in effect here, or with the store's error. */
  learn(key: PackedKey, learnt: (error: LockstepError | undefined) => void): void;
}

/** The admission of keys by their epochs. Admits everything until it follows a node's knowledge. */
export class EpochAdmission {
  #known: EpochKnowledge | undefined;

  /** Judges by `known` from now on. */
  follow(known: EpochKnowledge): void {
    this.#known = known;
  }

  /** Whether the key's epoch is the one that this node knows. */
  isPresent(key: PackedKey): boolean {
    return this.#known === undefined || this.#known.judge(key) === 'present';
  }

  /** Whether one of the keys has a former epoch. */
  hasFormer(keys: readonly PackedKey[]): boolean {
    const known = this.#known;
    return known !== undefined && keys.some((key) => known.judge(key) === 'former');
  }

  /**
   * Calls `proceed` once this node knows the epochs of all the keys, mostly before it returns. With `StaleEpoch` if one
   * of them is a former one, or with the store's error.
   */
  admit(keys: readonly PackedKey[], proceed: (error: LockstepError | undefined) => void): void {
    const known = this.#known;
    const open = known === undefined ? undefined : keys.find((key) => known.judge(key) !== 'present');
    if (known === undefined || open === undefined) {
      proceed(undefined);
      return;
    }
    if (this.hasFormer(keys)) {
      sometimes('replica.former-epoch-refused');
      proceed(new LockstepError('StaleEpoch'));
      return;
    }
    sometimes('replica.later-epoch-learnt');
    known.learn(open, (error) => (error === undefined ? this.admit(keys, proceed) : proceed(error)));
  }
}

/**
 * How far back the records of this node go. A disk that was lost is replaced by an empty one, which has never heard of
 * transactions that were prepared, or even committed, before it: from such a disk "there is no record" proves nothing.
 * So the store remembers the life of its node (the generation, which grows over all disks) in which its records began,
 * and only who asks about a transaction that was ordered of that life or a later one is told `none`.
 *
 * While that life lasts its generation is the one of now, since it may still be raised by peers who have known greater
 * ones; a peer that has admitted this node knows it.
 */
import { BytesError } from '../base/bytes.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { TransactionLog } from './log.ts';
import { memoryKey, readMemory, writeMemory } from './records.ts';

/** The lives of nodes: generations of the membership. */
export interface Lives {
  /** This node's, now. */
  own(): number;
  /** Another's, as far as it is known here; 0: not at all. */
  of(node: NodeId): number;
}

export class Memory {
  readonly #log: TransactionLog;
  readonly #lives: Lives;
  /** The life in which the records began; undefined: this one. */
  #since: number | undefined;
  /** What is written of this life. */
  #written = 0;

  constructor(log: TransactionLog, lives: Lives) {
    this.#log = log;
    this.#lives = lives;
  }

  /** Reads how far back the records go, or begins them. */
  async recover(): Promise<void> {
    const bytes = await this.#log.read(memoryKey);
    if (bytes === undefined || bytes instanceof LockstepError) return;
    try {
      this.#since = readMemory(bytes);
    } catch (error) {
      // As young as can be: nothing is claimed of what was before.
      if (!(error instanceof BytesError)) throw error;
    }
  }

  /** Writes down that the records begin with this life, again when its number has been raised. */
  tick(): void {
    const own = this.#lives.own();
    if (this.#since !== undefined || this.#written === own) return;
    this.#written = own;
    this.#log.later(writeMemory(own));
  }

  /** Everything that this node was told in that life, or since, is in the records, or is over. */
  reachesBackTo(life: number): boolean {
    return life >= (this.#since ?? this.#lives.own());
  }
}

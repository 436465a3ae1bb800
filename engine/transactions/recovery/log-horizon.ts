/**
 * How far back the records of this node go. A disk that was lost is replaced by an empty one, which has never heard of
 * transactions that were prepared, or even committed, before it: from such a disk "there is no record" proves nothing.
 * So the store remembers the life of its node (the generation, which grows over all disks) in which its records began,
 * and only who asks about a transaction that was ordered of that life or a later one is told `none`.
 *
 * While that life lasts its generation is the one of now, since it may still be raised by peers who have known greater
 * ones; a peer that has admitted this node knows it.
 *
 * A coordinator is asked by the name of a transaction alone, which says in which life it was named. So the store keeps the
 * names of the lives that wrote to it, each before its first transaction: only of theirs does "no record" mean abort.
 */
import { BytesError } from '../../base/bytes.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { TransactionLog } from './transaction-log.ts';
import {
  incarnationsKey,
  horizonKey,
  readIncarnations,
  readHorizon,
  writeIncarnations,
  writeHorizon,
} from '../formats/records.ts';
import type { Xid } from '../formats/xid.ts';
import { lifeOf } from '../formats/xid.ts';

/** So many lives are named at most: of an older one's transactions nothing is presumed. */
const livesCountMax = 512;

/** The lives of nodes: generations of the membership. */
export interface Incarnations {
  /** This node's, now. */
  own(): number;
  /** Another's, as far as it is known here; 0: not at all. */
  of(node: NodeId): number;
  /**
   * It was a member, and has left or was replaced, and nobody takes over what it had voted for: it comes back as somebody
   * who remembers nothing, or never.
   */
  isOver(node: NodeId): boolean;
}

export class LogHorizon {
  readonly #log: TransactionLog;
  readonly #lives: Incarnations;
  /** What this life names its transactions by (transactions/formats/xid.ts). */
  readonly #name: string;
  /** The life in which the records began; undefined: this one. */
  #since: number | undefined;
  /** What is written of this life. */
  #written = 0;
  /** The lives whose records are here, the oldest first; the last one is this. */
  #named: readonly string[];
  #isFirst = false;

  constructor(log: TransactionLog, lives: Incarnations, name: string) {
    this.#log = log;
    this.#lives = lives;
    this.#name = name;
    this.#named = [name];
  }

  /** Reads how far back the records go, or begins them; before anything is coordinated. */
  async recover(): Promise<void> {
    await this.#recoverSince();
    const bytes = await this.#log.read(incarnationsKey);
    // What cannot be read now may be read by the next life.
    if (bytes instanceof LockstepError) return;
    const before = bytes === undefined ? [] : namesIn(bytes);
    this.#isFirst = bytes === undefined;
    this.#named = [...before, this.#name].slice(-livesCountMax);
    // A disk that does not take it: the next life presumes nothing of this one.
    await this.#log.force([writeIncarnations(this.#named)]);
  }

  async #recoverSince(): Promise<void> {
    const bytes = await this.#log.read(horizonKey);
    if (bytes === undefined || bytes instanceof LockstepError) return;
    try {
      this.#since = readHorizon(bytes);
    } catch (error) {
      // As young as can be: nothing is claimed of what was before.
      if (!(error instanceof BytesError)) throw error;
    }
  }

  /** No life before this one has written to the disk. */
  get isFirst(): boolean {
    return this.#isFirst;
  }

  /** Writes down that the records begin with this life, again when its number has been raised. */
  tick(): void {
    const own = this.#lives.own();
    if (this.#since !== undefined || this.#written === own) return;
    this.#written = own;
    this.#log.later(writeHorizon(own));
  }

  /** Everything that this node was told in that life, or since, is in the records, or is over. */
  reachesBackTo(life: number): boolean {
    return life >= (this.#since ?? this.#lives.own());
  }

  /** Whatever this node has decided of the transaction is in the records, or is over: the life that named it kept them. */
  reachesBackToNameOf(xid: Xid): boolean {
    return this.#named.includes(lifeOf(xid));
  }
}

/** None in bytes that do not decode. */
function namesIn(bytes: Uint8Array): readonly string[] {
  try {
    return readIncarnations(bytes);
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    return [];
  }
}

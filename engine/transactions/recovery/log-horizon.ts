/**
 * The log horizon: the incarnation from which on this node's transaction log is complete. A lost disk is replaced by an
 * empty one, which lacks the transactions that were prepared or even committed before. There "no record" proves
 * nothing. So the store keeps the incarnation number in which its records began. Only an inquiry about a transaction
 * that this node was asked for in that incarnation or later is answered `none`.
 *
 * A start that finds lost records whose keys are unknown moves the horizon to its own incarnation, too.
 *
 * While that incarnation lasts, its number is the current one: peers that have known a greater one may still raise it.
 * A peer that has admitted this node knows the number.
 *
 * A coordinator is asked by transaction id alone, which contains the incarnation's id. So the store also keeps the ids
 * of the incarnations that wrote to it, each before its first transaction. "No record" means abort only for their
 * transactions.
 */
import { tryDecode } from '../../base/decoding.ts';
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

/** The most incarnation ids that are kept. For transactions of older incarnations nothing is presumed. */
const livesCountMax = 512;

/** Incarnation numbers of nodes, from the membership. */
export interface Incarnations {
  /** This node's current incarnation number. */
  own(): number;
  /** Another node's, as far as this node knows it; 0 if it does not. */
  of(node: NodeId): number;
  /**
   * True if the node was a member that has left or was replaced, and no node takes over what it had voted for. If it
   * comes back, it remembers nothing.
   */
  isOver(node: NodeId): boolean;
  /** True if this node has declared that it leaves for good. */
  hasLeft(): boolean;
  /** True if a member that joins, not in place of another one, or that leaves is in the step in which keys are copied. */
  isCopying(): boolean;
}

/** The log horizon of one node. */
export class LogHorizon {
  readonly #log: TransactionLog;
  readonly #lives: Incarnations;
  /** This incarnation's id, as transaction ids contain it (transactions/formats/xid.ts). */
  readonly #name: string;
  /** The incarnation number in which the records began; undefined if it is this incarnation. */
  #since: number | undefined;
  /** The own incarnation number that was last written. */
  #written = 0;
  /** Ids of the incarnations whose records are here, oldest first; this one is last. */
  #named: readonly string[];
  #isFirst = false;

  constructor(log: TransactionLog, lives: Incarnations, name: string) {
    this.#log = log;
    this.#lives = lives;
    this.#name = name;
    this.#named = [name];
  }

  /** Reads the horizon, or begins it. Must resolve before this node coordinates anything. */
  async recover(): Promise<void> {
    await this.#recoverSince();
    const bytes = await this.#log.read(incarnationsKey);
    // The next incarnation may be able to read what this one cannot.
    if (bytes instanceof LockstepError) return;
    const before = bytes === undefined ? [] : (tryDecode(() => readIncarnations(bytes)) ?? []);
    this.#isFirst = bytes === undefined;
    this.#named = [...before, this.#name].slice(-livesCountMax);
    // If the disk does not take this, the next incarnation presumes nothing about this one.
    await this.#log.force([writeIncarnations(this.#named)]);
  }

  async #recoverSince(): Promise<void> {
    // Records of branches may be among those that are lost: the horizon moves to this incarnation, as on an empty disk.
    if (this.#log.isSuspicious) return;
    const bytes = await this.#log.read(horizonKey);
    if (bytes === undefined || bytes instanceof LockstepError) return;
    // Undefined is the youngest horizon possible: this node claims nothing about earlier incarnations.
    this.#since = tryDecode(() => readHorizon(bytes));
  }

  /** True if no earlier incarnation has written to this disk. */
  get isFirst(): boolean {
    return this.#isFirst;
  }

  /** Writes that the records begin with this incarnation, again whenever its number was raised. */
  tick(): void {
    const own = this.#lives.own();
    if (this.#since !== undefined || this.#written === own) return;
    this.#written = own;
    this.#log.later(writeHorizon(own));
  }

  /** True if everything that this node was asked for in that incarnation or later is in the records, or is over. */
  reachesBackTo(life: number): boolean {
    return life >= (this.#since ?? this.#lives.own());
  }

  /**
   * True if every decision of this node about the transaction is in the records, or is over: the incarnation in its id
   * kept them.
   */
  reachesBackToNameOf(xid: Xid): boolean {
    return this.#named.includes(lifeOf(xid));
  }
}

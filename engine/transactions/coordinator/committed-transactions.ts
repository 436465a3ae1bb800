/**
 * The outcomes of the newest committed transactions that this incarnation has coordinated. An outcome takes a few bytes
 * in arrays, indexed by the counter in the transaction's id, so a busy coordinator gives the garbage collector nothing
 * to move. Old outcomes go 4096 at a time.
 */
import { present } from '../../base/assert.ts';
import type { BranchVote, TransactionOutcome } from '../formats/outcomes.ts';
import type { Xid } from '../formats/xid.ts';

/** The outcome of a committed transaction. */
export type CommittedOutcome = Extract<TransactionOutcome, { kind: 'committed' }>;

const partCount = 32;
const partSize = 4096;
/** The most distinct lists of branches with their votes; outcomes share them. */
const votesMax = 200;
const operationCountMax = 0xffff;

/** Transactions with counters from `base` on. */
interface Part {
  readonly base: number;
  /** The index of the list of votes, from 1. 0: no outcome. */
  readonly votes: Uint8Array;
  readonly operationCounts: Uint16Array;
}

/** Committed outcomes by transaction id, for the ids of one incarnation: at least the newest 126,976 counters. */
export class CommittedOutcomes {
  readonly #prefix: string;
  readonly #votes: (readonly BranchVote[])[] = [];
  readonly #parts: (Part | undefined)[] = [];

  /**
   * `prefix`: what the ids of this incarnation's transactions begin with, before the counter
   * (transactions/formats/xid.ts).
   */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /**
   * Keeps an outcome. False if it cannot be kept here: another incarnation's id, no count of operations, too old, or
   * too many distinct lists of votes.
   */
  keep({ xid, operationCount, branches }: CommittedOutcome): boolean {
    const number = this.#numberOf(xid);
    if (number < 0 || operationCount === undefined || operationCount > operationCountMax) return false;
    const part = this.#partOf(number);
    const votes = part === undefined ? -1 : this.#voteIndex(branches);
    if (part === undefined || votes < 0) return false;
    part.votes[number - part.base] = votes + 1;
    part.operationCounts[number - part.base] = operationCount;
    return true;
  }

  /** The outcome; undefined if it is not kept here. */
  get(xid: Xid): CommittedOutcome | undefined {
    const number = this.#numberOf(xid);
    const part = number < 0 ? undefined : this.#parts[slotOf(number)];
    if (part === undefined || baseOf(number) !== part.base) return undefined;
    const votes = part.votes[number - part.base] ?? 0;
    if (votes === 0) return undefined;
    const branches = present(this.#votes[votes - 1], 'the votes of an outcome');
    return {
      kind: 'committed',
      xid,
      operationCount: part.operationCounts[number - part.base] ?? 0,
      branches,
    };
  }

  /** Drops the outcome, if it is kept here. */
  delete(xid: Xid): void {
    const number = this.#numberOf(xid);
    const part = number < 0 ? undefined : this.#parts[slotOf(number)];
    if (part !== undefined && baseOf(number) === part.base) part.votes[number - part.base] = 0;
  }

  /** The id's counter. -1 for an id of another incarnation. */
  #numberOf(xid: Xid): number {
    const prefix = this.#prefix;
    if (!xid.startsWith(prefix)) return -1;
    let number = 0;
    for (let at = prefix.length; at < xid.length; at++) {
      const digit = xid.charCodeAt(at) - zero;
      // A leading zero would give one counter two forms.
      if (digit < 0 || digit > 9 || (digit === 0 && number === 0)) return -1;
      number = number * 10 + digit;
    }
    return number > 0 && Number.isSafeInteger(number) ? number : -1;
  }

  /** The part that holds the counter, created if needed. Undefined if the counter is older than what is kept. */
  #partOf(number: number): Part | undefined {
    const slot = slotOf(number);
    const base = baseOf(number);
    const known = this.#parts[slot];
    if (known?.base === base) return known;
    if (known !== undefined && known.base > base) return undefined;
    const part = { base, votes: new Uint8Array(partSize), operationCounts: new Uint16Array(partSize) };
    this.#parts[slot] = part;
    return part;
  }

  #voteIndex(branches: readonly BranchVote[]): number {
    for (let index = 0; index < this.#votes.length; index++) {
      const known = present(this.#votes[index], 'known votes');
      if (known === branches || areAlike(known, branches)) return index;
    }
    return this.#votes.length < votesMax ? this.#votes.push(branches) - 1 : -1;
  }
}

const zero = 48;

function baseOf(number: number): number {
  return number - (number % partSize);
}

function slotOf(number: number): number {
  return Math.floor(number / partSize) % partCount;
}

function areAlike(left: readonly BranchVote[], right: readonly BranchVote[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) {
    const one = left[index];
    const other = right[index];
    if (one?.node !== other?.node || one?.vote !== other?.vote || one?.pending !== other?.pending)
      return false;
  }
  return true;
}

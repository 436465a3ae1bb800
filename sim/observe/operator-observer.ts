/**
 * Decisions of operators in one life of a node, judged against what the coordinators have decided: a branch whose
 * operator said something else is mixed, once, when it has been told of the outcome. The branch's own word counts only
 * where that is so, and is missed where it is.
 */
type Fields = Readonly<Record<string, string | number | boolean>>;
type Decision = 'commit' | 'rollback';

/** It has been told what differs from its operator's decision, and has not said so. */
interface Owed {
  readonly atUs: number;
  readonly told: string;
}

export class OperatorObserver {
  /** Transactions whose commit is on the disk of their coordinator: no record means abort. */
  readonly #committed: ReadonlySet<string>;
  /** What an operator has decided over a branch here, until that has been compared. */
  readonly #words = new Map<string, Decision>();
  /** Such a decision is on its way to the disk; and then the branch was told of the commit, at that time. */
  readonly #resolving = new Set<string>();
  readonly #early = new Map<string, number>();
  readonly #owed = new Map<string, Owed>();
  #mixed = 0;

  constructor(committed: ReadonlySet<string>) {
    this.#committed = committed;
  }

  happened(name: string, xid: string, fields: Fields, nowUs: number): void {
    switch (name) {
      case 'xa.branch.resolving':
        this.#resolving.add(xid);
        return;
      case 'xa.branch.unresolved':
        this.#resolving.delete(xid);
        this.#early.delete(xid);
        return;
      case 'xa.branch.decided':
        return this.#decided(xid, fields['decision'] === 'commit' ? 'commit' : 'rollback');
      case 'xa.branch.forgotten':
        this.#words.delete(xid);
        return;
      case 'xa.p.recovery.scan':
        if (fields['phase'] === 'heuristicCommitted') this.#words.set(xid, 'commit');
        if (fields['phase'] === 'heuristicRolledBack') this.#words.set(xid, 'rollback');
        return;
      case 'xa.p.decision.recv':
        return this.#told(xid, String(fields['decision']), nowUs);
      case 'xa.branch.mixed':
      case 'xa.p.ack.sent':
        if (this.#owed.delete(xid)) this.#mixed += 1;
        return;
    }
  }

  /** Branches that were decided otherwise than their transactions, and know it. */
  mixed(nowUs: number): number {
    // A rollback is heard and compared in one instant; a commit is acknowledged once it has been.
    const silent = [...this.#owed.values()].filter(({ atUs, told }) => told === 'rollback' && atUs < nowUs);
    return this.#mixed + silent.length;
  }

  #decided(xid: string, word: Decision): void {
    this.#words.set(xid, word);
    this.#resolving.delete(xid);
    const early = this.#early.get(xid);
    if (early !== undefined) this.#told(xid, 'commit', early);
    this.#early.delete(xid);
  }

  #told(xid: string, told: string, atUs: number): void {
    const word = this.#words.get(xid);
    // A commit waits until the operator's decision is on the disk; after a rollback the branch asks once more.
    if (this.#resolving.has(xid) && told === 'commit') this.#early.set(xid, atUs);
    if (word === undefined) return;
    this.#words.delete(xid);
    const decided = this.#committed.has(xid) ? 'commit' : 'rollback';
    if (word !== decided) this.#owed.set(xid, { atUs, told });
  }
}

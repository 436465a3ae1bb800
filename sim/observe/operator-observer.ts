/**
 * Compares operators' heuristic decisions in one incarnation with the coordinators' decisions. A branch is mixed, once,
 * when it learns an outcome that differs from its operator's decision. The branch must report this then, and only then.
 */
type Fields = Readonly<Record<string, string | number | boolean>>;
type Decision = 'commit' | 'rollback';

/** The branch learned an outcome that differs from its operator's decision, and has not reported it. */
interface Owed {
  readonly atUs: number;
  readonly told: string;
}

/** Counts the branches of one incarnation that are mixed and have reported so. */
export class OperatorObserver {
  /** Transactions whose commit is on the disk of their coordinator: no record means abort. */
  readonly #committed: ReadonlySet<string>;
  /** An operator's decision over a branch here, until it has been compared with the outcome. */
  readonly #words = new Map<string, Decision>();
  /**
   * Branches whose operator's decision is being written to disk, and the commits that arrived meanwhile, with their
   * times.
   */
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

  /** Number of branches that differ from their transactions' outcomes and know it. */
  mixed(nowUs: number): number {
    // A branch compares a rollback at the instant when it arrives; it acknowledges a commit after comparing it.
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
    // A commit waits until the operator's decision is on disk; after a rollback the branch inquires again.
    if (this.#resolving.has(xid) && told === 'commit') this.#early.set(xid, atUs);
    if (word === undefined) return;
    this.#words.delete(xid);
    const decided = this.#committed.has(xid) ? 'commit' : 'rollback';
    // A coordinator whose disk has lost its decision tells of a rollback.
    if (word !== decided && word !== told) this.#owed.set(xid, { atUs, told });
  }
}

/**
 * Follows transactions in one incarnation of a node from its trace of protocol steps
 * (engine/transactions/formats/steps.ts). It keeps its own tables (lock holders, voters without an outcome,
 * acknowledgements) and reads the records on the node's disk.
 */
import type { TransactionTruth } from '../check/metrics/reconcile/account.ts';
import { OperatorObserver } from './operator-observer.ts';
import { Tallies } from './tallies.ts';
import type { TransactionRecords } from './transaction-records.ts';

/** The node's clocks at this instant: monotonic microseconds, and wall milliseconds. */
export interface Clocks {
  readonly localUs: number;
  readonly wallMs: number;
}

type Fields = Readonly<Record<string, string | number | boolean>>;

interface Begun extends Clocks {
  /** Nodes that voted commit. */
  readonly voters: Set<string>;
}

/** A decision that is not made yet, or that some participant has not acknowledged. */
interface Open {
  readonly sinceMs: number;
  readonly committers: ReadonlySet<string>;
  readonly acknowledged: Set<string>;
  /** Start of the current phase, in monotonic microseconds. */
  phaseUs: number;
}

interface Prepared {
  readonly sinceMs: number;
  /** The branch received a commit: whether applying it is in progress or has failed is invisible. */
  told: boolean;
  /** A commit, or an operator's decision, was to be written: a disk that failed to sync it may hold it. */
  tried: boolean;
}

/** Trace events of an incarnation besides the named steps. */
export const transactionEvents: readonly string[] = [
  'xa.branch.refused',
  'xa.branch.concluded',
  'xa.branch.conflicted',
  'xa.branch.learned',
  'xa.branch.resolving',
  'xa.branch.unresolved',
  'xa.branch.decided',
  'xa.branch.mixed',
  'xa.branch.forgotten',
  'xa.single.lost',
  'xa.single.learned',
  'xa.single.abandoned',
  'xa.decision.doubted',
  'xa.decision.refused',
  'xa.decision.recovered',
  'xa.decision.abandoned',
  'xa.attempt.repeated',
];

/** Computes the expected transaction metrics of one incarnation. */
export class TransactionObserver {
  readonly #records: TransactionRecords;
  readonly #operators: OperatorObserver;
  #found: TransactionTruth['found'] = { prepared: 0, done: 0, committing: 0, damaged: 0 };
  #blind = false;
  readonly #sums = new Tallies();
  readonly #begun = new Map<string, Begun>();
  readonly #open = new Map<string, Open>();
  readonly #lost = new Map<string, number>();
  readonly #locks = new Map<string, readonly string[]>();
  readonly #takenMs = new Map<string, number>();
  readonly #prepared = new Map<string, Prepared>();
  /** Branches that an operator decided, with the time of the decision. */
  readonly #byHand = new Map<string, number>();
  /** Those that were rolled back and have heard of the commit: they stay until their coordinator says forget. */
  readonly #mixed = new Set<string>();
  readonly #longestUs: Record<'prepare' | 'decision' | 'commit', number> = {
    prepare: 0,
    decision: 0,
    commit: 0,
  };
  /** The branches of every decision that the incarnation has recovered were on the disk for the observer, too. */
  #committersKnown = true;
  #lastUs = -1;
  #serves = false;

  /** `committed`: transactions of all nodes whose commit is on the disk of their coordinator. */
  constructor(records: TransactionRecords, committed: ReadonlySet<string>) {
    this.#records = records;
    this.#operators = new OperatorObserver(committed);
  }

  /** The incarnation has opened its store and found these records. */
  opened(): void {
    this.#found = this.#records.found;
    this.#blind = this.#records.blind;
  }

  truth(nowUs: number, { wallMs }: Clocks): TransactionTruth {
    const prepared = [...this.#prepared.values()];
    const since = [
      ...[...this.#open.values(), ...prepared].map(({ sinceMs }) => sinceMs),
      ...this.#lost.values(),
      ...this.#byHand.values(),
    ];
    return {
      begun: this.#sums.get('begun'),
      votes: this.#sums.under('vote.'),
      conflicts: this.#sums.get('conflicts'),
      learned: this.#sums.under('learned.'),
      byOperator: { ...this.#sums.under('operator.'), mixed: this.#operators.mixed(nowUs) },
      found: this.#found,
      recovered: this.#serves,
      unread: this.#blind,
      preparedSince: this.#records.preparedSince,
      preparedOnDisk: this.#records.found.prepared,
      perhapsDecidedOnDisk: prepared.filter(({ tried }) => tried).length,
      prepared: [prepared.filter(({ told }) => !told).length, prepared.length],
      inDoubt: this.#open.size + this.#lost.size,
      locks: [...this.#locks.values()].reduce((sum, keys) => sum + keys.length, 0),
      oldestAgeMs: Math.max(0, ...since.map((ms) => wallMs - ms)),
      // After a failed commit the branch waits again, and an operator's decision is dropped without an event.
      oldestKnown: this.#byHand.size === 0 && prepared.every(({ told }) => !told),
      longestUs: { ...this.#longestUs },
      committersKnown: this.#committersKnown,
      amidst: this.#lastUs === nowUs,
    };
  }

  /** The incarnation serves: it has resumed the transactions that it found. */
  started(): void {
    this.#serves = true;
  }

  happened(name: string, fields: Fields, nowUs: number, clocks: Clocks): void {
    this.#lastUs = nowUs;
    const xid = String(fields['xid']);
    // Where a branch writes nothing, no outcome differs from what its operator decided.
    if (this.#records.branch(xid)?.onlyChecks !== true) this.#operators.happened(name, xid, fields, nowUs);
    // The next attempt of a transaction begins under an id of its own; its client hears of one transaction.
    if (name === 'xa.attempt.repeated') this.#sums.add('begun', -1);
    else if (name.startsWith('xa.c.') || name.startsWith('xa.decision.'))
      this.#coordinated(name, xid, fields, clocks);
    else this.#branched(name, xid, fields, clocks);
  }

  #coordinated(name: string, xid: string, fields: Fields, clocks: Clocks): void {
    const { localUs } = clocks;
    const open = this.#open.get(xid);
    switch (name) {
      case 'xa.c.begin':
        this.#sums.add('begun');
        this.#begun.set(xid, { localUs, wallMs: clocks.wallMs, voters: new Set() });
        return;
      case 'xa.c.vote.recv':
        if (fields['vote'] === 'commit') this.#begun.get(xid)?.voters.add(String(fields['from']));
        return;
      case 'xa.c.decision.beforeLog':
        return this.#decides(xid, localUs);
      case 'xa.c.decision.synced':
      case 'xa.decision.doubted':
        if (open !== undefined) this.#took('decision', open, localUs);
        return;
      case 'xa.decision.refused':
        if (open !== undefined) this.#took('decision', open, localUs);
        this.#open.delete(xid);
        return;
      case 'xa.decision.recovered': {
        const record = this.#records.decision(xid);
        this.#committersKnown &&= record?.state !== undefined && record.state !== 'damaged';
        const { sinceMs = 0, committers = [] } = record ?? {};
        this.#open.set(xid, {
          sinceMs,
          committers: new Set(committers),
          acknowledged: new Set(),
          phaseUs: localUs,
        });
        return;
      }
      case 'xa.decision.abandoned':
        this.#sums.add('operator.abandon');
        for (const node of String(fields['nodes']).split(' '))
          if (open !== undefined) this.#acknowledged(xid, open, node, localUs);
        return;
      case 'xa.c.ack.recv':
        if (open !== undefined) this.#acknowledged(xid, open, String(fields['from']), localUs);
        return;
    }
  }

  #acknowledged(xid: string, open: Open, node: string, localUs: number): void {
    open.acknowledged.add(node);
    if ([...open.committers].some((one) => !open.acknowledged.has(one))) return;
    this.#took('commit', open, localUs);
    this.#open.delete(xid);
  }

  #decides(xid: string, localUs: number): void {
    const begun = this.#begun.get(xid);
    if (begun === undefined) return;
    const open: Open = {
      sinceMs: begun.wallMs,
      committers: begun.voters,
      acknowledged: new Set(),
      phaseUs: begun.localUs,
    };
    this.#took('prepare', open, localUs);
    this.#open.set(xid, open);
  }

  #took(phase: 'prepare' | 'decision' | 'commit', open: Open, localUs: number): void {
    this.#longestUs[phase] = Math.max(this.#longestUs[phase], localUs - open.phaseUs);
    open.phaseUs = localUs;
  }

  #branched(name: string, xid: string, fields: Fields, { wallMs }: Clocks): void {
    const prepared = this.#prepared.get(xid);
    switch (name) {
      case 'xa.p.locks.taken':
        this.#locks.set(xid, keysIn(fields));
        this.#takenMs.set(xid, wallMs);
        // A decided branch is prepared again, because its record was lost.
        if (fields['phase'] === 'prepared')
          this.#prepared.set(xid, { sinceMs: wallMs, told: false, tried: false });
        return;
      case 'xa.p.recovery.scan':
        return this.#recovered(xid, fields);
      case 'xa.p.vote.sent':
        this.#voted(String(fields['vote']));
        // A vote of a branch with nothing to write also leaves a prepared branch, except the coordinator's own, which
        // has no record.
        if (
          fields['vote'] === 'commit' ||
          (fields['vote'] === 'readOnly' && this.#records.branch(xid) !== undefined)
        )
          this.#prepared.set(xid, { sinceMs: this.#takenMs.get(xid) ?? 0, told: false, tried: false });
        return;
      case 'xa.p.decision.recv':
        if (fields['decision'] === 'rollback') this.#rolledBack(xid);
        else if (prepared !== undefined) prepared.told = prepared.tried = true;
        return;
      case 'xa.p.applied.synced':
        this.#prepared.delete(xid);
        return;
      case 'xa.p.locks.released':
        this.#locks.delete(xid);
        // A branch with nothing to write ends here.
        this.#prepared.delete(xid);
        return;
      case 'xa.branch.refused':
        return this.#voted('abort');
      case 'xa.branch.concluded':
        return this.#voted(String(fields['vote']));
      case 'xa.branch.conflicted':
        // The reported holder of a key must hold it.
        if (this.#locks.get(String(fields['holder']))?.includes(String(fields['key'])) === true)
          this.#sums.add('conflicts');
        return;
      case 'xa.branch.learned':
        this.#sums.add(`learned.${String(fields['outcome'])}`);
        return;
      case 'xa.branch.resolving':
      case 'xa.branch.unresolved':
        // The operator's decision is being written to disk, or that write failed and the branch waits again.
        if (prepared !== undefined) {
          prepared.told = name === 'xa.branch.resolving';
          prepared.tried = true;
        }
        return;
      case 'xa.branch.decided':
        this.#sums.add(`operator.${String(fields['decision'])}`);
        this.#byHand.set(xid, prepared?.sinceMs ?? 0);
        this.#prepared.delete(xid);
        return;
      case 'xa.branch.mixed':
        if (fields['decision'] === 'commit') this.#mixed.add(xid);
        return;
      case 'xa.branch.forgotten':
        this.#sums.add('operator.abandon');
        this.#byHand.delete(xid);
        return;
      case 'xa.single.lost':
        this.#lost.set(xid, wallMs);
        return;
      case 'xa.single.learned':
        this.#lost.delete(xid);
        return;
      case 'xa.single.abandoned':
        this.#sums.add('operator.abandon');
        this.#lost.delete(xid);
        return;
    }
  }

  #rolledBack(xid: string): void {
    // It waits until the operator's decision, on its way to the disk, is written or is given up.
    if (this.#prepared.get(xid)?.told === true) return;
    this.#prepared.delete(xid);
    // Once every branch has acknowledged the commit, the coordinator answers a late inquiry by presumed abort.
    if (!this.#mixed.has(xid)) this.#byHand.delete(xid);
  }

  #recovered(xid: string, fields: Fields): void {
    const phase = String(fields['phase']);
    const sinceMs = this.#records.branch(xid)?.sinceMs ?? 0;
    if (phase.startsWith('heuristic')) this.#byHand.set(xid, sinceMs);
    if (phase === 'heuristicMixed') this.#mixed.add(xid);
    if (phase !== 'prepared') return;
    this.#locks.set(xid, keysIn(fields));
    this.#prepared.set(xid, { sinceMs, told: false, tried: false });
  }

  #voted(vote: string): void {
    if (vote !== 'doubtful') this.#sums.add(`vote.${vote === 'readOnly' ? 'read_only' : vote}`);
  }
}

function keysIn(fields: Fields): readonly string[] {
  const keys = String(fields['keys'] ?? '');
  return keys === '' ? [] : keys.split(' ');
}

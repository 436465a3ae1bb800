/** A transaction service that records requests and answers what the test states. */
import type {
  InDoubtEntry,
  Knowledge,
  MemberKnowledge,
  OperatorDecision,
  TransactionOutcome,
  TransactionRequest,
} from '../../transactions/formats/outcomes.ts';
import type { NodeId } from '../../base/ids.ts';
import type { TransactionService } from '../../transactions/transactions.ts';
import type { Xid } from '../../transactions/formats/xid.ts';
import { parseXid } from '../../transactions/formats/xid.ts';

/** The xid of every transaction that the fixture commits. */
export const scriptedXid = parseXid('n1-0123456789ab-7') as Xid;

/** A `TransactionService` that records and runs nothing. */
export class ScriptedTransactions implements TransactionService {
  readonly requests: TransactionRequest[] = [];
  readonly resolutions: string[] = [];
  /** Answers of `run`, in order; `committed` once none is left. */
  readonly outcomes: TransactionOutcome[] = [];
  readonly known = new Map<Xid, Knowledge>();
  readonly entries: InDoubtEntry[] = [];

  run(request: TransactionRequest): Promise<TransactionOutcome> {
    this.requests.push(request);
    const committed = {
      kind: 'committed',
      xid: scriptedXid,
      operationCount: request.operations.length,
      branches: [],
    } as const;
    return Promise.resolve(this.outcomes.shift() ?? committed);
  }

  survey(): Promise<readonly MemberKnowledge[]> {
    return Promise.resolve([
      { node: 'n1' as NodeId, role: 'coordinator', knows: 'unreachable' },
      { node: 'n2' as NodeId, role: 'branch', knows: 'undecided' },
    ]);
  }

  find(xid: Xid): Promise<Knowledge | undefined> {
    return Promise.resolve(this.known.get(xid));
  }

  inDoubt(): readonly InDoubtEntry[] {
    return this.entries;
  }

  resolve(xid: Xid, decision: OperatorDecision): Promise<boolean> {
    this.resolutions.push(`${xid} ${decision}`);
    return Promise.resolve(this.known.has(xid));
  }
}

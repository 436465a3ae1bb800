/**
 * Parses and answers transactions of the binary protocol, over the same service and rules as `POST /transactions`. An
 * aborted transaction is an answer, not an error; only a transaction that is refused before it begins is an error.
 */
import { LockstepError } from '../../base/errors.ts';
import { textOf } from '../../base/ids.ts';
import { tombstone } from '../../replica/object/content.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { Content } from '../../replica/object/content.ts';
import type {
  InDoubtEntry,
  Knowledge,
  Operation,
  OperatorDecision,
  TransactionOutcome,
  TransactionRequest,
} from '../../transactions/formats/outcomes.ts';
import type { TransactionService } from '../../transactions/transactions.ts';
import type { ClientObserver } from '../client-observer.ts';
import type { Xid } from '../../transactions/formats/xid.ts';
import type { TransactionLimits } from '../transaction-rules.ts';
import {
  asSent,
  decisionOf,
  checkCount,
  checkOperation,
  checkTogether,
  clientIdOf,
  contextOf,
  levelOf,
  noBranchOf,
  noRecordOf,
  observeOutcome,
  refused,
  timeoutOf,
  withoutDetail,
  xidOf,
} from '../transaction-rules.ts';
import { contentOf, stringOf } from './contents.ts';
import type { Frame } from './frames.ts';
import { messages } from './schema.ts';
import { encodeCommitted } from './transaction-codec.ts';
import type {
  LockInDoubt,
  LockOperation,
  LockTransactionReq,
  LockTransactionResp,
} from './transaction-messages.ts';

/** A decoded call about a transaction. */
export type TransactionCall =
  | { readonly kind: 'transaction'; readonly request: TransactionRequest }
  | { readonly kind: 'transactionGet'; readonly xid: Xid; readonly hidesDetail?: boolean }
  | { readonly kind: 'transactionList' }
  | { readonly kind: 'transactionResolve'; readonly xid: Xid; readonly decision: OperatorDecision };

/** What the calls work with. */
export interface TransactionCallDependencies {
  readonly transactions: TransactionService;
  readonly transactionLimits: TransactionLimits;
  readonly observer: ClientObserver;
}

/** Undefined if the frame holds another kind of call. Throws `BatchError` or `BadRequest`. */
export function parseTransactionCall(frame: Frame, limits: TransactionLimits): TransactionCall | undefined {
  switch (frame.code) {
    case messages.transactionReq.code:
      return {
        kind: 'transaction',
        request: requestOf(messages.transactionReq.decode(frame.body), limits),
      };
    case messages.transactionGetReq.code:
      return { kind: 'transactionGet', xid: namedBy(messages.transactionGetReq.decode(frame.body)) };
    case messages.transactionListReq.code:
      return { kind: 'transactionList' };
    case messages.transactionResolveReq.code: {
      const message = messages.transactionResolveReq.decode(frame.body);
      return {
        kind: 'transactionResolve',
        xid: namedBy(message),
        decision: decisionOf(text(message.heuristic)),
      };
    }
    default:
      return undefined;
  }
}

/** The frame of the answer. Rejects with a `LockstepError`. */
export async function answerTransactionCall(
  parts: TransactionCallDependencies,
  call: TransactionCall,
  times?: RequestTimes,
): Promise<Buffer> {
  const { transactions, observer } = parts;
  switch (call.kind) {
    case 'transaction':
      for (const { content } of call.request.operations) observer.payload(content.value.length);
      return transact(parts, times === undefined ? call.request : { ...call.request, times });
    case 'transactionGet': {
      const known = await transactions.find(call.xid);
      if (known === undefined) throw noRecordOf(call.xid);
      return messages.transactionGetResp.encode(
        answerOf(call.hidesDetail === true ? withoutDetail(known) : known),
      );
    }
    case 'transactionList':
      return messages.transactionListResp.encode({ transactions: transactions.inDoubt().map(entryOf) });
    case 'transactionResolve':
      if (!(await transactions.resolve(call.xid, call.decision))) throw noBranchOf(call.xid);
      return messages.transactionResolveResp.encode({
        transaction_id: bytes(call.xid),
        outcome: bytes('heuristic'),
        heuristic: bytes(call.decision),
      });
  }
}

async function transact(
  { transactions, observer }: TransactionCallDependencies,
  request: TransactionRequest,
): Promise<Buffer> {
  const outcome = await transactions.run(request);
  observeOutcome(observer, outcome, request);
  return frameOf(asSent(outcome, request));
}

function frameOf(outcome: TransactionOutcome): Buffer {
  const { transactionResp } = messages;
  if (outcome.kind === 'committed') return encodeCommitted(outcome, transactionResp.code);
  return transactionResp.encode(answerOf(outcome));
}

function requestOf(message: LockTransactionReq, limits: TransactionLimits): TransactionRequest {
  const { operations: given = [], consistency, timeout, id } = message;
  checkCount(given.length, limits);
  const operations = given.map((one, index) => operationOf(one, index, limits));
  checkTogether(operations, limits);
  return {
    operations,
    forceAbort: message.force_abort === true,
    level: levelOf(consistency === undefined ? undefined : text(consistency)),
    timeoutMs: timeoutOf(timeout),
    clientId: id === undefined ? undefined : clientIdOf(exactText(id)),
  };
}

function operationOf(given: LockOperation, index: number, limits: TransactionLimits): Operation {
  const { type, vclock, if_match: ifMatch } = given;
  const operation = {
    type: type === undefined ? undefined : stringOf(type),
    bucket: nameOf(given.bucket),
    key: nameOf(given.key),
    content: written(given, index),
    context: vclock === undefined ? undefined : contextOf(vclock, 'context', index),
    ifMatch: ifMatch === undefined ? undefined : contextOf(ifMatch, 'if_match', index),
    ifAbsent: given.if_absent === true,
  };
  return checkOperation(operation, index, limits);
}

function written({ content, delete: deletes }: LockOperation, index: number): Content {
  if (deletes === true) {
    if (content !== undefined) throw refused('value', 'a deletion holds no value', index);
    return tombstone;
  }
  if (content === undefined) throw refused('value', 'a put holds a content', index);
  try {
    return contentOf(content);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    throw refused('value', error.message, index);
  }
}

/** A required field is always present; an empty name counts as missing. */
function nameOf(name: Uint8Array): Uint8Array | undefined {
  return name.length === 0 ? undefined : name;
}

function namedBy({ transaction_id: name }: { readonly transaction_id: Uint8Array }): Xid {
  return xidOf(text(name));
}

function answerOf(known: Knowledge): LockTransactionResp {
  const xid = bytes(known.xid);
  switch (known.kind) {
    case 'committed': {
      const branches = known.branches.map(({ node, vote, pending }) => ({
        node: bytes(node),
        vote: bytes(vote),
        pending: pending ? true : undefined,
      }));
      return { transaction_id: xid, outcome: bytes('committed'), operations: known.operationCount, branches };
    }
    case 'aborted': {
      const detail = known.detail === '' ? undefined : Buffer.from(known.detail);
      return { transaction_id: xid, outcome: bytes('aborted'), reason: bytes(known.reason), detail };
    }
    case 'inDoubt':
      return { transaction_id: xid, outcome: bytes('in_doubt') };
    case 'prepared':
      return {
        transaction_id: xid,
        outcome: bytes('in_doubt'),
        coordinator: bytes(known.coordinator),
        branches: [{ node: bytes(known.node), vote: bytes('prepared') }],
        keys: known.keyCount,
        age_ms: known.ageMs,
      };
    case 'heuristic':
      return {
        transaction_id: xid,
        outcome: bytes('heuristic'),
        heuristic: bytes(known.decided),
        branches: [{ node: bytes(known.node) }],
      };
  }
}

function entryOf({ xid, role, state, coordinator, branches, lost, ageMs }: InDoubtEntry): LockInDoubt {
  return {
    transaction_id: bytes(xid),
    role: bytes(role),
    state: bytes(state),
    coordinator: bytes(coordinator),
    branches: branches.map(bytes),
    age_ms: ageMs,
    lost: lost.map(bytes),
  };
}

/** Names of nodes, xids and the product's constants: all are ASCII. */
function bytes(word: string): Uint8Array {
  return Buffer.from(word, 'latin1');
}

/** The text of these bytes; null if they are not UTF-8. */
function exactText(given: Uint8Array): string | null {
  const decoded = text(given);
  return Buffer.from(decoded).equals(given) ? decoded : null;
}

function text(given: Uint8Array): string {
  return textOf(stringOf(given));
}

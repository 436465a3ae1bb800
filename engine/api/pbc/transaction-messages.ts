/**
 * Declares the messages of transactions in the binary protocol. They are the product's own, with codes from 210 (Riak's
 * end below). Names and rules are those of `POST /transactions`; refusals have the same texts.
 *
 *     210 LockTransactionReq         -> 211 LockTransactionResp        run one
 *     212 LockTransactionGetReq      -> 213 LockTransactionResp        the outcome of one
 *     214 LockTransactionListReq     -> 215 LockTransactionListResp    those in doubt on this node
 *     216 LockTransactionResolveReq  -> 217 LockTransactionResp        a heuristic decision over this node's branch
 */
import type { MessageOf } from './message-table.ts';
import { message, optional, repeated, required } from './message-table.ts';
import { RpbContent } from './object-messages.ts';

/** A put, or with `delete` a deletion, which has no `content`. */
export const LockOperation = message('LockOperation', {
  type: optional.bytes(1),
  bucket: required.bytes(2),
  key: required.bytes(3),
  content: optional.message(RpbContent, 4),
  delete: optional.bool(5),
  vclock: optional.bytes(6),
  if_match: optional.bytes(7),
  if_absent: optional.bool(8),
});
export type LockOperation = MessageOf<typeof LockOperation>;

/** Runs a transaction. */
export const LockTransactionReq = message('LockTransactionReq', {
  operations: repeated.message(LockOperation, 1),
  force_abort: optional.bool(2),
  consistency: optional.bytes(3),
  /** Milliseconds. */
  timeout: optional.uint32(4),
  /** The client's idempotency key, which makes a retry safe. */
  id: optional.bytes(5),
});
export type LockTransactionReq = MessageOf<typeof LockTransactionReq>;

/** One branch of the transaction. */
export const LockBranch = message('LockBranch', {
  node: required.bytes(1),
  /** `commit` or `read_only`; the state of an undecided branch. */
  vote: optional.bytes(2),
  pending: optional.bool(3),
});
export type LockBranch = MessageOf<typeof LockBranch>;

/** The outcome of a transaction, as far as the node knows it. */
export const LockTransactionResp = message('LockTransactionResp', {
  transaction_id: required.bytes(1),
  /** `committed`, `aborted`, `in_doubt` or `heuristic`. */
  outcome: required.bytes(2),
  /** The reason for an abort; below, the key or node, for people. */
  reason: optional.bytes(3),
  detail: optional.bytes(4),
  operations: optional.uint32(5),
  branches: repeated.message(LockBranch, 6),
  coordinator: optional.bytes(7),
  /** The number of keys of an undecided branch; below, its age in milliseconds. */
  keys: optional.uint32(8),
  age_ms: optional.double(9),
  /** `commit` or `rollback`. */
  heuristic: optional.bytes(10),
});
export type LockTransactionResp = MessageOf<typeof LockTransactionResp>;

/** Asks for the outcome of a transaction. */
export const LockTransactionGetReq = message('LockTransactionGetReq', {
  transaction_id: required.bytes(1),
});
export type LockTransactionGetReq = MessageOf<typeof LockTransactionGetReq>;

/** A transaction in doubt on this node. */
export const LockInDoubt = message('LockInDoubt', {
  transaction_id: required.bytes(1),
  /** `coordinator` or `branch`. */
  role: required.bytes(2),
  state: required.bytes(3),
  coordinator: required.bytes(4),
  branches: repeated.bytes(5),
  age_ms: required.double(6),
  /** The nodes whose branch is lost with their disk. */
  lost: repeated.bytes(7),
});
export type LockInDoubt = MessageOf<typeof LockInDoubt>;

/** The transactions in doubt on this node. */
export const LockTransactionListResp = message('LockTransactionListResp', {
  transactions: repeated.message(LockInDoubt, 1),
});
export type LockTransactionListResp = MessageOf<typeof LockTransactionListResp>;

/** An operator's heuristic decision. */
export const LockTransactionResolveReq = message('LockTransactionResolveReq', {
  transaction_id: required.bytes(1),
  heuristic: required.bytes(2),
});
export type LockTransactionResolveReq = MessageOf<typeof LockTransactionResolveReq>;

/**
 * Defines the messages of transactions in the binary protocol. They are the product's own, with codes from 210 (Riak's
 * end below). Names and rules are those of `POST /transactions`; refusals have the same texts.
 *
 *     210 LockTransactionReq         -> 211 LockTransactionResp        run one
 *     212 LockTransactionGetReq      -> 213 LockTransactionResp        the outcome of one
 *     214 LockTransactionListReq     -> 215 LockTransactionListResp    those in doubt on this node
 *     216 LockTransactionResolveReq  -> 217 LockTransactionResp        a heuristic decision over this node's branch
 */
import type { RpbContent } from './content-messages.ts';

/** A put, or with `delete` a deletion, which has no `content`. */
export interface LockOperation {
  readonly type?: Uint8Array | undefined;
  readonly bucket: Uint8Array;
  readonly key: Uint8Array;
  readonly content?: RpbContent | undefined;
  readonly delete?: boolean | undefined;
  readonly vclock?: Uint8Array | undefined;
  readonly if_match?: Uint8Array | undefined;
  readonly if_absent?: boolean | undefined;
}

/** Runs a transaction. */
export interface LockTransactionReq {
  readonly operations?: readonly LockOperation[];
  readonly force_abort?: boolean | undefined;
  readonly consistency?: Uint8Array | undefined;
  /** Milliseconds. */
  readonly timeout?: number | undefined;
  /** The client's idempotency key, which makes a retry safe. */
  readonly id?: Uint8Array | undefined;
}

/** One branch of the transaction. */
export interface LockBranch {
  readonly node: Uint8Array;
  /** `commit` or `read_only`; the state of an undecided branch. */
  readonly vote?: Uint8Array | undefined;
  readonly pending?: boolean | undefined;
}

/** The outcome of a transaction, as far as the node knows it. */
export interface LockTransactionResp {
  readonly transaction_id: Uint8Array;
  /** `committed`, `aborted`, `in_doubt` or `heuristic`. */
  readonly outcome: Uint8Array;
  /** The reason for an abort; below, the key or node, for people. */
  readonly reason?: Uint8Array | undefined;
  readonly detail?: Uint8Array | undefined;
  readonly operations?: number | undefined;
  readonly branches?: readonly LockBranch[];
  readonly coordinator?: Uint8Array | undefined;
  /** The number of keys of an undecided branch; below, its age in milliseconds. */
  readonly keys?: number | undefined;
  readonly age_ms?: number | undefined;
  /** `commit` or `rollback`. */
  readonly heuristic?: Uint8Array | undefined;
}

/** Asks for the outcome of a transaction. */
export interface LockTransactionGetReq {
  readonly transaction_id: Uint8Array;
}

/** A transaction in doubt on this node. */
export interface LockInDoubt {
  readonly transaction_id: Uint8Array;
  /** `coordinator` or `branch`. */
  readonly role: Uint8Array;
  readonly state: Uint8Array;
  readonly coordinator: Uint8Array;
  readonly branches?: readonly Uint8Array[];
  readonly age_ms: number;
  /** The nodes whose branch is lost with their disk. */
  readonly lost?: readonly Uint8Array[];
}

/** The transactions in doubt on this node. */
export interface LockTransactionListResp {
  readonly transactions?: readonly LockInDoubt[];
}

/** An operator's heuristic decision. */
export interface LockTransactionResolveReq {
  readonly transaction_id: Uint8Array;
  readonly heuristic: Uint8Array;
}

/** These messages in the language of Protocol Buffers. */
export const transactionSchemaText = `
message LockOperation {
  optional bytes type = 1;
  required bytes bucket = 2;
  required bytes key = 3;
  optional RpbContent content = 4;
  optional bool delete = 5;
  optional bytes vclock = 6;
  optional bytes if_match = 7;
  optional bool if_absent = 8;
}

message LockTransactionReq {
  repeated LockOperation operations = 1;
  optional bool force_abort = 2;
  optional bytes consistency = 3;
  optional uint32 timeout = 4;
  optional bytes id = 5;
}

message LockBranch {
  required bytes node = 1;
  optional bytes vote = 2;
  optional bool pending = 3;
}

message LockTransactionResp {
  required bytes transaction_id = 1;
  required bytes outcome = 2;
  optional bytes reason = 3;
  optional bytes detail = 4;
  optional uint32 operations = 5;
  repeated LockBranch branches = 6;
  optional bytes coordinator = 7;
  optional uint32 keys = 8;
  optional double age_ms = 9;
  optional bytes heuristic = 10;
}

message LockTransactionGetReq {
  required bytes transaction_id = 1;
}

message LockInDoubt {
  required bytes transaction_id = 1;
  required bytes role = 2;
  required bytes state = 3;
  required bytes coordinator = 4;
  repeated bytes branches = 5;
  required double age_ms = 6;
  repeated bytes lost = 7;
}

message LockTransactionListResp {
  repeated LockInDoubt transactions = 1;
}

message LockTransactionResolveReq {
  required bytes transaction_id = 1;
  required bytes heuristic = 2;
}
`;

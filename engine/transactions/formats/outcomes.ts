/** What a client asks of a transaction, and the outcomes it can hear: types that listeners and coordinators share. */
import type { RequestTimes } from '../../base/request-times.ts';
import type { OpenSpan } from '../../base/request-trace.ts';
import type { NodeId } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import type { ConsistencyLevel } from '../../replication/requests.ts';
import type { Content } from '../../replica/object/content.ts';
import type { VersionVector } from '../../replica/object/dots.ts';
import type { Xid } from './xid.ts';

/** One put or deletion (content `tombstone`) of a batch. */
export interface Operation {
  readonly key: ObjectKey;
  readonly content: Content;
  /** The context that the client sent; undefined if it sent none. */
  readonly context: VersionVector | undefined;
  /** The key's context must equal this one. */
  readonly ifMatch: VersionVector | undefined;
  /** The key must hold no value. */
  readonly ifAbsent: boolean;
  /** Writes nothing: the conditions must hold at the moment of the commit. The content is `tombstone`. */
  readonly check?: boolean;
}

/** A client's transaction, as a listener parsed it. */
export interface TransactionRequest {
  /** At least one; no two on one key. */
  readonly operations: readonly Operation[];
  /** Prepare every branch, then roll all of them back. */
  readonly forceAbort: boolean;
  /** Undefined: the configured write level. */
  readonly level: ConsistencyLevel | undefined;
  /** How long the client waits, in milliseconds. Undefined: the configured timeout. */
  readonly timeoutMs: number | undefined;
  /** The idempotency key, which makes a retry safe; undefined if the client sent none. */
  readonly clientId: string | undefined;
  /** Where to note how long the steps take. */
  readonly times?: RequestTimes | undefined;
  /** Without `times`: the span of the traced request that this transaction is a part of. */
  readonly partOf?: OpenSpan | undefined;
  /**
   * The client is answered once every branch has acknowledged, also where the durable decision alone meets the level: its
   * protocol has no word for a committed transaction with a pending branch.
   */
  readonly waitsForBranches?: true;
}

/** Every reason for an abort, as clients read it. */
export const abortReasons = [
  'force_abort',
  'conflict',
  'precondition_failed',
  'prepare_failed',
  'prepare_timeout',
  'no_targets',
  /** A primary or the coordinator takes no writes until its disk has space. */
  'disk_full',
] as const;
/** Why a transaction was aborted. */
export type AbortReason = (typeof abortReasons)[number];

/** The state of one branch of a committed transaction. */
export interface BranchVote {
  readonly node: NodeId;
  readonly vote: 'commit' | 'read_only';
  /** The branch has not confirmed its level yet. It will: the decision stands. */
  readonly pending: boolean;
}

/** The outcome of a transaction, as its client hears it. */
export type TransactionOutcome =
  | {
      readonly kind: 'committed';
      readonly xid: Xid;
      /** Absent if only one branch reports the outcome: it knows its own operations alone. */
      readonly operationCount?: number;
      readonly branches: readonly BranchVote[];
    }
  | {
      readonly kind: 'aborted';
      readonly xid: Xid;
      readonly reason: AbortReason;
      /** Text for people: which key or node. */
      readonly detail: string;
    }
  /** This node does not know the decision yet. */
  | { readonly kind: 'inDoubt'; readonly xid: Xid };

/** A node's message for people, prefixed with the node's name unless it begins with that. */
export function saidBy(node: NodeId, words: string): string {
  return words.startsWith(`${node} `) ? words : `${node}: ${words}`;
}

/** What a node knows of a transaction when a client or an operator asks by its id. */
export type Knowledge =
  | TransactionOutcome
  | {
      readonly kind: 'prepared';
      readonly xid: Xid;
      readonly node: NodeId;
      readonly coordinator: NodeId;
      readonly keyCount: number;
      readonly ageMs: number;
    }
  | {
      readonly kind: 'heuristic';
      readonly xid: Xid;
      readonly node: NodeId;
      readonly decided: 'commit' | 'rollback';
    };

/** What one member knows of a transaction. */
export interface MemberKnowledge {
  readonly node: NodeId;
  readonly role: 'coordinator' | 'branch';
  /** `unknown`: it has no record of the transaction. `unreachable`: it did not answer. */
  readonly knows: 'committed' | 'aborted' | 'undecided' | 'unknown' | 'forgotten' | 'unreachable';
}

/**
 * The decisions an operator may take.
 *
 * - `commit`, `rollback`: end a prepared branch whose coordinator does not return (a heuristic decision).
 * - `abandon`: the coordinator of a committed transaction stops waiting for lost branches, or for the only node that
 *   knows an outcome. At a branch: drops a heuristic decision that it kept for a coordinator that is gone.
 */
export const operatorDecisions = ['commit', 'rollback', 'abandon'] as const;
/** A heuristic decision, or the end of a wait. */
export type OperatorDecision = (typeof operatorDecisions)[number];

/** A transaction in doubt, as an operator's list shows it. */
export interface InDoubtEntry {
  readonly xid: Xid;
  readonly role: 'coordinator' | 'branch';
  readonly state: string;
  readonly coordinator: NodeId;
  readonly branches: readonly NodeId[];
  /** Branches of the coordinator's transaction that are lost for good; an operator may abandon them. */
  readonly lost: readonly NodeId[];
  readonly ageMs: number;
}

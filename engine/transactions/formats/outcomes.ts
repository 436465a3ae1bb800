/** What a client asks of a transaction, and what it hears: the words that listeners and coordinators share. */
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
  /** What the writer has seen; undefined: not given. */
  readonly context: VersionVector | undefined;
  /** The key's context must equal this one. */
  readonly ifMatch: VersionVector | undefined;
  /** The key must hold no value. */
  readonly ifAbsent: boolean;
  /** Nothing is written: the conditions must hold at the moment of the commit. The content is `tombstone`. */
  readonly check?: boolean;
}

export interface TransactionRequest {
  /** At least one; no two on one key. */
  readonly operations: readonly Operation[];
  /** Prepare every branch, then roll all of them back. */
  readonly forceAbort: boolean;
  /** Undefined: the configured one. */
  readonly level: ConsistencyLevel | undefined;
  readonly timeoutMs: number | undefined;
  /** Makes a repetition of this request safe; undefined: the client named none. */
  readonly clientId: string | undefined;
}

export const abortReasons = [
  'force_abort',
  'conflict',
  'precondition_failed',
  'prepare_failed',
  'prepare_timeout',
  'no_targets',
  /** A primary, or the coordinator, takes no writes before its disk has room. */
  'disk_full',
] as const;
export type AbortReason = (typeof abortReasons)[number];

export interface BranchVote {
  readonly node: NodeId;
  readonly vote: 'commit' | 'read_only';
  /** It has not confirmed yet; it will: the decision stands. */
  readonly pending: boolean;
}

export type TransactionOutcome =
  | {
      readonly kind: 'committed';
      readonly xid: Xid;
      /** Absent where it is one branch's word, which knows its own operations only. */
      readonly operationCount?: number;
      readonly branches: readonly BranchVote[];
    }
  | {
      readonly kind: 'aborted';
      readonly xid: Xid;
      readonly reason: AbortReason;
      /** For a person: which key or node. */
      readonly detail: string;
    }
  /** The decision is not known here yet. */
  | { readonly kind: 'inDoubt'; readonly xid: Xid };

/** A node's words for people, with its name, unless they begin with that. */
export function saidBy(node: NodeId, words: string): string {
  return words.startsWith(`${node} `) ? words : `${node}: ${words}`;
}

/** What a node knows of a transaction, for whoever asks by its name. */
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
  /** `unknown`: it has no record of it. `unreachable`: it did not answer. */
  readonly knows: 'committed' | 'aborted' | 'undecided' | 'unknown' | 'forgotten' | 'unreachable';
}

/**
 * What an operator may decide: a prepared branch, whose coordinator does not return, commits or rolls back; a coordinator
 * that has decided to commit waits no longer for branches that were lost, or for the only node that knows an outcome; and
 * what was decided by hand is no longer kept for a coordinator that is gone.
 */
export const operatorDecisions = ['commit', 'rollback', 'abandon'] as const;
export type OperatorDecision = (typeof operatorDecisions)[number];

/** A transaction in doubt, as an operator's list shows it. */
export interface InDoubtEntry {
  readonly xid: Xid;
  readonly role: 'coordinator' | 'branch';
  readonly state: string;
  readonly coordinator: NodeId;
  readonly branches: readonly NodeId[];
  /** Of a coordinator's branches: those that are lost for good; an operator may abandon them. */
  readonly lost: readonly NodeId[];
  readonly ageMs: number;
}

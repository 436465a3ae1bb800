/**
 * The messages between nodes, as values. frames.ts and codec.ts carry them; engine/peer sends them. To add a message: a
 * member here, its row in the codec's schema, and a handler in the module that it serves.
 */
import type { ErrorCode, ErrorFacts } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { TraceContext } from '../../base/request-trace.ts';
import type { VersionRange } from './versions.ts';

/**
 * Version of the layout of frames and greetings, in the header of every frame. A peer with another one is refused by the
 * first word of its first frame. It would grow only if frames or greetings could no longer be read. What nodes may send
 * each other after the greeting has a version of its own, on which each two nodes agree (versions.ts).
 *
 * That version grows by one whenever an earlier node could not read what a new node may send, or would misread it: a new
 * message, a required field, another order or meaning of fields (wire-version.test.ts holds the messages). An optional
 * field of the protobuf schema, which an earlier node skips, needs no new version. A payload (`words`) has no such
 * fields: its decoders refuse bytes that they do not know.
 *
 * 1: the first nodes. 2: transactions, anti-entropy, transfers, hints handed on, MapReduce, modules and properties. 3:
 * publish and subscribe; the most names of a listing's page (mapreduce/listing/listing-messages.ts).
 */
export const wireVersion = 3;

/** The greeting: the first message of a connection, in both directions. */
export interface Hello {
  readonly clusterId: string;
  readonly node: NodeId;
  readonly datacenter: string;
  readonly rack: string;
  readonly tokens: readonly Token[];
  /** Random 48-bit id of the node's incarnation, in hexadecimal. */
  readonly epoch: string;
  /** The incarnation number: greater than those of the node's earlier incarnations. */
  readonly generation: number;
  /** The node joins: it owns nothing yet. */
  readonly joining: boolean;
  /** The dead node whose tokens it takes over. */
  readonly replaces?: NodeId;
  /**
   * Where others reach it, if it has started on an empty disk and has not got back what it may have held. Earlier
   * versions skip the field.
   */
  readonly blankAt?: string;
  /** Its published ring view (cluster/view/ring-view-agreement.ts). */
  readonly view?: string;
  /** The product's version, for operators. */
  readonly version: string;
  /** The versions of peer messages that the node speaks. */
  readonly messages: VersionRange;
}

/** Bytes of a SHA-256 digest. */
export const digestBytes = 32;

/** Describes an object's encoded bytes. The encoding is canonical, so equal digests mean equal objects. */
export interface Description {
  readonly bytes: number;
  /** SHA-256. */
  readonly digest: Uint8Array;
}

/** The name of a forwarded write; who asks is known from the connection. */
export interface AskedWrite {
  /** The asker's incarnation number. */
  readonly life: number;
  /** Counts the writes that the asker has forwarded in this process, from 1. */
  readonly number: number;
  /** The receiver's incarnation number as the asker knows it; 0 if it knows none. */
  readonly heardLife: number;
}

/** A request that belongs to a client's request. */
interface Traceable {
  /**
   * The sender's span, if the client's request is traced. Absent also from an earlier version, which skips the field
   * too.
   */
  readonly trace?: TraceContext | undefined;
}

/** A request to another node. `words`: the payload of the module that the message serves. */
export type PeerRequest =
  /** Asks for a sign of life. Answered by `pong`. */
  | { readonly kind: 'ping' }
  /** Asks for the object under a key, as the receiver has it. Answered by `object`. */
  | (Traceable & {
      readonly kind: 'readObject';
      readonly key: PackedKey;
      readonly token: Token;
      /**
       * A longer object is described instead of sent. Undefined (also from an earlier version): the object is sent
       * whatever its length.
       */
      readonly bytesMax?: number | undefined;
      /**
       * The version of the sender's own object (replication/read-many.ts): an object of that version need not be sent.
       * Absent if the sender holds none.
       */
      readonly version?: Uint8Array | undefined;
    })
  /**
   * Asks the receiver to merge this object into its own. Answered by `written` once it is durable by the receiver's
   * sync mode.
   */
  | (Traceable & {
      readonly kind: 'mergeObject';
      readonly key: PackedKey;
      readonly token: Token;
      readonly object: Uint8Array;
      /**
       * The idempotency record that the object was written under (transactions/formats/idempotency-records.ts): stored
       * with it, in one step.
       */
      readonly clientName?: Uint8Array | undefined;
    })
  /**
   * Asks the receiver, a replica, to coordinate this write for the sender, which is none. Answered by `coordinated`.
   */
  | (Traceable & {
      readonly kind: 'coordinateWrite';
      readonly key: PackedKey;
      readonly token: Token;
      /** The client's causal context (`encodeContext`); empty for none. */
      readonly context: Uint8Array;
      /** The value or tombstone to write: `encodeContent` of replica/object/content.ts. */
      readonly content: Uint8Array;
      /** Durable replicas to wait for: a consistency level by name, or a number as text. */
      readonly level: string;
      readonly ifNoneMatch: boolean;
      /** The write is refused unless the stored context equals this one; empty for no condition. */
      readonly ifContext: Uint8Array;
      /**
       * The write's name, by which the receiver recognises it if it comes again (replication/repeated-writes.ts). Absent
       * from an earlier version, which skips the fields too.
       */
      readonly asked?: AskedWrite | undefined;
    })
  /** A gossip message (cluster/membership/gossip-codec.ts). Answered by `gossiped`. */
  | { readonly kind: 'gossip'; readonly words: Uint8Array }
  /** Several objects to merge, all or none (replication/batch-codec.ts). Answered by `written`. */
  | (Traceable & {
      readonly kind: 'mergeBatch';
      readonly words: Uint8Array;
      /** As in `mergeObject`. */
      readonly clientName?: Uint8Array | undefined;
    })
  /**
   * The objects of several independent writes, each of its own key (replication/merge-many.ts). Each is merged as by
   * `mergeObject`, and may fail alone. Answered by `mergedMany`.
   */
  | { readonly kind: 'mergeMany'; readonly words: Uint8Array }
  /**
   * The keys of several independent reads (replication/read-many.ts). Each is read as by `readObject`, and may fail
   * alone. Answered by `readManyAnswered`.
   */
  | { readonly kind: 'readMany'; readonly words: Uint8Array }
  /** A transaction message (transactions/formats/messages.ts). Answered by `transacted`. */
  | (Traceable & { readonly kind: 'transact'; readonly words: Uint8Array })
  /** A message of a hash-tree exchange (anti-entropy/messages.ts). Answered by `antiEntropyAnswered`. */
  | { readonly kind: 'antiEntropy'; readonly words: Uint8Array }
  /** Asks for the next objects of a token range (cluster/changes/range-messages.ts). Answered by `rangeTransferred`. */
  | { readonly kind: 'transferRange'; readonly words: Uint8Array }
  /**
   * Asks for keys or buckets that the receiver holds (mapreduce/listing/listing-messages.ts). Answered by
   * `namesListed`.
   */
  | { readonly kind: 'listNames'; readonly words: Uint8Array }
  /** A message about tombstones to remove (replica/reap-messages.ts). Answered by `reapAnswered`. */
  | { readonly kind: 'reap'; readonly words: Uint8Array }
  /**
   * Asks the receiver to keep a hint for a replica that missed the write (replication/hints/hint-codec.ts). Answered by
   * `written` once it is durable.
   */
  | { readonly kind: 'keepHint'; readonly words: Uint8Array }
  /** A message about bucket properties (buckets/property-messages.ts). Answered by `propertiesAnswered`. */
  | { readonly kind: 'properties'; readonly words: Uint8Array }
  /** A message about Wasm modules (wasm/spread-messages.ts). Answered by `wasmModulesAnswered`. */
  | { readonly kind: 'wasmModules'; readonly words: Uint8Array }
  /**
   * Asks for a phase of a MapReduce job over inputs that the receiver holds (mapreduce/peer-messages.ts). Answered by
   * `phaseMapped`.
   */
  | { readonly kind: 'mapPhase'; readonly words: Uint8Array }
  /**
   * Published messages, or a question about subscriptions (api/redis/messages/peer-codec.ts). Answered by
   * `pubsubAnswered`.
   */
  | { readonly kind: 'pubsub'; readonly words: Uint8Array }
  /** Asks for versions, or raises the cluster's minimum (node/cluster-version.ts). Answered by `upgradeAnswered`. */
  | { readonly kind: 'upgrade'; readonly words: Uint8Array };

/** The answer to a request. */
export type PeerReply =
  | { readonly kind: 'pong' }
  /** `object` is absent if the replica has none under the key, or describes it instead. */
  | {
      readonly kind: 'object';
      readonly object: Uint8Array | undefined;
      readonly described?: Description | undefined;
      /** The object is of the version that the request has named, and is not sent. An earlier version sends it. */
      readonly same?: true;
    }
  | {
      readonly kind: 'written';
      /**
       * The answer to `mergeObject`: whether the key's only sibling at the receiver is now the one that the message
       * brought, and no reader waits for a transaction there, and the receiver held no value that expires. Absent also
       * from an earlier version: then it is not known.
       */
      readonly sole?: true;
    }
  /** The object after the write. */
  | { readonly kind: 'coordinated'; readonly object: Uint8Array }
  /** The answer to `mergeMany`: how each of the writes ended (replication/merge-many.ts). */
  | { readonly kind: 'mergedMany'; readonly words: Uint8Array }
  /** The answer to `readMany`: the object of each key, or why there is none (replication/read-many.ts). */
  | { readonly kind: 'readManyAnswered'; readonly words: Uint8Array }
  /** The answer to `gossip`. */
  | { readonly kind: 'gossiped'; readonly words: Uint8Array }
  /** The answer to `transact`. */
  | { readonly kind: 'transacted'; readonly words: Uint8Array }
  /** The answer to `antiEntropy`. */
  | { readonly kind: 'antiEntropyAnswered'; readonly words: Uint8Array }
  /** The next objects of a range (cluster/changes/range-messages.ts). */
  | { readonly kind: 'rangeTransferred'; readonly words: Uint8Array }
  /** A page of a listing. */
  | { readonly kind: 'namesListed'; readonly words: Uint8Array }
  /** The answer to `reap`. */
  | { readonly kind: 'reapAnswered'; readonly words: Uint8Array }
  /** The answer to `properties`. */
  | { readonly kind: 'propertiesAnswered'; readonly words: Uint8Array }
  /** The answer to `wasmModules`. */
  | { readonly kind: 'wasmModulesAnswered'; readonly words: Uint8Array }
  /** The numbers of subscribers, or names. */
  | { readonly kind: 'pubsubAnswered'; readonly words: Uint8Array }
  /** What a member speaks. */
  | { readonly kind: 'upgradeAnswered'; readonly words: Uint8Array }
  /** The results of a phase. */
  | { readonly kind: 'phaseMapped'; readonly words: Uint8Array }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly detail: string;
      readonly facts?: ErrorFacts;
    };

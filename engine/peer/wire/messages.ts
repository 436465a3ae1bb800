/**
 * What nodes say to each other, as values. How the words travel is frames.ts and codec.ts in this room; who says them
 * is engine/peer. Adding a message: a member here, its row in the codec's schema, and a handler in the room it serves.
 */
import type { ErrorCode, ErrorFacts } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';

/**
 * Version of the peer protocol; a peer that speaks another one is refused at the handshake, by the first word of its first
 * frame. It grows by one whenever a node of before could not read what a node of now may send, or would take it for
 * something else: a message, a field that must be there, another order or meaning of fields (wire-version.test.ts holds the
 * messages of this version). What a node of before may leave unread (a field at a message's end that it skips) needs none.
 * 1: the first nodes; 2: transactions, anti-entropy, transfers, hints handed on, MapReduce, modules and properties had come.
 */
export const wireVersion = 2;

/** The first words of a connection, in both directions. */
export interface Hello {
  readonly clusterId: string;
  readonly node: NodeId;
  readonly datacenter: string;
  readonly rack: string;
  readonly tokens: readonly Token[];
  /** Random 48-bit epoch of this life of the node, in hex. */
  readonly epoch: string;
  /** Number of this life of the node: greater than those of its earlier lives. */
  readonly generation: number;
  /** It is on its way into the cluster and owns nothing yet. */
  readonly joining: boolean;
  /** The dead node whose tokens it takes over. */
  readonly replaces?: NodeId;
  /** Its view of who owns what (engine/cluster/view/ring-view-agreement.ts). */
  readonly view?: string;
  /** The client-facing version of the product, for operators. */
  readonly version: string;
}

/** Of SHA-256. */
export const digestBytes = 32;

/** Of an object's bytes. They are canonical: whoever has the same digest has the same object. */
export interface Description {
  readonly bytes: number;
  /** SHA-256. */
  readonly digest: Uint8Array;
}

export type PeerRequest =
  /** Are you there? Answered by `pong`. */
  | { readonly kind: 'ping' }
  /** The object under a key, as this replica has it. Answered by `object`. */
  | {
      readonly kind: 'readObject';
      readonly key: PackedKey;
      readonly token: Token;
      /** One that is longer is described, not sent; undefined, or of a node of before: all of it is sent. */
      readonly bytesMax?: number | undefined;
    }
  /** Merge this object into yours and answer `written` once it is durable at your sync mode. */
  | {
      readonly kind: 'mergeObject';
      readonly key: PackedKey;
      readonly token: Token;
      readonly object: Uint8Array;
      /** Under which name of a client's it was written (engine/transactions/formats/idempotency-records.ts): kept with it, in one step. */
      readonly clientName?: Uint8Array | undefined;
    }
  /** You are a replica and I am not: coordinate this write for me. Answered by `coordinated`. */
  | {
      readonly kind: 'coordinateWrite';
      readonly key: PackedKey;
      readonly token: Token;
      /** The client's causal context (`encodeContext`); empty for none. */
      readonly context: Uint8Array;
      /** One sibling to be: `encodeContent` of engine/replica/object/content.ts. */
      readonly content: Uint8Array;
      /** Durable replicas to wait for: a consistency level by name, or a number as text. */
      readonly level: string;
      readonly ifNoneMatch: boolean;
      /** The write is refused unless the stored context equals this one; empty for no condition. */
      readonly ifContext: Uint8Array;
    }
  /** Membership's words (engine/cluster/membership/gossip-codec.ts). Answered by `gossiped`. */
  | { readonly kind: 'gossip'; readonly words: Uint8Array }
  /** Several objects to merge, all or none (engine/replication/batch-codec.ts). Answered by `written`. */
  | {
      readonly kind: 'mergeBatch';
      readonly words: Uint8Array;
      /** As of `mergeObject`. */
      readonly clientName?: Uint8Array | undefined;
    }
  /** Of a transaction (engine/transactions/formats/messages.ts). Answered by `transacted`. */
  | { readonly kind: 'transact'; readonly words: Uint8Array }
  /** Of an exchange of hash trees (engine/anti-entropy/messages.ts). Answered by `antiEntropyAnswered`. */
  | { readonly kind: 'antiEntropy'; readonly words: Uint8Array }
  /** The next objects of a range of tokens (engine/cluster/changes/range-messages.ts). Answered by `rangeTransferred`. */
  | { readonly kind: 'transferRange'; readonly words: Uint8Array }
  /** Names that you hold (engine/mapreduce/listing/listing-messages.ts). Answered by `namesListed`. */
  | { readonly kind: 'listNames'; readonly words: Uint8Array }
  /** Of deletions to be forgotten (engine/replica/reap-messages.ts). Answered by `reapAnswered`. */
  | { readonly kind: 'reap'; readonly words: Uint8Array }
  /** Keep this write for a replica that missed it (engine/replication/hints/hint-codec.ts). Answered by `written` once it is durable. */
  | { readonly kind: 'keepHint'; readonly words: Uint8Array }
  /** Of bucket properties (engine/buckets/property-messages.ts). Answered by `propertiesAnswered`. */
  | { readonly kind: 'properties'; readonly words: Uint8Array }
  /** About Wasm modules (engine/wasm/spread-messages.ts). Answered by `wasmModulesAnswered`. */
  | { readonly kind: 'wasmModules'; readonly words: Uint8Array }
  /** A phase of a MapReduce job over inputs that you hold (engine/mapreduce/peer-messages.ts). Answered by `phaseMapped`. */
  | { readonly kind: 'mapPhase'; readonly words: Uint8Array };

export type PeerReply =
  | { readonly kind: 'pong' }
  /** `object` is absent when the replica has nothing under the key, and when what it has is described instead. */
  | {
      readonly kind: 'object';
      readonly object: Uint8Array | undefined;
      readonly described?: Description | undefined;
    }
  | { readonly kind: 'written' }
  /** The object after the write. */
  | { readonly kind: 'coordinated'; readonly object: Uint8Array }
  /** Membership's words in return. */
  | { readonly kind: 'gossiped'; readonly words: Uint8Array }
  /** Of a transaction in return. */
  | { readonly kind: 'transacted'; readonly words: Uint8Array }
  /** Of an exchange in return. */
  | { readonly kind: 'antiEntropyAnswered'; readonly words: Uint8Array }
  /** Objects of a range (engine/cluster/changes/range-messages.ts). */
  | { readonly kind: 'rangeTransferred'; readonly words: Uint8Array }
  /** A page of a listing. */
  | { readonly kind: 'namesListed'; readonly words: Uint8Array }
  /** What is held of them. */
  | { readonly kind: 'reapAnswered'; readonly words: Uint8Array }
  /** Of bucket properties in return. */
  | { readonly kind: 'propertiesAnswered'; readonly words: Uint8Array }
  /** About Wasm modules in return. */
  | { readonly kind: 'wasmModulesAnswered'; readonly words: Uint8Array }
  /** What a phase made of its inputs. */
  | { readonly kind: 'phaseMapped'; readonly words: Uint8Array }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly detail: string;
      readonly facts?: ErrorFacts;
    };

/** The dependencies of the Redis listener, and the object of a key. */
import type { Gate } from '../../auth/gate.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringFrom } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { objectKey } from '../../base/object-key.ts';
import type { Dispatcher, Need } from '../../replication/requests.ts';
import type { BodyBudget } from '../../io/http.ts';
import type { Io } from '../../io/io.ts';
import type { TransactionService } from '../../transactions/transactions.ts';
import type { ClientObserver } from '../client-observer.ts';
import type { ContentLimits } from '../content-limits.ts';
import type { ReplicaTerms } from '../../replication/needs.ts';
import type { RedisField } from './commands.ts';
import type { Message } from './messages/message.ts';
import type { ScriptRunner } from './value-commands.ts';

/** What the Redis listener works with. */
export interface RedisDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'network' | 'random' | 'spawn'>;
  readonly dispatcher: Dispatcher;
  readonly transactions: Pick<TransactionService, 'run'>;
  readonly observer: ClientObserver;
  readonly gate: Gate;
  /** Budget of the requests of all clients that are being received. */
  readonly requests: BodyBudget & { readonly waiting: BodyBudget };
  /** Counts a received command. */
  readonly count: (field: RedisField) => void;
  readonly terms: ReplicaTerms;
  readonly limits: ContentLimits;
  /**
   * Flushes buckets of the type: what was written before is gone at once. Resolves with false, and has done nothing, if a
   * member may be of a version that cannot. Rejects with `NoQuorum` or `StorageFailed`: they may be flushed, or be
   * flushed later.
   */
  readonly beginEpochs: (type: ByteString, buckets: readonly ByteString[]) => Promise<boolean>;
  /** The epoch of a bucket that this node knows: another one than before if it has been flushed since. */
  readonly epochOf: (type: ByteString, bucket: ByteString) => number;
  /** Microseconds for which replicas remember a deletion at least. */
  readonly graceUs: number;
  /**
   * Whether a plain SET may replace what its key holds without reading it. False while a member may be of a version whose
   * transactions do not yield to such a write: one that has read the key before could then overwrite the SET.
   */
  readonly mayReplace: () => boolean;
  /** Bucket type and bucket of all keys. */
  readonly type: ByteString;
  readonly bucket: ByteString;
  /** Milliseconds that a command may take. */
  readonly timeoutMs: number;
  /** Bytes that one command on several keys, or one transaction, may hold and answer. */
  readonly answerBytesMax: number;
  /** The most keys that one command or transaction may name. */
  readonly keyCountMax: number;
  readonly scripts: ScriptRunner;
  /** The number of this node's subscriptions that a message would go to. */
  readonly subscribersOf: (message: Message) => number;
  readonly serverInfo: { readonly node: string; readonly version: string };
}

/** The object of a Redis key. Throws `BadRequest` for an empty key, `TooLarge` for one beyond its limit. */
export function keyOf({ type, bucket }: Pick<RedisDependencies, 'type' | 'bucket'>, key: Buffer): ObjectKey {
  return objectKey(type, bucket, byteStringFrom(key));
}

/** The replicas to ask before a key is changed: at least a majority, whatever level reads have. */
export function editNeed({ terms }: Pick<RedisDependencies, 'terms'>): Need {
  return terms.readLevel === 'DC_ONE' ? 'quorum' : 'default';
}

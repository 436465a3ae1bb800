/**
 * Answers the replica requests of peers: it reads and merges as a replica, and coordinates the writes that a peer
 * without a replica forwards. It answers every request exactly once.
 */
import { BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import { mustDecode } from '../base/decoding.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Io } from '../io/io.ts';
import type { TraceContext } from '../base/request-trace.ts';
import { OpenSpan } from '../base/request-trace.ts';
import { decodeContent } from '../replica/object/content.ts';
import { emptyVector } from '../replica/object/dots.ts';
import { decodeContext, encodeObject } from '../replica/object/object.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import type { ClusterDispatcher } from './cluster-dispatcher.ts';
import { decodeBatch } from './batch-codec.ts';
import { describeObject } from './large-answers.ts';
import type { IncomingObject, LocalWrite, Replica } from '../replica/replica.ts';
import { refusal } from '../replica/key-slots.ts';
import { MergeEnds, soleEnd, writtenEnd } from './merge-many.ts';
import { largeBytes } from './read-budget.ts';
import type { AskedRead, FoundObject } from './read-many.ts';
import { decodeReads, FoundObjects, isOfVersion, sameObjectFound, unanswered } from './read-many.ts';
import { ReplicaSpans } from './replica-spans.ts';
import { RepeatedWrites } from './repeated-writes.ts';
import type { DispatchSettings } from './round-dependencies.ts';
import type { StoreWrite } from '../storage/store.ts';
import type { ConsistencyLevel, WriteNeed } from './requests.ts';
import { consistencyLevels } from './requests.ts';

const noVersion = Buffer.alloc(0);
const sameAsAsked: PeerReply = { kind: 'object', object: undefined, same: true };

/** Sends the one answer to a request. */
export type Reply = (reply: PeerReply) => void;

/** What peers ask of a replica. Other services handle the other kinds. */
export type ReplicaRequest = Extract<
  PeerRequest,
  { kind: 'ping' | 'readObject' | 'mergeObject' | 'mergeBatch' }
>;

/** Stores idempotency keys beside the objects written under them (`transactions/formats/idempotency-records.ts`). */
export interface NameKeeper {
  /** The records that store the key, to be written with the batch. Throws `BytesError`. */
  learn(clientName: Uint8Array): readonly StoreWrite[];
}

type ForwardedWrite = Extract<PeerRequest, { kind: 'coordinateWrite' }>;

/** The replica service of one node. */
export class PeerService {
  readonly #io: Io;
  readonly #replica: Replica;
  readonly #dispatcher: ClusterDispatcher;
  readonly #settings: DispatchSettings;
  readonly #names: NameKeeper;
  readonly #ownLife: () => number;
  readonly #repeated = new RepeatedWrites();

  constructor(
    io: Io,
    replica: Replica,
    dispatcher: ClusterDispatcher,
    settings: DispatchSettings,
    names: NameKeeper,
    ownLife: () => number,
  ) {
    this.#ownLife = ownLife;
    this.#names = names;
    this.#io = io;
    this.#replica = replica;
    this.#dispatcher = dispatcher;
    this.#settings = settings;
  }

  /** Answers one request of a peer through `reply`, now or later. */
  handle(request: ReplicaRequest, reply: Reply): void {
    switch (request.kind) {
      case 'ping':
        reply({ kind: 'pong' });
        return;
      case 'readObject':
        this.#read(request, reply);
        return;
      case 'mergeObject':
        this.#merge(request, reply);
        return;
      case 'mergeBatch':
        this.#mergeBatch(request, reply);
        return;
    }
  }

  /**
   * Merges the objects of several independent writes. `knowsSole`: whether this node has every write of a token that a
   * client knows of; if not, it does not state that an object is sole.
   */
  mergeMany(words: Uint8Array, knowsSole: (token: Token) => boolean, reply: Reply): void {
    let parts: readonly IncomingObject[];
    try {
      parts = decodeBatch(words);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      reply(failed(new LockstepError('BadRequest', `a message that does not decode: ${error.message}`)));
      return;
    }
    if (this.#refusesFormer(parts, reply)) return;
    const ends = new MergeEnds(parts.length);
    const isKnown = parts.map(({ token }) => knowsSole(token));
    this.#replica.mergeMany(parts, (index, error, sole) => {
      const end =
        error === undefined ? (sole && isKnown[index] === true ? soleEnd : writtenEnd) : failed(error);
      if (ends.note(index, end)) reply({ kind: 'mergedMany', words: ends.encode() });
    });
  }

  /**
   * Reads the objects of several independent reads. `mayAnswer`: whether this node may answer a read of a token now. A
   * read that would wait for a transaction is left to the asker, since the others would wait with it.
   */
  readMany(words: Uint8Array, mayAnswer: (token: Token) => boolean, reply: Reply): void {
    let reads: readonly AskedRead[];
    try {
      reads = decodeReads(words);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      reply(failed(new LockstepError('BadRequest', `a message that does not decode: ${error.message}`)));
      return;
    }
    if (this.#refusesFormer(reads, reply)) return;
    const all = new FoundObjects(reads.length);
    const note = (index: number, found: FoundObject): void => {
      if (all.note(index, found)) reply({ kind: 'readManyAnswered', words: all.encode() });
    };
    // The message, and so its versions, are valid only now. What is read later is sent whole.
    let isNow = true;
    for (const [index, { key, token, version }] of reads.entries()) {
      if (!mayAnswer(token) || this.#replica.isClosed(key)) {
        note(index, unanswered);
        continue;
      }
      const outcome = this.#replica.read(
        key,
        (error, bytes, withheldBytes) =>
          note(index, foundOf(error, bytes, withheldBytes, isNow ? version : noVersion)),
        largeBytes,
      );
      if (outcome !== 'ok') note(index, foundOf(refusal(outcome), undefined, undefined, noVersion));
    }
    isNow = false;
  }

  /** Coordinates a write for `from`, unless it has come before: then nobody knows here how it ended. */
  coordinate(from: NodeId, request: ForwardedWrite, reply: Reply): void {
    const { asked } = request;
    if (asked !== undefined && asked.heardLife !== 0 && asked.heardLife !== this.#ownLife()) {
      // What an earlier incarnation has coordinated is not known. If this write comes for the first time, the asker
      // goes on to the next replica.
      reply(failed(new LockstepError('NoTargets', 'the write is for another incarnation of this node')));
      return;
    }
    if (asked !== undefined && this.#repeated.isRepeated(from, asked)) {
      sometimes('write.forwarded-twice');
      reply(failed(new LockstepError('Timeout', 'this forwarded write has come before')));
      return;
    }
    this.#io.spawn('dispatch.coordinate', () => this.#coordinate(request, reply));
  }

  /** Refuses a message as a whole if one of its keys has a former epoch: the sender learns the present one by it. */
  #refusesFormer(parts: readonly Pick<AskedRead, 'key'>[], reply: Reply): boolean {
    if (!this.#replica.epochs.hasFormer(parts.map(({ key }) => key))) return false;
    reply(failed(new LockstepError('StaleEpoch')));
    return true;
  }

  #read(request: Extract<PeerRequest, { kind: 'readObject' }>, reply: Reply): void {
    const { key, bytesMax = Infinity, version = noVersion } = request;
    // The message, and so its version, is valid only now. What is read later is sent whole.
    let isNow = true;
    const outcome = this.#replica.read(key, (error, object) => {
      if (error !== undefined) reply(failed(error));
      else if (isNow && object !== undefined && isOfVersion(object, version)) reply(sameAsAsked);
      else if (object === undefined || object.length <= bytesMax) reply({ kind: 'object', object });
      else reply({ kind: 'object', object: undefined, described: describeObject(object) });
    });
    isNow = false;
    if (outcome !== 'ok') reply(failed(refusal(outcome)));
  }

  #merge(request: Extract<PeerRequest, { kind: 'mergeObject' }>, reply: Reply): void {
    if (request.clientName !== undefined) {
      const { key, token, object: bytes, clientName, trace } = request;
      this.#mergeAll(() => [{ key, token, bytes }], clientName, trace, reply);
      return;
    }
    const spans = ReplicaSpans.ofPeer(request.trace, this.#io.clock);
    const done = (error: LockstepError | undefined, sole: boolean): void => {
      spans?.synced(error?.code);
      if (error !== undefined) reply(failed(error));
      else reply(sole ? { kind: 'written', sole } : { kind: 'written' });
    };
    const applied = spans === undefined ? undefined : (): void => spans.applied();
    const outcome = this.#replica.merge(request.key, request.token, request.object, done, applied);
    if (outcome !== 'ok') reply(failed(refusal(outcome)));
  }

  #mergeBatch(
    { words, clientName, trace }: Extract<PeerRequest, { kind: 'mergeBatch' }>,
    reply: Reply,
  ): void {
    this.#mergeAll(() => decodeBatch(words), clientName, trace, reply);
  }

  #mergeAll(
    decode: () => readonly IncomingObject[],
    clientName: Uint8Array | undefined,
    trace: TraceContext | undefined,
    reply: Reply,
  ): void {
    let batch: readonly IncomingObject[];
    let records: readonly StoreWrite[];
    try {
      batch = decode();
      records = clientName === undefined ? [] : this.#names.learn(clientName);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      reply(failed(new LockstepError('BadRequest', `a batch that does not decode: ${error.message}`)));
      return;
    }
    const spans = ReplicaSpans.ofPeer(trace, this.#io.clock);
    const done = (error: LockstepError | undefined): void => {
      spans?.synced(error?.code);
      reply(error === undefined ? { kind: 'written' } : failed(error));
    };
    const applied = spans === undefined ? undefined : (): void => spans.applied();
    this.#replica.mergeAll(batch, done, records, applied);
  }

  /** Resolves once this node knows the epoch of the key. Rejects with `StaleEpoch` if it is a former one. */
  #admitted(key: PackedKey): Promise<void> {
    const admitted = new Deferred<void>();
    this.#replica.epochs.admit([key], (error) =>
      error === undefined ? admitted.resolve() : admitted.reject(error),
    );
    return admitted.promise;
  }

  async #coordinate(request: ForwardedWrite, reply: Reply): Promise<void> {
    try {
      const [level, need] = parseLevel(request.level, this.#settings.writeLevel);
      const timeoutUs = this.#settings.timeoutMs * 1000;
      await this.#admitted(request.key);
      this.#dispatcher.checkRoute(request.key, request.token);
      const object = await this.#dispatcher.coordinate(localWrite(request), level, need, timeoutUs);
      reply({ kind: 'coordinated', object: encodeObject(object) });
    } catch (error) {
      reply(failed(asLockstepError(error)));
    }
  }
}

/** The answer to one read of a message. A large object is left to the asker, who asks for its description. */
function foundOf(
  error: LockstepError | undefined,
  bytes: Uint8Array | undefined,
  withheldBytes: number | undefined,
  version: Uint8Array,
): FoundObject {
  if (error !== undefined) return { kind: 'failed', code: error.code, message: error.message };
  if (withheldBytes !== undefined || (bytes !== undefined && bytes.length > largeBytes)) return unanswered;
  if (bytes !== undefined && isOfVersion(bytes, version)) return sameObjectFound;
  return { kind: 'object', bytes };
}

/**
 * The same `reply` for a node that may lack writes of the key that a client knows of: what is merged there is not known
 * to be sole.
 */
export function notKnowingSole(reply: Reply): Reply {
  return (answer) => reply(answer.kind === 'written' ? { kind: 'written' } : answer);
}

function failed(error: LockstepError): Extract<PeerReply, { kind: 'failed' }> {
  return { kind: 'failed', code: error.code, detail: error.message, facts: error.facts };
}

/**
 * Parses a forwarded level: `DC_QUORUM`, `DC_EACH_SAFE_QUORUM+3`, `one`, `quorum`, `all` or a number. Throws
 * `BadRequest`.
 */
function parseLevel(text: string, fallback: ConsistencyLevel): readonly [ConsistencyLevel, WriteNeed] {
  const [name, least] = text.split('+', 2);
  const level = consistencyLevels.find((one) => one === name);
  if (level !== undefined && least === undefined) return [level, 'default'];
  if (level !== undefined && /^[0-9]{1,3}$/.test(least ?? '')) return [level, { atLeast: Number(least) }];
  if (text === 'one' || text === 'quorum' || text === 'all') return [fallback, text];
  if (/^[0-9]{1,3}$/.test(text)) return [fallback, Number(text)];
  throw new LockstepError('BadRequest', `unknown consistency level "${text}"`);
}

function localWrite(request: ForwardedWrite): LocalWrite {
  return mustDecode('a forwarded write', () => ({
    key: request.key,
    token: request.token,
    seen: request.context.length === 0 ? emptyVector : decodeContext(request.context),
    content: decodeContent(request.content),
    ifNoneMatch: request.ifNoneMatch,
    ifContext: request.ifContext.length === 0 ? undefined : decodeContext(request.ifContext),
    span: request.trace instanceof OpenSpan ? request.trace : undefined,
  }));
}

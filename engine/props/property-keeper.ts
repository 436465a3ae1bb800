/**
 * Keeps the properties of buckets and types the same on all nodes: what is set here is durable here before it holds,
 * is offered to every peer at once, and reaches those that were away by gossip, which carries the table's digest; a
 * node that hears another digest fetches what it lacks, page by page.
 *
 * Where a bucket's keys live (`chash_keyfun`, `wasm_keyfun`) can change only while no node holds one of its keys, and
 * so only while every node can be asked.
 */
import { ByteWriter, BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError, asLockstepError } from '../base/errors.ts';
import type { ByteString, NodeId } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { Io } from '../io/io.ts';
import type { Buckets } from './buckets.ts';
import { typeMark } from './buckets.ts';
import type { BucketProperties, PropertySet, PropertyValue } from './properties.ts';
import { propertyTable, withProperties } from './properties.ts';
import type { NamedRecord } from './property-codec.ts';
import { recordName, writeRecord } from './property-codec.ts';
import type { PropertyFile } from './property-file.ts';
import type { PropertyAnswer, PropertyQuestion } from './property-words.ts';
import { decodeAnswer, decodeQuestion, encodeAnswer, encodeQuestion } from './property-words.ts';
import type { Stamp } from './registers.ts';
import { propertyGroups, resetAt, settingOf } from './registers.ts';

/** What the keeper needs of the cluster and of the store. */
export interface PropertyLinks {
  readonly self: NodeId;
  /** All other members. */
  peers(): readonly NodeId[];
  isRoutable(peer: NodeId): boolean;
  /** Calls `onAnswer` once, with the answer's bytes or why there is none. */
  ask(peer: NodeId, words: Uint8Array, onAnswer: (answer: Uint8Array | LockstepError) => void): void;
  /** This node holds a key, deleted or not, whose packed form begins so. */
  holdsKeys(prefix: string): boolean;
}

/** Records in one message, about. */
const pageBytes = 128 * 1024;
/** How long a setting waits for the peers that can be reached. */
const spreadUsMax = 2_000_000;

interface Commit {
  readonly records: readonly NamedRecord[];
  readonly done: Deferred<void>;
}

export class PropertyKeeper {
  readonly #io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly #buckets: Buckets;
  readonly #file: Pick<PropertyFile, 'save'>;
  readonly #links: PropertyLinks;
  readonly #recordsMax: number;
  readonly #commits: Commit[] = [];
  readonly #fetching = new Set<NodeId>();
  #saving = false;
  /** Settings wait for one another: each is judged by what the one before it left. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    io: Pick<Io, 'clock' | 'log' | 'spawn'>,
    buckets: Buckets,
    file: Pick<PropertyFile, 'save'>,
    links: PropertyLinks,
    recordsMax: number,
  ) {
    this.#io = io;
    this.#buckets = buckets;
    this.#file = file;
    this.#links = links;
    this.#recordsMax = recordsMax;
  }

  /**
   * Sets some properties of a bucket, whose values are allowed ones; resolves when they are durable here and every
   * peer that can be reached has them, or in two seconds. Rejects with `Conflict` (the bucket has keys and would route
   * otherwise), `NoTargets` (that cannot be told), `BadRequest`, `TooLarge`, `StorageFailed`.
   */
  set(type: ByteString, bucket: ByteString, given: PropertySet): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#buckets.of(type, bucket);
      const set = wholeGroups(before, given);
      await this.#checkRouting(type, bucket, before, withProperties(before, set));
      await this.#publish({ name: recordName(type, bucket), record: settingOf(set, this.#stamp()) });
      await this.#confirmRouting(type, bucket, before);
    });
  }

  /** The bucket has the properties of its type again. Rejects as `set`. */
  reset(type: ByteString, bucket: ByteString): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#buckets.of(type, bucket);
      const after = this.#buckets.ofType(type);
      if (after !== undefined) await this.#checkRouting(type, bucket, before, after);
      const name = recordName(type, bucket);
      if (this.#buckets.table.records.has(name))
        await this.#publish({ name, record: resetAt(this.#stamp()) });
      await this.#confirmRouting(type, bucket, before);
    });
  }

  /** Makes a bucket type. Rejects with `Conflict` when it exists. */
  createType(type: ByteString, given: PropertySet): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#buckets.knowsType(type))
        throw new LockstepError('Conflict', `the bucket type ${textOf(type)} exists already`);
      const set = new Map<string, PropertyValue>([...completed(given), [typeMark, true]]);
      await this.#publish({
        name: recordName(type, '' as ByteString),
        record: settingOf(set, this.#stamp()),
      });
    });
  }

  /** Sets some properties of the type's buckets that have not set them. Rejects with `NotFound`, `Conflict`. */
  setType(type: ByteString, given: PropertySet): Promise<void> {
    return this.#inTurn(async () => {
      const before = this.#buckets.ofType(type);
      if (before === undefined)
        throw new LockstepError('NotFound', `there is no bucket type ${textOf(type)}; POST /types makes one`);
      const set = wholeGroups(before, given);
      if (routesOtherwise(before, withProperties(before, set))) {
        const detail =
          'chash_keyfun and wasm_keyfun of a bucket type stand from its making; set them of a bucket';
        throw new LockstepError('Conflict', detail);
      }
      await this.#publish({
        name: recordName(type, '' as ByteString),
        record: settingOf(set, this.#stamp()),
      });
    });
  }

  /** What gossip tells of the table. */
  get digest(): string {
    return this.#buckets.table.digest;
  }

  /** A peer's gossip told of its table. */
  heard(peer: NodeId, digest: string): void {
    if (digest === this.digest || digest === '' || this.#fetching.has(peer)) return;
    this.#fetching.add(peer);
    this.#io.spawn('props.fetch', async () => {
      try {
        await this.#fetch(peer);
      } finally {
        this.#fetching.delete(peer);
      }
    });
  }

  /** Answers a peer's words. Rejects with a `LockstepError`. */
  async answer(words: Uint8Array): Promise<Uint8Array> {
    return encodeAnswer(await this.#answerTo(understood(words, decodeQuestion)));
  }

  async #answerTo(question: PropertyQuestion): Promise<PropertyAnswer> {
    switch (question.kind) {
      case 'offer':
        await this.#commit(question.records);
        return { kind: 'taken' };
      case 'fetch':
        return this.#page(question.after);
      case 'holds':
        return { kind: 'held', held: this.#links.holdsKeys(question.name) };
    }
  }

  #page(after: string): PropertyAnswer {
    const records: NamedRecord[] = [];
    const left = this.#buckets.table.after(after);
    const writer = new ByteWriter(1024);
    for (const record of left) {
      if (writer.length > pageBytes) break;
      writeRecord(writer, record);
      records.push(record);
    }
    return { kind: 'page', records, complete: records.length === left.length };
  }

  async #fetch(peer: NodeId): Promise<void> {
    let after = '';
    for (;;) {
      const answer = await this.#ask(peer, { kind: 'fetch', after });
      // The next round of gossip begins again.
      if (answer instanceof LockstepError || answer.kind !== 'page') return;
      try {
        await this.#commit(answer.records);
      } catch (error) {
        const { code, message: detail } = asLockstepError(error);
        this.#io.log.event('error', 'props.fetch.failed', { peer, code, detail });
        return;
      }
      const last = answer.records.at(-1)?.name;
      if (answer.complete || last === undefined || last <= after) return;
      after = last;
    }
  }

  async #publish(record: NamedRecord): Promise<void> {
    const { records } = this.#buckets.table;
    if (!records.has(record.name) && records.size >= this.#recordsMax) {
      const detail = `${records.size} buckets and types have properties of their own; at most ${this.#recordsMax} may`;
      throw new LockstepError('TooLarge', detail);
    }
    await this.#commit([record]);
    await this.#offer(record);
  }

  /** Resolves when every peer that can be reached has taken it, or after a while: the others hear of it by gossip. */
  async #offer(record: NamedRecord): Promise<void> {
    const enough = new Deferred<void>();
    const patience = this.#io.clock.after(spreadUsMax, () => enough.resolve());
    const peers = this.#links.peers().filter((peer) => this.#links.isRoutable(peer));
    const told = peers.map((peer) => this.#ask(peer, { kind: 'offer', records: [record] }));
    await Promise.race([Promise.all(told), enough.promise]);
    patience.cancel();
  }

  async #checkRouting(
    type: ByteString,
    bucket: ByteString,
    before: BucketProperties,
    after: BucketProperties,
  ): Promise<void> {
    if (!routesOtherwise(before, after)) return;
    const name = recordName(type, bucket);
    const held = (node: NodeId): LockstepError =>
      new LockstepError(
        'Conflict',
        `chash_keyfun of the bucket ${textOf(bucket)} cannot change: ${node} holds keys of it (deleted ones count until they are forgotten)`,
      );
    if (this.#links.holdsKeys(name)) throw held(this.#links.self);
    const peers = this.#links.peers();
    const answers = await Promise.all(peers.map((peer) => this.#ask(peer, { kind: 'holds', name })));
    answers.forEach((answer, index) => {
      const peer = peers[index] ?? this.#links.self;
      if (answer instanceof LockstepError || answer.kind !== 'held') {
        const detail = `chash_keyfun can change only while every node can say that it holds no key of the bucket; ${peer} does not answer`;
        throw new LockstepError('NoTargets', detail);
      }
      if (answer.held) throw held(peer);
    });
  }

  /**
   * A write that was under way while the routing changed may have gone where keys lived before: then the change is taken
   * back, before anybody is told that it was made. Rejects with `Conflict` or `NoTargets`.
   */
  async #confirmRouting(type: ByteString, bucket: ByteString, before: BucketProperties): Promise<void> {
    const now = this.#buckets.of(type, bucket);
    if (!routesOtherwise(before, now)) return;
    try {
      await this.#checkRouting(type, bucket, before, now);
    } catch (error) {
      const set = wholeGroups(before, new Map([['chash_keyfun', before.chashKeyfun]]));
      await this.#publish({ name: recordName(type, bucket), record: settingOf(set, this.#stamp()) });
      throw error;
    }
  }

  /** Merges what was heard; resolves when it is durable, and then it holds. Rejects with `StorageFailed`. */
  #commit(records: readonly NamedRecord[]): Promise<void> {
    const done = new Deferred<void>();
    this.#commits.push({ records, done });
    if (!this.#saving) {
      this.#saving = true;
      this.#io.spawn('props.save', () => this.#saveAll());
    }
    return done.promise;
  }

  async #saveAll(): Promise<void> {
    try {
      while (this.#commits.length > 0) await this.#saveOnce(this.#commits.splice(0));
    } finally {
      this.#saving = false;
    }
  }

  async #saveOnce(commits: readonly Commit[]): Promise<void> {
    const before = this.#buckets.table;
    const table = before.merged(commits.flatMap(({ records }) => records));
    try {
      if (table !== before) await this.#file.save(table);
    } catch (error) {
      for (const { done } of commits) done.reject(asLockstepError(error));
      return;
    }
    if (table !== before) {
      this.#buckets.replace(table);
      this.#io.log.event('info', 'props.changed', { records: table.records.size, digest: table.digest });
    }
    for (const { done } of commits) done.resolve();
  }

  #ask(peer: NodeId, question: PropertyQuestion): Promise<PropertyAnswer | LockstepError> {
    const heard = new Deferred<PropertyAnswer | LockstepError>();
    this.#links.ask(peer, encodeQuestion(question), (answer) => {
      if (answer instanceof LockstepError) heard.resolve(answer);
      else heard.resolve(attempted(() => understood(answer, decodeAnswer)));
    });
    return heard.promise;
  }

  #stamp(): Stamp {
    const counter = Math.max(this.#buckets.table.highest + 1, this.#io.clock.wallMs());
    return { counter, node: this.#links.self };
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }
}

/** What is set together, whole: what is not given of a group stays, or gives way to what is. */
function wholeGroups(before: BucketProperties, given: PropertySet): PropertySet {
  const set = new Map(completed(given));
  for (const group of propertyGroups) {
    if (!group.some((name) => set.has(name))) continue;
    for (const name of group) if (!set.has(name)) set.set(name, valueOf(before, name));
  }
  return set;
}

/** One of `allow_mult` and `last_write_wins` takes the other's place. Throws `BadRequest` when both are wanted. */
function completed(given: PropertySet): PropertySet {
  const [siblings, newest] = [given.get('allow_mult'), given.get('last_write_wins')];
  if (siblings === true && newest === true) {
    const detail = 'allow_mult and last_write_wins are both true; allowed: at most one of them';
    throw new LockstepError('BadRequest', detail);
  }
  const set = new Map(given);
  if (siblings === true) set.set('last_write_wins', false);
  if (newest === true) set.set('allow_mult', false);
  return set;
}

function valueOf(properties: BucketProperties, name: string): PropertyValue {
  const field = propertyTable.get(name)?.field;
  return field === undefined ? false : properties[field];
}

function routesOtherwise(before: BucketProperties, after: BucketProperties): boolean {
  if (before.chashKeyfun !== after.chashKeyfun) return true;
  return after.chashKeyfun === 'CUSTOM' && before.wasmKeyfun !== after.wasmKeyfun;
}

function understood<T>(words: Uint8Array, decode: (words: Uint8Array) => T): T {
  try {
    return decode(words);
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    throw new LockstepError('BadRequest', `words about bucket properties: ${error.message}`);
  }
}

function attempted<T>(work: () => T): T | LockstepError {
  try {
    return work();
  } catch (error) {
    if (error instanceof LockstepError) return error;
    throw error;
  }
}

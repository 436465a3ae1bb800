/**
 * Keeps the properties of buckets and types equal on all nodes. A setting first becomes durable on the node that takes
 * it, then takes effect there, then goes to every reachable peer. Gossip carries the table's digest; a node that sees a
 * different digest fetches the missing records from that peer, page by page.
 *
 * A node that lacks a record would drop siblings of a bucket that keeps siblings. One that starts without records
 * (because it is new, or has lost them) therefore asks its peers before it serves clients (`catchUp`). Every node
 * exchanges objects with a peer only while it has that peer's records (`hasHeard`, `hear`): with each new connection it
 * compares them again, since the peer may have taken a setting while it could not reach this node.
 *
 * The routing of a bucket (`chash_keyfun`, `wasm_keyfun`) may change only while no node holds one of its keys. Every
 * node must therefore be reachable to confirm that it holds none.
 */
import { ByteWriter } from '../base/bytes.ts';
import { mustDecode } from '../base/decoding.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError, asLockstepError } from '../base/errors.ts';
import type { ByteString, NodeId } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { bucketOfPacked, epochOf } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import { sleep } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Buckets } from './buckets.ts';
import { datacenterLacking } from './flush-reach.ts';
import { typeMark } from './buckets.ts';
import { HeardPeers, linkLookUs, linkUsMax } from './heard-peers.ts';
import type { BucketProperties, PropertySet, PropertyValue } from './properties.ts';
import { withProperties } from './properties.ts';
import type { NamedRecord } from './property-codec.ts';
import { recordName, writeRecord } from './property-codec.ts';
import type { KeyPlaces, PropertyAnswer, PropertyQuestion } from './property-messages.ts';
import { decodeAnswer, decodeQuestion, encodeAnswer, encodeQuestion } from './property-messages.ts';
import type { Stamp } from './registers.ts';
import { epochIn, epochRecord, resetAt, settingOf } from './registers.ts';
import { completed, routesOtherwise, wholeGroups } from './settings.ts';

/** What a message of peers is called in errors. */
const about = 'a message about bucket properties';

/** What the keeper needs of the cluster and of the store. `node/` implements it. */
export interface PropertyLinks {
  readonly self: NodeId;
  /** All other members. */
  peers(): readonly NodeId[];
  /** Whether requests may be sent to the peer: it is up and does not leave. */
  isRoutable(peer: NodeId): boolean;
  /** Whether a link to the peer is established, so that a request can leave now. */
  isConnected(peer: NodeId): boolean;
  /** Sends `words` to the peer. Calls `onAnswer` once, with the answer's bytes or the error. */
  ask(peer: NodeId, words: Uint8Array, onAnswer: (answer: Uint8Array | LockstepError) => void): void;
  /** Whether this node holds a key, tombstones included, of the bucket with this record in its present epoch. */
  holdsKeys(name: string): boolean;
  /** Where the keys of this bucket lie that this node holds, in its present epoch. */
  placesOf(name: string): KeyPlaces;
  /** All members and where they are, this node and those that join or leave included. */
  members(): readonly Pick<Member, 'node' | 'datacenter' | 'rack'>[];
}

/**
 * How complete a node's property records are at its start. `whole`: all are there. `new`: none are there, and the node
 * is new or cannot know whether it had any. `lost`: the node had more than it has.
 */
export type PropertyCondition = 'whole' | 'new' | 'lost';

/** The durable storage of the records. */
export interface PropertyShelf {
  /** How the start found the records. */
  readonly condition: PropertyCondition;
  /** Stores the records; resolves when they are durable. Rejects with a `LockstepError`. */
  save(records: readonly NamedRecord[]): Promise<void>;
  /** Records durably that the node has all records again. Rejects with a `LockstepError`. */
  complete(): Promise<void>;
}

/** Limits of bucket properties on one node. */
export interface PropertyLimits {
  /** Records, of buckets and types together. */
  readonly recordsMax: number;
  /** Bytes of records in one page of an answer to `fetch`, about; 128 KiB at most are taken. */
  readonly pageBytes: number;
}

/** How often a node that has lost its records asks its peers again. */
const askAgainUs = 200_000;
/** The most bytes of records in one page of an answer to `fetch`, about. */
const pageBytesMax = 128 * 1024;
/** How long a setting, or a flush, waits for the reachable peers to take it. */
const spreadUsMax = 2_000_000;
/** Flushes of one node take turns under this name, which no record has. */
const flushTurn = '';
/** How often a flush begins again because other nodes flush the same buckets at the same time. */
const flushAttemptsMax = 8;

interface Commit {
  readonly records: readonly NamedRecord[];
  readonly done: Deferred<void>;
}

/** Sets, stores and spreads bucket properties on one node. */
export class PropertyKeeper {
  readonly #io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly #buckets: Buckets;
  readonly #shelf: PropertyShelf;
  readonly #links: PropertyLinks;
  readonly #recordsMax: number;
  readonly #pageBytes: number;
  readonly #commits: Commit[] = [];
  /** This node has every record that was set, as far as it can know. It answers `fetch`. */
  #whole: boolean;
  /** Which peers' records this node has. */
  readonly peers: HeardPeers;
  #saving = false;
  /** One queue per record name: each setting is checked against the result of the one before it. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Names whose first record is being written; they count toward `#recordsMax`. */
  readonly #coming = new Set<string>();
  #closed = false;
  /** A peer has had all records of this node at once, since this node took its last setting. */
  #hasSpread = false;

  constructor(
    io: Pick<Io, 'clock' | 'log' | 'spawn'>,
    buckets: Buckets,
    shelf: PropertyShelf,
    links: PropertyLinks,
    { recordsMax, pageBytes }: PropertyLimits,
  ) {
    this.#io = io;
    this.#buckets = buckets;
    this.#shelf = shelf;
    this.#whole = shelf.condition === 'whole';
    this.#links = links;
    this.peers = new HeardPeers(
      io,
      (peer) => links.isConnected(peer),
      (peer) => this.#fetch(peer),
    );
    this.#recordsMax = recordsMax;
    this.#pageBytes = Math.min(pageBytes, pageBytesMax);
  }

  /**
   * Sets properties of a bucket; the caller has validated the values. Resolves when they are durable here and either
   * every reachable peer has them or `spreadUsMax` has passed. Rejects with `Conflict` (the routing would change and a
   * node holds keys of the bucket), `NoTargets` (the routing would change and a node does not answer), `BadRequest`,
   * `TooLarge`, `StorageFailed`, `ShuttingDown` (`close`).
   */
  set(type: ByteString, bucket: ByteString, given: PropertySet): Promise<void> {
    const name = recordName(type, bucket);
    return this.#change(name, async () => {
      const before = this.#buckets.of(type, bucket);
      const set = wholeGroups(before, given);
      await this.#checkRouting(type, bucket, before, withProperties(before, set));
      await this.#publish({ name, record: settingOf(set, this.#stamp()) });
      await this.#confirmRouting(type, bucket, before);
    });
  }

  /** Resets a bucket to the properties of its type. Rejects as `set`. */
  reset(type: ByteString, bucket: ByteString): Promise<void> {
    const name = recordName(type, bucket);
    return this.#change(name, async () => {
      const before = this.#buckets.of(type, bucket);
      const after = this.#buckets.ofType(type);
      if (after !== undefined) await this.#checkRouting(type, bucket, before, after);
      if (this.#buckets.table.records.has(name))
        await this.#publish({ name, record: resetAt(this.#stamp()) });
      await this.#confirmRouting(type, bucket, before);
    });
  }

  /** Creates a bucket type. Rejects with `Conflict` if it exists, and as `set`. */
  createType(type: ByteString, given: PropertySet): Promise<void> {
    const name = recordName(type, '' as ByteString);
    return this.#change(name, async () => {
      if (this.#buckets.knowsType(type))
        throw new LockstepError('Conflict', `the bucket type ${textOf(type)} exists already`);
      const set = new Map<string, PropertyValue>([...completed(given), [typeMark, true]]);
      await this.#publish({ name, record: settingOf(set, this.#stamp()) });
    });
  }

  /**
   * Sets properties of a type, for all of its buckets that have not set them. Rejects with `NotFound` (no such type),
   * `Conflict` (the routing would change), and as `set`.
   */
  setType(type: ByteString, given: PropertySet): Promise<void> {
    const name = recordName(type, '' as ByteString);
    return this.#change(name, async () => {
      const before = this.#buckets.ofType(type);
      if (before === undefined)
        throw new LockstepError('NotFound', `there is no bucket type ${textOf(type)}; POST /types makes one`);
      const set = wholeGroups(before, given);
      if (routesOtherwise(before, withProperties(before, set))) {
        const detail =
          'chash_keyfun and wasm_keyfun of a bucket type stand from its making; set them of a bucket';
        throw new LockstepError('Conflict', detail);
      }
      await this.#publish({ name, record: settingOf(set, this.#stamp()) });
    });
  }

  /**
   * Learns the epoch that a packed key names; resolves once it is durable and in effect here. Rejects with
   * `StorageFailed`.
   */
  learnEpoch(packed: PackedKey): Promise<void> {
    return this.#commit([{ name: bucketOfPacked(packed), record: epochRecord(epochOf(packed)) }]);
  }

  /**
   * Begins a new epoch of each bucket, named by its property record. What was written before is gone once a majority of
   * the racks of every datacenter knows it: every quorum then meets a replica that refuses a former epoch. Resolves when
   * the new epochs are durable at every member that answers, and at all members of so many racks. Rejects with `NoQuorum`
   * if too few members answer, and with `StorageFailed`: the flush may have taken effect, or may do so later.
   */
  flush(names: readonly string[]): Promise<void> {
    return this.#inTurn(flushTurn, async () => {
      for (let attempt = 0; attempt < flushAttemptsMax; attempt++) {
        if (await this.#beginEpochs(names)) return;
        sometimes('flush.later-epoch');
      }
      throw new LockstepError('NoQuorum', 'other nodes flush the same buckets again and again; try again');
    });
  }

  /** False if a member knows a later epoch of a bucket, which may have begun before this flush. */
  async #beginEpochs(names: readonly string[]): Promise<boolean> {
    const { self } = this.#links;
    const { epochs } = this.#buckets;
    const wallMs = this.#io.clock.wallMs();
    const records = names.map((name) => ({ name, record: epochRecord(epochs.next(name, self, wallMs)) }));
    await this.#commit(records);
    if (this.#knowsLater(records)) return false;
    const holders = new Set<NodeId>([self]);
    await this.#askAll({ kind: 'flush', records }, async (peer, answer) => {
      if (answer instanceof LockstepError || answer.kind !== 'flushed') return;
      if (!answer.later) holders.add(peer);
      else await this.peers.hear(peer);
    });
    if (this.#knowsLater(records)) return false;
    const lacking = datacenterLacking(this.#links.members(), holders);
    this.#io.log.event('info', 'props.flushed', { buckets: names.length, holders: holders.size });
    if (lacking === undefined) return true;
    const detail = `too few members know of the flush: no majority of the racks of ${lacking} does; it may take effect later`;
    throw new LockstepError('NoQuorum', detail);
  }

  /** This node leaves the cluster, and its disk with it: it refuses settings with `ShuttingDown` from now on. */
  close(): void {
    this.#closed = true;
  }

  /**
   * Whether a member has everything that was set on this node. After `close` this stays true once it is. Gossip reports
   * it, so it may be false for a few rounds.
   */
  get hasSpread(): boolean {
    return this.#hasSpread || this.digest === '';
  }

  /** Digest of the table, which gossip carries. */
  get digest(): string {
    return this.#buckets.table.digest;
  }

  /** Called with a digest that a peer's gossip carried. Fetches the peer's records if this node may lack some. */
  heard(peer: NodeId, digest: string): void {
    this.peers.told(peer, digest, this.digest);
    if (digest === this.digest) this.#hasSpread = true;
  }

  /** Whether objects may be exchanged with the peer: this node has its records, and has saved all that it was offered. */
  hasHeard(peer: NodeId): boolean {
    return !this.#saving && this.peers.has(peer);
  }

  /** Resolves when no peer's records are being fetched, or after `patienceUs` microseconds. */
  async fetched(patienceUs: number): Promise<void> {
    const fetches = this.peers.under();
    if (fetches.length === 0) return;
    const late = new Deferred<void>();
    const patience = this.#io.clock.after(patienceUs, () => late.resolve());
    await Promise.race([Promise.all(fetches), late.promise]);
    patience.cancel();
  }

  /**
   * Fetches the peer's records, and waits for those that are being saved. Resolves with whether all of the peer's records
   * are now known here. Never rejects.
   */
  async hear(peer: NodeId): Promise<boolean> {
    // What a peer has offered need only be saved; then nothing is to be fetched.
    if (this.#saving && this.peers.has(peer)) {
      if ((await this.#commit([]).then(() => undefined, asLockstepError)) !== undefined) return false;
      if (this.peers.has(peer)) return true;
    }
    return this.peers.hear(peer);
  }

  /**
   * Called at a start, once the membership is known. A node that began without all records asks its peers for them. A
   * new node continues when no peer has more. A node that has lost records waits for a peer that has them. Rejects with
   * `FileMissing` if there is none within `patienceUs`, or with `StorageFailed`.
   */
  async catchUp(patienceUs: number): Promise<void> {
    if (this.#whole) return;
    const { clock, log } = this.#io;
    const linksUs = clock.nowUs() + linkUsMax;
    const endUs = clock.nowUs() + patienceUs;
    if (this.#shelf.condition === 'lost') {
      sometimes('properties.records-lost');
      log.event('warn', 'props.catch.up.began', {});
    }
    for (;;) {
      const peers = this.#links.peers().filter((peer) => this.#links.isRoutable(peer));
      const linked = peers.filter((peer) => this.#links.isConnected(peer));
      if (linked.length < peers.length && clock.nowUs() < linksUs) {
        await sleep(clock, linkLookUs);
        continue;
      }
      const heard = await Promise.all(linked.map((peer) => this.hear(peer)));
      if (heard.includes(true) || this.#shelf.condition === 'new') break;
      if (clock.nowUs() >= endUs) throw recordsLost('no other member has told it what they are');
      await sleep(clock, askAgainUs);
    }
    await this.#shelf.complete();
    this.#whole = true;
    if (this.#shelf.condition === 'lost')
      log.event('info', 'props.catch.up.done', { records: this.#buckets.table.records.size });
  }

  /**
   * Answers a peer's message. Rejects with `BadRequest` (malformed input), `NotFound` (the records here are not
   * complete yet) or `StorageFailed`.
   */
  async answer(words: Uint8Array): Promise<Uint8Array> {
    return encodeAnswer(await this.#answerTo(mustDecode(about, () => decodeQuestion(words))));
  }

  async #answerTo(question: PropertyQuestion): Promise<PropertyAnswer> {
    switch (question.kind) {
      case 'offer':
        await this.#commit(question.records);
        return { kind: 'taken' };
      case 'fetch':
        if (!this.#whole) {
          sometimes('properties.fetch-refused');
          throw new LockstepError('NotFound', 'this node has not heard itself what was set of buckets');
        }
        return this.#page(question.after);
      case 'flush':
        await this.#commit(question.records);
        return { kind: 'flushed', later: this.#knowsLater(question.records) };
      case 'holds':
        return { kind: 'held', held: this.#links.holdsKeys(question.name) };
      case 'places':
        return { kind: 'placed', places: this.#links.placesOf(question.name) };
    }
  }

  #knowsLater(records: readonly NamedRecord[]): boolean {
    const { epochs } = this.#buckets;
    return records.some(({ name, record }) => epochs.ofRecord(name) > epochIn(record));
  }

  #page(after: string): PropertyAnswer {
    const records: NamedRecord[] = [];
    const left = this.#buckets.table.after(after);
    const writer = new ByteWriter(1024);
    for (const record of left) {
      if (writer.length > this.#pageBytes) break;
      writeRecord(writer, record);
      records.push(record);
    }
    return { kind: 'page', records, complete: records.length === left.length };
  }

  /** Resolves with whether all of the peer's records have arrived and are durable here. */
  async #fetch(peer: NodeId): Promise<boolean> {
    let after = '';
    for (;;) {
      const answer = await this.#ask(peer, { kind: 'fetch', after });
      // The peer asks itself; a node with all records need not wait until it has them again.
      if (answer instanceof LockstepError && answer.code === 'NotFound') return this.#whole;
      // The next round of gossip starts a new fetch.
      if (answer instanceof LockstepError || answer.kind !== 'page') return false;
      try {
        await this.#commit(answer.records);
      } catch (error) {
        const { code, message: detail } = asLockstepError(error);
        this.#io.log.event('error', 'props.fetch.failed', { peer, code, detail });
        return false;
      }
      if (answer.complete) return true;
      const last = answer.records.at(-1)?.name;
      if (last === undefined || last <= after) return false;
      after = last;
    }
  }

  async #publish(record: NamedRecord): Promise<void> {
    const { records } = this.#buckets.table;
    const isNew = !records.has(record.name);
    if (isNew && records.size + this.#coming.size >= this.#recordsMax) {
      const detail = `${records.size} buckets and types have properties of their own; at most ${this.#recordsMax} may`;
      throw new LockstepError('TooLarge', detail);
    }
    if (isNew) this.#coming.add(record.name);
    try {
      await this.#commit([record]);
      this.#hasSpread = false;
    } finally {
      this.#coming.delete(record.name);
    }
    await this.#offer(record);
  }

  /** The peers that are not reached fetch the record by gossip. */
  #offer(record: NamedRecord): Promise<void> {
    return this.#askAll({ kind: 'offer', records: [record] }, async () => undefined);
  }

  /**
   * Asks every reachable peer. Resolves when all answers have been `taken`, or after `spreadUsMax`.
   */
  async #askAll(
    question: PropertyQuestion,
    taken: (peer: NodeId, answer: PropertyAnswer | LockstepError) => Promise<void>,
  ): Promise<void> {
    const enough = new Deferred<void>();
    const patience = this.#io.clock.after(spreadUsMax, () => enough.resolve());
    const peers = this.#links.peers().filter((peer) => this.#links.isRoutable(peer));
    const told = peers.map(async (peer) => taken(peer, await this.#ask(peer, question)));
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
   * Checks again after the change. A write in flight during it may have placed a key by the old routing; in that case
   * the keeper restores the old routing before the client gets an answer, unless there are keys that the new one has
   * placed: those would not be found again. Rejects with `Conflict` or `NoTargets`.
   */
  async #confirmRouting(type: ByteString, bucket: ByteString, before: BucketProperties): Promise<void> {
    const now = this.#buckets.of(type, bucket);
    if (!routesOtherwise(before, now)) return;
    const name = recordName(type, bucket);
    const { self } = this.#links;
    const asked = this.#links.peers().map(async (node) => ({ node, at: await this.#placesAt(node, name) }));
    const places = [{ node: self, at: this.#links.placesOf(name) }, ...(await Promise.all(asked))];
    const former = places.find(({ at }) => at?.former === true);
    const bad = former ?? places.find(({ at }) => at === undefined);
    if (bad === undefined) return;
    const isUsed = places.some(({ at }) => at?.some === true);
    if (!isUsed) {
      sometimes('properties.routing-restored');
      const set = wholeGroups(before, new Map([['chash_keyfun', before.chashKeyfun]]));
      await this.#publish({ name, record: settingOf(set, this.#stamp()) });
    }
    const stands = isUsed ? 'has changed, and keys were written by it' : 'cannot change';
    const why = former === undefined ? 'does not answer' : 'took keys by the former one meanwhile';
    const detail = `chash_keyfun of the bucket ${textOf(bucket)} ${stands}: ${bad.node} ${why}`;
    throw new LockstepError(former === undefined ? 'NoTargets' : 'Conflict', detail);
  }

  /** Where the bucket's keys lie at the peer; undefined if it does not answer. */
  async #placesAt(peer: NodeId, name: string): Promise<KeyPlaces | undefined> {
    const answer = await this.#ask(peer, { kind: 'places', name });
    if (!(answer instanceof LockstepError)) return answer.kind === 'placed' ? answer.places : undefined;
    if (answer.code !== 'BadRequest') return undefined;
    // An earlier build can only say whether there are keys.
    const held = await this.#ask(peer, { kind: 'holds', name });
    if (held instanceof LockstepError || held.kind !== 'held') return undefined;
    return { some: false, former: held.held };
  }

  /** Merges records into the table. Resolves when they are durable and in effect. Rejects with `StorageFailed`. */
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
    const { table } = this.#buckets;
    const changes = table.changes(commits.flatMap(({ records }) => records));
    try {
      if (changes.length > 0) await this.#shelf.save(changes);
    } catch (error) {
      sometimes('properties.save-failed');
      // Records that a peer has offered are missing here.
      this.peers.missed();
      for (const { done } of commits) done.reject(asLockstepError(error));
      return;
    }
    if (changes.length > 0) {
      this.#buckets.apply(changes);
      this.#io.log.event('info', 'props.changed', { changed: changes.length, records: table.records.size });
    }
    for (const { done } of commits) done.resolve();
  }

  #ask(peer: NodeId, question: PropertyQuestion): Promise<PropertyAnswer | LockstepError> {
    const heard = new Deferred<PropertyAnswer | LockstepError>();
    this.#links.ask(peer, encodeQuestion(question), (answer) => {
      if (answer instanceof LockstepError) heard.resolve(answer);
      else heard.resolve(attempted(() => mustDecode(about, () => decodeAnswer(answer))));
    });
    return heard.promise;
  }

  #stamp(): Stamp {
    const counter = Math.max(this.#buckets.table.highest + 1, this.#io.clock.wallMs());
    return { counter, node: this.#links.self };
  }

  /** One setting, after those of the same name before it. */
  #change(name: string, work: () => Promise<void>): Promise<void> {
    return this.#inTurn(name, async () => {
      if (this.#closed) {
        const detail = `${this.#links.self} leaves the cluster and takes no bucket properties any more; set them on another member`;
        throw new LockstepError('ShuttingDown', detail);
      }
      await work();
    });
  }

  #inTurn(name: string, work: () => Promise<void>): Promise<void> {
    const turn = (this.#turns.get(name) ?? Promise.resolve()).then(work);
    const over = turn
      .catch(() => undefined)
      .then(() => {
        if (this.#turns.get(name) === over) this.#turns.delete(name);
      });
    this.#turns.set(name, over);
    return turn;
  }
}

/** The error of a node that does not start because its property records are lost. `why` completes the sentence. */
export function recordsLost(why: string): LockstepError {
  return new LockstepError(
    'FileMissing',
    `what was set of buckets (their properties) is lost on this node, and ${why}: start another member of the cluster first, or put the data directory back from a backup; to go on without it, run \`lockstep store forget-properties DIR\``,
  );
}

function attempted<T>(work: () => T): T | LockstepError {
  try {
    return work();
  } catch (error) {
    if (error instanceof LockstepError) return error;
    throw error;
  }
}

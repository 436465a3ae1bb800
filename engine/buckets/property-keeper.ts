/**
 * Keeps the properties of buckets and types the same on all nodes: what is set here is durable here before it holds,
 * is offered to every peer at once, and reaches those that were away by gossip, which carries the table's digest; a
 * node that hears another digest fetches what it lacks, page by page.
 *
 * A node that starts without the records (a new one, or one that has lost them) would drop siblings of buckets that keep
 * them. It asks its peers before it serves clients (`catchUp`), and in this life it takes no object of a peer, and gives
 * none to one that asks, before it has heard what that peer knows (`hasHeard`, `hear`).
 *
 * Where a bucket's keys live (`chash_keyfun`, `wasm_keyfun`) can change only while no node holds one of its keys, and
 * so only while every node can be asked.
 */
import { ByteWriter, BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError, asLockstepError } from '../base/errors.ts';
import type { ByteString, NodeId } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import { sleep } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { Buckets } from './buckets.ts';
import { typeMark } from './buckets.ts';
import type { BucketProperties, PropertySet, PropertyValue } from './properties.ts';
import { propertyTable, withProperties } from './properties.ts';
import type { NamedRecord } from './property-codec.ts';
import { recordName, writeRecord } from './property-codec.ts';
import type { PropertyAnswer, PropertyQuestion } from './property-messages.ts';
import { decodeAnswer, decodeQuestion, encodeAnswer, encodeQuestion } from './property-messages.ts';
import type { Stamp } from './registers.ts';
import { propertyGroups, resetAt, settingOf } from './registers.ts';

/** What the keeper needs of the cluster and of the store. */
export interface PropertyLinks {
  readonly self: NodeId;
  /** All other members. */
  peers(): readonly NodeId[];
  isRoutable(peer: NodeId): boolean;
  /** A request reaches it now. */
  isConnected(peer: NodeId): boolean;
  /** Calls `onAnswer` once, with the answer's bytes or why there is none. */
  ask(peer: NodeId, words: Uint8Array, onAnswer: (answer: Uint8Array | LockstepError) => void): void;
  /** This node holds a key, deleted or not, whose packed form begins so. */
  holdsKeys(prefix: string): boolean;
}

/**
 * What a node has of the records that were set: all of them; none, since it is new, or it cannot know whether it had
 * any; or less than it had.
 */
export type PropertyCondition = 'whole' | 'new' | 'lost';

/** Where the records lie durably. */
export interface PropertyShelf {
  /** As the start found it. */
  readonly condition: PropertyCondition;
  /** Durable when this resolves. Rejects with a `LockstepError`. */
  save(records: readonly NamedRecord[]): Promise<void>;
  /** Makes durable that all was heard. Rejects with a `LockstepError`. */
  complete(): Promise<void>;
}

/** How often a node that has lost its records asks again. */
const askAgainUs = 200_000;
/** How long, and how often, a new node looks for the link to a peer that is there. */
const linkUsMax = 1_000_000;
const linkLookUs = 10_000;
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
  readonly #shelf: PropertyShelf;
  readonly #links: PropertyLinks;
  readonly #recordsMax: number;
  readonly #commits: Commit[] = [];
  readonly #fetching = new Map<NodeId, Deferred<boolean>>();
  /** This life began with all records: nothing waits for what a peer knows. */
  readonly #beganWhole: boolean;
  /** What this node knows is all that can be known: it tells others. */
  #whole: boolean;
  /** Peers whose records are known here. */
  readonly #heardFrom = new Set<NodeId>();
  #saving = false;
  /** Settings of one name wait for one another: each is judged by what the one before it left. */
  readonly #turns = new Map<string, Promise<unknown>>();
  /** Names without a record that are about to have one. */
  readonly #coming = new Set<string>();

  constructor(
    io: Pick<Io, 'clock' | 'log' | 'spawn'>,
    buckets: Buckets,
    shelf: PropertyShelf,
    links: PropertyLinks,
    recordsMax: number,
  ) {
    this.#io = io;
    this.#buckets = buckets;
    this.#shelf = shelf;
    this.#beganWhole = shelf.condition === 'whole';
    this.#whole = this.#beganWhole;
    this.#links = links;
    this.#recordsMax = recordsMax;
  }

  /**
   * Sets some properties of a bucket, whose values are allowed ones; resolves when they are durable here and every
   * peer that can be reached has them, or in two seconds. Rejects with `Conflict` (the bucket has keys and would route
   * otherwise), `NoTargets` (that cannot be told), `BadRequest`, `TooLarge`, `StorageFailed`.
   */
  set(type: ByteString, bucket: ByteString, given: PropertySet): Promise<void> {
    const name = recordName(type, bucket);
    return this.#inTurn(name, async () => {
      const before = this.#buckets.of(type, bucket);
      const set = wholeGroups(before, given);
      await this.#checkRouting(type, bucket, before, withProperties(before, set));
      await this.#publish({ name, record: settingOf(set, this.#stamp()) });
      await this.#confirmRouting(type, bucket, before);
    });
  }

  /** The bucket has the properties of its type again. Rejects as `set`. */
  reset(type: ByteString, bucket: ByteString): Promise<void> {
    const name = recordName(type, bucket);
    return this.#inTurn(name, async () => {
      const before = this.#buckets.of(type, bucket);
      const after = this.#buckets.ofType(type);
      if (after !== undefined) await this.#checkRouting(type, bucket, before, after);
      if (this.#buckets.table.records.has(name))
        await this.#publish({ name, record: resetAt(this.#stamp()) });
      await this.#confirmRouting(type, bucket, before);
    });
  }

  /** Makes a bucket type. Rejects with `Conflict` when it exists. */
  createType(type: ByteString, given: PropertySet): Promise<void> {
    const name = recordName(type, '' as ByteString);
    return this.#inTurn(name, async () => {
      if (this.#buckets.knowsType(type))
        throw new LockstepError('Conflict', `the bucket type ${textOf(type)} exists already`);
      const set = new Map<string, PropertyValue>([...completed(given), [typeMark, true]]);
      await this.#publish({ name, record: settingOf(set, this.#stamp()) });
    });
  }

  /** Sets some properties of the type's buckets that have not set them. Rejects with `NotFound`, `Conflict`. */
  setType(type: ByteString, given: PropertySet): Promise<void> {
    const name = recordName(type, '' as ByteString);
    return this.#inTurn(name, async () => {
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

  /** What gossip tells of the table. */
  get digest(): string {
    return this.#buckets.table.digest;
  }

  /** A peer's gossip told of its table. */
  heard(peer: NodeId, digest: string): void {
    if (digest === this.digest || digest === '') this.#heardFrom.add(peer);
    else this.#hearing(peer);
  }

  /** What the peer knows is known here, or need not be: this life began with all records. */
  hasHeard(peer: NodeId): boolean {
    return this.#beganWhole || this.#heardFrom.has(peer);
  }

  /** Fetches what the peer knows; resolves with whether all of it is known here now. Never rejects. */
  hear(peer: NodeId): Promise<boolean> {
    return this.#hearing(peer).promise;
  }

  /** Begins to fetch what the peer knows, unless that is under way. */
  #hearing(peer: NodeId): Deferred<boolean> {
    const under = this.#fetching.get(peer);
    if (under !== undefined) return under;
    const done = new Deferred<boolean>();
    this.#fetching.set(peer, done);
    this.#io.spawn('props.fetch', async () => {
      let heard = false;
      try {
        heard = await this.#fetch(peer);
        if (heard) this.#heardFrom.add(peer);
      } finally {
        this.#fetching.delete(peer);
        done.resolve(heard);
      }
    });
    return done;
  }

  /**
   * At a start, once the peers that are there are known: a node that began without all records asks them. A new one goes
   * on when none of them knows more. One that has lost records waits for a peer that has them: rejects with `FileMissing`
   * when none does within `patienceUs`, or with `StorageFailed`.
   */
  async catchUp(patienceUs: number): Promise<void> {
    if (this.#whole) return;
    const { clock, log } = this.#io;
    const linksUs = clock.nowUs() + linkUsMax;
    const endUs = clock.nowUs() + patienceUs;
    if (this.#shelf.condition === 'lost') log.event('warn', 'props.catch.up.began', {});
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
        if (!this.#whole)
          throw new LockstepError('Overloaded', 'this node has not heard itself what was set of buckets');
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

  /** Whether all that the peer knows has come. */
  async #fetch(peer: NodeId): Promise<boolean> {
    let after = '';
    for (;;) {
      const answer = await this.#ask(peer, { kind: 'fetch', after });
      // The next round of gossip begins again.
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
    } finally {
      this.#coming.delete(record.name);
    }
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
    const { table } = this.#buckets;
    const changes = table.changes(commits.flatMap(({ records }) => records));
    try {
      if (changes.length > 0) await this.#shelf.save(changes);
    } catch (error) {
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
      else heard.resolve(attempted(() => understood(answer, decodeAnswer)));
    });
    return heard.promise;
  }

  #stamp(): Stamp {
    const counter = Math.max(this.#buckets.table.highest + 1, this.#io.clock.wallMs());
    return { counter, node: this.#links.self };
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

/** Why a node that has lost what was set of its buckets does not start, and what can be done. */
export function recordsLost(why: string): LockstepError {
  return new LockstepError(
    'FileMissing',
    `what was set of buckets (their properties) is lost on this node, and ${why}: start another member of the cluster first, or put the data directory back from a backup; to go on without it, run \`lockstep store forget-properties DIR\``,
  );
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

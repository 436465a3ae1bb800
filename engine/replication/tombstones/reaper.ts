/**
 * Forgets deletions: a tombstone goes once it is older than the grace and every member of the cluster has said twice
 * that it holds just this tombstone under the key (or, where it is no replica, nothing), and keeps no hint for it. Until
 * then a replica that slept could bring the deleted value back (source: Riak's and Cassandra's accounts of resurrection).
 * One that a wrong clock has dated ahead ages from when this life of the node met it.
 *
 *     check   to every member: same, nothing or other?         all replicas `same`, nobody `other`: they agree
 *     check   a round later: still, and is nothing under way that was asked for before we agreed?      nobody `busy`
 *     forget  to every member, this node last: remove it if it is still just that
 *
 * Why twice: a write that waits for a replica which took it long ago, its answer lost, becomes a hint at its deadline;
 * a read may bring what it was shown before; a node that leaves hands hints to one that said it has none. Whoever asked
 * for anything before all held the tombstone may yet bring what it has replaced, and who asks later is shown it.
 *
 * Promised: no value that the tombstone has replaced comes back by a message that was on its way meanwhile: for a while
 * a replica remembers what it forgot (replica/replica.ts), and connections of an earlier life are dead. Not promised: that a disk
 * restored from a copy older than the grace stays silent.
 *
 * The primary of a key begins; the other replicas take their turn later, so that a tombstone that is left over (a
 * replica was away between the two questions) is found by whoever holds it.
 */
import { BytesError } from '../../base/bytes.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import { ageMs } from '../../replica/object/dates.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { decodeObject, liveSiblings } from '../../replica/object/object.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import type { PeerReply } from '../../peer/wire/messages.ts';
import type { Hints } from '../hints/hints.ts';
import type { ClientKeys } from '../../replica/client-keys.ts';
import type { RoundDependencies } from '../round-dependencies.ts';
import { askPeer } from '../round-dependencies.ts';
import type { Holding, ReapItem, ReapQuestion } from '../../replica/reap-messages.ts';
import {
  decodeHoldings,
  decodeReapQuestion,
  encodeHoldings,
  encodeReapQuestion,
  markOf,
  reapItemsMax,
} from '../../replica/reap-messages.ts';

export interface ReaperOptions {
  /** Milliseconds that a tombstone is kept at least. */
  readonly graceMs: number;
  /** Between two looks for tombstones that are due. */
  readonly intervalUs: number;
  readonly timeoutUs: number;
}

export interface ReaperDependencies
  extends ClientKeys, Pick<RoundDependencies, 'self' | 'ring' | 'pending' | 'plane' | 'stats' | 'peerIndex'> {
  readonly replica: Pick<RoundDependencies['replica'], 'watch' | 'forget' | 'hasForgotten'>;
  readonly view: Pick<RoundDependencies['view'], 'isRoutable'>;
  /**
   * Who is in the cluster, on the way in or on the way out. A node that waits to join again may hold what it copied
   * before, and one that leaves keeps hints.
   */
  readonly members: () => readonly Member[];
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly hints: Pick<Hints, 'keepsFor'> | undefined;
  /** When the oldest request to a peer was made that is not answered yet; undefined: there is none. */
  readonly oldestRequestUs: () => number | undefined;
}

interface Tombstone {
  readonly token: Token;
  /** On this life's monotonic clock, perhaps before its beginning: what the wall clock does later ages nothing. */
  readonly sinceUs: number;
  /** Since when every member is known to hold it. */
  agreedUs?: number;
}

/** A tombstone, and what all the others say of it; `busy`: they hold it, and some are not ready. */
interface Surveyed {
  readonly item: ReapItem;
  readonly tombstone: Tombstone;
  readonly answer: 'agreed' | 'busy' | 'against';
}

/** Tombstones in sight at once; of more, those that come later wait for another life's walk. */
const knownMax = 200_000;
/** The walk over what earlier lives left: keys read at once, and the rest between two readings. */
const walkCount = 100;
const walkRestUs = 200_000;
/** A replica that is not the first in a key's order waits so many intervals longer, for each before it. */
const turnIntervals = 3;

export class Reaper {
  readonly #parts: ReaperDependencies;
  readonly #options: ReaperOptions;
  readonly #known = new Map<PackedKey, Tombstone>();
  #timer: Timer | undefined;
  #restTimer: Timer | undefined;
  #resting: Deferred<void> | undefined;
  #stopped = false;
  /** Tombstones that this node has forgotten. */
  reaped = 0;

  constructor(parts: ReaperDependencies, options: ReaperOptions) {
    this.#parts = parts;
    this.#options = options;
    parts.replica.watch((key, token, object) => this.#stored(key, token, object));
  }

  /** Tombstones in sight. */
  get known(): number {
    return this.#known.size;
  }

  start(): void {
    this.#parts.io.spawn('reap.walk', () => this.#walk());
    this.#arm();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#restTimer?.cancel();
    this.#resting?.resolve();
  }

  /** Answers a peer's words, once. */
  answer(words: Uint8Array, reply: (reply: PeerReply) => void): void {
    let question: ReapQuestion;
    try {
      question = decodeReapQuestion(Uint8Array.from(words));
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      reply({ kind: 'failed', code: 'BadRequest', detail: `words about deletions: ${error.message}` });
      return;
    }
    this.#parts.io.spawn('reap.answer', async () => {
      reply({ kind: 'reapAnswered', words: encodeHoldings(await this.#answerTo(question)) });
    });
  }

  #answerTo({ kind, agreedForUs, items }: ReapQuestion): Promise<readonly Holding[]> {
    if (kind === 'forget') return Promise.all(items.map((item) => this.#forget(item)));
    const busy = this.#isBusySince(agreedForUs);
    return Promise.all(
      items.map(async (item) => {
        const holding = await this.#check(item);
        return busy && holding !== 'other' ? 'busy' : holding;
      }),
    );
  }

  /** Something that was asked for so long ago, or before, is under way. */
  #isBusySince(agreedForUs: number): boolean {
    if (agreedForUs === 0) return false;
    const oldestUs = this.#parts.oldestRequestUs();
    return oldestUs !== undefined && oldestUs <= this.#parts.io.clock.nowUs() - agreedForUs;
  }

  #stored(key: PackedKey, token: Token, object: StoredObject): void {
    if (object.siblings[0]?.tombstone !== true || liveSiblings(object).length > 0) {
      if (this.#known.size > 0) this.#known.delete(key);
      return;
    }
    if (this.#known.size >= knownMax && !this.#known.has(key)) return;
    const { clock } = this.#parts.io;
    this.#known.set(key, { token, sinceUs: clock.nowUs() - ageMs(object, clock.wallMs()) * 1000 });
  }

  #arm(): void {
    if (this.#stopped) return;
    this.#timer = this.#parts.io.clock.after(this.#options.intervalUs, () => {
      this.#parts.io.spawn('reap.round', async () => {
        try {
          await this.#round();
        } finally {
          this.#arm();
        }
      });
    });
  }

  /** Tombstones of earlier lives are found by reading everything once, slowly. */
  async #walk(): Promise<void> {
    let count = 0;
    for (const key of this.#parts.keys()) {
      const token = this.#parts.tokenOf(key);
      if (token === undefined || this.#known.has(key)) continue;
      const bytes = await this.#read(key);
      const object = bytes === undefined ? undefined : decoded(bytes);
      if (object !== undefined) this.#stored(key, token, object);
      count += 1;
      if (count % walkCount === 0) await this.#rest();
      if (this.#stopped) return;
    }
  }

  #rest(): Promise<void> {
    const rested = new Deferred<void>();
    this.#resting = rested;
    this.#restTimer = this.#parts.io.clock.after(walkRestUs, () => rested.resolve());
    return rested.promise;
  }

  async #round(): Promise<void> {
    const due = this.#due();
    const isAgreed = (key: PackedKey): boolean => this.#known.get(key)?.agreedUs !== undefined;
    const agreed = due.filter(isAgreed);
    const fresh = due.filter((key) => !isAgreed(key));
    await this.#each(agreed, (keys) => this.#reap(keys));
    await this.#each(fresh, (keys) => this.#agree(keys));
  }

  async #each(due: readonly PackedKey[], act: (keys: readonly PackedKey[]) => Promise<void>): Promise<void> {
    for (let from = 0; from < due.length && !this.#stopped; from += reapItemsMax) {
      await act(due.slice(from, from + reapItemsMax));
    }
  }

  /** Tombstones that are old enough, where it is this node's turn. */
  #due(): readonly PackedKey[] {
    const { io, ring, self } = this.#parts;
    const nowUs = io.clock.nowUs();
    const graceUs = this.#options.graceMs * 1000;
    const turnUs = turnIntervals * this.#options.intervalUs;
    const due: PackedKey[] = [];
    for (const [key, { token, sinceUs }] of this.#known) {
      if (nowUs - sinceUs <= graceUs) continue;
      const turn = Math.max(0, ring().placement(token).indexOf(self));
      if (nowUs - sinceUs > graceUs + turn * turnUs) due.push(key);
    }
    return due;
  }

  /** Asks for the first time. */
  async #agree(keys: readonly PackedKey[]): Promise<void> {
    const members = this.#everybody();
    if (members === undefined) return;
    const answers = await this.#survey(keys, members, 0);
    const agreedUs = this.#parts.io.clock.nowUs();
    // What was stored meanwhile has taken the tombstone's place among those in sight.
    for (const { tombstone, answer } of answers) if (answer === 'agreed') tombstone.agreedUs = agreedUs;
  }

  /** Asks about those that all agreed on once more, and forgets them. */
  async #reap(keys: readonly PackedKey[]): Promise<void> {
    const members = this.#everybody();
    if (members === undefined) return;
    const nowUs = this.#parts.io.clock.nowUs();
    const agreedUs = keys.reduce((last, key) => Math.max(last, this.#known.get(key)?.agreedUs ?? nowUs), 0);
    const agreedForUs = Math.max(1, nowUs - agreedUs);
    if (this.#isBusySince(agreedForUs)) return;
    const answers = await this.#survey(keys, members, agreedForUs);
    for (const { tombstone, answer } of answers) if (answer === 'against') delete tombstone.agreedUs;
    const items = answers.filter(({ answer }) => answer === 'agreed').map(({ item }) => item);
    if (items.length === 0 || this.#stopped) return;
    const order = { kind: 'forget', agreedForUs: 0, items } as const;
    await Promise.all(members.map((member) => this.#ask(member, order)));
    await Promise.all(items.map((item) => this.#forget(item)));
  }

  /** Asks everybody about the tombstones that are here now. */
  async #survey(
    keys: readonly PackedKey[],
    members: readonly Member[],
    agreedForUs: number,
  ): Promise<readonly Surveyed[]> {
    const read = await Promise.all(keys.map((key) => this.#itemOf(key)));
    const here = read.filter((one) => one !== undefined);
    if (here.length === 0) return [];
    const question = { kind: 'check', agreedForUs, items: here.map(({ item }) => item) } as const;
    const answers = await Promise.all(members.map((member) => this.#ask(member, question)));
    return here.map(({ item, tombstone }, index) => {
      const disagreeing = members
        .map((_, at) => answers[at]?.[index])
        .filter((holding, at) => {
          return !this.#agrees(members[at], item, holding);
        });
      const busy = disagreeing.every((holding) => holding === 'busy');
      return { item, tombstone, answer: disagreeing.length === 0 ? 'agreed' : busy ? 'busy' : 'against' };
    });
  }

  /** All other members; undefined while one of them cannot be asked. */
  #everybody(): readonly Member[] | undefined {
    const { members, self, view } = this.#parts;
    const others = members().filter((member) => member.node !== self.node);
    return others.every((member) => view.isRoutable(member)) ? others : undefined;
  }

  /** This node's own tombstone under the key, as it is on the disk; undefined when that has changed. */
  async #itemOf(key: PackedKey): Promise<Pick<Surveyed, 'item' | 'tombstone'> | undefined> {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    const bytes = await this.#read(key);
    const object = bytes === undefined ? undefined : decoded(bytes);
    // Another one has been stored meanwhile, whose time has not come.
    if (this.#known.get(key) !== known) return undefined;
    if (bytes === undefined || object === undefined || liveSiblings(object).length > 0) {
      this.#known.delete(key);
      return undefined;
    }
    if (this.#keepsHints(key) || this.#parts.pending(known.token).length > 0) return undefined;
    return { item: { key, token: known.token, mark: markOf(bytes) }, tombstone: known };
  }

  /** What the member holds does not stand against forgetting. */
  #agrees(member: Member | undefined, { token }: ReapItem, holding: Holding | undefined): boolean {
    if (holding === 'same' || holding === 'forgotten') return true;
    return (
      holding === 'nothing' && member !== undefined && !this.#parts.ring().placement(token).includes(member)
    );
  }

  async #check(item: ReapItem): Promise<Holding> {
    if (this.#keepsHints(item.key)) return 'other';
    const bytes = await this.#read(item.key);
    if (bytes !== undefined) return markOf(bytes) === item.mark ? 'same' : 'other';
    // Of an earlier deletion of the key that would say nothing: what came between may still be on its way here.
    return this.#parts.replica.hasForgotten(item) ? 'forgotten' : 'nothing';
  }

  async #forget(item: ReapItem): Promise<Holding> {
    const done = new Deferred<boolean>();
    this.#parts.replica.forget(item, (gone) => done.resolve(gone));
    if (!(await done.promise)) return 'other';
    this.reaped += 1;
    this.#known.delete(item.key);
    this.#parts.io.log.event('debug', 'dispatch.tombstone.reaped', { token: item.token });
    return 'forgotten';
  }

  #keepsHints(key: PackedKey): boolean {
    return this.#parts.hints?.keepsFor(key) ?? false;
  }

  #ask(member: Member, question: ReapQuestion): Promise<readonly Holding[]> {
    const answer = new Deferred<readonly Holding[]>();
    const message = { kind: 'reap', words: encodeReapQuestion(question) } as const;
    const error = askPeer(this.#parts, member, message, this.#options.timeoutUs, (reply) => {
      answer.resolve(reply.kind === 'reapAnswered' ? understood(reply.words) : []);
    });
    if (error !== undefined) answer.resolve([]);
    return answer.promise;
  }

  /** What cannot be read is not forgotten. */
  async #read(key: PackedKey): Promise<Uint8Array | undefined> {
    try {
      return await this.#parts.bytesOf(key);
    } catch (error) {
      if (error instanceof LockstepError) return noObject;
      throw error;
    }
  }
}

/** Neither nothing nor a tombstone. */
const noObject = new Uint8Array(1);

function decoded(bytes: Uint8Array): StoredObject | undefined {
  try {
    return decodeObject(bytes);
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

function understood(words: Uint8Array): readonly Holding[] {
  try {
    return decodeHoldings(words);
  } catch (error) {
    if (error instanceof BytesError) return [];
    throw error;
  }
}

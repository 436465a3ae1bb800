/**
 * Removes old tombstones. A tombstone is removed once two conditions hold. It is older than the grace period. And every
 * member of the cluster has confirmed twice that it holds exactly this tombstone under the key (or, if it is no
 * replica, no copy) and stores no hint for the key. Before that, a replica that was down could bring the deleted value
 * back (source: Riak's and Cassandra's accounts of resurrection). A tombstone with a date in the future, set by a wrong
 * clock, ages from the time at which this incarnation first saw it.
 *
 *     check   to every member: same, nothing or other?         all replicas `same`, no member `other`: they agree
 *     check   a round later: still, and is no request under way from before we agreed?                 no member `busy`
 *     forget  to every member, this node last: remove it if it is still exactly that
 *
 * Why twice: a request that started before all members held the tombstone may still carry the deleted value. A write
 * whose replica took it long ago but whose answer was lost becomes a hint at its deadline. A read repair may send what
 * the read was shown earlier. A leaving node may hand hints to a member that has already reported none. A request that
 * starts later is shown the tombstone.
 *
 * Guarantee: no value that the tombstone replaced returns through a message that was under way. For a while a replica
 * remembers which tombstones it removed (`replica/replica.ts`), and connections of an earlier incarnation are closed.
 * A replica that gets such a value stores the tombstone again. Members that still remember it report `forgotten` in the
 * next checks, so it is removed again once the sender has it, too.
 * Not guaranteed: that a disk restored from a backup older than the grace period brings no value back, once no replica
 * remembers the removed tombstone.
 *
 * The primary of a key starts the protocol. The other replicas take their turn later, so that a remaining tombstone (a
 * replica was down between the two checks) is found by any replica that still holds it.
 */
import { assert } from '../../base/assert.ts';
import { BytesError } from '../../base/bytes.ts';
import { tryDecode } from '../../base/decoding.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { sometimes } from '../../base/sometimes.ts';
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

/** Timing of the reaper. */
export interface ReaperOptions {
  /** The grace period: the least age of a tombstone, in milliseconds, at which it is removed. */
  readonly graceMs: number;
  /** Interval between two rounds. */
  readonly intervalUs: number;
  readonly timeoutUs: number;
  /** Limit of the tombstones tracked at once; 200,000 if absent. */
  readonly knownMax?: number;
}

/** What the reaper needs of the node. */
export interface ReaperDependencies
  extends ClientKeys, Pick<RoundDependencies, 'self' | 'ring' | 'pending' | 'plane' | 'stats' | 'peerIndex'> {
  readonly replica: Pick<RoundDependencies['replica'], 'watch' | 'forget' | 'hasForgotten'>;
  readonly view: Pick<RoundDependencies['view'], 'isRoutable'>;
  /**
   * All nodes of the cluster, including those that join or leave. A node that waits to join again may hold copies from
   * before, and a leaving node stores hints.
   */
  readonly members: () => readonly Member[];
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly hints: Pick<Hints, 'keepsFor'> | undefined;
  /** Start time of this node's oldest unanswered request to a peer (monotonic clock); undefined without one. */
  readonly oldestRequestUs: () => number | undefined;
}

interface Tombstone {
  readonly token: Token;
  /**
   * First seen, on this incarnation's monotonic clock, minus its age then; may be negative. Later jumps of the wall
   * clock do not age it.
   */
  readonly sinceUs: number;
  /** Since when every member is known to hold it; undefined before they agree. */
  agreedUs?: number;
}

/** A tombstone with the answers of all other members. `busy`: all hold it, but some have older requests under way. */
interface Surveyed {
  readonly item: ReapItem;
  readonly tombstone: Tombstone;
  readonly answer: 'agreed' | 'busy' | 'against';
}

/** Limit of the tombstones tracked at once. A later tombstone waits for another walk, once half of them are gone. */
const knownMaxDefault = 200_000;
/** The walk over tombstones that are not tracked: keys read at once, and the pause between two batches. */
const walkCount = 100;
const walkRestUs = 200_000;
/** Extra intervals that a replica waits for each replica before it in the key's placement. */
const turnIntervals = 3;

/** The tombstone reaper of one node. */
export class Reaper {
  readonly #parts: ReaperDependencies;
  readonly #options: ReaperOptions;
  readonly #known = new Map<PackedKey, Tombstone>();
  readonly #knownMax: number;
  /** A tombstone was not tracked because of the limit: a walk has to find it. */
  #isOverflown = false;
  #isWalking = false;
  #timer: Timer | undefined;
  #restTimer: Timer | undefined;
  #resting: Deferred<void> | undefined;
  /** A page of tombstones is being checked or removed. */
  #isActing = false;
  #stopped = false;
  /** Tombstones that this node has removed. */
  reaped = 0;

  constructor(parts: ReaperDependencies, options: ReaperOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#knownMax = options.knownMax ?? knownMaxDefault;
    parts.replica.watch((key, token, object) => this.#stored(key, token, object));
  }

  /** Tombstones tracked now. */
  get known(): number {
    return this.#known.size;
  }

  /** Starts the walk over existing tombstones and the periodic rounds. */
  start(): void {
    this.#startWalk();
    this.#arm();
  }

  /** Stops the walk and the rounds. A round under way may still end. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#restTimer?.cancel();
    this.#resting?.resolve();
  }

  /** Answers a peer's message, once. */
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

  /** Whether a request of this node is under way that started at least `agreedForUs` ago. */
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
    if (this.#known.size >= this.#knownMax && !this.#known.has(key)) {
      this.#isOverflown = true;
      return;
    }
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

  #startWalk(): void {
    this.#isOverflown = false;
    this.#isWalking = true;
    this.#parts.io.spawn('reap.walk', async () => {
      try {
        await this.#walk();
      } finally {
        this.#isWalking = false;
      }
    });
  }

  /** Finds tombstones that are not tracked, those of earlier incarnations first of all, by reading every key once, slowly. */
  async #walk(): Promise<void> {
    let count = 0;
    for (const key of this.#parts.keys()) {
      const token = this.#parts.tokenOf(key);
      if (token === undefined || this.#known.has(key)) continue;
      const bytes = await this.#read(key);
      const object = bytes === undefined ? undefined : tryDecode(() => decodeObject(bytes));
      // A tombstone that was stored while this one was read is younger.
      if (object !== undefined && !this.#known.has(key)) this.#stored(key, token, object);
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
    const hasSpace = this.#known.size <= this.#knownMax / 2;
    if (this.#isOverflown && hasSpace && !this.#isWalking && !this.#stopped) this.#startWalk();
  }

  async #each(due: readonly PackedKey[], act: (keys: readonly PackedKey[]) => Promise<void>): Promise<void> {
    for (let from = 0; from < due.length && !this.#stopped; from += reapItemsMax) {
      assert(!this.#isActing, 'tombstones are checked or removed one page at a time');
      this.#isActing = true;
      try {
        await act(due.slice(from, from + reapItemsMax));
      } finally {
        this.#isActing = false;
      }
    }
  }

  /** Tracked tombstones past the grace period for which it is this node's turn. */
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

  /** The first check: asks every member and notes which tombstones all of them hold. */
  async #agree(keys: readonly PackedKey[]): Promise<void> {
    const members = this.#everybody();
    if (members === undefined) return;
    const answers = await this.#survey(keys, members, 0);
    const agreedUs = this.#parts.io.clock.nowUs();
    // A tombstone replaced meanwhile has left `#known`; its record here is no longer used.
    for (const { tombstone, answer } of answers) if (answer === 'agreed') tombstone.agreedUs = agreedUs;
  }

  /** The second check of tombstones that all members hold; removes those that are confirmed. */
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

  /** Asks all members about those tombstones that this node still holds. */
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

  /** All other members; undefined while one of them is not routable. */
  #everybody(): readonly Member[] | undefined {
    const { members, self, view } = this.#parts;
    const others = members().filter((member) => member.node !== self.node);
    return others.every((member) => view.isRoutable(member)) ? others : undefined;
  }

  /**
   * This node's tombstone under the key, as it is on the disk; undefined if it has changed or may not be removed now.
   */
  async #itemOf(key: PackedKey): Promise<Pick<Surveyed, 'item' | 'tombstone'> | undefined> {
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    const bytes = await this.#read(key);
    const object = bytes === undefined ? undefined : tryDecode(() => decodeObject(bytes));
    // Another tombstone was stored meanwhile, whose time has not come.
    if (this.#known.get(key) !== known) return undefined;
    if (bytes === undefined || object === undefined || liveSiblings(object).length > 0) {
      this.#known.delete(key);
      return undefined;
    }
    if (this.#keepsHints(key) || this.#parts.pending(known.token).length > 0) return undefined;
    return { item: { key, token: known.token, mark: markOf(bytes) }, tombstone: known };
  }

  /** Whether the member's answer allows the tombstone to be removed. */
  #agrees(member: Member | undefined, { token }: ReapItem, holding: Holding | undefined): boolean {
    if (holding === 'same' || holding === 'forgotten') return true;
    return (
      holding === 'nothing' && member !== undefined && !this.#parts.ring().placement(token).includes(member)
    );
  }

  async #check(item: ReapItem): Promise<Holding> {
    if (this.#keepsHints(item.key)) {
      sometimes('tombstone.kept-for-hint');
      return 'other';
    }
    const bytes = await this.#read(item.key);
    if (bytes !== undefined) return markOf(bytes) === item.mark ? 'same' : 'other';
    // `hasForgotten` compares the mark: an earlier tombstone of the key proves nothing, since a value between the two
    // may still be under way to this node.
    if (!this.#parts.replica.hasForgotten(item)) return 'nothing';
    sometimes('tombstone.already-forgotten');
    return 'forgotten';
  }

  async #forget(item: ReapItem): Promise<Holding> {
    const done = new Deferred<boolean>();
    this.#parts.replica.forget(item, (gone) => done.resolve(gone));
    if (!(await done.promise)) {
      sometimes('tombstone.changed-before-removal');
      return 'other';
    }
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
      answer.resolve(
        reply.kind === 'reapAnswered' ? (tryDecode(() => decodeHoldings(reply.words)) ?? []) : [],
      );
    });
    if (error !== undefined) answer.resolve([]);
    return answer.promise;
  }

  /** The key's stored bytes. A copy that cannot be read yields `noObject`, so its tombstone stays. */
  async #read(key: PackedKey): Promise<Uint8Array | undefined> {
    try {
      return await this.#parts.bytesOf(key);
    } catch (error) {
      if (error instanceof LockstepError) return noObject;
      throw error;
    }
  }
}

/** Equals neither an absent copy nor a tombstone. */
const noObject = new Uint8Array(1);

/**
 * Spreads what members say of themselves: at every interval this node beats once and reconciles its table with one
 * connected peer, and now and then with one that seems down although it is connected (source: van Renesse et al.,
 * Scuttlebutt, 2008; taking turns in a random order is SWIM's; the second partner is Cassandra's). A peer that comes
 * into reach is reconciled with at once.
 * A round is at most four messages, so a cluster of n nodes sends O(n) messages per interval, and news reaches everyone
 * in O(log n) intervals.
 *
 *     A -> B  digest of A
 *     B -> A  records that A lacks, digest of B (when B lacks any)
 *     A -> B  records that B lacks              (only when there are any)
 *     B -> A  nothing, in return for these
 *
 * Who is reached, and how often that is tried, is the peer plane's business.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { SendOutcome } from '../../base/channel.ts';
import type { NodeId } from '../../base/ids.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { Random } from '../../io/random.ts';
import { pick, shuffled } from '../../io/random.ts';
import type { GossipMessage, News } from './gossip-messages.ts';
import { GossipCodec } from './gossip-codec.ts';
import type { MemberRecord } from './member-record.ts';
import type { Applied, MemberTable, RefusalReason } from './table.ts';

export interface GossipOptions {
  readonly intervalUs: number;
  /** One round in so many also goes to a peer that seems down. */
  readonly downPeerOneIn: number;
}

export const gossipDefaults: GossipOptions = { intervalUs: 1_000_000, downPeerOneIn: 4 };

/** What gossip needs of the peer plane. */
export interface GossipLinks {
  isConnected(peer: NodeId): boolean;
  /** `onAnswer` gets the answer's bytes, or undefined when there was none; exactly once, and only when this is `ok`. */
  ask(
    peer: NodeId,
    words: Uint8Array,
    timeoutUs: number,
    onAnswer: (words: Uint8Array | undefined) => void,
  ): SendOutcome;
}

export interface GossipObserver {
  /** A record was taken in that says more than a heartbeat. */
  changed(record: MemberRecord, applied: Extract<Applied, { kind: 'applied' }>): void;
  refused(record: MemberRecord, reason: RefusalReason): void;
  /** What a peer says of who owns what, straight from it. */
  said(from: NodeId, view: string): void;
  /** What this node says of it. */
  view(): string;
  /** What a peer knows of other things, and what this node does. */
  told(from: NodeId, news: readonly News[]): void;
  news(): readonly News[];
  /** A message was sent. */
  sent(bytes: number): void;
  /** Words that do not decode. */
  malformed(from: NodeId, error: LockstepError): void;
  /** Called after every beat, when silence has been judged. */
  judged(nowUs: number): void;
}

/** How long the words of a departure may take to arrive. */
const farewellUsMax = 1_000_000;

export class Gossip {
  readonly #io: Io;
  readonly #table: MemberTable;
  readonly #links: GossipLinks;
  readonly #options: GossipOptions;
  readonly #observer: GossipObserver;
  readonly #random: Random;
  readonly #codec = new GossipCodec();
  /** Who is still to have its turn, the next one last. */
  #round: NodeId[] = [];
  #timer: Timer | undefined;
  /** When the last beat was; undefined before the first. */
  #beatUs: number | undefined;
  #state: 'new' | 'beating' | 'stopped' = 'new';

  constructor(
    io: Io,
    table: MemberTable,
    links: GossipLinks,
    options: GossipOptions,
    observer: GossipObserver,
  ) {
    this.#io = io;
    this.#table = table;
    this.#links = links;
    this.#options = options;
    this.#observer = observer;
    this.#random = io.random.fork('gossip');
  }

  /** Begins to beat. The first interval is drawn, so that nodes started together do not beat together. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'beating';
    this.#table.listen(this.#io.clock.nowUs());
    this.#arm(this.#random.below(this.#options.intervalUs));
  }

  /** Beats no more. */
  stop(): void {
    this.#state = 'stopped';
    this.#timer?.cancel();
  }

  /** A round with one peer now; nothing once stopped. */
  reconcile(peer: NodeId): void {
    if (this.#state === 'stopped') return;
    const opening = this.#words({ digest: this.#table.digest(), records: [] });
    this.#send(peer, opening, (answer) => {
      const words = answer === undefined ? undefined : this.#read(peer, answer);
      if (words === undefined) return;
      this.#take(peer, words.records);
      this.#observer.said(peer, words.view);
      this.#observer.told(peer, words.news ?? []);
      // An empty digest says that the peer lacks nothing.
      if (words.digest.length === 0) return;
      const records = this.#table.newerThan(words.digest);
      if (records.length > 0) this.#send(peer, this.#words({ digest: [], records }), () => undefined);
    });
  }

  /** Answers a peer's words. Throws `BadRequest` when they are none. */
  answer(from: NodeId, bytes: Uint8Array): Uint8Array {
    const words = this.#read(from, bytes);
    if (words === undefined) throw new LockstepError('BadRequest', 'gossip that does not decode');
    this.#take(from, words.records);
    this.#observer.said(from, words.view);
    this.#observer.told(from, words.news ?? []);
    const answer = this.#answerTo(words);
    this.#observer.sent(answer.length);
    return answer;
  }

  /** Tells every connected peer this node's own record; resolves when each has taken it, or not in a second. */
  async farewell(): Promise<void> {
    const words = this.#words({ digest: [], records: [this.#table.self] });
    const told = this.#table.peers().map(({ node }) => {
      const heard = new Deferred<void>();
      if (this.#send(node, words, () => heard.resolve()) !== 'ok') heard.resolve();
      return heard.promise;
    });
    await Promise.all(told);
  }

  #answerTo(words: GossipMessage): Uint8Array {
    if (words.digest.length === 0) return this.#words({ digest: [], records: [] });
    const records = this.#table.newerThan(words.digest);
    const digest = this.#table.isBehind(words.digest) ? this.#table.digest() : [];
    return this.#words({ digest, records });
  }

  #words(words: Pick<GossipMessage, 'digest' | 'records'>): Uint8Array {
    return this.#codec.encode({ ...words, view: this.#observer.view(), news: this.#observer.news() });
  }

  #arm(delayUs: number): void {
    this.#timer = this.#io.clock.after(delayUs, () => this.#beat());
  }

  #beat(): void {
    this.#arm(this.#options.intervalUs);
    const nowUs = this.#io.clock.nowUs();
    this.#pardonOwnSleep(nowUs);
    this.#table.beat();
    this.#table.judge(nowUs);
    this.#observer.judged(nowUs);
    for (const peer of this.#partners()) this.reconcile(peer);
  }

  /** A process that stood still heard nobody: what it slept through is not held against its peers. */
  #pardonOwnSleep(nowUs: number): void {
    const { intervalUs } = this.#options;
    const lateUs = nowUs - (this.#beatUs ?? nowUs) - intervalUs;
    this.#beatUs = nowUs;
    if (lateUs > intervalUs) this.#table.pardon(lateUs, nowUs);
  }

  #partners(): readonly NodeId[] {
    const next = this.#next();
    const partners = next === undefined ? [] : [next];
    const visit = next === undefined || this.#random.chance(1, this.#options.downPeerOneIn);
    if (!visit) return partners;
    const away = this.#connected().filter((peer) => !this.#table.isRoutable(peer));
    return away.length > 0 ? [...partners, pick(this.#random, away)] : partners;
  }

  /**
   * The next peer that is there, in this round's order; a new order is drawn when the round is over. Everybody has its
   * turn in every round, so no peer goes unheard for long by mere chance (Das, Gupta, Motivala, SWIM, 2002, section 4.3).
   */
  #next(): NodeId | undefined {
    for (let next = this.#round.pop(); next !== undefined; next = this.#round.pop()) {
      if (this.#links.isConnected(next) && this.#table.isRoutable(next)) return next;
    }
    const there = this.#connected().filter((peer) => this.#table.isRoutable(peer));
    this.#round = shuffled(this.#random, there);
    return this.#round.pop();
  }

  #connected(): readonly NodeId[] {
    const connected: NodeId[] = [];
    for (const { node } of this.#table.peers()) if (this.#links.isConnected(node)) connected.push(node);
    return connected;
  }

  #send(peer: NodeId, bytes: Uint8Array, onAnswer: (words: Uint8Array | undefined) => void): SendOutcome {
    if (!this.#links.isConnected(peer)) return 'closed';
    const timeoutUs = this.#state === 'stopped' ? farewellUsMax : this.#options.intervalUs;
    const outcome = this.#links.ask(peer, bytes, timeoutUs, onAnswer);
    if (outcome === 'ok') this.#observer.sent(bytes.length);
    return outcome;
  }

  #read(from: NodeId, bytes: Uint8Array): GossipMessage | undefined {
    try {
      return this.#codec.decode(bytes);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      this.#observer.malformed(from, error);
      return undefined;
    }
  }

  #take(from: NodeId, records: readonly MemberRecord[]): void {
    for (const record of records) {
      const applied = this.#table.apply(record, from, this.#io.clock.nowUs());
      if (applied.kind === 'refused') this.#observer.refused(record, applied.reason);
      if (applied.kind !== 'applied') continue;
      if (applied.newLife || applied.moved || applied.ringChanged) this.#observer.changed(record, applied);
    }
  }
}

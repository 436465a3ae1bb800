/**
 * Spreads the members' records. At every interval this node increments its own heartbeat and reconciles its table with
 * one connected peer. Now and then it also reconciles with one that is DOWN although it is connected. A peer that
 * becomes reachable is reconciled with at once. Sources: van Renesse et al., Scuttlebutt, 2008; turns in a random order
 * are SWIM's; the second partner is Cassandra's.
 *
 * A round has at most four messages. So a cluster of n nodes sends O(n) messages per interval, and a change reaches
 * every node in O(log n) intervals.
 *
 *     A -> B  digest of A
 *     B -> A  records that A lacks, digest of B (when B lacks any)
 *     A -> B  records that B lacks              (only when there are any)
 *     B -> A  an empty answer to these
 *
 * The peer plane decides which peers are connected, and how often a connection is tried.
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

/** Pace of gossip. */
export interface GossipOptions {
  /** Microseconds between two heartbeats. */
  readonly intervalUs: number;
  /** One interval in this many also reconciles with a peer that is DOWN. */
  readonly downPeerOneIn: number;
}

/** Defaults: one heartbeat a second. */
export const gossipDefaults: GossipOptions = { intervalUs: 1_000_000, downPeerOneIn: 4 };

/** The peer plane as gossip uses it. */
export interface GossipLinks {
  /** True if messages can be sent to the peer now. */
  isConnected(peer: NodeId): boolean;
  /**
   * Sends a message. If the result is `ok`, calls `onAnswer` exactly once, with the answer's bytes, or undefined if
   * none came. Otherwise never calls it.
   */
  ask(
    peer: NodeId,
    words: Uint8Array,
    timeoutUs: number,
    onAnswer: (words: Uint8Array | undefined) => void,
  ): SendOutcome;
}

/** What gossip reports, and asks for, beside the records. */
export interface GossipObserver {
  /** A record was accepted that changes more than a heartbeat. */
  changed(record: MemberRecord, applied: Extract<Applied, { kind: 'applied' }>): void;
  /** A record was refused. */
  refused(record: MemberRecord, reason: RefusalReason): void;
  /** A peer's ring view, as the peer itself stated it. */
  said(from: NodeId, view: string): void;
  /** This node's published ring view. */
  view(): string;
  /** A peer's topics; and this node's. */
  told(from: NodeId, news: readonly News[]): void;
  news(): readonly News[];
  /** A message of `bytes` was sent. */
  sent(bytes: number): void;
  /** A peer sent bytes that do not decode. */
  malformed(from: NodeId, error: LockstepError): void;
  /** Called after every heartbeat, once silence has been judged. */
  judged(nowUs: number): void;
}

/** How long the last message to a peer may take to be answered when this node stops. */
const lastMessageUsMax = 1_000_000;

/** The gossip of one node. */
export class Gossip {
  readonly #io: Io;
  readonly #table: MemberTable;
  readonly #links: GossipLinks;
  readonly #options: GossipOptions;
  readonly #observer: GossipObserver;
  readonly #random: Random;
  readonly #codec = new GossipCodec();
  /** Peers that have not had their turn in this round, the next one last. */
  #round: NodeId[] = [];
  #timer: Timer | undefined;
  /** When the last heartbeat was; undefined before the first. */
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

  /** Starts the heartbeats. The first interval is random, so that nodes started together do not send together. */
  start(): void {
    if (this.#state !== 'new') return;
    this.#state = 'beating';
    this.#table.listen(this.#io.clock.nowUs());
    this.#arm(this.#random.below(this.#options.intervalUs));
  }

  /** Stops the heartbeats. */
  stop(): void {
    this.#state = 'stopped';
    this.#timer?.cancel();
  }

  /** Runs a round with one peer now. Does nothing once stopped. */
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

  /** Answers a peer's message. Throws `BadRequest` if it does not decode. */
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

  /** Sends this node's own record to every connected peer. Resolves when each has answered, or after a second. */
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
    const overdue = this.#table.judge(nowUs);
    this.#observer.judged(nowUs);
    for (const peer of this.#partners(overdue)) this.reconcile(peer);
  }

  /** A process that was paused heard no peer. The time that it was paused does not count as its peers' silence. */
  #pardonOwnSleep(nowUs: number): void {
    const { intervalUs } = this.#options;
    const lateUs = nowUs - (this.#beatUs ?? nowUs) - intervalUs;
    this.#beatUs = nowUs;
    if (lateUs > intervalUs) this.#table.pardon(lateUs, nowUs);
  }

  /**
   * The peers of this beat's rounds. In a larger cluster a peer's heartbeats come through others, late by chance: an
   * overdue peer is asked directly before it is judged (Das, Gupta, Motivala, SWIM, 2002, section 3.1).
   */
  #partners(overdue: readonly NodeId[]): readonly NodeId[] {
    const next = this.#next();
    const asked = overdue.filter((peer) => peer !== next && this.#links.isConnected(peer));
    const partners = next === undefined ? asked : [next, ...asked];
    const visit = next === undefined || this.#random.chance(1, this.#options.downPeerOneIn);
    if (!visit) return partners;
    const away = this.#connected().filter((peer) => !this.#table.isRoutable(peer));
    return away.length > 0 ? [...partners, pick(this.#random, away)] : partners;
  }

  /**
   * The next reachable peer in this round's order; draws a new order when the round is over. Every peer has its turn in
   * every round, so none goes unheard for long by mere chance (Das, Gupta, Motivala, SWIM, 2002, section 4.3).
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
    const timeoutUs = this.#state === 'stopped' ? lastMessageUsMax : this.#options.intervalUs;
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

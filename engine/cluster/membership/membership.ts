/**
 * This node's part in the cluster's membership: what it says of itself, what it knows of the others, and what follows
 * from it for the peer plane (whom to connect to), the ring (who owns what) and the observer (what is counted).
 *
 * The configured seeds are members from the start, heard of or not, and so is this node unless it is joining: a fresh
 * cluster serves at once, and a restarted node does not wait for anybody. Everyone else becomes known by gossip.
 *
 * Invariants: a peer's number (`index`) stays for the life of the process; every change of a peer's state is told once;
 * a greater generation, each step of a move and the departure are durable before anybody hears of them.
 */
import { present } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { asLockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { Io } from '../../io/io.ts';
import type { Address } from '../../io/network.ts';
import type { Member, Ring } from '../ring/ring.ts';
import type { Refusal } from '../../peer/wire/greetings.ts';
import type { Hello } from '../../peer/wire/messages.ts';
import { Agreement } from '../view/ring-view-agreement.ts';
import type { AgreementListener } from '../view/ring-view-agreement.ts';
import { Departure } from '../view/departure.ts';
import { Detector } from './detector.ts';
import type { GossipLinks } from './gossip.ts';
import { Gossip } from './gossip.ts';
import { Handover } from '../view/handover.ts';
import { TokenAssignment } from './token-assignment.ts';
import { judgeGreeting } from './greeting.ts';
import type { Identity } from './identity.ts';
import type { MemberFile } from './member-file.ts';
import { MemberFileWriter } from './member-file-writer.ts';
import type { KnownPeer, MembershipObserver } from './observer.ts';
import { isMoving, Ownership } from '../view/ownership.ts';
import { RingViewPublisher } from '../view/ring-view-publisher.ts';
import { Rejections } from './rejections.ts';
import type { MembershipSettings } from './settings.ts';
import { expectedRecord, numbered, ownRecord, replacedRecord } from './settings.ts';
import type { DeclaredState, MoveStage, PeerState } from './states.ts';
import { isServingState, PeerNews } from './states.ts';
import type { MemberRecord } from './member-record.ts';
import type { Applied } from './table.ts';
import { MemberTable } from './table.ts';
import { Topics } from './topics.ts';

/** What of a greeting changes in the course of a life. */
export type Introduction = Pick<Hello, 'generation' | 'joining' | 'view'>;

/** The peer plane as membership needs it. */
export interface MembershipLinks extends GossipLinks {
  addPeer(peer: KnownPeer): void;
  /** The peer has begun the life `epoch`, has moved, or is back. */
  updatePeer(peer: KnownPeer, epoch: string): void;
  removePeer(node: NodeId): void;
  /** What this node says of itself in greetings has changed. */
  introduce(said: Introduction): void;
}

export class Membership {
  /** What gossip tells of beside the members. */
  readonly topics = new Topics();
  readonly #io: Io;
  readonly #links: MembershipLinks;
  readonly #identity: Identity;
  readonly #observer: MembershipObserver;
  readonly #table: MemberTable;
  readonly #gossip: Gossip;
  readonly #ownership: Ownership;
  readonly #agreement: Agreement;
  readonly #file: MemberFile;
  readonly #memory: MemberFileWriter;
  readonly #publication: RingViewPublisher;
  readonly heritage: TokenAssignment;
  readonly handover: Handover;
  readonly #indexes: Map<NodeId, number>;
  readonly #peers = new Map<NodeId, KnownPeer>();
  readonly #news = new PeerNews();
  readonly #departure = new Departure();
  /** Members that have left, as long as this node's disk does not say so. */
  readonly #departing = new Set<NodeId>();
  /** What this node is about to say of itself: it goes to the disk first. */
  #intended: Partial<MemberRecord> = {};
  #raising = false;
  /** Settled once every peer has been heard of; present while somebody waits for that. */
  #acquaintance: Deferred<void> | undefined;

  /** Throws `ConfigInvalid` when this node and its seeds make no ring. */
  constructor(
    io: Io,
    settings: MembershipSettings,
    identity: Identity,
    file: MemberFile,
    links: MembershipLinks,
    observer: MembershipObserver,
  ) {
    this.#io = io;
    this.#links = links;
    this.#identity = identity;
    this.#file = file;
    this.#memory = new MemberFileWriter(io, file, () => [
      { ...this.heritage.record, ...this.#intended },
      ...this.#table.peers(),
    ]);
    this.#observer = observer;
    const makeDetector = (): Detector => new Detector(settings.detector);
    this.#table = new MemberTable(
      ownRecord(settings, identity.generation, file),
      makeDetector,
      (node, from, to) => this.#onMove(node, from, to),
    );
    this.heritage = new TokenAssignment(io, { self: () => this.self, save: () => this.#memory.save() });
    for (const record of file.remembered) if (record.node !== settings.self.node) this.#table.expect(record);
    for (const seed of settings.seeds) this.#table.expect(expectedRecord(seed));
    const met = this.#table.peers();
    const dead = replacedRecord(settings, this.#table.self);
    // Whose tokens somebody else is configured to have, that one was itself a replacement: gossip tells of both.
    if (dead !== undefined && this.#table.placeFault(dead) === undefined) this.#table.expect(dead);
    this.#indexes = numbered([settings.self, ...settings.seeds]);
    // Configurations go on naming whoever was replaced.
    for (const record of met)
      if (this.#table.isSuperseded(record)) this.#table.evict(record.node);
      else if (!record.left) this.#meet(record);
    this.#ownership = new Ownership(settings.self, this.#table);
    this.#publication = new RingViewPublisher({
      io,
      view: () => this.#ownership.view,
      save: () => this.#memory.save(),
      tell: () => {
        this.#introduce();
        for (const peer of this.#peers.keys()) this.#gossip.reconcile(peer);
        this.#forgetDeparted();
      },
    });
    this.#agreement = new Agreement(
      io.clock,
      () => this.#ownership.view,
      (peer) => this.#gossip.reconcile(peer),
    );
    this.handover = new Handover({
      self: settings.self.node,
      ownership: this.#ownership,
      hasPublished: () => this.view === this.#ownership.view,
      agrees: (peer) => this.agrees(peer),
      isRoutable: (peer) => this.isRoutable(peer),
      movers: () => this.movers,
    });
    const rejections = new Rejections(io.log, observer);
    this.#gossip = new Gossip(io, this.#table, links, settings.gossip, {
      changed: (record, applied) => this.#onChange(record, applied),
      refused: (record, reason) => rejections.refused(record, reason),
      sent: (bytes) => observer.sent(bytes),
      said: (from, view) => this.#heardView(from, view),
      view: () => this.view,
      told: (from, news) => this.topics.told(from, news),
      news: () => this.topics.news(),
      malformed: (from, error) => rejections.malformed(from, error),
      judged: (nowUs) => this.#score(nowUs),
    });
  }

  /** Who owns what now. */
  get ring(): Ring {
    return this.#ownership.ring;
  }

  /** The members of each ring that was read before this one and that some may still go by. */
  get formerRings(): readonly (readonly Member[])[] {
    return this.#ownership.former;
  }

  /** Who is written to beside the token's placement, while its owners change. */
  pending(token: Token): readonly Member[] {
    return this.#ownership.pending(token);
  }

  /** A member, also one on its way in or out, or gone; undefined for a stranger. */
  member(node: NodeId): Member | undefined {
    return this.#ownership.member(node);
  }

  /** When this node tells that it knows of a changed ring. */
  get publication(): Pick<RingViewPublisher, 'holdWhile' | 'refresh' | 'held' | 'heldSeconds'> {
    return this.#publication;
  }

  /** How this node sees who owns what, as it says to its peers. */
  get view(): string {
    return this.#publication.view;
  }

  /** The peer sees it likewise. */
  agrees(node: NodeId): boolean {
    return this.#agreement.agrees(node);
  }

  /** Calls the listener once the peer sees it likewise, or with why it does not (`Agreement.await`). */
  awaitAgreement(node: NodeId, haste: boolean, listener: AgreementListener): void {
    this.#agreement.await(node, haste, listener);
  }

  /** This node's own view is durable, and no live member sees it otherwise. */
  get agreed(): boolean {
    if (this.view !== this.#ownership.view) return false;
    return this.members().every(({ node }) => {
      return node === this.#table.self.node || !this.isRoutable(node) || this.follows(node);
    });
  }

  /** The peer follows this node's present step: it sees the ring likewise, or knows that this node has left. */
  follows(node: NodeId): boolean {
    return this.agrees(node) || this.#departure.isKnownBy(node);
  }

  /** The members between whom the ring is changing. */
  get movers(): readonly MemberRecord[] {
    return this.members().filter(isMoving);
  }

  /**
   * This node is so far on its way in or out, and says so once that is durable. False: the disk does not take it, or
   * `stands` says by then that it is not to be.
   */
  async declareMove(
    state: DeclaredState,
    move: MoveStage,
    stands: () => boolean = () => true,
  ): Promise<boolean> {
    if (!(await this.#declare(this.#table.moved(state, move), stands))) return false;
    this.#io.log.event('info', 'membership.move.declared', { state, move });
    this.#refresh();
    return true;
  }

  /**
   * This node leaves for good. Resolves when that is durable and its peers have heard it, or in a second; with false when
   * the disk does not take it. `follows` says which of them have it on their disks.
   */
  async leave(): Promise<boolean> {
    if (!(await this.#declare({ state: 'LEAVING', move: 'none', left: true }))) return false;
    this.#io.log.event('info', 'membership.left', {});
    this.#refresh();
    await this.#gossip.farewell();
    return true;
  }

  /** Enough members know durably that this node has left: its directory is of no use any more. Resolves when it says so. */
  async depart(): Promise<void> {
    this.#io.log.event('info', 'membership.departed', {});
    await this.#memory.depart();
  }

  async #declare(change: Partial<MemberRecord>, stands: () => boolean = () => true): Promise<boolean> {
    this.#intended = change;
    const saved = await this.#memory.save();
    this.#intended = {};
    if (!saved || !stands()) return false;
    this.#table.declare(change);
    return true;
  }

  /** The other members, those that joined later last. */
  get peers(): readonly KnownPeer[] {
    return [...this.#peers.values()];
  }

  /** What this node says of itself. */
  get self(): MemberRecord {
    return this.#table.self;
  }

  /** The life of a peer (its generation) that is known here; 0: none is. */
  readonly lifeOf = (node: NodeId): number => this.#table.record(node)?.generation ?? 0;

  /** Every member's word of itself, this node first; without those that have left. */
  members(): readonly MemberRecord[] {
    return [this.#table.self, ...this.#table.peers()].filter((record) => !record.left);
  }

  state(node: NodeId): PeerState {
    return this.#table.opinion(node);
  }

  /** Requests may be sent to it. */
  isRoutable(node: NodeId): boolean {
    return this.#table.isRoutable(node);
  }

  /** An operator has taken the node, or this one, out of the way of reads. */
  isStandby(node: NodeId): boolean {
    return (node === this.self.node ? this.self.state : this.state(node)) === 'STANDBY';
  }

  /** Another one has taken over what the node owned. */
  isReplaced(node: NodeId): boolean {
    const record = this.#table.record(node);
    return record !== undefined && this.#table.isSuperseded(record);
  }

  /** The peer's number in metrics; -1 for a stranger. This node has one too. */
  indexOf(node: NodeId): number {
    return this.#indexes.get(node) ?? -1;
  }

  /**
   * In this node's first life, makes durable that it is a member, or begins to join; later ones go on from there. Called
   * once what is under way here is known, before the plane starts.
   */
  async enroll(): Promise<void> {
    const isDurable = this.#file.names(this.#table.self.node) || (await this.#memory.save());
    this.#publication.begin(isDurable);
    this.#introduce();
  }

  /** Begins to beat. `address` is where other nodes reach this one. */
  start(address: Address): void {
    if (address !== this.#table.self.address) this.#table.declare({ address });
    const { state, generation, epoch } = this.#table.self;
    this.#io.log.event('info', 'membership.started', { state, generation, epoch, address });
    if (state === 'JOINING') {
      const detail = 'this node owns nothing until its part of the ring has been moved to it';
      this.#io.log.event('warn', 'membership.join.waiting', { detail });
    }
    this.#gossip.start();
  }

  /** Resolves when every peer has been heard of, or after `patienceUs`: until then none of them is asked anything. */
  async acquainted(patienceUs: number): Promise<void> {
    if (this.#isAcquainted()) return;
    this.#acquaintance = new Deferred<void>();
    const patience = this.#io.clock.after(patienceUs, () => this.#acquaintance?.resolve());
    await this.#acquaintance.promise;
    this.#acquaintance = undefined;
    patience.cancel();
  }

  /** Tells the peers that this node goes, so that they need not find out. Resolves when they know, or in a second. */
  async stop(): Promise<void> {
    this.#publication.stop();
    this.#agreement.stop();
    this.#table.declare({ away: true });
    this.#gossip.stop();
    await this.#gossip.farewell();
    if (this.#memory.settling !== undefined) await this.#memory.settling;
  }

  /** A peer can be asked: unless it is known to be there already, both sides tell each other what they know. */
  linked(node: NodeId): void {
    if (!this.#table.isRoutable(node)) this.#gossip.reconcile(node);
  }

  /** Answers a peer's words. Throws `BadRequest` when they are none. */
  answer(from: NodeId, words: Uint8Array): Uint8Array {
    return this.#gossip.answer(from, words);
  }

  /** Why a node that greets is refused; undefined when it is welcome. */
  judge(hello: Hello, rival: boolean): Refusal | undefined {
    return judgeGreeting(this.#table, hello, rival, this.#departing.has(hello.node));
  }

  /** A node that greets is welcome: its view of the ring counts. Whoever waited for that may ask it at once. */
  admitted({ node, view }: Hello): void {
    if (view !== undefined) this.#heardView(node, view);
  }

  /** A peer refuses this node as one that is no member. */
  disowned(by: NodeId): void {
    if (this.#table.self.left) this.#departure.learned(by);
  }

  /** A peer has seen a later life of this node than this one: wiped disk, clock set back. This life outbids it. */
  outlived(by: NodeId, generation: number): void {
    if (this.#raising || generation < this.#table.self.generation) return;
    this.#raising = true;
    this.#io.spawn('membership.raise', () =>
      this.#raise(by, generation + 1).finally(() => {
        this.#raising = false;
      }),
    );
  }

  async #raise(by: NodeId, generation: number): Promise<void> {
    try {
      await this.#identity.raise(generation);
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      this.#io.log.event('error', 'membership.identity.stuck', { generation, code, detail });
      return;
    }
    this.#table.raise(generation);
    this.#introduce();
    this.#io.log.event('warn', 'membership.identity.raised', { by, generation });
  }

  #heardView(from: NodeId, view: string): void {
    if (this.#table.self.left && view === this.#ownership.view) this.#departure.learned(from);
    this.#agreement.said(from, view);
  }

  #introduce(): void {
    const { generation, state } = this.#table.self;
    this.#links.introduce({ generation, joining: state === 'JOINING', view: this.view });
  }

  /** The peer as it is known now; it appears when it is new. */
  #meet({ node, address, datacenter, rack }: MemberRecord): KnownPeer {
    const before = this.#peers.get(node);
    if (before?.address === address) return before;
    if (!this.#indexes.has(node)) this.#indexes.set(node, this.#indexes.size);
    const peer = { node, address, datacenter, rack, index: this.indexOf(node) };
    this.#peers.set(node, peer);
    if (before === undefined) this.#observer.appeared(peer);
    return peer;
  }

  #onMove(node: NodeId, from: PeerState, to: PeerState): void {
    const record = present(this.#table.record(node), `the record of ${node}`);
    const known = this.#peers.has(node);
    // It goes on saying that it has left until enough members know; this node knew, and has a newer word of it now.
    if (record.left && !known) return;
    const peer = this.#meet(record);
    if (!known) this.#links.addPeer(peer);
    this.#observer.moved(peer, from, to);
    const level = this.#news.level(node, from, to, record.away || record.left);
    this.#io.log.event(level, 'membership.peer.state.changed', { peer: node, index: peer.index, from, to });
    if (known && isServingState(to)) this.#links.updatePeer(peer, record.epoch);
    if (this.#isAcquainted()) this.#acquaintance?.resolve();
  }

  #isAcquainted(): boolean {
    return this.peers.every((peer) => this.state(peer.node) !== 'UNKNOWN');
  }

  #onChange(
    record: MemberRecord,
    { newLife, moved, ringChanged }: Extract<Applied, { kind: 'applied' }>,
  ): void {
    if (record.left) this.#departing.add(record.node);
    else {
      this.#departing.delete(record.node);
      if (newLife || moved) this.#links.updatePeer(this.#meet(record), record.epoch);
    }
    if (ringChanged) this.#refresh();
    this.#forgetDeparted();
  }

  #refresh(): void {
    for (const record of this.members()) {
      if (this.#table.isSuperseded(record) && this.#table.evict(record.node)) this.#forget(record.node);
    }
    if (!this.#ownership.refresh()) return;
    const members = this.ring.members.map((member) => member.node).join(' ');
    this.#io.log.event('info', 'membership.ring.changed', { members, view: this.#ownership.view });
    this.#observer.ringChanged();
    this.#agreement.changed();
    this.#publication.refresh();
  }

  /** A member that has left is talked to until it can hear that this node would know it after a crash. */
  #forgetDeparted(): void {
    if (this.view !== this.#ownership.view) return;
    for (const node of this.#departing) this.#forget(node);
    this.#departing.clear();
  }

  #forget(node: NodeId): void {
    const peer = this.#peers.get(node);
    if (peer === undefined) return;
    this.#peers.delete(node);
    this.#links.removePeer(node);
    this.#observer.left(peer);
    this.#io.log.event('info', 'membership.peer.left', { peer: node });
  }

  #score(nowUs: number): void {
    for (const peer of this.#peers.values()) {
      this.#observer.scored(peer, this.#table.milliPhi(peer.node, nowUs));
    }
    this.#memory.look(nowUs);
  }
}

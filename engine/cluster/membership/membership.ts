/**
 * This node's part in the cluster's membership: what it states of itself, and what it knows of the others. Feeds the
 * peer plane (which nodes to connect to), the ring (who owns what) and the observer (what is counted).
 *
 * The configured seeds are members from the start, and so is this node unless it is joining. So a new cluster serves at
 * once, and a restarted node waits for no other node. Gossip reports all other members.
 *
 * Invariants: a peer's `index` stays for the life of the process. Every change of a peer's state is reported once. A
 * greater generation, each step of a ring change, and the departure are durable before any peer hears of them.
 */
import { assert, failAssertion, present } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { asLockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Io } from '../../io/io.ts';
import type { Address } from '../../io/network.ts';
import type { Member, Ring } from '../ring/ring.ts';
import type { Refusal } from '../../peer/wire/greetings.ts';
import type { Hello } from '../../peer/wire/messages.ts';
import type { AgreementListener } from '../view/ring-view-agreement.ts';
import { Agreement } from '../view/ring-view-agreement.ts';
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
import { isLegalStep, isServingState, PeerNews } from './states.ts';
import type { MemberRecord } from './member-record.ts';
import type { Applied } from './table.ts';
import { MemberTable } from './table.ts';
import type { News } from './gossip-messages.ts';

/** The fields of a greeting that change during an incarnation. */
export type Introduction = Pick<Hello, 'generation' | 'joining' | 'view'> & { readonly address: Address };

/** The peer plane as membership uses it. */
export interface MembershipLinks extends GossipLinks {
  /** Connects to a new peer. */
  addPeer(peer: KnownPeer): void;
  /** The peer runs as incarnation `epoch`, has another address, or is reachable again. */
  updatePeer(peer: KnownPeer, epoch: string): void;
  /** Disconnects from a peer that has left. */
  removePeer(node: NodeId): void;
  /** This node's greeting has changed. */
  introduce(said: Introduction): void;
}

/** The membership of one node. Lifecycle: `enroll`, `start`, then `stop`. */
export class Membership {
  /** Topics that gossip spreads beside the members. */
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
  readonly #fileWriter: MemberFileWriter;
  readonly #publisher: RingViewPublisher;
  /** Tokens that a peer has assigned to this node. */
  readonly tokenAssignment: TokenAssignment;
  /** The handovers of keys whose primary has changed. */
  readonly handover: Handover;
  readonly #indexes: Map<NodeId, number>;
  readonly #peers = new Map<NodeId, KnownPeer>();
  readonly #news = new PeerNews();
  /** Peers that have sent this process a gossip request. */
  readonly #callers = new Set<NodeId>();
  readonly #departure = new Departure();
  /** Members that have left, until this node's disk has that. */
  readonly #departing = new Set<NodeId>();
  /** What this node is about to state of itself: it goes to the disk first. */
  #intended: Partial<MemberRecord> = {};
  #raising = false;
  /** Resolves once the last raise of the generation is over. */
  #raised: Promise<void> = Promise.resolve();
  /** Resolves once every peer has been heard; present while `acquainted` waits. */
  #acquaintance: Deferred<void> | undefined;

  /** Throws `ConfigInvalid` if this node and its seeds form no ring. */
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
    this.#fileWriter = new MemberFileWriter(io, file, () => [
      { ...this.tokenAssignment.record, ...this.#intended },
      ...this.#table.peers(),
    ]);
    this.#observer = observer;
    const makeDetector = (): Detector => new Detector(settings.detector);
    this.#table = new MemberTable(
      ownRecord(settings, identity.generation, file),
      makeDetector,
      (node, from, to) => this.#onMove(node, from, to),
      () => this.hasPublished && this.members().every(({ node }) => this.#isSelf(node) || this.agrees(node)),
    );
    this.tokenAssignment = new TokenAssignment(io, {
      self: () => this.self,
      save: () => this.#fileWriter.save(),
    });
    for (const record of file.remembered) if (record.node !== settings.self.node) this.#table.expect(record);
    for (const seed of settings.seeds) this.#table.expect(expectedRecord(seed));
    const met = this.#table.peers();
    const dead = replacedRecord(settings, this.#table.self);
    // If another node is configured with the same tokens, the dead node was itself a replacement. Gossip reports both.
    if (dead !== undefined && this.#table.placeFault(dead) === undefined) this.#table.expect(dead);
    this.#indexes = numbered([settings.self, ...settings.seeds]);
    // The dead node is asked for its votes before it is met.
    if (dead !== undefined) this.#number(dead.node);
    // Configurations may still name nodes that were replaced.
    for (const record of met)
      if (this.#table.isSuperseded(record)) this.#table.evict(record.node);
      else if (!record.left) this.#meet(record);
    this.#ownership = new Ownership(settings.self, this.#table);
    this.#publisher = new RingViewPublisher({
      io,
      view: () => this.#ownership.view,
      save: () => this.#fileWriter.save(),
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
      hasPublished: () => this.hasPublished,
      agrees: (peer) => this.agrees(peer),
      isRoutable: (peer) => this.isRoutable(peer),
      changingMembers: () => this.changingMembers,
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

  /** The ring that reads go by. */
  get ring(): Ring {
    return this.#ownership.ring;
  }

  /** The members of each ring that was read before this one and that some nodes may still use. */
  get formerRings(): readonly (readonly Member[])[] {
    return this.#ownership.former;
  }

  /** For each ring change under way, the ring on its other side. The same array for as long as no ring changes. */
  get otherRings(): readonly Ring[] {
    return this.#ownership.otherRings;
  }

  /** The members that writes go to beside the token's placement, while its owners change. */
  pending(token: Token): readonly Member[] {
    return this.#ownership.pending(token);
  }

  /** The member, including one that joins, leaves or has left. Undefined for an unknown node. */
  member(node: NodeId): Member | undefined {
    return this.#ownership.member(node);
  }

  /** The publisher of this node's ring view. */
  get publication(): Pick<RingViewPublisher, 'holdWhile' | 'refresh' | 'held' | 'heldSeconds'> {
    return this.#publisher;
  }

  /** The ring view that this node has published. */
  get view(): string {
    return this.#publisher.view;
  }

  /** True if this node's published ring view is the one that follows from the records that it knows. */
  get hasPublished(): boolean {
    return this.view === this.#ownership.view;
  }

  /** True if the peer has the same ring view as this node. */
  agrees(node: NodeId): boolean {
    return this.#agreement.agrees(node);
  }

  /**
   * Calls the listener once the peer has the same ring view, or with the error that it does not (`Agreement.await`).
   */
  awaitAgreement(node: NodeId, haste: boolean, listener: AgreementListener): void {
    this.#agreement.await(node, haste, listener);
  }

  /** True if this node's own ring view is published, and no reachable member has another one. */
  get agreed(): boolean {
    if (!this.hasPublished) return false;
    return this.members().every(({ node }) => {
      return this.#isSelf(node) || !this.isRoutable(node) || this.follows(node);
    });
  }

  /** True if the peer follows this node's current step: it has the same ring view, or knows that this node has left. */
  follows(node: NodeId): boolean {
    return this.agrees(node) || this.#departure.isKnownBy(node);
  }

  /** The members whose ring changes are under way, this node included. */
  get changingMembers(): readonly MemberRecord[] {
    return this.members().filter(isMoving);
  }

  /**
   * Declares a step of this node's ring change, and publishes it once it is durable. Resolves with false if the disk
   * did not take it, or if `stands` returns false by then.
   */
  async declareMove(
    state: DeclaredState,
    move: MoveStage,
    stands: () => boolean = () => true,
  ): Promise<boolean> {
    const from = this.#table.self;
    if (!isLegalStep(from, { state, move }))
      failAssertion('a ring change goes on by one step', from.state, from.move, state, move);
    if (!(await this.#declare(this.#table.moved(state, move), stands))) return false;
    this.#io.log.event('info', 'membership.move.declared', { state, move });
    this.#refresh();
    return true;
  }

  /**
   * Declares that this node leaves for good. Resolves with true once that is durable and the peers have answered, or
   * after a second; with false if the disk did not take it. `follows` tells which of them have it on their disks.
   */
  async leave(): Promise<boolean> {
    const from = this.#table.self;
    if (from.state !== 'LEAVING' || from.move !== 'switching')
      failAssertion('a member leaves once its keys are with their next owners', from.state, from.move);
    if (!(await this.#declare({ state: 'LEAVING', move: 'none', left: true }))) return false;
    this.#io.log.event('info', 'membership.left', {});
    this.#refresh();
    await this.#gossip.farewell();
    return true;
  }

  /**
   * Records that enough members know durably that this node has left: its data directory is of no more use. Resolves
   * when that is saved.
   */
  async depart(): Promise<void> {
    this.#io.log.event('info', 'membership.departed', {});
    await this.#fileWriter.depart();
  }

  #isSelf(node: NodeId): boolean {
    return node === this.#table.self.node;
  }

  #declare(change: Partial<MemberRecord>, stands: () => boolean = () => true): Promise<boolean> {
    assert(Object.keys(this.#intended).length === 0, 'a member declares one step at a time');
    this.#intended = change;
    return this.#fileWriter.saveStep(stands, (taken) => {
      this.#intended = {};
      if (taken) this.#table.declare(change);
    });
  }

  /** The other members, in the order in which they became known. */
  get peers(): readonly KnownPeer[] {
    return [...this.#peers.values()];
  }

  /** This node's own record. */
  get self(): MemberRecord {
    return this.#table.self;
  }

  /** The peer's incarnation number as known here; 0 if it is unknown. */
  readonly lifeOf = (node: NodeId): number => this.#table.record(node)?.generation ?? 0;

  /** Every member's record, this node's first. Without those that have left. */
  members(): readonly MemberRecord[] {
    return [this.#table.self, ...this.#table.peers()].filter((record) => !record.left);
  }

  /** True if the peer has had a link to this process: it has sent a gossip request on it. */
  hasLinked(node: NodeId): boolean {
    return this.#callers.has(node);
  }

  /** Whether the node declares that it joins. */
  isJoining(node: NodeId): boolean {
    return this.members().some((record) => record.node === node && record.state === 'JOINING');
  }

  /** The peer's state in this node's opinion. */
  state(node: NodeId): PeerState {
    return this.#table.opinion(node);
  }

  /** True if requests may be sent to the node. */
  isRoutable(node: NodeId): boolean {
    return this.#table.isRoutable(node);
  }

  /** True if an operator has declared the node, or this one, STANDBY: it is read last. */
  isStandby(node: NodeId): boolean {
    return (node === this.self.node ? this.self.state : this.state(node)) === 'STANDBY';
  }

  /** True if another node has taken over what the node owned. */
  isReplaced(node: NodeId): boolean {
    const record = this.#table.record(node);
    return record !== undefined && this.#table.isSuperseded(record);
  }

  /** The node's number in metrics; -1 for an unknown node. This node has one, too. */
  indexOf(node: NodeId): number {
    return this.#indexes.get(node) ?? -1;
  }

  /**
   * In the node's first incarnation, makes durable that it is a member, or begins to join. Later incarnations go on
   * from there. Call it once the transactions under way are known, before the peer plane starts.
   */
  async enroll(): Promise<void> {
    const isDurable = this.#file.names(this.#table.self.node) || (await this.#fileWriter.save());
    this.#publisher.begin(isDurable);
    this.#introduce();
  }

  /** Starts the heartbeats. `address`: where other nodes reach this one. */
  start(address: Address): void {
    if (address !== this.#table.self.address) {
      this.#table.declare({ address });
      this.#introduce();
    }
    const { state, generation, epoch } = this.#table.self;
    const known = this.#table.peers().filter((peer) => peer.generation > 0);
    const members = known.map((peer) => `${peer.node}=${peer.generation}`).join(' ');
    this.#io.log.event('info', 'membership.started', { state, generation, epoch, address, members });
    if (state === 'JOINING') {
      const detail = 'this node owns nothing until its part of the ring has been moved to it';
      this.#io.log.event('warn', 'membership.join.waiting', { detail });
    }
    this.#gossip.start();
  }

  /**
   * Resolves when every peer has been heard, or after `patienceUs` microseconds. Until a peer is heard, no request goes
   * to it.
   */
  async acquainted(patienceUs: number): Promise<void> {
    if (this.#isAcquainted()) return;
    this.#acquaintance = new Deferred<void>();
    const patience = this.#io.clock.after(patienceUs, () => this.#acquaintance?.resolve());
    await this.#acquaintance.promise;
    this.#acquaintance = undefined;
    patience.cancel();
  }

  /**
   * Tells the peers that this node stops, so that they need not detect it. Resolves when they have answered, or after a
   * second.
   */
  async stop(): Promise<void> {
    this.#publisher.stop();
    this.#agreement.stop();
    this.#table.declare({ away: true });
    this.#gossip.stop();
    await this.#gossip.farewell();
  }

  /**
   * Resolves when none of its files is being written. Call it when the peer plane and the ring changes have stopped
   * too: until then they may begin another save.
   */
  async settled(): Promise<void> {
    await Promise.all([this.#raised, this.#fileWriter.idle()]);
  }

  /** The link to a peer is up. If the peer is not known to be reachable, runs a round of gossip with it. */
  linked(node: NodeId): void {
    if (!this.#table.isRoutable(node)) this.#gossip.reconcile(node);
  }

  /** Answers a peer's gossip message. Throws `BadRequest` if it does not decode. */
  answer(from: NodeId, words: Uint8Array): Uint8Array {
    this.#callers.add(from);
    return this.#gossip.answer(from, words);
  }

  /** Why a node that greets is refused; undefined if it is admitted. */
  judge(hello: Hello, rival: boolean): Refusal | undefined {
    return judgeGreeting(this.#table, hello, rival, this.#departing.has(hello.node));
  }

  /** A node was admitted. Its ring view counts, and requests that waited for it may now be sent. */
  admitted({ node, view }: Hello): void {
    if (view !== undefined) this.#heardView(node, view);
  }

  /** A peer refuses this node as no member. */
  disowned(by: NodeId): void {
    if (this.#table.self.left) this.#departure.learned(by);
  }

  /**
   * A peer knows a later incarnation of this node: the disk was wiped and the clock set back. Raises the generation
   * above that one.
   */
  outlived(by: NodeId, generation: number): void {
    if (this.#raising || generation < this.#table.self.generation) return;
    sometimes('membership.identity-raised');
    this.#raising = true;
    const raised = this.#raise(by, generation + 1).finally(() => {
      this.#raising = false;
    });
    this.#raised = raised.catch(() => undefined);
    this.#io.spawn('membership.raise', () => raised);
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
    const { generation, state, address } = this.#table.self;
    this.#links.introduce({ generation, joining: state === 'JOINING', view: this.view, address });
  }

  #number(node: NodeId): void {
    if (!this.#indexes.has(node)) this.#indexes.set(node, this.#indexes.size);
  }

  /** Adds the peer or updates its address, and returns it. */
  #meet({ node, address, datacenter, rack }: MemberRecord): KnownPeer {
    const before = this.#peers.get(node);
    if (before?.address === address) return before;
    this.#number(node);
    const peer = { node, address, datacenter, rack, index: this.indexOf(node) };
    this.#peers.set(node, peer);
    if (before === undefined) this.#observer.appeared(peer);
    return peer;
  }

  #onMove(node: NodeId, from: PeerState, to: PeerState): void {
    const record = present(this.#table.record(node), `the record of ${node}`);
    const known = this.#peers.has(node);
    // A leaving node goes on reporting that it has left. This node knew it, and has only got a newer record of it.
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
    if (newLife) this.#fileWriter.look(this.#io.clock.nowUs());
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
    this.#publisher.refresh();
  }

  /**
   * Disconnects from members that have left. Before that they must hear a ring view that this node would know again
   * after a crash.
   */
  #forgetDeparted(): void {
    if (!this.hasPublished) return;
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
    this.#fileWriter.look(nowUs);
  }
}

/** A topic: something that all nodes shall know. */
export interface Topic {
  /** A digest of what this node knows, of at most 256 characters; empty for nothing. */
  digest(): string;
  /** Called with a peer's digest at every round, whether it is new or not. */
  heard(peer: NodeId, digest: string): void;
}

/** The topics of one node. */
export class Topics {
  readonly #topics = new Map<string, Topic>();

  /** Gossip spreads the topic from now on. At most 16 topics. A name is part of the protocol and never changes. */
  add(name: string, topic: Topic): void {
    this.#topics.set(name, topic);
  }

  /** This node's digest of each topic. */
  news(): readonly News[] {
    return [...this.#topics].map(([topic, kept]) => ({ topic, digest: kept.digest() }));
  }

  /** Passes a peer's digests to their topics. Topics that this version does not know are ignored. */
  told(from: NodeId, news: readonly News[]): void {
    for (const { topic, digest } of news) this.#topics.get(topic)?.heard(from, digest);
  }
}

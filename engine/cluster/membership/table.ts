/**
 * The members as this node knows them: each member's own record, and this node's opinion of its state. Pure state;
 * gossip.ts carries the records.
 *
 * Only its own node writes a record. Records are ordered by (generation, version): the generation is an incarnation of
 * the node, the version a heartbeat in it. A newer record replaces the other as a whole (source: van Renesse, Dumitriu,
 * Gough, Thomas, "Efficient Reconciliation and Flow Control for Anti-Entropy Protocols" (Scuttlebutt), 2008).
 *
 * Invariants: a node's generation never goes back. Two incarnations with one generation, and two nodes of a rack with
 * one token, are never both accepted. Opinions change only as states.ts allows, and each change is reported once. The
 * table has no more records than a gossip message may hold: for a further node it forgets one that has left, or refuses
 * the node.
 */
import { assert, failAssertion, present } from '../../base/assert.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { Detector } from './detector.ts';
import type { MemberRecord, Place } from './member-record.ts';
import {
  hasOusted,
  isLater,
  isNewer,
  isTwin,
  placeName,
  samePlace,
  sameTokens,
  takersOf,
} from './member-record.ts';
import type { DigestEntry, PeerIndex } from './gossip-progress.ts';
import { Progress } from './gossip-progress.ts';
import { gossipMembersMax } from './gossip-reader.ts';
import type { DeclaredState, MoveStage, PeerState } from './states.ts';
import { isLegalMove, isServingState } from './states.ts';

/**
 * Why a record is refused.
 *
 * - `oldLife`: a later incarnation of the node is known.
 * - `sameName`: another process has its name and generation.
 * - `duplicateToken`: another node of its rack has one of its tokens.
 * - `location`, `tokens`: they differ from before, in the same membership.
 * - `full`: it is unknown, and as many nodes are known as may be.
 */
export type RefusalReason = 'oldLife' | 'sameName' | 'duplicateToken' | 'location' | 'tokens' | 'full';

/** All reasons. */
export const refusalReasons: readonly RefusalReason[] = [
  'oldLife',
  'sameName',
  'duplicateToken',
  'location',
  'tokens',
  'full',
];

/** What became of a record. */
export type Applied =
  | { readonly kind: 'old' }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  /**
   * `newLife`: another incarnation than before, or the first. `moved`: its address is new. `ringChanged`: who owns
   * which tokens may have changed.
   */
  | {
      readonly kind: 'applied';
      readonly newLife: boolean;
      readonly moved: boolean;
      readonly ringChanged: boolean;
    };

/** Called for every change of a peer's state. */
export type TransitionListener = (node: NodeId, from: PeerState, to: PeerState) => void;

interface Peer {
  record: MemberRecord;
  opinion: PeerState;
  readonly detector: Detector;
  readonly index: PeerIndex;
}

/** The member table of one node. */
export class MemberTable {
  #self: MemberRecord;
  /** The nodes that claim each token, by location; recomputed when a location changes. */
  #takers: Map<string, Map<Token, NodeId[]>> | undefined;
  readonly #peers = new Map<NodeId, Peer>();
  /** The same, by index. */
  readonly #order: Peer[] = [];
  readonly #progress = new Progress();
  readonly #makeDetector: () => Detector;
  readonly #onTransition: TransitionListener;
  readonly #mayForget: () => boolean;

  /**
   * `mayForget`: true if every member has this node's ring view. Then each of them knows which nodes have left, and none
   * would bring back a forgotten one as an owner.
   */
  constructor(
    self: MemberRecord,
    makeDetector: () => Detector,
    onTransition: TransitionListener,
    mayForget: () => boolean = () => false,
  ) {
    this.#self = self;
    this.#makeDetector = makeDetector;
    this.#onTransition = onTransition;
    this.#mayForget = mayForget;
  }

  /** This node's own record. */
  get self(): MemberRecord {
    return this.#self;
  }

  /** The other members' records, in the order in which they became known, including those that have left. */
  peers(): readonly MemberRecord[] {
    const records: MemberRecord[] = [];
    for (const { record } of this.#peers.values()) records.push(record);
    return records;
  }

  /** The peer's record, as far as it is known; undefined for an unknown node. */
  record(node: NodeId): MemberRecord | undefined {
    return this.#peers.get(node)?.record;
  }

  /** This node's opinion of a peer; UNKNOWN for an unknown node. */
  opinion(node: NodeId): PeerState {
    return this.#peers.get(node)?.opinion ?? 'UNKNOWN';
  }

  /** True if requests may be sent to the node. */
  isRoutable(node: NodeId): boolean {
    return node === this.#self.node || isServingState(this.opinion(node));
  }

  /** Thousandths of phi of the peer's silence. */
  milliPhi(node: NodeId, nowUs: number): number {
    return this.#peers.get(node)?.detector.milliPhi(nowUs) ?? 0;
  }

  /** Increments this node's heartbeat. */
  beat(): void {
    this.#self = { ...this.#self, version: this.#self.version + 1 };
  }

  /** Changes this node's own record. */
  declare(change: Partial<MemberRecord>): void {
    this.#say(change);
  }

  /**
   * The fields of this node's record in that step. A replacement's record names the membership that it ends: the one
   * that is known when it begins to copy.
   */
  moved(state: DeclaredState, move: MoveStage): Pick<MemberRecord, 'state' | 'move' | 'supersedes'> {
    const { replaces, supersedes } = this.#self;
    const dead = state === 'JOINING' && replaces !== undefined ? this.record(replaces) : undefined;
    return { state, move, supersedes: dead === undefined ? supersedes : dead.joined };
  }

  /**
   * Raises the generation above an earlier incarnation of the node's name. A membership that only begins now begins
   * with the new generation.
   */
  raise(generation: number): void {
    const { state, joined } = this.#self;
    this.#say({ generation, joined: state === 'JOINING' ? generation : joined });
  }

  #say(change: Partial<MemberRecord>): void {
    const before = this.#self;
    this.#self = { ...before, ...change, version: before.version + 1 };
    if (!isNewer(this.#self, before))
      failAssertion('the incarnation of this node never goes back', before.generation, this.#self.generation);
    if (this.#self.node !== before.node || this.#self.epoch !== before.epoch)
      failAssertion('a process keeps its name and incarnation id', before.epoch, this.#self.epoch);
    this.#takers = undefined;
  }

  /** Adds a peer that is known by configuration before it was heard: generation 0, version 0, opinion UNKNOWN. */
  expect(record: MemberRecord): void {
    assert(record.node !== this.#self.node, 'a node does not expect itself');
    if (!this.#peers.has(record.node) && !this.#isFull) this.#add(record, this.#progress.add(record));
  }

  /** True if there is room for the record of another node, or if one that has left may be forgotten for it. */
  get hasRoom(): boolean {
    return !this.#isFull || (this.#mayForget() && this.#longestGone() !== undefined);
  }

  get #isFull(): boolean {
    return this.#peers.size + 1 >= gossipMembersMax;
  }

  /** The node that has left and whose last incarnation is the oldest: every table finds the same one. */
  #longestGone(): Peer | undefined {
    let oldest: Peer | undefined;
    for (const peer of this.#peers.values()) {
      if (!peer.record.left) continue;
      const { generation, node } = peer.record;
      const than = oldest?.record;
      const isOlder =
        than === undefined ||
        generation < than.generation ||
        (generation === than.generation && node < than.node);
      if (isOlder) oldest = peer;
    }
    return oldest;
  }

  /**
   * True if another member has taken over what this one owned or was about to take over, whatever became of that member
   * since.
   */
  isSuperseded(member: MemberRecord): boolean {
    return hasOusted(this.#self, member) || this.#order.some(({ record }) => hasOusted(record, member));
  }

  /** Marks a replaced peer as left. Returns true if it was not marked before. */
  evict(node: NodeId): boolean {
    const peer = this.#peers.get(node);
    if (peer === undefined || peer.record.left) return false;
    peer.record = { ...peer.record, left: true };
    this.#takers = undefined;
    // A peer that was never heard stays UNKNOWN.
    if (peer.opinion !== 'UNKNOWN') this.#move(peer, 'DOWN');
    return true;
  }

  /** How far this table knows every member, this node first. */
  digest(): readonly DigestEntry[] {
    const { node, generation, version } = this.#self;
    const digest: DigestEntry[] = [{ node, generation, version }];
    this.#progress.addTo(digest);
    return digest;
  }

  /** The records that the sender of `digest` lacks or has older. */
  newerThan(digest: readonly DigestEntry[]): readonly MemberRecord[] {
    const own = digest.findLast(({ node }) => node === this.#self.node);
    const isOwnNews = own === undefined || isNewer(this.#self, own);
    const newer = this.#self.generation > 0 && isOwnNews ? [this.#self] : [];
    for (const index of this.#progress.lackingIn(digest)) {
      newer.push(present(this.#order[index], 'a peer').record);
    }
    return newer;
  }

  /**
   * This incarnation begins to listen. From now on silence counts against peers, including those that were never heard.
   */
  listen(nowUs: number): void {
    for (const { record, detector } of this.#peers.values())
      // The node that this one replaces is not listened to: the other members judge it.
      if (record.node !== this.#self.replaces) detector.heartbeat(nowUs);
  }

  /** True if the sender of `digest` knows some member better than this table does. */
  isBehind(digest: readonly DigestEntry[]): boolean {
    return digest.some((entry) => {
      return entry.node === this.#self.node ? isNewer(entry, this.#self) : this.#progress.isBehind(entry);
    });
  }

  /** Accepts or refuses a record that `from` has sent, heard at this monotonic instant. */
  apply(record: MemberRecord, from: NodeId, nowUs: number): Applied {
    if (record.node === this.#self.node) return this.#applyOwnName(record);
    const peer = this.#peers.get(record.node);
    const known = peer?.record;
    if (known !== undefined) {
      // A record of an earlier incarnation that another node sends is only late.
      if (record.generation < known.generation)
        return from === record.node ? refused('oldLife') : { kind: 'old' };
      if (isTwin(record, known)) return refused('sameName');
      if (!isNewer(record, known)) return { kind: 'old' };
      // The last records of a node that was replaced.
      const replaced = known.left && !record.left && record.epoch === known.epoch;
      if (replaced && this.isSuperseded(record)) return { kind: 'old' };
    }
    const sameAsBefore = known !== undefined && known.generation > 0 && samePlace(known, record);
    // A table that is full does not take back a node that was forgotten.
    if (peer === undefined && record.left && this.#isFull) return { kind: 'old' };
    const fault = sameAsBefore
      ? undefined
      : (this.placeFault(record) ?? (peer === undefined && !this.hasRoom ? 'full' : undefined));
    return fault === undefined ? this.#accept(record, peer, nowUs) : refused(fault);
  }

  /** Why the node cannot have the location and tokens that it claims; undefined if it can. */
  placeFault(claim: Place): Extract<RefusalReason, 'location' | 'tokens' | 'duplicateToken'> | undefined {
    const known = this.#peers.get(claim.node)?.record;
    if (known !== undefined && !known.left && !isLater(claim.joined, known.joined)) {
      if (known.datacenter !== claim.datacenter || known.rack !== claim.rack) return 'location';
      // A peer's own record of its tokens overrides the configuration.
      const bound = known.generation > 0 && known.state !== 'JOINING';
      if (bound && !sameTokens(known.tokens, claim.tokens)) return 'tokens';
    }
    if (claim.left === true) return undefined;
    return this.#replacementFault(claim) ?? (this.#tokenTaken(claim) ? 'duplicateToken' : undefined);
  }

  /**
   * Judges silence: a peer whose phi exceeds the threshold is DOWN. Returns the peers that are not DOWN and whose
   * phi exceeds half of the threshold.
   */
  judge(nowUs: number): readonly NodeId[] {
    const { state, move } = this.#self;
    const overdue: NodeId[] = [];
    // A joining node that was not admitted yet hears no peer.
    const isOutside = state === 'JOINING' && move === 'queued';
    for (const peer of this.#peers.values()) {
      const isExpected = peer.opinion !== 'UNKNOWN' || (!isOutside && !peer.record.left);
      if (!isExpected || !peer.detector.isOverdue(nowUs)) continue;
      if (peer.detector.suspects(nowUs)) this.#move(peer, 'DOWN');
      else if (peer.opinion !== 'DOWN') overdue.push(peer.record.node);
    }
    return overdue;
  }

  /** This node did not listen for the last `us` microseconds; they do not count as silence. */
  pardon(us: number, nowUs: number): void {
    for (const peer of this.#peers.values()) peer.detector.pardon(us, nowUs);
  }

  #accept(record: MemberRecord, known: Peer | undefined, nowUs: number): Applied {
    const before = known?.record;
    const newLife = before?.epoch !== record.epoch;
    if (before !== undefined && !isNewer(record, before))
      failAssertion('a record is replaced by a newer one', record.node, before.generation, record.generation);
    const peer = known ?? this.#add(record, this.#indexFor(record));
    peer.record = record;
    this.#progress.set(peer.index, record);
    // The time until the first record is no interval.
    if (newLife || peer.opinion === 'UNKNOWN') peer.detector.reset();
    if (newLife) {
      if (isLegalMove(peer.opinion, 'RESET')) this.#move(peer, 'RESET');
    }
    if (peer.opinion === 'DOWN') peer.detector.resume(nowUs);
    else peer.detector.heartbeat(nowUs, newLife ? 1 : Math.max(1, record.version - before.version));
    this.#move(peer, record.left || record.away ? 'DOWN' : record.state);
    const moved = before?.address !== record.address;
    const ringChanged = before === undefined || !samePlace(before, record);
    if (ringChanged) this.#takers = undefined;
    return { kind: 'applied', newLife, moved, ringChanged };
  }

  #applyOwnName(record: MemberRecord): Applied {
    // A record of an earlier incarnation, or an earlier heartbeat, that another node sends is only late.
    const past = record.generation < this.#self.generation || record.epoch === this.#self.epoch;
    return past ? { kind: 'old' } : refused('sameName');
  }

  /** An index for a peer that becomes known: a new one, or that of a node which has left and is forgotten for it. */
  #indexFor(record: MemberRecord): PeerIndex {
    const gone = this.#isFull ? this.#longestGone() : undefined;
    if (gone === undefined) return this.#progress.add(record);
    this.#peers.delete(gone.record.node);
    this.#progress.replace(gone.index, record);
    return gone.index;
  }

  #add(record: MemberRecord, index: PeerIndex): Peer {
    const peer: Peer = { record, opinion: 'UNKNOWN', detector: this.#makeDetector(), index };
    if (index > this.#order.length) failAssertion('peers are numbered in order', index, this.#order.length);
    this.#order[index] = peer;
    this.#peers.set(record.node, peer);
    if (this.#order.length !== this.#peers.size)
      failAssertion('a peer is added once', record.node, this.#order.length, this.#peers.size);
    this.#takers = undefined;
    return peer;
  }

  #move(peer: Peer, to: PeerState): void {
    const from = peer.opinion;
    if (from === to || !isLegalMove(from, to)) return;
    peer.opinion = to;
    this.#onTransition(peer.record.node, from, to);
  }

  /** A replacement must have the dead node's location and all of its tokens: it would get the keys of no others. */
  #replacementFault(claim: Place): 'location' | 'tokens' | undefined {
    const { replaces, joining = claim.state === 'JOINING' } = claim;
    const dead = replaces === undefined || !joining ? undefined : this.record(replaces);
    if (dead === undefined || dead.left) return undefined;
    if (dead.datacenter !== claim.datacenter || dead.rack !== claim.rack) return 'location';
    return sameTokens(dead.tokens, claim.tokens) ? undefined : 'tokens';
  }

  /** True if the claiming node takes over, or has taken over, the tokens of the dead one. */
  #takesOverFrom(claim: Place, dead: MemberRecord): boolean {
    if (claim.replaces !== dead.node || dead.node === this.#self.node) return false;
    const done = claim.state !== undefined && claim.state !== 'JOINING';
    if (done || this.isRoutable(dead.node)) return done;
    // A node that this incarnation has not heard yet may be alive. A replacement that was admitted before has waited
    // for that.
    return this.opinion(dead.node) !== 'UNKNOWN' || this.record(claim.node)?.replaces === dead.node;
  }

  /** True if the claiming node is the dead one whose tokens `replacement` has not taken over yet. */
  #isReplacedBy(claim: Place, replacement: MemberRecord): boolean {
    return replacement.replaces === claim.node && replacement.state === 'JOINING';
  }

  #tokenTaken(claim: Place): boolean {
    const takers = this.#takersAt(claim);
    return claim.tokens.some((token) => takers?.get(token)?.some((node) => this.#rulesOut(claim, node)));
  }

  /** True if the other node's claim to the token rules this claim out. */
  #rulesOut(claim: Place, node: NodeId): boolean {
    if (node === claim.node) return false;
    const other = node === this.#self.node ? this.#self : this.#peers.get(node)?.record;
    if (other === undefined || replaceOneNode(claim, other)) return false;
    return !this.#takesOverFrom(claim, other) && !this.#isReplacedBy(claim, other);
  }

  #takersAt({ datacenter, rack }: Place): ReadonlyMap<Token, readonly NodeId[]> | undefined {
    this.#takers ??= takersOf([this.#self, ...this.peers()]);
    return this.#takers.get(placeName(datacenter, rack));
  }
}

function refused(reason: RefusalReason): Applied {
  return { kind: 'refused', reason };
}

/** True if both replace the same node; the first to finish gets its tokens. */
function replaceOneNode(claim: Place, { state, replaces }: MemberRecord): boolean {
  return replaces !== undefined && replaces === claim.replaces && state === 'JOINING';
}

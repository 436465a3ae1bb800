/**
 * Who is in the cluster, as this node knows it: every member's own word of itself, and this node's opinion of whether
 * it is there. Pure state; gossip.ts carries the words.
 *
 * A record is written by its node alone and ordered by (generation, version): a generation is one life of the node, a
 * version one heartbeat in it. The higher one replaces the other whole (source: van Renesse, Dumitriu, Gough, Thomas,
 * "Efficient Reconciliation and Flow Control for Anti-Entropy Protocols" (Scuttlebutt), 2008).
 *
 * Invariants: a node's generation never goes back; two lives of one generation, and two nodes with one token in a
 * rack, are never both accepted; opinions move only as states.ts allows, and each move is reported once.
 */
import { assert, present } from '../../base/assert.ts';
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
import type { DeclaredState, MoveStage, PeerState } from './states.ts';
import { isLegalMove, isServingState } from './states.ts';

/**
 * Why a record is not taken in. `oldLife`: a later life of the node is known. `sameName`: another process has its name
 * and generation. `duplicateToken`: another node of its rack has one of its tokens. `location`, `tokens`: it stands
 * elsewhere, or owns others, than before, and it is still the same membership.
 */
export type RefusalReason = 'oldLife' | 'sameName' | 'duplicateToken' | 'location' | 'tokens';

export const refusalReasons: readonly RefusalReason[] = [
  'oldLife',
  'sameName',
  'duplicateToken',
  'location',
  'tokens',
];

export type Applied =
  | { readonly kind: 'old' }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  /** `newLife`: another process than before, or the first. `ringChanged`: who owns which tokens is not what it was. */
  | {
      readonly kind: 'applied';
      readonly newLife: boolean;
      readonly moved: boolean;
      readonly ringChanged: boolean;
    };

/** Hears of every change of opinion. */
export type TransitionListener = (node: NodeId, from: PeerState, to: PeerState) => void;

interface Peer {
  record: MemberRecord;
  opinion: PeerState;
  readonly detector: Detector;
  readonly index: PeerIndex;
}

export class MemberTable {
  #self: MemberRecord;
  /** Who has which token, by place; made anew when somebody's place changes. */
  #takers: Map<string, Map<Token, NodeId[]>> | undefined;
  readonly #peers = new Map<NodeId, Peer>();
  /** The same, by their numbers. */
  readonly #order: Peer[] = [];
  readonly #progress = new Progress();
  readonly #makeDetector: () => Detector;
  readonly #onTransition: TransitionListener;

  constructor(self: MemberRecord, makeDetector: () => Detector, onTransition: TransitionListener) {
    this.#self = self;
    this.#makeDetector = makeDetector;
    this.#onTransition = onTransition;
  }

  get self(): MemberRecord {
    return this.#self;
  }

  /** The other members' records, in the order in which they became known; those that left included. */
  peers(): readonly MemberRecord[] {
    const records: MemberRecord[] = [];
    for (const { record } of this.#peers.values()) records.push(record);
    return records;
  }

  /** A peer's own word, as far as it is known; undefined for a stranger. */
  record(node: NodeId): MemberRecord | undefined {
    return this.#peers.get(node)?.record;
  }

  /** This node's opinion of a peer; UNKNOWN for a stranger. */
  opinion(node: NodeId): PeerState {
    return this.#peers.get(node)?.opinion ?? 'UNKNOWN';
  }

  isRoutable(node: NodeId): boolean {
    return node === this.#self.node || isServingState(this.opinion(node));
  }

  /** Thousandths of phi of a peer's silence. */
  milliPhi(node: NodeId, nowUs: number): number {
    return this.#peers.get(node)?.detector.milliPhi(nowUs) ?? 0;
  }

  /** One heartbeat more; gossip spreads it. */
  beat(): void {
    this.#self = { ...this.#self, version: this.#self.version + 1 };
  }

  /** Says something new of itself. */
  declare(change: Partial<MemberRecord>): void {
    this.#say(change);
  }

  /**
   * What it says once it is so far on its way. A replacement says whose membership it ends: the one known when it begins to
   * copy.
   */
  moved(state: DeclaredState, move: MoveStage): Pick<MemberRecord, 'state' | 'move' | 'supersedes'> {
    const { replaces, supersedes } = this.#self;
    const dead = state === 'JOINING' && replaces !== undefined ? this.record(replaces) : undefined;
    return { state, move, supersedes: dead === undefined ? supersedes : dead.joined };
  }

  /** Outbids an earlier life of its name, which a membership that only begins has nothing to do with. */
  raise(generation: number): void {
    const { state, joined } = this.#self;
    this.#say({ generation, joined: state === 'JOINING' ? generation : joined });
  }

  #say(change: Partial<MemberRecord>): void {
    this.#self = { ...this.#self, ...change, version: this.#self.version + 1 };
    this.#takers = undefined;
  }

  /** A peer is known by configuration before it was heard of: version 0 of generation 0, opinion UNKNOWN. */
  expect(record: MemberRecord): void {
    assert(record.node !== this.#self.node, 'a node does not expect itself');
    if (!this.#peers.has(record.node)) this.#add(record);
  }

  /** Another one has taken over what the member owned, or was to take over, whatever has become of that one since. */
  isSuperseded(member: MemberRecord): boolean {
    return hasOusted(this.#self, member) || this.#order.some(({ record }) => hasOusted(record, member));
  }

  /** Calls a peer that was replaced one that has left; whether it was not called so before. */
  evict(node: NodeId): boolean {
    const peer = this.#peers.get(node);
    if (peer === undefined || peer.record.left) return false;
    peer.record = { ...peer.record, left: true };
    this.#takers = undefined;
    // Whom nobody here has heard of goes as he came.
    if (peer.opinion !== 'UNKNOWN') this.#move(peer, 'DOWN');
    return true;
  }

  /** How far this table knows everyone, itself first. */
  digest(): readonly DigestEntry[] {
    const { node, generation, version } = this.#self;
    const digest: DigestEntry[] = [{ node, generation, version }];
    this.#progress.addTo(digest);
    return digest;
  }

  /** The records that the maker of `digest` lacks or has older. */
  newerThan(digest: readonly DigestEntry[]): readonly MemberRecord[] {
    const own = digest.findLast(({ node }) => node === this.#self.node);
    const isOwnNews = own === undefined || isNewer(this.#self, own);
    const newer = this.#self.generation > 0 && isOwnNews ? [this.#self] : [];
    for (const index of this.#progress.lackingIn(digest)) {
      newer.push(present(this.#order[index], 'a peer').record);
    }
    return newer;
  }

  /** This life begins to listen: from now on silence is a peer's own, of whom it has heard nothing before as well. */
  listen(nowUs: number): void {
    for (const { record, detector } of this.#peers.values())
      // The one that this node replaces is not listened to: the others judge that.
      if (record.node !== this.#self.replaces) detector.heartbeat(nowUs);
  }

  /** The maker of `digest` knows somebody better than this table does. */
  isBehind(digest: readonly DigestEntry[]): boolean {
    return digest.some((entry) => {
      return entry.node === this.#self.node ? isNewer(entry, this.#self) : this.#progress.isBehind(entry);
    });
  }

  /** Takes a record in that `from` has sent, heard at this monotonic instant. */
  apply(record: MemberRecord, from: NodeId, nowUs: number): Applied {
    if (record.node === this.#self.node) return this.#applyOwnName(record);
    const peer = this.#peers.get(record.node);
    const known = peer?.record;
    if (known !== undefined) {
      // What others still say of an earlier life is only late.
      if (record.generation < known.generation)
        return from === record.node ? refused('oldLife') : { kind: 'old' };
      if (isTwin(record, known)) return refused('sameName');
      if (!isNewer(record, known)) return { kind: 'old' };
      // The last words of a node that was replaced.
      const replaced = known.left && !record.left && record.epoch === known.epoch;
      if (replaced && this.isSuperseded(record)) return { kind: 'old' };
    }
    const sameAsBefore = known !== undefined && known.generation > 0 && samePlace(known, record);
    const fault = sameAsBefore ? undefined : this.placeFault(record);
    return fault === undefined ? this.#accept(record, peer, nowUs) : refused(fault);
  }

  /** Why the node cannot stand where it says and own what it says; undefined when it can. */
  placeFault(claim: Place): Extract<RefusalReason, 'location' | 'tokens' | 'duplicateToken'> | undefined {
    const known = this.#peers.get(claim.node)?.record;
    if (known !== undefined && !known.left && !isLater(claim.joined, known.joined)) {
      if (known.datacenter !== claim.datacenter || known.rack !== claim.rack) return 'location';
      // The configuration's word of a peer's tokens gives way to the peer's own.
      const bound = known.generation > 0 && known.state !== 'JOINING';
      if (bound && !sameTokens(known.tokens, claim.tokens)) return 'tokens';
    }
    if (claim.left === true) return undefined;
    return this.#heirFault(claim) ?? (this.#tokenTaken(claim) ? 'duplicateToken' : undefined);
  }

  /** Judges silence: a peer whose phi exceeds the threshold is DOWN. */
  judge(nowUs: number): void {
    const { state, move } = this.#self;
    // Who has yet to be let in hears nobody.
    const isOutside = state === 'JOINING' && move === 'queued';
    for (const peer of this.#peers.values()) {
      const isExpected = peer.opinion !== 'UNKNOWN' || (!isOutside && !peer.record.left);
      if (isExpected && peer.detector.suspects(nowUs)) this.#move(peer, 'DOWN');
    }
  }

  /** This node was not listening for the last `us` microseconds: they are no peer's silence. */
  pardon(us: number, nowUs: number): void {
    for (const peer of this.#peers.values()) peer.detector.pardon(us, nowUs);
  }

  #accept(record: MemberRecord, known: Peer | undefined, nowUs: number): Applied {
    const before = known?.record;
    const newLife = before?.epoch !== record.epoch;
    const peer = known ?? this.#add(record);
    peer.record = record;
    this.#progress.set(peer.index, record);
    // How long it took until the first word is no interval.
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
    // What others still say of an earlier life, or of an earlier heartbeat, is only late.
    const past = record.generation < this.#self.generation || record.epoch === this.#self.epoch;
    return past ? { kind: 'old' } : refused('sameName');
  }

  #add(record: MemberRecord): Peer {
    const index = this.#progress.add(record);
    const peer: Peer = { record, opinion: 'UNKNOWN', detector: this.#makeDetector(), index };
    this.#order.push(peer);
    this.#peers.set(record.node, peer);
    this.#takers = undefined;
    return peer;
  }

  #move(peer: Peer, to: PeerState): void {
    const from = peer.opinion;
    if (from === to || !isLegalMove(from, to)) return;
    peer.opinion = to;
    this.#onTransition(peer.record.node, from, to);
  }

  /** A replacement stands where the dead one stood and takes over all its tokens: of nothing else it gets the keys. */
  #heirFault(claim: Place): 'location' | 'tokens' | undefined {
    const { replaces, joining = claim.state === 'JOINING' } = claim;
    const dead = replaces === undefined || !joining ? undefined : this.record(replaces);
    if (dead === undefined || dead.left) return undefined;
    if (dead.datacenter !== claim.datacenter || dead.rack !== claim.rack) return 'location';
    return sameTokens(dead.tokens, claim.tokens) ? undefined : 'tokens';
  }

  /** It takes over, or has taken over, the tokens of the other one, which is dead. */
  #inherits(claim: Place, dead: MemberRecord): boolean {
    if (claim.replaces !== dead.node || dead.node === this.#self.node) return false;
    const done = claim.state !== undefined && claim.state !== 'JOINING';
    if (done || this.isRoutable(dead.node)) return done;
    // Of whom this life has heard nothing yet may be alive; who has been let in before has waited for that.
    return this.opinion(dead.node) !== 'UNKNOWN' || this.record(claim.node)?.replaces === dead.node;
  }

  /** It is the dead one whose tokens the other has not taken over yet. */
  #bequeaths(claim: Place, heir: MemberRecord): boolean {
    return heir.replaces === claim.node && heir.state === 'JOINING';
  }

  #tokenTaken(claim: Place): boolean {
    const takers = this.#takersAt(claim);
    return claim.tokens.some((token) => takers?.get(token)?.some((node) => this.#standsAgainst(claim, node)));
  }

  /** The claim's token is this other node's. */
  #standsAgainst(claim: Place, node: NodeId): boolean {
    if (node === claim.node) return false;
    const other = node === this.#self.node ? this.#self : this.#peers.get(node)?.record;
    if (other === undefined || isFellowHeir(claim, other)) return false;
    return !this.#inherits(claim, other) && !this.#bequeaths(claim, other);
  }

  #takersAt({ datacenter, rack }: Place): ReadonlyMap<Token, readonly NodeId[]> | undefined {
    this.#takers ??= takersOf([this.#self, ...this.peers()]);
    return this.#takers.get(placeName(datacenter, rack));
  }
}

function refused(reason: RefusalReason): Applied {
  return { kind: 'refused', reason };
}

/** Both are to replace the same node; who has done so first has its tokens. */
function isFellowHeir(claim: Place, { state, replaces }: MemberRecord): boolean {
  return replaces !== undefined && replaces === claim.replaces && state === 'JOINING';
}

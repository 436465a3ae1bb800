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
import { assert, present } from '../base/assert.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { Address } from '../io/network.ts';
import type { Detector } from './detector.ts';
import type { DigestEntry, PeerIndex } from './progress.ts';
import { Progress } from './progress.ts';
import type { DeclaredState, MoveStage, PeerState } from './states.ts';
import { isLegalMove, isServingState } from './states.ts';

/** A node's word of itself. */
export interface MemberRecord {
  readonly node: NodeId;
  readonly generation: number;
  readonly version: number;
  /** The random epoch of this life, in hex: tells two processes that claim one name and generation apart. */
  readonly epoch: string;
  readonly state: DeclaredState;
  /** How far its joining or leaving is (engine/membership/ownership.ts). */
  readonly move: MoveStage;
  /**
   * The life (generation) in which it began to join, which tells its membership from earlier ones of the same name;
   * undefined: it is one of the first members.
   */
  readonly joined: number | undefined;
  /** The dead node of its rack whose tokens it takes over; undefined for none. */
  readonly replaces: NodeId | undefined;
  /** `joined` of the membership that ends with that: of a later one of that name nothing is taken over. */
  readonly supersedes: number | undefined;
  /** It has left for good: remembered so that old gossip cannot bring it back. */
  readonly left: boolean;
  /** It has announced that it stops: it is DOWN until its next life. */
  readonly away: boolean;
  readonly address: Address;
  readonly datacenter: string;
  readonly rack: string;
  /** Ascending and distinct. */
  readonly tokens: readonly Token[];
}

/** Where a node stands and what it owns there, as it says. */
export type Place = Pick<MemberRecord, 'node' | 'datacenter' | 'rack' | 'tokens'> & {
  readonly left?: boolean;
  readonly joined?: number | undefined;
  readonly replaces?: NodeId | undefined;
  readonly state?: DeclaredState;
};

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
  declare(change: Partial<Pick<MemberRecord, 'state' | 'move' | 'left' | 'away' | 'address'>>): void {
    this.#say(change);
  }

  /** It is so far on its way. A replacement says whose membership it ends: the one known when it begins to copy. */
  declareMove(state: DeclaredState, move: MoveStage): void {
    const { replaces, supersedes } = this.#self;
    const dead = state === 'JOINING' && replaces !== undefined ? this.record(replaces) : undefined;
    this.#say({ state, move, supersedes: dead === undefined ? supersedes : dead.joined });
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

  /** Another one has taken over what the member owned, whatever has become of that one since. */
  isSuperseded({ node, joined }: Pick<MemberRecord, 'node' | 'joined'>): boolean {
    const replaces = (other: MemberRecord): boolean =>
      other.replaces === node && other.state !== 'JOINING' && !isLater(joined, other.supersedes);
    return replaces(this.#self) || this.#order.some(({ record }) => replaces(record));
  }

  /** Calls a peer that was replaced one that has left; whether it was not called so before. */
  evict(node: NodeId): boolean {
    const peer = this.#peers.get(node);
    if (peer === undefined || peer.record.left) return false;
    peer.record = { ...peer.record, left: true };
    this.#takers = undefined;
    this.#move(peer, 'DOWN');
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
    return claim.left !== true && this.#tokenTaken(claim) ? 'duplicateToken' : undefined;
  }

  /** Judges silence: a peer whose phi exceeds the threshold is DOWN. */
  judge(nowUs: number): void {
    for (const peer of this.#peers.values()) {
      if (peer.opinion !== 'UNKNOWN' && peer.detector.suspects(nowUs)) this.#move(peer, 'DOWN');
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
    if (newLife) {
      peer.detector.reset();
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

  /** It takes over, or has taken over, the tokens of the other one, which is dead. */
  #inherits(claim: Place, dead: MemberRecord): boolean {
    if (claim.replaces !== dead.node || dead.node === this.#self.node) return false;
    const done = claim.state !== undefined && claim.state !== 'JOINING';
    return done || !this.isRoutable(dead.node);
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
    return other !== undefined && !this.#inherits(claim, other) && !this.#bequeaths(claim, other);
  }

  #takersAt({ datacenter, rack }: Place): ReadonlyMap<Token, readonly NodeId[]> | undefined {
    this.#takers ??= takersOf([this.#self, ...this.peers()]);
    return this.#takers.get(placeName(datacenter, rack));
  }
}

/** Who has which token, by place, without those that have left. */
function takersOf(records: readonly MemberRecord[]): Map<string, Map<Token, NodeId[]>> {
  const places = new Map<string, Map<Token, NodeId[]>>();
  for (const { node, datacenter, rack, tokens, left } of records) {
    if (left) continue;
    const name = placeName(datacenter, rack);
    const takers = places.get(name) ?? new Map<Token, NodeId[]>();
    places.set(name, takers);
    for (const token of tokens) takers.set(token, [...(takers.get(token) ?? []), node]);
  }
  return places;
}

function placeName(datacenter: string, rack: string): string {
  return JSON.stringify([datacenter, rack]);
}

function isNewer(left: DigestEntry, right: DigestEntry): boolean {
  if (left.generation !== right.generation) return left.generation > right.generation;
  return left.version > right.version;
}

/** A membership that began in the one life of a name began after the one of the other. */
function isLater(joined: number | undefined, other: number | undefined): boolean {
  return (joined ?? 0) > (other ?? 0);
}

/** Two processes that claim one life. */
function isTwin(left: MemberRecord, right: MemberRecord): boolean {
  return left.generation === right.generation && left.epoch !== right.epoch;
}

function samePlace(left: MemberRecord, right: MemberRecord): boolean {
  return (
    left.datacenter === right.datacenter &&
    left.rack === right.rack &&
    left.left === right.left &&
    left.state === right.state &&
    left.move === right.move &&
    left.joined === right.joined &&
    left.replaces === right.replaces &&
    left.supersedes === right.supersedes &&
    sameTokens(left.tokens, right.tokens)
  );
}

function sameTokens(left: readonly Token[], right: readonly Token[]): boolean {
  if (left === right) return true;
  return left.length === right.length && left.every((token, index) => token === right[index]);
}

function refused(reason: RefusalReason): Applied {
  return { kind: 'refused', reason };
}

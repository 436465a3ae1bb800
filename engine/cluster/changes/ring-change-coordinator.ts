/**
 * The ring-change coordinator: brings this node into the cluster's ring, and out of it. It announces each step, waits
 * until every live member follows it, moves the ranges, and only then lets the ring change. cluster/view/ownership.ts
 * says what each step promises.
 *
 *     join      queued -> copying -> (pull) -> switching -> (handover) -> NORMAL
 *     replace   the same with a dead node's tokens; switching -> (replacement takeover) -> NORMAL
 *     leave     queued -> copying -> (push) -> switching -> (handover) -> (leave drain) -> left -> (departure) -> stopped
 *
 * One member moves at a time. If two begin at once, each sees the other before either step is agreed, since every
 * member knows both by then. The one whose name is later, or that is not switching yet, steps back. One exception: a
 * member waits in its last step for every former primary of keys that have another one (cluster/view/handover.ts), and
 * one of those may have died for good. The replacement of that primary goes on meanwhile, and hands over in its place. And the
 * replacement of a dead member goes first: a join or a leave that is not switching yet steps back before it, since it may
 * wait for the dead member itself, to which a leaving node of its rack must give its ranges.
 *
 * A joining node begins to copy once every member that is not DOWN has a link to it, or two seconds after all else is
 * ready. Writes go to it from that step on, and a member without a link could not send it its copy.
 *
 * Whether a member may leave is judged again at its turn, and until it switches: of two members of a rack that are told
 * to leave, the second one is the last of the rack by then. It returns to NORMAL.
 *
 * An operator's STANDBY is no ring change, since no token changes hands. But neither begins while the other is being
 * saved.
 *
 * Each step is durable before a peer hears of it (cluster/membership/membership.ts). So a restart never takes back a
 * step that a peer may have acted on.
 *
 * A step is agreed when no live member has another ring view, and the unreachable members are too few to form a
 * majority of their own. They must agree before any node gives them data again (cluster/view/ring-view-agreement.ts).
 */
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import { Deferred } from '../../base/deferred.ts';
import type { NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import type { Membership } from '../membership/membership.ts';
import type { DeclaredState, MoveStage } from '../membership/states.ts';
import type { TokenRange } from '../ring/arc.ts';
import type { Member, Ring } from '../ring/ring.ts';
import { arcsOf, inOneRack, sourcesOf, splitByPlacement } from './arcs.ts';
import type { LeaveDrain, LeaveDrainRest } from './leave-drain.ts';
import type { ReplacementTakeover } from './replacement-takeover.ts';
import type { Rebuild } from './rebuild.ts';
import { standbyRejection } from './standby.ts';
import type { Transfer } from './transfer.ts';

/** How often a wait checks its condition again. */
const lookUs = 50_000;
/** How long a failed range waits before it is tried again. */
const retryUs = 200_000;
/** How long a joining node waits for the links of members that it does not know to be DOWN. */
const linkPatienceUs = 2_000_000;
/** How long the coordinator waits before it retries a step that the disk did not take. */
const diskRestUs = 1_000_000;

/** How much of a ring change's data has moved. */
export interface MoveProgress {
  /** Ranges of the current ring change that are not complete, and all of its ranges. */
  readonly rangesLeft: number;
  readonly ranges: number;
}

/** What a ring change waits for. Empty without one. */
export interface MoveWait extends LeaveDrainRest {
  /** Members that are unreachable, or do not follow the current step yet. */
  readonly members: readonly NodeId[];
}

/** Drives this node's join, replacement or leave. */
export class RingChangeCoordinator {
  readonly #io: Io;
  readonly #membership: Membership;
  readonly #transfer: Transfer;
  readonly #rebuild: Pick<Rebuild, 'notReadyReason'>;
  readonly #drain: LeaveDrain;
  readonly #takeover: Pick<ReplacementTakeover, 'settle' | 'waitsFor'>;
  readonly #self: Member;
  readonly #onLeft: () => void;
  #progress: MoveProgress = { rangesLeft: 0, ranges: 0 };
  /** An operator has forced the leave under way. Not durable: after a restart the leave must be forced again. */
  #isForced = false;
  #work: Promise<void> | undefined;
  #stopped = false;

  /** `onLeft` is called once this node owns nothing any more and its peers know it. */
  constructor(
    io: Io,
    membership: Membership,
    transfer: Transfer,
    rebuild: Pick<Rebuild, 'notReadyReason'>,
    drain: LeaveDrain,
    takeover: Pick<ReplacementTakeover, 'settle' | 'waitsFor'>,
    self: Member,
    onLeft: () => void,
  ) {
    this.#io = io;
    this.#membership = membership;
    this.#transfer = transfer;
    this.#rebuild = rebuild;
    this.#drain = drain;
    this.#takeover = takeover;
    this.#self = self;
    this.#onLeft = onLeft;
  }

  /** Progress of the current or last ring change. */
  get progress(): MoveProgress {
    return this.#progress;
  }

  /** What the current ring change waits for, by member, transactions and hints. */
  get waitsFor(): MoveWait {
    const absent = this.#work === undefined ? [] : this.#absent().map(({ node }) => node);
    const { self, handover } = this.#membership;
    const former = self.move === 'switching' ? handover.open.filter((node) => node !== self.node) : [];
    const members = [...new Set([...absent, ...former, ...this.#takeover.waitsFor])];
    return { members, ...this.#drain.left };
  }

  /** Continues what the last incarnation began, or begins to join. Does nothing for a settled member. */
  start(): void {
    const { state, move, left } = this.#membership.self;
    if (move !== 'none' || left) sometimes('ring-change.continued-after-restart');
    if (left) this.#spawn(() => this.#depart());
    else if (state === 'JOINING') this.#spawn(() => this.#join());
    else if (state === 'LEAVING') this.#spawn(() => this.#leave());
    else if (move === 'switching') this.#spawn(() => this.#settle());
  }

  /** Starts no further step. Resolves when the current step is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work;
  }

  /**
   * Begins to leave, from NORMAL or STANDBY. Resolves once that is durable. Rejects with `StorageFailed` if the disk
   * does not take it. Throws `Conflict` if a ring change of this node is under way, or if its rebuild is not over.
   * Throws it also if the node is the last owner, or the last node of its rack; `force` overrides the last reason.
   */
  leave(force: boolean): Promise<void> {
    const { self } = this.#membership;
    if (this.#work !== undefined || (self.state !== 'NORMAL' && self.state !== 'STANDBY'))
      throw this.#onTheMove();
    const lacking = this.#rebuild.notReadyReason;
    if (lacking !== undefined) throw new LockstepError('Conflict', lacking);
    const rejection = this.#leaveRejection(force);
    if (rejection !== undefined) throw new LockstepError('Conflict', rejection);
    this.#isForced = force;
    const begun = new Deferred<boolean>();
    this.#spawn(async () => {
      begun.resolve(await this.#membership.declareMove('LEAVING', 'queued'));
      if (await begun.promise) await this.#leave();
    });
    return begun.promise.then((isBegun) => this.#mustBeNoted(isBegun));
  }

  /** Why this node may not leave the ring as it is now; undefined if it may. */
  #leaveRejection(force: boolean): string | undefined {
    const others = this.#membership.ring.members.filter((member) => member !== this.#self);
    if (others.length === 0) return 'the last node of a cluster cannot leave it';
    if (force || others.some((member) => inOneRack(member, this.#self))) return undefined;
    const { node, datacenter, rack } = this.#self;
    return `${node} is the last node of rack ${datacenter}/${rack}, whose copy of all keys would go; force takes it away`;
  }

  /** True if this node leaves, has not switched yet, and may not leave any more. */
  #mustStay(): boolean {
    const { state, move } = this.#membership.self;
    return state === 'LEAVING' && move !== 'switching' && this.#leaveRejection(this.#isForced) !== undefined;
  }

  /**
   * Returns to NORMAL instead of leaving. An operator may declare STANDBY again, or force the leave. Resolves once that
   * is durable.
   */
  async #stay(): Promise<void> {
    const detail = this.#leaveRejection(this.#isForced) ?? '';
    this.#io.log.event('error', 'membership.leave.given-up', { detail });
    await this.#declare('NORMAL', 'none');
  }

  /**
   * Goes into STANDBY, or returns from it (`ends`). Does nothing if the node is in that state already. Resolves once
   * that is durable. Rejects with `StorageFailed` if the disk does not take it. Throws `Conflict` if a ring change of
   * this node is under way, or if too few other members would serve reads of some of its keys (standby.ts).
   */
  standby(ends: boolean): Promise<void> {
    const { ring, self } = this.#membership;
    const [from, to] = ends ? (['STANDBY', 'NORMAL'] as const) : (['NORMAL', 'STANDBY'] as const);
    if (this.#work !== undefined || (self.state !== from && self.state !== to)) throw this.#onTheMove();
    if (self.state === to) return Promise.resolve();
    const serves = ({ node }: Member): boolean =>
      this.#membership.isRoutable(node) && !this.#membership.isStandby(node);
    const rejection = ends ? undefined : standbyRejection(ring, this.#self, serves);
    if (rejection !== undefined) throw new LockstepError('Conflict', rejection);
    const noted = new Deferred<boolean>();
    this.#spawn(async () => noted.resolve(await this.#membership.declareMove(to, 'none')));
    return noted.promise.then((isNoted) => this.#mustBeNoted(isNoted));
  }

  #onTheMove(): LockstepError {
    const { node, state } = this.#membership.self;
    return new LockstepError('Conflict', `${node} is ${state} and on a move already`);
  }

  /** Throws `StorageFailed` if the disk did not take what this node is about to declare. */
  #mustBeNoted(isNoted: boolean): void {
    const { node } = this.#membership.self;
    if (!isNoted) throw new LockstepError('StorageFailed', `the disk of ${node} took no note of it`);
  }

  #spawn(move: () => Promise<void>): void {
    const over = new Deferred<void>();
    this.#work = over.promise;
    this.#io.spawn('transfer.move', async () => {
      try {
        await move();
      } finally {
        this.#work = undefined;
        over.resolve();
      }
    });
  }

  async #join(): Promise<void> {
    for (;;) {
      if (!(await this.#turn())) return;
      if (!(await this.#declare('JOINING', 'copying'))) return;
      if ((await this.#agree()) && (await this.#pullAll()) && (await this.#agree())) {
        if (await this.#switch('NORMAL')) break;
      }
      if (!(await this.#declare('JOINING', 'queued'))) return;
      await this.#stepBack();
    }
    await this.#settle();
  }

  async #settle(): Promise<void> {
    if (!(await this.#wait(() => this.#isAgreed() && this.#isHandedOver()))) return;
    if (await this.#takeover.settle(() => !this.#stopped)) await this.#declare('NORMAL', 'none');
  }

  async #leave(): Promise<void> {
    while (this.#membership.self.move !== 'switching') {
      if (this.#membership.self.move !== 'copying') {
        if (!(await this.#turn())) return;
        if (this.#mustStay()) return this.#stay();
        if (!(await this.#declare('LEAVING', 'copying'))) return;
      }
      if ((await this.#agree()) && (await this.#pushAll()) && (await this.#agree())) {
        if (await this.#switch('LEAVING')) break;
      }
      if (!(await this.#declare('LEAVING', 'queued'))) return;
      await this.#stepBack();
    }
    if (!(await this.#wait(() => this.#isAgreed() && this.#isHandedOver()))) return;
    if (!(await this.#drain.settle(() => !this.#stopped))) return;
    if (!(await this.#untilDone(() => this.#membership.leave()))) return;
    await this.#depart();
  }

  /** Tells the members that this node has left, until enough of them know it durably. */
  async #depart(): Promise<void> {
    this.#drain.close();
    if (!(await this.#wait(() => this.#isAgreed()))) return;
    await this.#membership.depart();
    this.#onLeft();
  }

  /** Declares a step, and retries until the disk takes it. Returns false if stopped. */
  #declare(state: DeclaredState, move: MoveStage): Promise<boolean> {
    return this.#untilDone(() => this.#membership.declareMove(state, move));
  }

  /** Declares that reads go by the ring after this change. Returns false if the node must step back or is stopped. */
  async #switch(state: DeclaredState): Promise<boolean> {
    const done = await this.#untilDone(async () => {
      return !this.#goesOn() || this.#membership.declareMove(state, 'switching', () => this.#goesOn());
    });
    return done && this.#membership.self.move === 'switching';
  }

  /** Calls `act`, and again a second after each failure. Returns false if stopped before it succeeded. */
  async #untilDone(act: () => Promise<boolean>): Promise<boolean> {
    while (!this.#stopped) {
      if (await act()) return true;
      sometimes('ring-change.disk-refuses-step');
      await sleep(this.#io.clock, diskRestUs);
    }
    return false;
  }

  /**
   * Waits until no other member moves and all members agree with this node's ring view; a joining node waits for their
   * links as well. Returns false if stopped.
   */
  #turn(): Promise<boolean> {
    let readyUs: number | undefined;
    return this.#wait(() => {
      if (this.#letsReplace() || this.#isTaken()) return false;
      if (!this.#isAlone() || !this.#isAgreed() || !this.#isHandedOver()) return false;
      if (this.#isLinked()) return true;
      readyUs ??= this.#io.clock.nowUs();
      const isLate = this.#io.clock.nowUs() - readyUs >= linkPatienceUs;
      if (isLate) sometimes('ring-change.joins-without-a-link');
      return isLate;
    });
  }

  /** True for a settled member, and for a joining node to which every member that is not DOWN has a link. */
  #isLinked(): boolean {
    const { replaces, state } = this.#membership.self;
    if (state !== 'JOINING') return true;
    return this.#membership.ring.members.every(({ node }) => {
      if (node === this.#self.node || node === replaces || this.#membership.hasLinked(node)) return true;
      return this.#membership.state(node) === 'DOWN';
    });
  }

  /** Waits until all members follow this node's step. Returns false if stopped, or if it must step back. */
  async #agree(): Promise<boolean> {
    const there = await this.#wait(() => !this.#goesOn() || (this.#isAlone() && this.#isAgreed()));
    return there && this.#goesOn();
  }

  #goesOn(): boolean {
    return !this.#stopped && !this.#yields() && !this.#isTaken() && !this.#letsReplace() && !this.#mustStay();
  }

  #isAlone(): boolean {
    return this.#rivals().length === 0;
  }

  #yields(): boolean {
    return this.#rivals().some(({ node, move }) => move === 'switching' || node < this.#self.node);
  }

  /**
   * Other members with a ring change under way. Excludes the node that this one replaces, earlier replacements of it
   * that died in the middle, and a member that waits for that dead node to hand over.
   */
  #rivals(): readonly MemberRecord[] {
    const { replaces, state } = this.#membership.self;
    const dead = state === 'JOINING' ? replaces : undefined;
    const { changingMembers } = this.#membership;
    if (dead === undefined) return changingMembers.filter(({ node }) => node !== this.#self.node);
    const isWaitedFor = !this.#membership.isRoutable(dead) && this.#membership.handover.open.includes(dead);
    return changingMembers.filter((member) => {
      if (member.node === this.#self.node) return false;
      if (isWaitedFor && member.move === 'switching') return false;
      const isOfItsPlace = member.node === dead || member.replaces === dead;
      return !isOfItsPlace || this.#membership.isRoutable(member.node);
    });
  }

  /** True if no other node has keys to hand over, except the node that this one replaces. */
  #isHandedOver(): boolean {
    const { node, replaces } = this.#membership.self;
    return this.#membership.handover.open.every((former) => former === node || former === replaces);
  }

  /** True if the node that this one replaces is reachable after all, or another node has replaced it. */
  #isTaken(): boolean {
    const { replaces, state } = this.#membership.self;
    if (replaces === undefined || state !== 'JOINING') return false;
    const isTaken = this.#membership.isRoutable(replaces) || this.#membership.isReplaced(replaces);
    if (isTaken) sometimes('ring-change.replaced-node-returns');
    return isTaken;
  }

  /** True if another member waits to replace a dead one, and this node does not itself replace one. */
  #letsReplace(): boolean {
    const { self } = this.#membership;
    if (self.state === 'JOINING' && self.replaces !== undefined) return false;
    const isThere = (node: NodeId): boolean => this.#membership.isRoutable(node);
    const waits = this.#membership.members().some(({ node, state, move, replaces }) => {
      if (replaces === undefined || state !== 'JOINING' || move !== 'queued') return false;
      // Another replacement of the same node may have been the first to finish.
      const isDue = !isThere(replaces) && !this.#membership.isReplaced(replaces);
      return node !== self.node && isThere(node) && isDue;
    });
    if (waits) sometimes('ring-change.lets-replacement-go-first');
    return waits;
  }

  #isAgreed(): boolean {
    const { ring } = this.#membership;
    return (
      this.#membership.agreed &&
      this.#hasHeardThem(ring) &&
      ring.datacenters.every((datacenter) => this.#hasMajority(ring, datacenter))
    );
  }

  /**
   * True if every agreeing member has reported the member that this node replaces: which membership the replacement
   * ends depends on it.
   */
  #hasHeardThem({ members }: Ring): boolean {
    const { replaces, state } = this.#membership.self;
    if (replaces === undefined || state !== 'JOINING') return true;
    return members.every(
      ({ node }) => !this.#membership.agrees(node) || this.#membership.state(node) !== 'UNKNOWN',
    );
  }

  /** True if the racks with a disagreeing or unreachable member are too few for a majority of the datacenter. */
  #hasMajority(ring: Ring, datacenter: string): boolean {
    const { replaces, state } = this.#membership.self;
    const racksMax = Math.floor(ring.rackCount(datacenter) / 2);
    // A datacenter of one rack has no rack to spare: its dead node would keep its own replacement waiting for ever.
    const dead = state === 'JOINING' && racksMax === 0 ? replaces : undefined;
    const absent = this.#absent().filter(
      (member) => member.datacenter === datacenter && member.node !== dead,
    );
    const racks = new Set(absent.map(({ rack }) => rack));
    return racks.size <= racksMax;
  }

  #absent(): readonly Member[] {
    const { ring } = this.#membership;
    return ring.members.filter(({ node }) => node !== this.#self.node && !this.#membership.follows(node));
  }

  async #pullAll(): Promise<boolean> {
    const { ring, self, formerRings } = this.#membership;
    // The replacement also hands over what the dead node was about to hand to another member.
    const rings = self.replaces === undefined ? [ring.members] : [ring.members, ...formerRings];
    const arcs = rings.flatMap((members) => {
      const others = members.filter(({ node }) => node !== self.replaces);
      return arcsOf(others, this.#self);
    });
    return this.#all(splitByPlacement(arcs, ring), (range) => this.#pull(range));
  }

  async #pull(range: TokenRange): Promise<boolean> {
    const isThere = (member: Member): boolean => this.#membership.isRoutable(member.node);
    const { ring, self } = this.#membership;
    const sources = sourcesOf(ring, range, this.#self, isThere, self.replaces);
    if (sources === undefined)
      throw new LockstepError('NoTargets', 'too few replicas of the range are there');
    for (const source of sources) {
      if (!(await this.#transfer.pull(source, range, () => this.#goesOn()))) return false;
    }
    return true;
  }

  async #pushAll(): Promise<boolean> {
    const { ring } = this.#membership;
    const others = ring.members.filter((member) => member !== this.#self);
    return this.#all(arcsOf(others, this.#self), (range) =>
      this.#transfer.push(
        range,
        // A pending owner gets new writes from now on, so it must also get the earlier ones.
        ({ token }) => this.#membership.pending(token),
        () => this.#goesOn(),
      ),
    );
  }

  /** Moves range after range, each until it is complete. Returns false if stopped, or if it must step back. */
  async #all(ranges: readonly TokenRange[], move: (range: TokenRange) => Promise<boolean>): Promise<boolean> {
    let rangesLeft = ranges.length;
    this.#progress = { rangesLeft, ranges: ranges.length };
    for (const range of ranges) {
      while (!(await this.#tried(range, move))) {
        if (!this.#goesOn()) return false;
        await sleep(this.#io.clock, retryUs);
      }
      rangesLeft -= 1;
      this.#progress = { rangesLeft, ranges: ranges.length };
    }
    this.#io.log.event('info', 'transfer.done', { ranges: ranges.length, ...this.#transfer.counts });
    return true;
  }

  async #tried(range: TokenRange, move: (range: TokenRange) => Promise<boolean>): Promise<boolean> {
    try {
      return await move(range);
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      if (code === 'Internal') throw error;
      sometimes('ring-change.range-failed');
      this.#io.log.event('warn', 'transfer.range.failed', { ...range, code, detail });
      return false;
    }
  }

  /** Waits for a random time, so that two nodes that stepped back do not begin at once again. */
  #stepBack(): Promise<void> {
    sometimes('ring-change.stepped-back');
    return sleep(this.#io.clock, retryUs + this.#io.random.below(retryUs));
  }

  /** Waits until the condition holds. Returns false if stopped before. */
  async #wait(holds: () => boolean): Promise<boolean> {
    while (!this.#stopped && !holds()) await sleep(this.#io.clock, lookUs);
    return !this.#stopped;
  }
}

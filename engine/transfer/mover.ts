/**
 * Brings this node into the cluster's ring, and out of it: announces each step, waits until every live member follows
 * it, moves the ranges, and only then lets the ring change (the steps and what they promise: membership/ownership.ts).
 *
 *     join      queued -> copying -> (pull) -> switching -> NORMAL
 *     replace   the same with a dead node's tokens; switching -> (inheritance) -> NORMAL
 *     leave     queued -> copying -> (push) -> switching -> (estate) -> left
 *
 * One member moves at a time. Two that begin at once see each other before either is agreed upon, since both are known
 * to all by then; the one whose name comes later, or that is not switching yet, steps back.
 *
 * A step is agreed upon when no live member sees the ring otherwise, and those that are away are too few to answer for
 * a majority among themselves. They agree before they are given data again (membership/agreement.ts).
 */
import { asLockstepError, LockstepError } from '../base/errors.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import { sleep } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { MemberRecord } from '../membership/member-record.ts';
import type { Membership } from '../membership/membership.ts';
import type { TokenRange } from '../ring/arc.ts';
import type { Member, Ring } from '../ring/ring.ts';
import { arcsOf, inOneRack, sourcesOf, splitByPlacement } from './arcs.ts';
import type { Estate, EstateLeft } from './estate.ts';
import type { Inheritance } from './inheritance.ts';
import type { Refill } from './refill.ts';
import type { Transfer } from './transfer.ts';

/** How often a wait looks again. */
const lookUs = 50_000;
/** How long a failed range rests before it is tried again. */
const retryUs = 200_000;

export interface MoveProgress {
  /** Ranges of the present move that are not complete, and all of them. */
  readonly rangesLeft: number;
  readonly ranges: number;
}

/** What a move waits for; nothing without one. */
export interface MoveWait extends EstateLeft {
  /** Members that are away, or do not follow the present step yet. */
  readonly members: readonly NodeId[];
}

export class Mover {
  readonly #io: Io;
  readonly #membership: Membership;
  readonly #transfer: Transfer;
  readonly #refill: Pick<Refill, 'hindrance'>;
  readonly #estate: Estate;
  readonly #inheritance: Pick<Inheritance, 'settle' | 'waitsFor'>;
  readonly #self: Member;
  readonly #onLeft: () => void;
  #progress: MoveProgress = { rangesLeft: 0, ranges: 0 };
  #work: Promise<void> | undefined;
  #stopped = false;

  /** `onLeft` is called once this node owns nothing any more and its peers know. */
  constructor(
    io: Io,
    membership: Membership,
    transfer: Transfer,
    refill: Pick<Refill, 'hindrance'>,
    estate: Estate,
    inheritance: Pick<Inheritance, 'settle' | 'waitsFor'>,
    self: Member,
    onLeft: () => void,
  ) {
    this.#io = io;
    this.#membership = membership;
    this.#transfer = transfer;
    this.#refill = refill;
    this.#estate = estate;
    this.#inheritance = inheritance;
    this.#self = self;
    this.#onLeft = onLeft;
  }

  get progress(): MoveProgress {
    return this.#progress;
  }

  get waitsFor(): MoveWait {
    const absent = this.#work === undefined ? [] : this.#absent().map(({ node }) => node);
    const members = [...new Set([...absent, ...this.#inheritance.waitsFor])];
    return { members, ...this.#estate.left };
  }

  /** Goes on with what the last life began, or begins to join; nothing for a settled member. */
  start(): void {
    const { state, move } = this.#membership.self;
    if (state === 'JOINING') this.#spawn(() => this.#join());
    else if (state === 'LEAVING') this.#spawn(() => this.#leave());
    else if (move === 'switching') this.#spawn(() => this.#settle());
  }

  /** Begins nothing more. Resolves when the present step is over. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work;
  }

  /**
   * Begins to leave. Throws `Conflict` when the node is on a move already, when its disk has not got back what it should
   * have, when it is the last owner, or when its rack would vanish with it; the last may be forced.
   */
  leave(force: boolean): void {
    const { ring, self } = this.#membership;
    if (this.#work !== undefined || self.state !== 'NORMAL') {
      throw new LockstepError('Conflict', `${self.node} is ${self.state} and on a move already`);
    }
    const lacking = this.#refill.hindrance;
    if (lacking !== undefined) throw new LockstepError('Conflict', lacking);
    const others = ring.members.filter((member) => member !== this.#self);
    if (others.length === 0)
      throw new LockstepError('Conflict', 'the last node of a cluster cannot leave it');
    if (!force && !others.some((member) => inOneRack(member, this.#self))) {
      const { datacenter, rack } = this.#self;
      const detail = `${self.node} is the last node of rack ${datacenter}/${rack}, whose copy of all keys would go; force takes it away`;
      throw new LockstepError('Conflict', detail);
    }
    this.#membership.declareMove('LEAVING', 'queued');
    this.#spawn(() => this.#leave());
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
      this.#membership.declareMove('JOINING', 'copying');
      if ((await this.#agree()) && (await this.#pullAll()) && (await this.#agree())) break;
      if (this.#stopped) return;
      this.#membership.declareMove('JOINING', 'queued');
      await this.#stepBack();
    }
    this.#membership.declareMove('NORMAL', 'switching');
    await this.#settle();
  }

  async #settle(): Promise<void> {
    if (!(await this.#wait(() => this.#isAgreed()))) return;
    if (await this.#inheritance.settle(() => !this.#stopped)) this.#membership.declareMove('NORMAL', 'none');
  }

  async #leave(): Promise<void> {
    while (this.#membership.self.move !== 'switching') {
      if (this.#membership.self.move !== 'copying') {
        if (!(await this.#turn())) return;
        this.#membership.declareMove('LEAVING', 'copying');
      }
      if ((await this.#agree()) && (await this.#pushAll()) && (await this.#agree())) {
        this.#membership.declareMove('LEAVING', 'switching');
        break;
      }
      if (this.#stopped) return;
      this.#membership.declareMove('LEAVING', 'queued');
      await this.#stepBack();
    }
    if (!(await this.#wait(() => this.#isAgreed()))) return;
    if (!(await this.#estate.settle(() => !this.#stopped))) return;
    await this.#membership.leave();
    this.#onLeft();
  }

  /** Waits until nobody else moves and the cluster is as this node sees it. False: stopped. */
  #turn(): Promise<boolean> {
    return this.#wait(() => this.#rivals().length === 0 && this.#isAgreed() && !this.#isTaken());
  }

  /** Waits until all follow this node's step. False: stopped, or it has to step back. */
  async #agree(): Promise<boolean> {
    const there = await this.#wait(() => !this.#goesOn() || (this.#isAlone() && this.#isAgreed()));
    return there && this.#goesOn();
  }

  #goesOn(): boolean {
    return !this.#stopped && !this.#yields() && !this.#isTaken();
  }

  #isAlone(): boolean {
    return this.#rivals().length === 0;
  }

  #yields(): boolean {
    return this.#rivals().some(({ node, move }) => move === 'switching' || node < this.#self.node);
  }

  /**
   * Others who are on a move; without the one that this node comes in the place of, and whoever came in its place
   * before: they died over it.
   */
  #rivals(): readonly MemberRecord[] {
    const { replaces, state } = this.#membership.self;
    return this.#membership.movers.filter((mover) => {
      if (mover.node === this.#self.node) return false;
      const isHeir = state === 'JOINING' && replaces !== undefined;
      const isOfItsPlace = isHeir && (mover.node === replaces || mover.replaces === replaces);
      return !isOfItsPlace || this.#membership.isRoutable(mover.node);
    });
  }

  /** The node that this one replaces is there after all, or another has replaced it. */
  #isTaken(): boolean {
    const { replaces, state } = this.#membership.self;
    if (replaces === undefined || state !== 'JOINING') return false;
    return this.#membership.isRoutable(replaces) || this.#membership.isReplaced(replaces);
  }

  #isAgreed(): boolean {
    const { ring } = this.#membership;
    return (
      this.#membership.agreed &&
      this.#hasHeardThem(ring) &&
      ring.datacenters.every((datacenter) => this.#hasMajority(ring, datacenter))
    );
  }

  /** Who agrees has told what it knows of the member that this node replaces: whose membership it ends depends on it. */
  #hasHeardThem({ members }: Ring): boolean {
    const { replaces, state } = this.#membership.self;
    if (replaces === undefined || state !== 'JOINING') return true;
    return members.every(
      ({ node }) => !this.#membership.agrees(node) || this.#membership.state(node) !== 'UNKNOWN',
    );
  }

  /** Racks of the datacenter in which somebody disagrees or is away are too few for a majority of their own. */
  #hasMajority(ring: Ring, datacenter: string): boolean {
    const absent = this.#absent().filter((member) => member.datacenter === datacenter);
    const racks = new Set(absent.map(({ rack }) => rack));
    return racks.size <= Math.floor(ring.rackCount(datacenter) / 2);
  }

  #absent(): readonly Member[] {
    const { ring } = this.#membership;
    return ring.members.filter(({ node }) => node !== this.#self.node && !this.#membership.agrees(node));
  }

  async #pullAll(): Promise<boolean> {
    const { ring, self } = this.#membership;
    const others = ring.members.filter(({ node }) => node !== self.replaces);
    return this.#all(splitByPlacement(arcsOf(others, this.#self), ring), (range) => this.#pull(range));
  }

  async #pull(range: TokenRange): Promise<boolean> {
    const isThere = (member: Member): boolean => this.#membership.isRoutable(member.node);
    const sources = sourcesOf(this.#membership.ring, range, this.#self, isThere);
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
        // Whoever gets its writes from now on gets what was written before.
        ({ token }) => this.#membership.pending(token),
        () => this.#goesOn(),
      ),
    );
  }

  /** Moves range after range, each until it is complete. False: stopped, or it has to step back. */
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
      this.#io.log.event('warn', 'transfer.range.failed', { ...range, code, detail });
      return false;
    }
  }

  /** Rests for a while of its own length, so that two that stepped back do not begin at once again. */
  #stepBack(): Promise<void> {
    return sleep(this.#io.clock, retryUs + this.#io.random.below(retryUs));
  }

  /** Waits until it holds. False: stopped before. */
  async #wait(holds: () => boolean): Promise<boolean> {
    while (!this.#stopped && !holds()) await sleep(this.#io.clock, lookUs);
    return !this.#stopped;
  }
}

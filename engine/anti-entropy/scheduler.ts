/**
 * Schedules exchanges: each tick selects one peer, in turn. A full sweep reads every value of this node again (which
 * finds bit rot), recomputes the whole tree, and then exchanges with every peer, with short rests between ticks. The
 * sweep is complete for a peer once an exchange with it has finished. A peer that cannot be asked is waited for: the
 * sweep is complete once it has finished with every node that shares replicas with this one, which is at once where none
 * does. A peer that is busy, or with which exchanges fail, keeps no other peer waiting: the others have their turn in
 * between, also those that the sweep has finished with.
 */
import { assert } from '../base/assert.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { AntiEntropyMetrics, ExchangeStep } from '../metrics/anti-entropy-metrics.ts';
import type { Answerer } from './answerer.ts';
import { exchange } from './exchange.ts';
import type { ExchangeEnd } from './exchange.ts';
import type { PeerIdentity } from './exchange-peer.ts';
import { ExchangePeer } from './exchange-peer.ts';
import type { Refresh } from './refresh.ts';
import type { RepairScheduler } from './repair.ts';
import type { Throttle } from './throttle.ts';
import type { TokenRange } from './tree.ts';
import { wholeRing } from './tree.ts';

/** Timing of exchanges. */
export interface SchedulerOptions {
  /** Interval between two ticks. Each is up to a quarter shorter or longer, so that nodes do not tick in step. */
  readonly tickUs: number;
  readonly fullSweepUs: number;
  /** How long a peer may take for one answer. */
  readonly answerUs: number;
}

/** What the scheduler needs of anti-entropy and the node. */
export interface SchedulerParts {
  readonly io: Pick<Io, 'clock' | 'random' | 'log' | 'spawn'>;
  readonly links: PeerLinks;
  readonly refresh: Refresh;
  readonly answerer: Answerer;
  readonly throttle: Throttle;
  /** The repairs of one peer's divergent keys. */
  readonly repairs: (peer: PeerIdentity) => RepairScheduler;
  /** The peers that share replicas with this node and can be asked now. */
  readonly peers: () => readonly PeerIdentity[];
  /** All peers that share replicas with this node, also those that cannot be asked now. */
  readonly sharing: () => readonly PeerIdentity[];
  /**
   * Whether a sweep may end: the node knows the other members, and owns keys. Before that, no peer seems to share its
   * copies.
   */
  readonly mayEnd: () => boolean;
  /** The token ranges that both nodes own. The same array as long as the ring is the same. */
  readonly shared: (peer: NodeId) => readonly TokenRange[];
  /** Called when a full sweep has finished with every peer. */
  readonly swept: () => void;
  /** Called after every tick. */
  readonly ticked: () => Promise<void>;
}

/** How an exchange ended. */
export type ExchangeOutcome = ExchangeEnd | 'failed';

/** `engaged`: the exchange has not begun, since this node answers another peer's exchange. */
type TryOutcome = ExchangeOutcome | 'engaged';

/** A peer's place among the others. */
interface Turn {
  /** The number of the last try; the peers are asked in the order of these numbers. */
  tried: number;
  /** When the last exchange ended that the peer was not too busy for. */
  endedUs: number;
}

/** The exchanges of this incarnation with one peer. */
export interface PeerRecord {
  lastExchangeMs: number;
  lastOutcome: ExchangeOutcome | 'none';
  lastDetail: string;
  lastSweepMs: number;
  divergentKeys: number;
}

/** Rest between two peers of a sweep, and before a busy peer is asked again. */
const restUs = 200_000;

/** Rest of a sweep before it looks again whether any peer can be asked. */
const absentUs = 1_000_000;

/** The exchanges that one node begins. */
export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #options: SchedulerOptions;
  readonly #jitter: ReturnType<Io['random']['fork']>;
  readonly #records = new Map<NodeId, PeerRecord>();
  /** Peers that the present sweep has finished with; undefined while there is no sweep. */
  #swept: Set<NodeId> | undefined;
  #metrics: AntiEntropyMetrics | undefined;
  #timer: Timer | undefined;
  #turn: Promise<void> = Promise.resolve();
  #busy = false;
  #sweepWanted = false;
  #sweepDueUs: number;
  /** After a sweep that could not begin, since the disk refused to read: how long it rests, and until when. */
  #sweepRestUs = 0;
  #sweepRestsUntilUs = 0;
  readonly #turns = new Map<NodeId, Turn>();
  #tries = 0;
  /** Peers with which an exchange of the present sweep has failed, and none has finished since. */
  readonly #failedWith = new Set<NodeId>();
  /** The last exchange has not finished: the next one is with another peer, if one is due. */
  #isHeldUp = false;
  #stopped = false;

  constructor(parts: SchedulerParts, options: SchedulerOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#jitter = parts.io.random.fork('aae');
    this.#sweepDueUs = parts.io.clock.nowUs() + options.fullSweepUs;
  }

  /** From now on counts into these metrics. */
  installMetrics(metrics: AntiEntropyMetrics): void {
    this.#metrics = metrics;
  }

  /** Counts an exchange that begins. */
  observeExchangeAttempt({ index, datacenter, rack }: PeerIdentity): void {
    this.#metrics?.exchangeAttempted(index, datacenter, rack);
  }

  /** Counts an exchange that has finished. */
  observeExchangeSuccess({ index, datacenter, rack }: PeerIdentity): void {
    this.#metrics?.exchangeSucceeded(index, datacenter, rack);
  }

  /** Counts divergent keys. */
  observeDivergentKeys({ index, datacenter, rack }: PeerIdentity, count: number): void {
    this.#metrics?.keysDiverged(index, datacenter, rack, count);
  }

  /**
   * Whether a sweep is pending or under way. One that only waits for peers which cannot be asked, or with which exchanges
   * fail, does not count.
   */
  get sweeping(): boolean {
    return this.#sweepWanted || this.#parts.peers().some((peer) => this.#isNextOfSweep(peer));
  }

  /** The record of a peer; undefined before the first exchange with it. */
  record(peer: NodeId): PeerRecord | undefined {
    return this.#records.get(peer);
  }

  /** Starts the ticks. Called once. */
  start(): void {
    assert(!this.#stopped && this.#timer === undefined, 'a scheduler is started once');
    this.#arm(this.#soon(this.#options.tickUs / 2));
  }

  /** Starts no further tick; the present one ends at its next step. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Called after `stop`: resolves when nothing is under way. */
  async settled(): Promise<void> {
    // A tick that failed was logged and counted as a failed task.
    await this.#turn.catch(() => undefined);
  }

  /**
   * Requests a full sweep, now or after the present exchange, also while one rests that failed. False if one is pending
   * or under way already.
   */
  sweep(): boolean {
    const isResting = this.#sweepWanted && !this.#isSweepDue();
    if (this.sweeping && !isResting) return false;
    this.#sweepWanted = true;
    this.#sweepRestsUntilUs = 0;
    if (!this.#busy && !this.#stopped) this.#arm(0);
    return true;
  }

  #arm(delayUs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#parts.io.clock.after(delayUs, () => {
      const turn = this.#tick();
      this.#turn = turn;
      this.#parts.io.spawn('aae.tick', () => turn);
    });
  }

  /** `us`, up to a quarter shorter or longer. */
  #soon(us: number): number {
    const quarter = Math.floor(us / 4);
    return Math.floor(us) - quarter + this.#jitter.below(2 * quarter + 1);
  }

  async #tick(): Promise<void> {
    this.#busy = true;
    let rest = this.#options.tickUs;
    try {
      rest = await this.#work();
      await this.#parts.ticked();
    } finally {
      this.#busy = false;
      if (!this.#stopped) this.#arm(this.#isSweepDue() ? restUs : this.#soon(rest));
    }
  }

  /** Whether a sweep is wanted, and does not rest after one that failed. */
  #isSweepDue(): boolean {
    return this.#sweepWanted && this.#parts.io.clock.nowUs() >= this.#sweepRestsUntilUs;
  }

  /** Does one tick's work. Resolves with the rest after it, in microseconds. */
  async #work(): Promise<number> {
    if (this.#parts.io.clock.nowUs() >= this.#sweepDueUs) this.#sweepWanted = true;
    // What the disk refuses does not keep this node from comparing the rest with its peers.
    if (this.#isSweepDue()) await this.#beginSweep();
    this.#endSweepIfComplete();
    const peer = this.#select();
    if (peer === undefined) {
      // A node that has just started has no connections yet.
      return this.#swept === undefined ? this.#options.tickUs : Math.min(this.#options.tickUs, absentUs);
    }
    const outcome = await this.#exchange(peer);
    if (outcome === 'engaged') return restUs;
    this.#note(peer, outcome);
    if (outcome === 'busy') return restUs;
    // A sweep hurries on to the next peer, but not on and on while none can be finished.
    const more = this.#parts.peers().some((one) => one.node !== peer.node && this.#isNextOfSweep(one));
    return more ? restUs : this.#options.tickUs;
  }

  #note(peer: PeerIdentity, outcome: ExchangeOutcome): void {
    const { node } = peer;
    this.#isHeldUp = outcome !== 'finished';
    this.#tries += 1;
    const endedUs = outcome === 'busy' ? this.#turnOf(node).endedUs : this.#parts.io.clock.nowUs();
    this.#turns.set(node, { tried: this.#tries, endedUs });
    if (outcome === 'failed') this.#failedWith.add(node);
    if (outcome !== 'finished') return;
    this.#failedWith.delete(node);
    this.#sweptWith(peer);
  }

  /**
   * Reads every value again. If the store cannot be read, the sweep is tried again later: after one tick, then twice as
   * long each time, up to the interval of sweeps.
   */
  async #beginSweep(): Promise<void> {
    const { refresh, sharing, io } = this.#parts;
    io.log.event('debug', 'aae.sweep.began', {});
    try {
      await refresh.reread();
      await refresh.settle([wholeRing]);
    } catch (error) {
      if (this.#stopped) return;
      sometimes('anti-entropy.sweep-failed');
      io.log.event('error', 'aae.sweep.failed', { detail: asLockstepError(error).message });
      const { tickUs, fullSweepUs } = this.#options;
      this.#sweepRestUs = Math.min(fullSweepUs, Math.max(tickUs, 2 * this.#sweepRestUs));
      this.#sweepRestsUntilUs = io.clock.nowUs() + this.#sweepRestUs;
      return;
    }
    this.#sweepRestUs = 0;
    this.#sweepWanted = false;
    this.#sweepDueUs = io.clock.nowUs() + this.#options.fullSweepUs;
    this.#swept = new Set();
    this.#failedWith.clear();
    io.log.event('info', 'aae.sweep.started', { peers: sharing().length });
  }

  /**
   * The next peer in turn; during a sweep, first the peers that it has not finished with. After an exchange that was held
   * up, any peer that is due has its turn. Otherwise one peer that is busy for long, or has anti-entropy off, would be
   * chosen again and again, and no other.
   */
  #select(): PeerIdentity | undefined {
    const tried = ({ node }: PeerIdentity): number => this.#turnOf(node).tried;
    const inTurn = this.#parts.peers().toSorted((left, right) => tried(left) - tried(right));
    const next = this.#isHeldUp
      ? inTurn.find((peer) => this.#isNextOfSweep(peer) || this.#isDue(peer))
      : inTurn.find((peer) => this.#isToSweep(peer));
    return next ?? inTurn[0];
  }

  #turnOf(node: NodeId): Turn {
    return this.#turns.get(node) ?? { tried: 0, endedUs: -Infinity };
  }

  /** The last exchange with the peer ended one tick ago, or earlier. */
  #isDue({ node }: PeerIdentity): boolean {
    const { tickUs } = this.#options;
    return this.#parts.io.clock.nowUs() - this.#turnOf(node).endedUs >= tickUs - Math.floor(tickUs / 4);
  }

  /** The present sweep has not finished with the peer, and has not failed with it either. */
  #isNextOfSweep(peer: PeerIdentity): boolean {
    return this.#isToSweep(peer) && !this.#failedWith.has(peer.node);
  }

  async #exchange(identity: PeerIdentity): Promise<TryOutcome> {
    const { io, links, answerer, repairs, refresh, throttle, shared } = this.#parts;
    if (!answerer.begin(identity.node)) {
      sometimes('anti-entropy.both-begin');
      return 'engaged';
    }
    const record = this.#recordOf(identity.node);
    const repairer = repairs(identity);
    this.observeExchangeAttempt(identity);
    io.log.event('debug', 'aae.exchange.started', { peer: identity.node });
    const progress = { step: 'settle' as ExchangeStep, listed: 0, divergent: 0 };
    const peer = new ExchangePeer(identity, links, this.#options.answerUs);
    const ranges = shared(identity.node);
    const parts = {
      clock: io.clock,
      refresh,
      throttle,
      repair: (...about: Parameters<RepairScheduler['repair']>) => repairer.repair(...about),
      step: (step: ExchangeStep) => void (progress.step = step),
      listed: (count: number) => void (progress.listed += count),
      diverged: (count: number) => {
        progress.divergent += count;
        record.divergentKeys += count;
        this.observeDivergentKeys(identity, count);
      },
      obstacle: () => {
        if (this.#stopped) return new LockstepError('ShuttingDown');
        if (shared(identity.node) === ranges) return undefined;
        sometimes('anti-entropy.ring-changed');
        return moved();
      },
    };
    let outcome: ExchangeOutcome;
    let failure: LockstepError | undefined;
    try {
      outcome = await exchange(parts, peer, ranges);
    } catch (error) {
      outcome = 'failed';
      failure = asLockstepError(error);
    }
    record.lastDetail = failure?.message ?? '';
    answerer.end(identity.node);
    record.lastOutcome = outcome;
    record.lastExchangeMs = io.clock.wallMs();
    const { step, listed, divergent } = progress;
    if (outcome === 'finished') {
      this.observeExchangeSuccess(identity);
      io.log.event('debug', 'aae.exchange.finished', { peer: identity.node, listed, divergent });
    } else this.#aborted(identity, outcome === 'busy' ? 'busy' : step, failure);
    return outcome;
  }

  #aborted({ node, index }: PeerIdentity, step: ExchangeStep, failure: LockstepError | undefined): void {
    this.#metrics?.exchangeAborted(index, step);
    const level = step === 'busy' ? 'debug' : 'warn';
    const { code = '', message: detail = '' } = failure ?? {};
    this.#parts.io.log.event(level, 'aae.exchange.aborted', { peer: node, step, code, detail });
  }

  /** The present sweep has not finished with the peer. */
  #isToSweep({ node }: PeerIdentity): boolean {
    return this.#swept?.has(node) === false;
  }

  #sweptWith(peer: PeerIdentity): void {
    if (!this.#isToSweep(peer)) return;
    const { node, index } = peer;
    this.#swept?.add(node);
    const nowMs = this.#parts.io.clock.wallMs();
    this.#recordOf(node).lastSweepMs = nowMs;
    this.#metrics?.sweepCompleted(index, Math.floor(nowMs / 1000));
    this.#parts.io.log.event('info', 'aae.peer.swept', { peer: node });
    this.#endSweepIfComplete();
  }

  /** A peer for which the sweep waited may have left the ring meanwhile. */
  #endSweepIfComplete(): void {
    const { mayEnd, sharing } = this.#parts;
    if (this.#swept === undefined || !mayEnd() || sharing().some((peer) => this.#isToSweep(peer))) return;
    this.#swept = undefined;
    this.#parts.io.log.event('info', 'aae.sweep.completed', {});
    this.#parts.swept();
  }

  #recordOf(node: NodeId): PeerRecord {
    const known = this.#records.get(node);
    if (known !== undefined) return known;
    const record: PeerRecord = {
      lastExchangeMs: 0,
      lastOutcome: 'none',
      lastDetail: '',
      lastSweepMs: 0,
      divergentKeys: 0,
    };
    this.#records.set(node, record);
    return record;
  }
}

function moved(): LockstepError {
  return new LockstepError('Overloaded', 'what the two nodes both own has changed meanwhile');
}

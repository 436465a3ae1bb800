/**
 * The clocks of a host: monotonic time that runs fast or slow by parts per million, wall time with an offset that can
 * jump and freeze, and timers that may fire early or late within what the port allows.
 *
 * A host's clocks outlive its incarnations. Each incarnation sees monotonic time from an origin of its own, so that
 * comparing readings of two incarnations cannot work by luck.
 */
import { assert, failAssertion } from '../../../engine/base/assert.ts';
import type { Clock, Timer } from '../../../engine/io/clock.ts';
import type { Ticket } from './agenda.ts';
import type { WorldContext } from './world-context.ts';
import type { Incarnation } from '../cluster/incarnation.ts';
import type { TimelineEvent } from './timeline.ts';
import { worldEvents } from './trace.ts';

/** The wall clock at the world's beginning: 2026-01-01T00:00:00Z. */
export const epochMs = 1_767_225_600_000;

const million = 1_000_000;
/** The port allows a timer to fire 1 ms early by the node's own clock; drift takes its share of that. */
const contractEarlyUs = 1000;
const earlyUsMax = 990;
const driftPpmMax = 10_000;
const originUsMax = 1_000_000_000;
/** An incarnation that reads its clock more often in one event goes round in a loop that waits for nothing. */
const readingsMax = 1_000_000;

/** How far a host's wall clock was from the world's time, in milliseconds: below 0 behind, above 0 ahead. */
export interface ClockError {
  readonly leastMs: number;
  readonly mostMs: number;
}

/** The clocks of one host. */
export class HostClock {
  readonly #ground: WorldContext;
  readonly #host: string;
  // Local time is counted from the last change of the drift.
  #ppm = 0;
  #sinceUs = 0;
  #localSinceUs = 0;
  #wallOffsetMs = 0;
  #frozenMs: number | undefined;
  #earlyUs = 0;
  #lateUs = 0;
  #told: (wallMs: number) => void = () => undefined;
  #error: ClockError | undefined;

  constructor(ground: WorldContext, host: string, wallOffsetMs: number, driftPpm: number) {
    this.#ground = ground;
    this.#host = host;
    this.#wallOffsetMs = wallOffsetMs;
    this.#ppm = driftPpm;
  }

  /** The host's monotonic time in microseconds, counted from the world's beginning. */
  get localUs(): number {
    const elapsedUs = this.#ground.timeline.nowUs - this.#sinceUs;
    return this.#localSinceUs + elapsedUs + Math.floor((elapsedUs * this.#ppm) / million);
  }

  get wallMs(): number {
    return this.#frozenMs ?? epochMs + this.#wallOffsetMs + Math.floor(this.localUs / 1000);
  }

  /** Calls `told` with every wall time that an incarnation on this host reads. */
  watch(told: (wallMs: number) => void): void {
    this.#told = told;
  }

  /** The wall clock, read by an incarnation. */
  tellWallMs(): number {
    const { wallMs } = this;
    this.#told(wallMs);
    this.#noteError(wallMs - epochMs - Math.floor(this.#ground.timeline.nowUs / 1000));
    return wallMs;
  }

  /** The errors of all wall times that incarnations on this host have read. */
  get error(): ClockError {
    return this.#error ?? { leastMs: 0, mostMs: 0 };
  }

  /** How early and how late timers may be, in microseconds. */
  get jitterUs(): { readonly early: number; readonly late: number } {
    return { early: this.#earlyUs, late: this.#lateUs };
  }

  /** `clock-skew`: both clocks run fast (or slow, below 0) by `ppm` parts per million from now on. */
  setDrift(ppm: number): void {
    assert(Number.isInteger(ppm) && Math.abs(ppm) <= driftPpmMax, 'a drift is at most 1 %');
    this.#localSinceUs = this.localUs;
    this.#sinceUs = this.#ground.timeline.nowUs;
    this.#ppm = ppm;
    this.#ground.ledger.enter('clock-skew', this.#host, 'injected');
  }

  /** `clock-skew`: sets how far the wall clock is ahead of the world's (or behind, below 0), in milliseconds. */
  setWallOffset(ms: number): void {
    this.#wallOffsetMs = Math.round(ms);
    this.#ground.ledger.enter('clock-skew', this.#host, 'injected');
  }

  /** `clock-jump`, `clock-strobe`: the wall clock jumps forward, or back (below 0). */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += Math.round(byMs);
    if (this.#frozenMs !== undefined) this.#frozenMs += Math.round(byMs);
    this.#ground.ledger.enter('clock-jump', this.#host, 'injected');
  }

  /** `clock-freeze`: the wall clock stands still; monotonic time goes on. */
  freezeWall(): void {
    this.#frozenMs ??= this.wallMs;
    this.#ground.ledger.enter('clock-freeze', this.#host, 'injected');
  }

  /** Ends a freeze: the wall clock continues from where it would be without it. */
  thawWall(): void {
    this.#frozenMs = undefined;
  }

  /** `timer-jitter`: timers fire up to `earlyUs` (at most 990) before their instant, and up to `lateUs` after it. */
  setTimerJitter(earlyUs: number, lateUs: number): void {
    assert(earlyUs >= 0 && earlyUs <= earlyUsMax && lateUs >= 0, 'a timer is early by at most 1 ms');
    this.#earlyUs = earlyUs;
    this.#lateUs = lateUs;
    this.#ground.ledger.enter('timer-jitter', this.#host, 'injected');
  }

  /** Undoes the offset, the freeze and the jitter. The drift stays: no clock is exact. */
  heal(): void {
    this.#wallOffsetMs = 0;
    this.#frozenMs = undefined;
    this.#earlyUs = 0;
    this.#lateUs = 0;
  }

  #noteError(ms: number): void {
    const { leastMs, mostMs } = this.#error ?? { leastMs: ms, mostMs: ms };
    if (this.#error !== undefined && leastMs <= ms && ms <= mostMs) return;
    this.#error = { leastMs: Math.min(leastMs, ms), mostMs: Math.max(mostMs, ms) };
  }

  /** The first instant of the world at which the host's monotonic time is at least `localUs`. */
  worldUsOf(localUs: number): number {
    const target = localUs - this.#localSinceUs;
    if (this.#ppm === 0) return this.#sinceUs + target;
    const localOf = (elapsedUs: number): number => elapsedUs + Math.floor((elapsedUs * this.#ppm) / million);
    let elapsedUs = Math.floor((target * million) / (million + this.#ppm));
    while (localOf(elapsedUs) >= target) elapsedUs -= 1;
    while (localOf(elapsedUs) < target) elapsedUs += 1;
    return this.#sinceUs + elapsedUs;
  }
}

/** The clock port of one incarnation. */
export class IncarnationClock implements Clock {
  readonly #life: Incarnation;
  readonly #host: HostClock;
  readonly #originUs: number;
  readonly #jitterSalt: number;
  #diedAtUs: number | undefined;
  /** The event of the last reading, and how many readings there were before it. */
  #event = -1;
  #readingsBefore = 0;

  constructor(life: Incarnation, host: HostClock) {
    const random = life.ground.random.fork(`clock/${life.host}/${life.number}`);
    this.#life = life;
    this.#host = host;
    this.#originUs = random.below(originUsMax) - host.localUs;
    this.#jitterSalt = random.u32();
  }

  nowUs(): number {
    this.#countReading();
    if (!this.#life.alive) return (this.#diedAtUs ??= this.#host.localUs + this.#originUs);
    return this.#host.localUs + this.#originUs;
  }

  wallMs(): number {
    this.#countReading();
    return this.#host.tellWallMs();
  }

  /**
   * Fails, as an assertion of the engine does, if the node's code goes round in promises that are resolved already: no
   * event of the world would ever come again, and on a machine the node would answer no request.
   */
  #countReading(): void {
    const { count } = this.#life.ground.timeline;
    const readings = (this.#life.clockReadings += 1);
    if (count !== this.#event) {
      this.#event = count;
      this.#readingsBefore = readings;
    } else if (readings - this.#readingsBefore > readingsMax) {
      // What ends the node reads the clock, too.
      this.#readingsBefore = readings;
      failAssertion('a node waits for something between a million readings of its clock', this.#life.host);
    }
  }

  after(delayUs: number, fire: () => void): Timer {
    assert(Number.isFinite(delayUs), 'a delay is a number of microseconds');
    if (!this.#life.awake()) return neverTimer;
    // At least one microsecond: a loop of timers without delay must not stop time.
    return new LifeTimer(this, this.#life, this.#host.localUs + Math.max(1, Math.ceil(delayUs)), fire);
  }

  /**
   * The instant of the world at which a timer of a local instant fires. Early and late are drawn per local instant, not
   * per timer, so that timers of one instant keep their order.
   */
  firesAtUs(dueUs: number): number {
    const atUs = this.#host.worldUsOf(dueUs);
    const { early, late } = this.#host.jitterUs;
    if (early + late === 0) return atUs;
    const shifted = atUs - early + (mix(dueUs, this.#jitterSalt) % (early + late + 1));
    // Not at once: a caller that repeatedly waits for the rest of a delay must not stop time.
    return Math.max(this.#life.ground.timeline.nowUs + 1, shifted);
  }

  /**
   * Whether the local instant is still ahead, even for a timer that may be early: the drift has changed since it was
   * set.
   */
  isBefore(dueUs: number): boolean {
    return this.#host.localUs < dueUs - contractEarlyUs;
  }

  /** Records in the fault log that a timer fired early or late. */
  noteFired(dueUs: number): void {
    const { early, late } = this.#host.jitterUs;
    if (early + late === 0) return;
    const missUs = this.#host.localUs - dueUs;
    const { ledger } = this.#life.ground;
    if (missUs < 0) ledger.enter('timer-jitter', this.#life.host, 'timerEarly');
    else if (missUs > 0) ledger.enter('timer-jitter', this.#life.host, 'timerLate');
  }
}

const neverTimer: Timer = { cancel: () => undefined };

class LifeTimer implements Timer, TimelineEvent {
  readonly owner: Incarnation;
  readonly #clock: IncarnationClock;
  readonly #dueUs: number;
  #fire: (() => void) | undefined;
  #ticket: Ticket;

  constructor(clock: IncarnationClock, life: Incarnation, dueUs: number, fire: () => void) {
    this.owner = life;
    this.#clock = clock;
    this.#dueUs = dueUs;
    this.#fire = fire;
    this.#ticket = life.ground.timeline.schedule(clock.firesAtUs(dueUs), this);
    life.timers += 1;
    life.timersSet += 1;
  }

  cancel(): void {
    if (this.#fire === undefined) return;
    this.#fire = undefined;
    this.owner.timers -= 1;
    this.owner.ground.timeline.cancel(this.#ticket);
  }

  happen(): boolean {
    const life = this.owner;
    // The timer was cancelled while a pause held it.
    if (this.#fire === undefined) return false;
    if (this.#clock.isBefore(this.#dueUs)) {
      const { timeline } = life.ground;
      const againUs = Math.max(this.#clock.firesAtUs(this.#dueUs), timeline.nowUs + 1);
      this.#ticket = timeline.schedule(againUs, this);
      return false;
    }
    if (!life.mayRun(this)) return false;
    const fire = this.#fire;
    this.#fire = undefined;
    life.timers -= 1;
    life.ground.trace.happened(worldEvents.timerFired, life.hostIndex);
    this.#clock.noteFired(this.#dueUs);
    if (life.alive) fire();
    return true;
  }
}

/** A well-mixed 32-bit hash of an instant (the finaliser of MurmurHash3). */
function mix(instant: number, salt: number): number {
  let hash = (instant % 0x100000000) ^ salt ^ Math.floor(instant / 0x100000000);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

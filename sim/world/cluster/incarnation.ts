/**
 * One incarnation of the process on a host, from boot to crash or stop.
 *
 * A crash is silent. Everything that belonged to the incarnation is forgotten: its timers never fire, its promises
 * never settle, and nothing is thrown into it. A thrown error would run `catch` and `finally` blocks, which a killed
 * process never runs.
 *
 * Promise reactions that were already queued at the crash may still call the ports. Such a zombie call is counted and
 * has no effect. An asynchronous port returns a promise that never settles, so the conversation ends there. A
 * synchronous one returns a neutral value (`write`: false; `after`: a timer that never fires; the clock stands still).
 * Whatever such code does afterwards, its `catch` and `finally` included, ends in memory that nothing reads. Throwing
 * would be worse: a retry loop around a port that throws at once would never yield.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { WorldContext } from '../core/world-context.ts';
import { RunningTasks } from '../core/running-tasks.ts';
import type { TimelineEvent } from '../core/timeline.ts';

/** What an incarnation holds and must release before an orderly stop. */
export interface Holding {
  /** For the report of a leak: `n1:8101`, `log/000001`. */
  describe(): string;
}

/** One incarnation of a process. Its host creates and ends it. */
export class Incarnation {
  readonly ground: WorldContext;
  /** The host's name and index, and the number of the incarnation on it (1 is the first). */
  readonly host: string;
  readonly hostIndex: number;
  readonly number: number;
  readonly connections = new Set<Holding>();
  readonly listeners = new Set<Holding>();
  readonly files = new Set<Holding>();
  readonly locks = new Set<Holding>();
  readonly tasks = new RunningTasks();
  /** Timers that may still fire, and all that were ever set. */
  timers = 0;
  timersSet = 0;
  zombieCalls = 0;
  /** Assertions of the engine that failed in its code. */
  failedAssertions = 0;
  /** How often it read its clock port; below, which of the machine's own functions it called past the ports. */
  clockReadings = 0;
  eventCount = 0;
  readonly machineCalls = new Set<string>();
  firstCallUs: number | undefined;
  #alive = true;
  #paused = false;
  #held: TimelineEvent[] = [];
  #releasing = false;
  #releaseScheduled = false;
  #silence: Deferred<never> | undefined;

  constructor(ground: WorldContext, host: string, hostIndex: number, number: number) {
    this.ground = ground;
    this.host = host;
    this.hostIndex = hostIndex;
    this.number = number;
    ground.begin(this);
  }

  get alive(): boolean {
    return this.#alive;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Whether its code may run now: it is alive, not paused, and no held event precedes it. */
  get runnable(): boolean {
    return this.#alive && !this.#paused && this.#held.length === 0;
  }

  /** Every port calls this at the beginning of every call; false if the caller is a zombie. */
  awake(): boolean {
    if (!this.#alive) {
      this.zombieCalls += 1;
      return false;
    }
    if (this.ground.outside) {
      const error = new Error(
        'code of the engine ran between two events: something other than a port woke it',
      );
      this.ground.fail(this.host, 'outside', error);
    }
    return true;
  }

  /** A promise that never settles, for zombies. */
  silence(): Promise<never> {
    this.#silence ??= new Deferred<never>();
    return this.#silence.promise;
  }

  /**
   * Called before anything runs this incarnation's code: true if it may run now. Otherwise the incarnation is dead and
   * nothing happens, or it is paused and the event waits.
   */
  mayRun(event: TimelineEvent): boolean {
    if (!this.#alive) return false;
    if (this.#paused || (this.#held.length > 0 && !this.#releasing)) {
      this.#held.push(event);
      return false;
    }
    this.ground.enter(this);
    return true;
  }

  /** Calls `act` in a separate event, `delayUs` from now, unless the incarnation is over by then. */
  later(delayUs: number, act: () => void): void {
    const { timeline } = this.ground;
    timeline.schedule(timeline.nowUs + delayUs, this.#turnOf(act));
  }

  /** Calls `act` now; while the incarnation is paused, in its turn after `resume`. */
  whenRunning(act: () => void): void {
    if (this.runnable) act();
    else if (this.#alive) this.#held.push(this.#turnOf(act));
  }

  end(): void {
    this.#alive = false;
    this.#held = [];
    this.ground.timeline.forget(this);
  }

  pause(): void {
    this.#paused = true;
  }

  /** Ends a pause. The held events happen first, in order, one event each. Returns how many there are. */
  resume(): number {
    this.#paused = false;
    if (this.#held.length > 0) this.#scheduleRelease();
    return this.#held.length;
  }

  /** An event that runs `act` when the incarnation may run, and does nothing once it is over. */
  #turnOf(act: () => void): TimelineEvent {
    const event: TimelineEvent = {
      owner: this,
      happen: () => {
        if (!this.mayRun(event)) return false;
        act();
        return true;
      },
    };
    return event;
  }

  #scheduleRelease(): void {
    if (this.#releaseScheduled) return;
    this.#releaseScheduled = true;
    const { timeline } = this.ground;
    timeline.schedule(timeline.nowUs, { owner: this, happen: () => this.#release() });
  }

  #release(): boolean {
    this.#releaseScheduled = false;
    if (this.#paused) return false;
    const next = this.#held.shift();
    if (next === undefined) return false;
    this.#releasing = true;
    try {
      return next.happen();
    } finally {
      this.#releasing = false;
      if (this.#held.length > 0) this.#scheduleRelease();
    }
  }
}

/**
 * One life of a process on a host, from boot to crash or stop.
 *
 * A crash is silence. Everything that belonged to the life is forgotten: its timers never fire, its promises never
 * settle, nothing is thrown into it (a thrown error would run `catch` and `finally` blocks that a killed process never
 * runs). What is left of it, the promise reactions that were already queued when it died, may still call its doors.
 * Such a call is a zombie's: it is counted and has no effect. An asynchronous door answers with a promise that
 * never settles, so the conversation ends there; a plain one answers as a door does that has nothing to say (`write`:
 * false, `after`: a timer that never fires, the clock stands). So whatever the rest of the code does, its `catch` and
 * `finally` included, ends in memory that nobody looks at. Throwing would be worse: a retry loop around a door that
 * throws at once would never yield.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { WorldContext } from '../core/world-context.ts';
import { RunningTasks } from '../core/running-tasks.ts';
import type { TimelineEvent } from '../core/timeline.ts';

/** What a life holds and must give back before an orderly stop. */
export interface Holding {
  /** For the report of a leak: `n1:8101`, `log/000001`. */
  describe(): string;
}

export class Incarnation {
  readonly ground: WorldContext;
  /** The host's name and number, and which life of it this is (1 is the first). */
  readonly host: string;
  readonly hostIndex: number;
  readonly number: number;
  readonly connections = new Set<Holding>();
  readonly listeners = new Set<Holding>();
  readonly files = new Set<Holding>();
  readonly locks = new Set<Holding>();
  readonly tasks = new RunningTasks();
  /** Timers that may still fire. */
  timers = 0;
  zombieCalls = 0;
  /** How often the clock door was asked, and what of the machine was called past the doors. */
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

  /** Its code may run now: alive, not paused, nothing held before it. */
  get runnable(): boolean {
    return this.#alive && !this.#paused && this.#held.length === 0;
  }

  /** Asked by every door at the beginning of every call: false when the caller is a zombie. */
  awake(): boolean {
    if (!this.#alive) {
      this.zombieCalls += 1;
      return false;
    }
    if (this.ground.outside) {
      const error = new Error('code of the engine ran between two events: something that is no door woke it');
      this.ground.fail(this.host, 'outside', error);
    }
    return true;
  }

  /** A promise that never settles: what a zombie gets. */
  silence(): Promise<never> {
    this.#silence ??= new Deferred<never>();
    return this.#silence.promise;
  }

  /**
   * Asked by whatever is about to run this life's code: true when it may, now. Otherwise the life is dead, and nothing
   * happens, or it is paused, and the happening waits its turn.
   */
  mayRun(happening: TimelineEvent): boolean {
    if (!this.#alive) return false;
    if (this.#paused || (this.#held.length > 0 && !this.#releasing)) {
      this.#held.push(happening);
      return false;
    }
    this.ground.enter(this);
    return true;
  }

  /** Calls `act` in an event of its own, `delayUs` from now, unless the life is over by then. */
  later(delayUs: number, act: () => void): void {
    const { timeline } = this.ground;
    timeline.schedule(timeline.nowUs + delayUs, this.#turnOf(act));
  }

  /** Calls `act` now; while the life stands still, in its turn when it goes on. What asks a process waits for it to run. */
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

  /** Goes on; what was held happens first, in order, one event each. Returns how many those are. */
  resume(): number {
    this.#paused = false;
    if (this.#held.length > 0) this.#scheduleRelease();
    return this.#held.length;
  }

  /** An event that runs `act` when the life may run, and nothing once it is over. */
  #turnOf(act: () => void): TimelineEvent {
    const happening: TimelineEvent = {
      owner: this,
      happen: () => {
        if (!this.mayRun(happening)) return false;
        act();
        return true;
      },
    };
    return happening;
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

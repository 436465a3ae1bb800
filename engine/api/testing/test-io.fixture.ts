/**
 * Ports for the listeners' tests: a clock that the test advances, a log that it reads, and random numbers from a
 * counter.
 */
import { Deferred } from '../../base/deferred.ts';
import type { Clock, Timer } from '../../io/clock.ts';
import type { Log, LogFields, LogLevel } from '../../io/log.ts';
import type { Random } from '../../io/random.ts';

/** A clock that stands still until the test advances it. */
export class TestClock implements Clock {
  /** Milliseconds by which the test has advanced the wall clock. */
  aheadMs = 0;
  /** If true, timers for the next turn wait for `advance(0)`; otherwise they fire by themselves, between promises. */
  holdsTurns = false;
  #nowUs = 0;
  #timers: { atUs: number; fire: () => void; live: boolean }[] = [];

  nowUs(): number {
    return this.#nowUs;
  }

  wallMs(): number {
    return 784_111_777_000 + this.aheadMs;
  }

  after(delayUs: number, fire: () => void): Timer {
    const timer = { atUs: this.#nowUs + delayUs, fire, live: true };
    const come = (): void => {
      if (timer.live) fire();
    };
    if (delayUs > 0 || this.holdsTurns) this.#timers.push(timer);
    else void settle(1).then(come, come);
    return { cancel: () => void (timer.live = false) };
  }

  /** Lets `us` microseconds pass within a turn: no timer fires. */
  pass(us: number): void {
    this.#nowUs += us;
  }

  /** Advances the clock by `us` microseconds and fires the timers that fall due. */
  advance(us: number): void {
    this.#nowUs += us;
    const due = this.#timers.filter((timer) => timer.atUs <= this.#nowUs);
    this.#timers = this.#timers.filter((timer) => timer.atUs > this.#nowUs);
    for (const timer of due) if (timer.live) timer.fire();
  }
}

/** A log that records the names of its events. */
export class TestLog implements Log {
  readonly names: string[] = [];
  readonly events: { readonly level: LogLevel; readonly name: string; readonly fields: LogFields }[] = [];

  enabled(): boolean {
    return true;
  }

  event(level: LogLevel, name: string, fields: LogFields = {}): void {
    this.names.push(name);
    this.events.push({ level, name, fields });
  }
}

/** Yields 1, 2, 3, and so on: nothing is random. */
export class CountingRandom implements Random {
  #next = 0;

  u32(): number {
    return ++this.#next;
  }

  below(bound: number): number {
    return this.u32() % bound;
  }

  chance(numerator: number, denominator: number): boolean {
    return this.below(denominator) < numerator;
  }

  bytes(count: number): Buffer {
    return Buffer.alloc(count, this.u32());
  }

  fork(): Random {
    return new CountingRandom();
  }
}

/** Lets every promise settle that can within `turns` turns. */
export async function settle(turns = 50): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    const next = new Deferred<void>();
    next.resolve();
    await next.promise;
  }
}

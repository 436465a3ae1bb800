import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Clock, Timer } from '../io/clock.ts';
import type { Deadlined } from './deadlines.ts';
import { DeadlineWheel } from './deadlines.ts';
import { Heartbeats } from './heartbeat.ts';

/** A clock that the test moves. Timers fire in sequence, `earlyUs` before their instant. */
class ManualClock implements Clock {
  readonly earlyUs: number;
  armedCount = 0;
  #nowUs = 1_000_000;
  #timers: { readonly atUs: number; readonly fire: () => void }[] = [];

  constructor(earlyUs = 0) {
    this.earlyUs = earlyUs;
  }

  nowUs(): number {
    return this.#nowUs;
  }

  wallMs(): number {
    return Math.floor(this.#nowUs / 1000);
  }

  get waiting(): number {
    return this.#timers.length;
  }

  after(delayUs: number, fire: () => void): Timer {
    this.armedCount += 1;
    const timer = { atUs: this.#nowUs + Math.max(1, delayUs - this.earlyUs), fire };
    this.#timers.push(timer);
    return { cancel: () => (this.#timers = this.#timers.filter((other) => other !== timer)) };
  }

  /** Lets `us` microseconds pass, and fires the timers that are due. */
  pass(us: number): void {
    const untilUs = this.#nowUs + us;
    for (;;) {
      const due = this.#timers.filter((timer) => timer.atUs <= untilUs);
      const next = due.toSorted((left, right) => left.atUs - right.atUs)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowUs = Math.max(this.#nowUs, next.atUs);
      next.fire();
    }
    this.#nowUs = untilUs;
  }

  /** Pauses the process: time passes, and no timer fires until the next `pass`. */
  stall(us: number): void {
    this.#nowUs += us;
  }
}

interface Item extends Deadlined<Item> {
  readonly dueUs: number;
  firedUs: number | undefined;
}

const grainUs = 1000;

function wheelOn(clock: ManualClock): DeadlineWheel<Item> {
  return new DeadlineWheel<Item>(clock, grainUs, (item) => (item.firedUs = clock.nowUs()));
}

function add(wheel: DeadlineWheel<Item>, clock: Clock, timeoutUs: number): Item {
  const item: Item = {
    dueUs: clock.nowUs() + timeoutUs,
    firedUs: undefined,
    deadlineTick: 0,
    dueAfter: undefined,
    dueBefore: undefined,
  };
  wheel.add(item, clock.nowUs(), timeoutUs);
  return item;
}

describe('the deadline wheel', () => {
  test('expires every item that is still set, never early and at most a grain late, and none that was removed', () => {
    const step = fc.record({
      timeoutUs: fc.oneof(fc.nat(20_000), fc.nat(3_000_000)),
      passUs: fc.nat(5_000),
      removed: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom(0, 999), (steps, earlyUs) => {
        const clock = new ManualClock(earlyUs);
        const wheel = wheelOn(clock);
        const kept: Item[] = [];
        for (const { timeoutUs, passUs, removed } of steps) {
          const item = add(wheel, clock, timeoutUs);
          if (removed) wheel.remove(item);
          else kept.push(item);
          clock.pass(passUs);
          if (removed) expect(item.firedUs).toBeUndefined();
        }
        clock.pass(4_000_000);
        expect(wheel.count).toBe(0);
        expect(clock.waiting).toBe(0);
        for (const { dueUs, firedUs } of kept) {
          expect(firedUs).toBeGreaterThanOrEqual(dueUs);
          expect(firedUs).toBeLessThanOrEqual(dueUs + 2 * grainUs);
        }
      }),
    );
  });

  test('expires everything that is due after a stall of many turns', () => {
    const clock = new ManualClock();
    const wheel = wheelOn(clock);
    const items = [1, 700, 1500, 90_000].map((ms) => add(wheel, clock, ms * 1000));
    clock.stall(10_000_000);
    clock.pass(1);
    expect(items.map((item) => item.firedUs !== undefined)).toEqual([true, true, true, false]);
    clock.pass(90_000_000);
    expect(items[3]?.firedUs).toBeDefined();
  });

  test('keeps one timer, and does not rearm it for every item', () => {
    const clock = new ManualClock();
    const wheel = wheelOn(clock);
    for (let count = 0; count < 1000; count++) {
      wheel.remove(add(wheel, clock, 1_000_000));
      clock.pass(100);
    }
    expect(clock.waiting).toBe(1);
    expect(clock.armedCount).toBe(1);
    clock.pass(2_000_000);
    expect(clock.waiting).toBe(0);
  });

  test('tolerates items that are removed, or set again, while another item of their slot expires', () => {
    const clock = new ManualClock();
    const expired: Item[] = [];
    const wheel = new DeadlineWheel<Item>(clock, grainUs, (item) => {
      expired.push(item);
      if (item !== first) return;
      wheel.remove(second);
      wheel.remove(third);
      wheel.add(third, clock.nowUs(), 5000);
    });
    const first = add(wheel, clock, 1000);
    const second = add(wheel, clock, 1000);
    const third = add(wheel, clock, 1000);
    const fourth = add(wheel, clock, 1000);
    clock.pass(3000);
    expect(expired).toEqual([first, fourth]);
    clock.pass(10_000);
    expect(expired).toEqual([first, fourth, third]);
    expect([wheel.count, clock.waiting]).toEqual([0, 0]);
  });

  test('leaves no timer behind when it is stopped', () => {
    const clock = new ManualClock();
    const wheel = wheelOn(clock);
    const item = add(wheel, clock, 1000);
    wheel.stop();
    clock.pass(10_000);
    expect([clock.waiting, wheel.count, item.firedUs]).toEqual([0, 0, undefined]);
  });
});

describe('the heartbeat', () => {
  function heartbeatOn(clock: Clock, heartbeats = new Heartbeats(clock, { intervalUs: 800, silentMax: 3 })) {
    const told = { silent: 0, dead: 0 };
    const state = { isSending: false };
    const heartbeat = heartbeats.begin({
      isSending: () => state.isSending,
      onSilent: () => void (told.silent += 1),
      onDead: () => void (told.dead += 1),
    });
    return { told, state, heartbeat, heartbeats };
  }

  test('reports nothing while bytes arrive', () => {
    const clock = new ManualClock();
    const { told, heartbeat } = heartbeatOn(clock);
    for (let count = 0; count < 50; count++) {
      heartbeat.heard();
      clock.pass(720);
    }
    expect(told).toEqual({ silent: 0, dead: 0 });
  });

  test('reports silence, then death, and then nothing more', () => {
    const clock = new ManualClock();
    const { told } = heartbeatOn(clock);
    clock.pass(1600);
    expect(told).toEqual({ silent: 1, dead: 0 });
    clock.pass(80_000);
    expect(told).toEqual({ silent: 2, dead: 1 });
    expect(clock.waiting).toBe(0);
  });

  test('reports nothing while bytes wait to leave, and silence once they have left', () => {
    const clock = new ManualClock();
    const { told, state } = heartbeatOn(clock);
    state.isSending = true;
    clock.pass(80_000);
    expect(told).toEqual({ silent: 0, dead: 0 });
    state.isSending = false;
    clock.pass(4000);
    expect(told).toEqual({ silent: 2, dead: 1 });
  });

  test('counts a long pause of its own as one interval, not as the death of the other side', () => {
    const clock = new ManualClock();
    const { told } = heartbeatOn(clock);
    clock.stall(8_000_000);
    clock.pass(1200);
    expect(told.dead).toBe(0);
  });

  test('uses one timer for many connections, and reports each by itself, not all at once', () => {
    const clock = new ManualClock();
    const first = heartbeatOn(clock);
    const many = [first, ...Array.from({ length: 31 }, () => heartbeatOn(clock, first.heartbeats))];
    expect(clock.waiting).toBe(1);
    const silent = (): number => many.filter(({ told }) => told.silent > 0).length;
    const steps = Array.from({ length: 16 }, () => {
      clock.pass(100);
      return silent();
    });
    expect(steps).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 12, 16, 20, 24, 28, 32]);
    for (const { heartbeat } of many.slice(1)) heartbeat.stop();
    clock.pass(80_000);
    expect(many.map(({ told }) => told.dead)).toEqual([1, ...Array.from({ length: 31 }, () => 0)]);
    expect(clock.waiting).toBe(0);
  });
});

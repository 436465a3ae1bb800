import { expect, test } from 'vitest';

import { TestClock } from '../testing/test-io.fixture.ts';
import { LockstepError } from '../../base/errors.ts';
import { OverloadGate } from './overload-gate.ts';

const costUs = 500;
const refusalUs = 20;
const waitMs = 50;

/** A node of one thread: each turn handles what arrived during the turn before. */
class Loop {
  readonly clock = new TestClock();
  readonly gate: OverloadGate;
  /** Waits of the requests that began, in microseconds. */
  readonly waitsUs: number[] = [];
  refused = 0;
  #arrivals: number[] = [];

  constructor(waitMsMax = waitMs) {
    this.clock.holdsTurns = true;
    this.gate = new OverloadGate(this.clock, waitMsMax);
  }

  /** Requests that arrive `everyUs` apart from now on, for `forUs`; then until nothing waits. */
  offer(everyUs: number, forUs: number): void {
    const endUs = this.clock.nowUs() + forUs;
    let nextUs = this.clock.nowUs();
    for (;;) {
      for (; nextUs <= this.clock.nowUs() && nextUs < endUs; nextUs += everyUs) this.#arrivals.push(nextUs);
      if (this.#arrivals.length === 0) {
        if (nextUs >= endUs) return;
        this.clock.advance(nextUs - this.clock.nowUs());
        continue;
      }
      this.#turn();
    }
  }

  /** `count` requests that arrive at once. */
  burst(count: number): void {
    for (let made = 0; made < count; made++) this.#arrivals.push(this.clock.nowUs());
    while (this.#arrivals.length > 0) this.#turn();
  }

  get waitMsMax(): number {
    return this.waitsUs.reduce((most, one) => Math.max(most, one), 0) / 1000;
  }

  #turn(): void {
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    let usedUs: number;
    for (const atUs of arrivals) {
      try {
        this.gate.admit();
        this.waitsUs.push(this.clock.nowUs() - atUs);
        usedUs = costUs;
      } catch (error) {
        if (!(error instanceof LockstepError) || error.code !== 'Overloaded' || !error.definite) throw error;
        this.refused += 1;
        usedUs = refusalUs;
      }
      // Timers of the next turn wait for it.
      this.clock.pass(usedUs);
    }
    this.clock.advance(0);
  }
}

test('at three times the load that a node can carry, waits stay bounded and the rest is refused', () => {
  const loop = new Loop();
  loop.offer(costUs / 3, 5_000_000);
  expect(loop.refused).toBeGreaterThan(15_000);
  // The node goes on with nearly all that it can carry.
  expect(loop.waitsUs.length).toBeGreaterThan(7_500);
  // The first turns grow until it is clear that they are no burst.
  expect(loop.waitMsMax).toBeLessThan(6 * waitMs);
  const waits = loop.waitsUs.slice(1_000).sort((left, right) => left - right);
  expect((waits[Math.floor(waits.length * 0.99)] ?? 0) / 1000).toBeLessThan(3 * waitMs);
});

test('nothing is refused at a load that the node can just carry', () => {
  const loop = new Loop();
  loop.offer(costUs, 10_000_000);
  expect(loop.refused).toBe(0);
});

test('nothing is refused of a burst that drains, however often it comes', () => {
  const loop = new Loop();
  for (let count = 0; count < 50; count++) {
    loop.burst(250);
    loop.clock.advance(200_000);
  }
  expect(loop.refused).toBe(0);
  expect(loop.waitMsMax).toBeGreaterThan(2 * waitMs);
});

test('nothing is refused after a stall of the process', () => {
  const loop = new Loop();
  loop.gate.admit();
  loop.clock.pass(5_000_000);
  for (let count = 0; count < 100; count++) loop.gate.admit();
  loop.clock.advance(0);
  for (let count = 0; count < 100; count++) loop.gate.admit();
});

test('nothing is refused of 64 clients that wait for their answers, however slow the processor is', () => {
  const loop = new Loop();
  for (let turn = 0; turn < 100; turn++) {
    for (let client = 0; client < 64; client++) {
      loop.gate.admit();
      loop.clock.pass(20 * costUs);
    }
    loop.clock.advance(0);
  }
});

test('an overload that has ended refuses nothing more', () => {
  const loop = new Loop();
  loop.offer(costUs / 3, 2_000_000);
  const { refused } = loop;
  expect(refused).toBeGreaterThan(0);
  loop.offer(costUs, 5_000_000);
  expect(loop.refused).toBe(refused);
});

test('with 0 nothing is ever refused', () => {
  const loop = new Loop(0);
  loop.offer(costUs / 3, 2_000_000);
  expect(loop.refused).toBe(0);
});

test('a turn that is being measured leaves no timer behind once the gate stops', () => {
  const armed = new Set<object>();
  const clock = {
    nowUs: () => 0,
    wallMs: () => 0,
    after: () => {
      const timer = { cancel: () => void armed.delete(timer) };
      armed.add(timer);
      return timer;
    },
  };
  const gate = new OverloadGate(clock, waitMs);
  gate.stop();
  gate.admit();
  expect(armed.size).toBe(1);
  gate.stop();
  expect(armed.size).toBe(0);
});

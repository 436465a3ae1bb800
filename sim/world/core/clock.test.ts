/** The laws of the clock port in the world, with exact timers and with jittery ones, and what faults do to clocks. */
import { describe, expect, it } from 'vitest';
import { clockContract } from '../../../engine/io/clock.contract.ts';
import type { ClockHarness } from '../../../engine/io/clock.contract.ts';
import type { Clock } from '../../../engine/io/clock.ts';
import type { Host } from '../cluster/host.ts';
import { worldHarness } from './world-harness.fixture.ts';
import { World } from '../world.ts';

clockContract('world', (seed) => makeHarness(seed, () => undefined));
clockContract('world, drifting and jittery', (seed) =>
  makeHarness(seed, ({ clock }) => {
    clock.setDrift(seed % 2 === 0 ? 500 : -500);
    clock.setTimerJitter(990, 3000);
  }),
);

async function makeHarness(seed: number, change: (host: Host) => void): Promise<ClockHarness> {
  const world = new World({ seed });
  const host = world.addHost('n1');
  change(host);
  return worldHarness(world, host.boot().clock);
}

describe('clocks of the world', () => {
  it('run apart by their drift, and agree with the world without one', async () => {
    const { world, fast, exact } = twoHosts();
    const fastUs = fast.nowUs();
    const exactUs = exact.nowUs();
    await world.run({ untilUs: 10_000_000 });
    expect(exact.nowUs() - exactUs).toBe(10_000_000);
    expect(fast.nowUs() - fastUs).toBe(10_002_000);
  });

  it('a timer fires when the own clock says so, however it drifts', async () => {
    for (const ppm of [-10_000, -333, -1, 0, 1, 77, 500, 10_000]) {
      const world = new World({ seed: ppm });
      const { clock } = world.addHost('n1', { driftPpm: ppm }).boot();
      const startedUs = clock.nowUs();
      const misses: number[] = [];
      for (const delayUs of [1, 2, 999, 12_345, 1_000_000]) {
        clock.after(delayUs, () => misses.push(clock.nowUs() - startedUs - delayUs));
      }
      await world.run({ untilUs: 3_000_000 });
      expect(misses).toHaveLength(5);
      expect(Math.min(...misses)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...misses)).toBeLessThanOrEqual(1);
    }
  });

  it('a timer waits for its instant when the drift changes under it', async () => {
    const world = new World({ seed: 1 });
    const host = world.addHost('n1', { driftPpm: 10_000 });
    const { clock } = host.boot();
    const startedUs = clock.nowUs();
    let elapsedUs = 0;
    clock.after(10_000_000, () => (elapsedUs = clock.nowUs() - startedUs));
    host.clock.setDrift(-10_000);
    await world.run({ untilUs: 20_000_000 });
    expect(elapsedUs).toBeGreaterThanOrEqual(9_999_000);
  });

  it('the wall clock jumps, stands and goes on; the monotonic one does not notice', async () => {
    const world = new World({ seed: 1 });
    const host = world.addHost('n1');
    const { clock } = host.boot();
    const wallMs = clock.wallMs();
    const nowUs = clock.nowUs();
    host.clock.jumpWall(-60_000);
    expect(clock.wallMs()).toBe(wallMs - 60_000);
    host.clock.freezeWall();
    await world.run({ untilUs: 5_000_000 });
    expect(clock.wallMs()).toBe(wallMs - 60_000);
    host.clock.thawWall();
    expect(clock.wallMs()).toBe(wallMs - 55_000);
    expect(clock.nowUs() - nowUs).toBe(5_000_000);
  });

  it('jittery timers are in the ledger, early and late', async () => {
    const world = new World({ seed: 3 });
    const host = world.addHost('n1');
    host.clock.setTimerJitter(900, 900);
    const { clock } = host.boot();
    for (let index = 1; index <= 100; index++) clock.after(index * 10_000, () => undefined);
    await world.run({ untilUs: 2_000_000 });
    const early = world.ledger.total({ kind: 'timer-jitter', effect: 'timerEarly' });
    const late = world.ledger.total({ kind: 'timer-jitter', effect: 'timerLate' });
    expect(early).toBeGreaterThan(10);
    expect(late).toBeGreaterThan(10);
    expect(early + late).toBeGreaterThan(90);
  });
});

function twoHosts(): { world: World; fast: Clock; exact: Clock } {
  const world = new World({ seed: 1 });
  const fast = world.addHost('fast', { driftPpm: 200 }).boot().clock;
  return { world, fast, exact: world.addHost('exact').boot().clock };
}

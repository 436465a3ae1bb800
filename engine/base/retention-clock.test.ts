import { describe, expect, it } from 'vitest';

import { RetentionClock } from './retention-clock.ts';

/** A machine whose clocks a test sets. */
class Machine {
  us = 5_000_000;
  wall = 1_700_000_000_000;

  nowUs(): number {
    return this.us;
  }

  wallMs(): number {
    return this.wall;
  }
}

describe('the retention clock', () => {
  it('is moved by no jump of the wall clock', () => {
    const machine = new Machine();
    const clock = new RetentionClock(machine);
    expect(clock.nowMs).toBe(1_700_000_000_000);
    machine.wall += 86_400_000;
    expect(clock.nowMs).toBe(1_700_000_000_000);
    machine.wall -= 2 * 86_400_000;
    machine.us += 2_999;
    expect(clock.nowMs).toBe(1_700_000_000_002);
  });

  it('goes on from the newest record of the disk, whatever the wall clock says at the start', () => {
    for (const jumpMs of [-86_400_000, 86_400_000]) {
      const machine = new Machine();
      machine.wall += jumpMs;
      const clock = new RetentionClock(machine);
      machine.us += 700_000;
      clock.continueFrom(1_700_000_000_500);
      expect(clock.nowMs).toBe(1_700_000_000_500);
      machine.us += 600_000_000;
      expect(clock.nowMs).toBe(1_700_000_600_500);
    }
  });
});

/** Faults of clocks. An engine may read its clocks as often as it likes, and must trust none of them. */
import type { CommonFaultContext, FaultClock } from './fault-context.ts';
import type { Fault } from './fault.ts';
import type { CommonFaultFamily } from './fault-row.ts';
import { targetOf } from './fault.ts';
import { disturbsTargets } from './fault-row.ts';

const ms = 1000;

/** The rows by name. Lasting faults end after `forUs` microseconds, or at the calm. */
export const clockFaults = {
  'clock-skew': {
    code: 'FC1',
    description: 'both clocks of a node run fast or slow, or are off',
    aim: 'node',
    lasting: false,
    params: {
      ppm: { kind: 'integer', min: -500, max: 500 },
      offsetMs: { kind: 'integer', min: -288_000, max: 288_000 },
    },
    strike: (fault, context) => {
      const clock = clockOf(fault, context);
      clock.setDrift(Number(fault.params['ppm']));
      clock.setWallOffset(Number(fault.params['offsetMs']));
      return true;
    },
  },
  'clock-jump': {
    code: 'FC2',
    description: 'a wall clock jumps, forward or back',
    aim: 'node',
    lasting: false,
    params: { byMs: { kind: 'integer', min: -86_400_000, max: 86_400_000 } },
    strike: (fault, context) => {
      clockOf(fault, context).jumpWall(Number(fault.params['byMs']));
      return true;
    },
  },
  'clock-strobe': {
    code: 'FC3',
    description: 'a wall clock jumps to and fro',
    aim: 'node',
    lasting: true,
    params: {
      periodMs: { kind: 'integer', min: 4, max: 2_000 },
      byMs: { kind: 'integer', min: 1, max: 1_000 },
    },
    strike: (fault, context) => {
      strobe(fault, clockOf(fault, context), context, context.world.nowUs + fault.forUs);
      return true;
    },
  },
  'clock-freeze': {
    code: 'FC4',
    description: 'a wall clock stands while time goes on',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => {
      const clock = clockOf(fault, context);
      clock.freezeWall();
      context.later(fault.forUs, `thaw ${fault.id}`, () => clock.thawWall());
      return true;
    },
  },
  'timer-jitter': {
    code: 'FC5',
    description: 'timers fire a little early, or late',
    aim: 'node',
    lasting: true,
    params: {
      earlyUs: { kind: 'integer', min: 0, max: 990 },
      lateUs: { kind: 'integer', min: 0, max: 50 * ms },
    },
    disturbs: disturbsTargets,
    strike: (fault, context) => {
      const clock = clockOf(fault, context);
      clock.setTimerJitter(Number(fault.params['earlyUs']), Number(fault.params['lateUs']));
      context.later(fault.forUs, `steady ${fault.id}`, () => clock.setTimerJitter(0, 0));
      return true;
    },
  },
} satisfies CommonFaultFamily;

/** The clock of the fault's target; it is healed at the calm. */
function clockOf(fault: Fault, context: CommonFaultContext): FaultClock {
  const { clock } = context.cluster.host(targetOf(fault));
  context.healAtCalm(clock);
  return clock;
}

/** Jumps the wall clock forth and back in turn; it always ends after a jump back, so the net jump is zero. */
function strobe(fault: Fault, clock: FaultClock, context: CommonFaultContext, endUs: number): void {
  const { periodMs, byMs } = fault.params;
  const swing = (by: number): void => {
    clock.jumpWall(by);
    if (by > 0 || context.world.nowUs < endUs) {
      context.later(Number(periodMs) * 1000, `strobe ${fault.id}`, () => swing(-by));
    }
  };
  swing(Number(byMs));
}

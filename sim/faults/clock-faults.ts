/** Injects faults of clocks. An engine may read its clocks as often as it likes, and must trust none of them. */
import type { FaultKind } from './kinds/fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { HostClock } from '../world/core/clock.ts';
import type { Stage } from './fault-context.ts';

const clockFaultKinds = ['clock-skew', 'clock-jump', 'clock-strobe', 'clock-freeze', 'timer-jitter'] as const;

/** A plan's fault of a clock. */
export type ClockFault = PlanFault & { readonly kind: (typeof clockFaultKinds)[number] };

/** Narrows a plan's fault to one of a clock. */
export function isClockFault(fault: PlanFault): fault is ClockFault {
  return (clockFaultKinds as readonly FaultKind[]).includes(fault.kind);
}

/** Injects the fault into a node's clock. Lasting faults end after `forUs` microseconds, or at the calm. */
export function injectClockFault(fault: ClockFault, clock: HostClock, stage: Stage): void {
  const { params, forUs, id } = fault;
  switch (fault.kind) {
    case 'clock-skew':
      clock.setDrift(Number(params['ppm']));
      return clock.setWallOffset(Number(params['offsetMs']));
    case 'clock-jump':
      return clock.jumpWall(Number(params['byMs']));
    case 'clock-strobe':
      return strobe(fault, clock, stage, stage.world.nowUs + forUs);
    case 'clock-freeze':
      clock.freezeWall();
      return stage.later(forUs, `thaw ${id}`, () => clock.thawWall());
    case 'timer-jitter':
      clock.setTimerJitter(Number(params['earlyUs']), Number(params['lateUs']));
      return stage.later(forUs, `steady ${id}`, () => clock.setTimerJitter(0, 0));
  }
}

/** Jumps the wall clock forth and back in turn; it always ends after a jump back, so the net jump is zero. */
function strobe(fault: ClockFault, clock: HostClock, stage: Stage, endUs: number): void {
  const { periodMs, byMs } = fault.params;
  const swing = (by: number): void => {
    clock.jumpWall(by);
    if (by > 0 || stage.world.nowUs < endUs) {
      stage.later(Number(periodMs) * 1000, `strobe ${fault.id}`, () => swing(-by));
    }
  };
  swing(Number(byMs));
}

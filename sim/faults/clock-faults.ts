/** Acts out what goes wrong with clocks. Engines may read them as often as they like, and trust none. */
import type { FaultKind } from './kinds/fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { HostClock } from '../world/core/clock.ts';
import type { Stage } from './fault-context.ts';

const clockFaultKinds = ['clock-skew', 'clock-jump', 'clock-strobe', 'clock-freeze', 'timer-jitter'] as const;

export type ClockFault = PlanFault & { readonly kind: (typeof clockFaultKinds)[number] };

export function isClockFault(fault: PlanFault): fault is ClockFault {
  return (clockFaultKinds as readonly FaultKind[]).includes(fault.kind);
}

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

/** To and fro, an even number of times. */
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

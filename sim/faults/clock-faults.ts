/** Acts out what goes wrong with clocks (FC1 to FC5). Engines may read them as often as they like, and trust none. */
import type { FaultKind } from './kinds/fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { HostClock } from '../world/core/clock.ts';
import type { Stage } from './fault-context.ts';

const clockFaultKinds = ['FC1', 'FC2', 'FC3', 'FC4', 'FC5'] as const;

export type ClockFault = PlanFault & { readonly kind: (typeof clockFaultKinds)[number] };

export function isClockFault(fault: PlanFault): fault is ClockFault {
  return (clockFaultKinds as readonly FaultKind[]).includes(fault.kind);
}

export function injectClockFault(fault: ClockFault, clock: HostClock, stage: Stage): void {
  const { params, forUs, id } = fault;
  switch (fault.kind) {
    case 'FC1':
      clock.setDrift(Number(params['ppm']));
      return clock.setWallOffset(Number(params['offsetMs']));
    case 'FC2':
      return clock.jumpWall(Number(params['byMs']));
    case 'FC3':
      return strobe(fault, clock, stage, stage.world.nowUs + forUs);
    case 'FC4':
      clock.freezeWall();
      return stage.later(forUs, `thaw ${id}`, () => clock.thawWall());
    case 'FC5':
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

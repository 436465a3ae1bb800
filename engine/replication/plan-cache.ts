/**
 * Remembers the plans of one viewpoint (`plan.ts`). Most requests of a node have one of a few plans: those of its
 * ring's placements at the node's levels, with every replica routable. Looking a plan up costs a fraction of making it,
 * and requests share the plan's lists.
 *
 * A plan follows from the placement, the level, the need, which replicas are routable or in STANDBY, and the ring's
 * number of racks. A ring makes its own placements, so a placement also stands for the number of racks.
 */
import type { Member, Placement } from '../cluster/ring/ring.ts';
import type { DispatchPlan, Refusal, Viewpoint } from './plan.ts';
import { planRead, planWrite } from './plan.ts';
import type { ConsistencyLevel, ReadNeed, WriteNeed } from './requests.ts';

interface Remembered {
  readonly purpose: 'read' | 'write';
  readonly level: ConsistencyLevel;
  readonly need: ReadNeed;
  /** As computed by `#statesOf`. */
  readonly states: number;
  readonly plan: DispatchPlan;
}

/** Most replicas whose states fit a small integer. Plans of larger placements are made anew. */
const membersMax = 15;
/** Most plans of one placement; beyond that they are forgotten and made anew. */
const plansMax = 16;

/** The plans of one viewpoint. */
export class PlanCache {
  readonly #view: Viewpoint;
  readonly #plans = new WeakMap<Placement, Remembered[]>();

  constructor(view: Viewpoint) {
    this.#view = view;
  }

  /** As `planRead`. */
  read(placement: Placement, level: ConsistencyLevel, need: ReadNeed): DispatchPlan | Refusal {
    if (typeof need === 'object' || placement.length > membersMax) {
      return planRead(this.#view, placement, level, need);
    }
    const states = this.#statesOf(placement);
    const known = this.#find('read', placement, level, need, states);
    if (known !== undefined) return known;
    return this.#remember(
      placement,
      { purpose: 'read', level, need, states },
      planRead(this.#view, placement, level, need),
    );
  }

  /** As `planWrite`, counted in this node's datacenter. */
  write(
    placement: Placement,
    level: ConsistencyLevel,
    need: WriteNeed,
    pending: readonly Member[],
  ): DispatchPlan | Refusal {
    if (typeof need === 'object' || pending.length > 0 || placement.length > membersMax) {
      return planWrite(this.#view, placement, level, need, pending);
    }
    const states = this.#statesOf(placement);
    const known = this.#find('write', placement, level, need, states);
    if (known !== undefined) return known;
    return this.#remember(
      placement,
      { purpose: 'write', level, need, states },
      planWrite(this.#view, placement, level, need),
    );
  }

  #find(
    purpose: Remembered['purpose'],
    placement: Placement,
    level: ConsistencyLevel,
    need: ReadNeed,
    states: number,
  ): DispatchPlan | undefined {
    const plans = this.#plans.get(placement);
    if (plans === undefined) return undefined;
    for (const one of plans) {
      if (one.states === states && one.need === need && one.purpose === purpose && one.level === level)
        return one.plan;
    }
    return undefined;
  }

  /** Refusals are rare, and hold texts: they are not kept. */
  #remember(
    placement: Placement,
    key: Omit<Remembered, 'plan'>,
    plan: DispatchPlan | Refusal,
  ): DispatchPlan | Refusal {
    if (plan.kind === 'refused') return plan;
    let plans = this.#plans.get(placement);
    if (plans === undefined || plans.length >= plansMax) this.#plans.set(placement, (plans = []));
    plans.push({ ...key, plan });
    return plan;
  }

  /** Two bits per replica: whether it is routable, and whether it is in STANDBY. */
  #statesOf(placement: Placement): number {
    let states = 0;
    for (const member of placement) {
      states = states * 4 + (this.#view.isRoutable(member) ? 2 : 0) + (this.#view.isStandby(member) ? 1 : 0);
    }
    return states;
  }
}

/** The world's run of a ported plan, with what the comparison needs beside its outcome. */
import type { PlanFault } from '../plan/plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunResult } from '../runner/result.ts';
import { judgeOutcome } from '../runner/judge-outcome.ts';
import type { RunOutcome } from '../runner/run-outcome.ts';
import { runPlan } from '../runner/run.ts';
import { poolFields } from '../../engine/metrics/fixed-fields.ts';

/** A fault, and when it struck. */
export interface Strike {
  readonly fault: PlanFault;
  readonly atUs: number;
}

/** What came of a plan in the world. */
export interface WorldOutcome {
  readonly outcome: RunOutcome;
  readonly result: RunResult;
  readonly strikes: readonly Strike[];
  /** The pool's counters by field, summed over all incarnations that ended in order. */
  readonly counters: ReadonlyMap<string, number>;
  /** How each second process on a used directory ended. */
  readonly doubleStarts: readonly string[];
}

/** Runs the plan in the world. Floors are none: the plan is a part of one that has them. */
export async function runInWorld(ported: Plan): Promise<WorldOutcome> {
  // This process shows progress and asked nodes for their counters before: not all that reads its clock is the engine.
  const names = Object.keys(ported.floors).filter((name) => name !== 'no-ambient-time');
  const floors = Object.fromEntries(names.map((name) => [name, 0]));
  const plan: Plan = { ...ported, floors };
  const moments = new Map<string, number>();
  const counters = new Map<string, number>();
  let doubleStarts: () => readonly string[] = () => [];
  const startMs = performance.now();
  const outcome = await runPlan(plan, {
    attach: (world, cluster) => {
      world.trace.on('world.acted', ({ atUs, fields }) => {
        const id = /^fault (.+)$/.exec(String(fields['what']))?.[1];
        if (id !== undefined) moments.set(id, atUs);
      });
      cluster.onLifeEnding((name, how) => {
        const pool = how === 'stopped' ? cluster.statistics(name)?.pool : undefined;
        pool?.forEach((value, index) => {
          const field = poolFields[index];
          if (field !== undefined) counters.set(field, (counters.get(field) ?? 0) + value);
        });
      });
      doubleStarts = () => cluster.doubleStarts.map(({ refused }) => refused);
    },
  });
  const missed = new Set(outcome.missed.map(({ id }) => id));
  const strikes = plan.faults.flatMap((fault) => {
    const atUs = missed.has(fault.id) ? undefined : moments.get(fault.id);
    return atUs === undefined ? [] : [{ fault, atUs }];
  });
  const result = judgeOutcome(plan, outcome, performance.now() - startMs);
  return { outcome, result, strikes, counters, doubleStarts: doubleStarts() };
}

/** The error that a check ends in when a run did not pass: its message is the failure's first screen. */
import { Chalk } from 'chalk';

import { renderFailure } from '../../reports/terminal.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunResult } from '../runner/result.ts';

/**
 * A run did not pass. The message says which scenario and seed broke which invariant, the first bad event with its virtual
 * time, and as its last line how to replay the run.
 */
export class SimulationFailed extends Error {
  override readonly name = 'SimulationFailed';
  readonly result: RunResult;
  readonly plan: Plan;

  /** `replay`: the arguments of `lockstep-sim`; `notes` are said before them. */
  constructor(plan: Plan, result: RunResult, replay: readonly string[], notes: readonly string[] = []) {
    const screen = renderFailure({ result, shrunk: undefined, replay }, new Chalk({ level: 0 })).split('\n');
    super([...screen.slice(0, -1), ...notes.map((note) => `  ${note}`), ...screen.slice(-1)].join('\n'));
    this.plan = plan;
    this.result = result;
  }

  /** What test runners print beside the message: not all of the plan and the reports. */
  toJSON(): object {
    const { scenario, seed, verdict, digest } = this.result;
    return { message: this.message, scenario, seed, verdict, digest };
  }
}

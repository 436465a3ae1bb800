/** The error of a check whose run did not pass; its message is the failure's first screen. */
import { Chalk } from 'chalk';

import { renderFailure } from '../../reports/terminal.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunResult } from '../runner/result.ts';

/**
 * A run did not pass. The message names the scenario, the seed and the broken invariant, and the first violation with
 * its virtual time. Its last line is the command that replays the run.
 */
export class SimulationFailed extends Error {
  override readonly name = 'SimulationFailed';
  readonly result: RunResult;
  readonly plan: Plan;

  /** `replay`: the arguments of `lockstep-sim`; `notes` precede them in the message. */
  constructor(plan: Plan, result: RunResult, replay: readonly string[], notes: readonly string[] = []) {
    const screen = renderFailure({ result, shrunk: undefined, replay }, new Chalk({ level: 0 })).split('\n');
    super([...screen.slice(0, -1), ...notes.map((note) => `  ${note}`), ...screen.slice(-1)].join('\n'));
    this.plan = plan;
    this.result = result;
  }

  /** Test runners print this beside the message; it omits most of the plan and the reports. */
  toJSON(): object {
    const { scenario, seed, verdict, digest } = this.result;
    return { message: this.message, scenario, seed, verdict, digest };
  }
}

/** The error that a check ends in when a run did not pass: its message is the failure's first screen. */
import { Chalk } from 'chalk';

import { renderFailure } from '../../reports/terminal.ts';
import type { Plan } from '../plan/plan.ts';
import type { RunResult } from '../run/result.ts';

/** Stands for a module of the user's whose name is not known. */
export const unnamedFile = 'FILE';

const whatFile = 'your module that exports these scenarios and invariants (the option "file" names it here)';

/**
 * A run did not pass. The message says which scenario and seed broke which invariant, the first bad event with its virtual
 * time, and as its last line how to replay the run.
 */
export class SimulationFailed extends Error {
  override readonly name = 'SimulationFailed';
  // Test runners print an error's own properties; whoever wants these asks for them.
  readonly #result: RunResult;
  readonly #plan: Plan;

  /** `replay`: the arguments of `lockstep-sim`. */
  constructor(plan: Plan, result: RunResult, replay: readonly string[]) {
    const screen = renderFailure({ result, shrunk: undefined, replay }, new Chalk({ level: 0 })).split('\n');
    // The last line stays the one that replays.
    if (replay.at(-1) === unnamedFile) screen.splice(-1, 0, `  ${unnamedFile}: ${whatFile}`);
    super(screen.join('\n'));
    this.#plan = plan;
    this.#result = result;
  }

  get result(): RunResult {
    return this.#result;
  }

  get plan(): Plan {
    return this.#plan;
  }
}

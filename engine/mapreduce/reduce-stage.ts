/**
 * Runs one reduce phase at the job's coordinator. Values are collected in batches of a fixed number and re-reduced: the
 * results so far are merged with those of the next batch. Memory therefore depends on the result, not on the inputs.
 * Batches are cut by count alone, so the result does not depend on how the values arrived.
 *
 * A Wasm module gets its earlier results followed by the next values in one array; without any values it is called once
 * with none. A built-in function that needs all values at once gets them at the end.
 */
import { LockstepError } from '../base/errors.ts';
import type { PhaseModule } from '../wasm/phase-modules.ts';
import { builtinReduces } from './builtin-reduces.ts';
import type { BuiltinReduce } from './builtin-reduces.ts';
import type { FunctionPhase, Json } from './job.ts';
import type { JobContext } from './job-context.ts';
import { FunctionError, PhaseError } from './phase-error.ts';
import { sizeOf } from './phase-worker.ts';
import { applyModule } from './wasm-values.ts';

/** How a function continues from its earlier results. */
interface Step {
  /** The results after further values. */
  fold(
    sofar: readonly Json[] | undefined,
    values: readonly Json[],
  ): readonly Json[] | Promise<readonly Json[]>;
  /** The results after further results of the same function, from a replica. */
  merge(sofar: readonly Json[] | undefined, results: readonly Json[]): readonly Json[];
}

/** One phase of one job. */
export class ReduceStage {
  readonly #context: JobContext;
  readonly #index: number;
  readonly #step: Step;
  /** Set if the function needs all values at once. */
  readonly #whole: boolean;
  #sofar: readonly Json[] | undefined;
  #waiting: Json[] = [];
  /** Approximate bytes held; for reduced values an upper bound until they are measured again. */
  #bytes = 0;

  constructor(context: JobContext, index: number, phase: FunctionPhase) {
    const { step, whole } = stepOf(phase, context.modules);
    this.#context = context;
    this.#index = index;
    this.#step = step;
    this.#whole = whole;
  }

  /** Takes values of the preceding phase. Rejects with `PhaseError`. */
  async take(values: readonly Json[], bytes: number): Promise<void> {
    this.#bytes += bytes;
    for (const value of values) {
      this.#waiting.push(value);
      if (this.#waiting.length >= this.#context.batchMax && !this.#whole) await this.#fold();
    }
    this.#checkSize();
  }

  /** Takes results that a replica has already reduced. */
  async takeReduced(results: readonly Json[]): Promise<void> {
    await this.#guarded(() => this.#step.merge(this.#sofar, results));
  }

  /** Reduces the remaining values and returns the phase's results. */
  async close(): Promise<readonly Json[]> {
    if (this.#waiting.length > 0 || this.#sofar === undefined) await this.#fold();
    return this.#sofar ?? [];
  }

  async #fold(): Promise<void> {
    const values = this.#waiting;
    this.#waiting = [];
    await this.#guarded(() => this.#step.fold(this.#sofar, values));
  }

  async #guarded(next: () => readonly Json[] | Promise<readonly Json[]>): Promise<void> {
    const { counts, parts } = this.#context;
    this.#context.check();
    const fromUs = parts.clock.nowUs();
    try {
      this.#sofar = await next();
    } catch (error) {
      throw this.#asPhaseError(error);
    } finally {
      counts.phaseUs.reduce += parts.clock.nowUs() - fromUs;
    }
  }

  #checkSize(): void {
    const { bytesMax } = this.#context;
    if (this.#bytes <= bytesMax) return;
    this.#bytes = sizeOf(this.#sofar ?? []) + sizeOf(this.#waiting);
    if (this.#bytes <= bytesMax) return;
    const detail = `the phase gathers more than ${bytesMax} bytes of values`;
    throw new PhaseError('TooLarge', this.#index, detail);
  }

  #asPhaseError(error: unknown): unknown {
    if (error instanceof FunctionError) return new PhaseError('PhaseFailed', this.#index, error.message);
    if (error instanceof LockstepError && error.code.startsWith('Wasm'))
      return new PhaseError(error.code, this.#index, error.message);
    return error;
  }
}

function stepOf(
  { run, arg }: FunctionPhase,
  modules: ReadonlyMap<string, PhaseModule>,
): { readonly step: Step; readonly whole: boolean } {
  if (run.kind === 'wasm') {
    const module = modules.get(run.module);
    if (module === undefined) throw new LockstepError('NotFound', `no Wasm module ${run.module}`);
    return { step: wasmStep(module, arg), whole: false };
  }
  const builtin = builtinReduces.get(run.name);
  if (builtin === undefined) throw new LockstepError('NotFound', `no built-in reduce function ${run.name}`);
  return { step: builtinStep(builtin, arg), whole: builtin.merge === undefined };
}

function wasmStep(module: PhaseModule, arg: Json | undefined): Step {
  return {
    fold: (sofar, values) => applyModule(module, [...(sofar ?? []), ...values], arg),
    merge: (sofar, results) => [...(sofar ?? []), ...results],
  };
}

function builtinStep({ reduce, merge }: BuiltinReduce, arg: Json | undefined): Step {
  return {
    fold: (sofar, values) => {
      const results = reduce(values, arg);
      return sofar === undefined || merge === undefined ? results : merge([...sofar, ...results], arg);
    },
    merge: (sofar, results) => (merge ?? reduce)([...(sofar ?? []), ...results], arg),
  };
}

/**
 * Counts the traced calls of one incarnation into Wasm modules, by role and outcome, and phases that failed elsewhere.
 */
import type { WasmTruth } from '../check/metrics/reconcile/account.ts';

/** Supplies the expected values of the Wasm metrics of `metrics-reconcile`. */
export class WasmObserver {
  readonly #counts = new Map<string, number>();

  /** `all`: the observers of every incarnation, this one included. */
  truth(all: Iterable<WasmObserver>): WasmTruth {
    const truth: Record<string, number> = Object.fromEntries(this.#counts);
    for (const failure of ['fuel', 'memory']) {
      let elsewhere = -this.#of(`phase ${failure}`);
      for (const witness of all) elsewhere += witness.#of(`phase ${failure}`);
      truth[`elsewhere ${failure}`] = elsewhere;
    }
    return truth;
  }

  /** `outcome`: `ok`, or how the call failed. */
  called(role: string, outcome: string): void {
    const name = `${role} ${outcome}`;
    this.#counts.set(name, this.#of(name) + 1);
  }

  #of(name: string): number {
    return this.#counts.get(name) ?? 0;
  }
}

/** The calls into Wasm modules that a life told of, by role and by what became of them, and phases that failed elsewhere. */
import type { WasmTruth } from '../check/reconcile/account.ts';

export class WasmObserver {
  readonly #counts = new Map<string, number>();

  /** `all`: of every life, this one too. */
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

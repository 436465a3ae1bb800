/** The calls into Wasm modules that a life told of, by role and by what became of them. */
import type { WasmTruth } from '../check/ledger/account.ts';

export class WasmWitness {
  readonly #counts = new Map<string, number>();

  get truth(): WasmTruth {
    return Object.fromEntries(this.#counts);
  }

  /** `outcome`: `ok`, or how the call failed. */
  called(role: string, outcome: string): void {
    const name = `${role} ${outcome}`;
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
  }
}

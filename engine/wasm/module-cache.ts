/**
 * Caches prepared and compiled modules by the digest of their bytes: one cache and one set of limits for both roles. It
 * counts the outcome of every call, for every caller.
 */
import { hash } from 'node:crypto';

import { LockstepError } from '../base/errors.ts';
import type { Log } from '../io/log.ts';
import { CallError, Caller } from './instance.ts';
import type { WasmMetrics } from './metrics.ts';
import type { WasmLimits } from './module-limits.ts';
import { prepareModule } from './prepare.ts';
import type { Role } from './roles.ts';

/** SHA-256 of a module's bytes in hex: identifies one version of a module. */
export type ModuleDigest = string & { readonly digest: true };

/** Length of a digest, in characters. */
export const digestChars = 64;

/** The digest of a module's bytes. */
export function digestOf(bytes: Uint8Array): ModuleDigest {
  return hash('sha256', bytes, 'hex') as ModuleDigest;
}

/** A module that can be called. */
export interface CompiledModule {
  readonly digest: ModuleDigest;
  readonly roles: readonly Role[];
  /** The output for an input. Throws `CallError`, or `BadRequest` if the module lacks the role. */
  call(role: Role, input: Uint8Array): Uint8Array;
}

/** Compiled modules kept beyond the registered ones, for jobs that began before a module was replaced. */
const idleCountMax = 32;

/** The cache of one node. */
export class ModuleCache {
  readonly #limits: WasmLimits;
  readonly #metrics: WasmMetrics;
  readonly #log: Log;
  /** The most recently used last. */
  readonly #modules = new Map<ModuleDigest, CompiledModule>();

  constructor(limits: WasmLimits, metrics: WasmMetrics, log: Log) {
    this.#limits = limits;
    this.#metrics = metrics;
    this.#log = log;
  }

  /** The limits under which modules are prepared. */
  get limits(): WasmLimits {
    return this.#limits;
  }

  /** The module with these bytes, compiled once. Throws `TooLarge` or `BadRequest` if this node cannot use it. */
  load(bytes: Uint8Array): CompiledModule {
    return this.of(digestOf(bytes), bytes);
  }

  /** As `load`, if the digest of the bytes is known. */
  of(digest: ModuleDigest, bytes: Uint8Array): CompiledModule {
    const known = this.find(digest);
    if (known !== undefined) return known;
    const compiled = this.#compile(digest, bytes);
    this.#modules.set(digest, compiled);
    this.#shrink();
    return compiled;
  }

  /** A cached module; undefined if it is not in the cache. */
  find(digest: ModuleDigest): CompiledModule | undefined {
    const known = this.#modules.get(digest);
    if (known === undefined) return undefined;
    this.#modules.delete(digest);
    this.#modules.set(digest, known);
    return known;
  }

  #shrink(): void {
    const [oldest] = this.#modules.keys();
    const full = this.#modules.size > this.#limits.moduleCountMax + idleCountMax;
    if (full && oldest !== undefined) this.#modules.delete(oldest);
  }

  #compile(digest: ModuleDigest, bytes: Uint8Array): CompiledModule {
    const { bytes: rewritten, roles, resettable } = prepareModule(bytes, this.#limits);
    const module = compiled(rewritten);
    const callers = new Map<Role, Caller>();
    for (const role of roles) callers.set(role, new Caller(module, role, resettable, this.#limits.fuelMax));
    return { digest, roles, call: (role, input) => this.#call(digest, role, callers.get(role), input) };
  }

  #call(digest: ModuleDigest, role: Role, caller: Caller | undefined, input: Uint8Array): Uint8Array {
    if (caller === undefined) throw new LockstepError('BadRequest', `the module has no ${role} role`);
    const counts = this.#metrics.of(role);
    counts.calls += 1;
    try {
      const output = caller.call(input);
      this.#called(digest, role, input, output, caller.fuelUsed);
      return output;
    } catch (error) {
      if (error instanceof CallError) {
        counts[error.failure] += 1;
        this.#failed(digest, role, input, error, caller.fuelUsed);
      }
      throw error;
    } finally {
      counts.fuelUsed += caller.fuelUsed;
    }
  }

  /**
   * Logs a call. In the simulator the trace thus holds every call, and the invariant `wasm-purity` compares equal calls
   * on different nodes.
   */
  #called(digest: ModuleDigest, role: Role, input: Uint8Array, output: Uint8Array, fuel: number): void {
    if (!this.#log.enabled('debug')) return;
    const result = hash('sha1', output, 'hex');
    this.#log.event('debug', 'wasm.called', {
      digest,
      role,
      input: hash('sha1', input, 'hex'),
      result,
      fuel,
    });
  }

  #failed(digest: ModuleDigest, role: Role, input: Uint8Array, error: CallError, fuel: number): void {
    if (!this.#log.enabled('debug')) return;
    const fields = { digest, role, failure: error.failure, detail: error.message, fuel };
    this.#log.event('debug', 'wasm.call.failed', { ...fields, input: hash('sha1', input, 'hex') });
  }
}

/** Compiles, and instantiates once: data and elements may not fit their targets, which only instantiation shows. */
function compiled(bytes: Uint8Array): WebAssembly.Module {
  const module = new WebAssembly.Module(Buffer.from(bytes));
  try {
    new WebAssembly.Instance(module);
  } catch (error) {
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    throw new LockstepError(
      'BadRequest',
      'not a module for this node: its data or elements lie outside of its memory or tables',
    );
  }
  return module;
}

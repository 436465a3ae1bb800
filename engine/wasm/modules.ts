/**
 * The module store as other modules of the engine use it: keyfun for the router, phases for MapReduce, registration for
 * operators.
 */
import { LockstepError } from '../base/errors.ts';
import type { ByteString, NodeId } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import type { Clock } from '../io/clock.ts';
import type { Log } from '../io/log.ts';
import type { WasmTools } from '../io/wasm-tools.ts';
import type { ModuleEntry } from './entry.ts';
import { idsAllowed, isModuleId } from './entry.ts';
import type { CompiledModule, ModuleCache } from './module-cache.ts';
import type { PhaseModule, PhaseModules } from './phase-modules.ts';
import { cannotRoute } from './registry.ts';
import type { Registered, Registry } from './registry.ts';
import type { Spread, SpreadReport } from './spread.ts';
import { roleExports } from './roles.ts';
import { binaryOf } from './wat.ts';

/** A registered module, as operators and programs see it. */
export interface ModuleView {
  readonly id: string;
  readonly version: number;
  readonly digest: string;
  readonly bytes: number;
  /** Empty if this node cannot run it, because its limits are lower than those of the node that registered it. */
  readonly roles: readonly string[];
  readonly disputed: boolean;
}

/** The result of a registration, and the members that hold it. */
export interface Registration extends SpreadReport {
  readonly view: ModuleView;
  readonly outcome: Registered['outcome'];
}

/** A module of the configuration (`store_wasm_modules`). */
export interface ConfiguredModule {
  readonly id: string;
  readonly path: string;
}

/** What the module store consists of. */
export interface ModuleDependencies {
  readonly clock: Clock;
  readonly log: Log;
  readonly tools: WasmTools;
  readonly cache: ModuleCache;
  readonly registry: Registry;
  readonly spread: Spread;
  /** All other members of the cluster, reachable or not. */
  readonly members: () => readonly NodeId[];
  /** Longest time for compiling a text, in microseconds. */
  readonly textTimeoutUs: number;
}

const lengthBytes = 4;

/** The module store of one node with the wasm feature. */
export class Modules implements PhaseModules {
  readonly enabled = true;
  readonly #parts: ModuleDependencies;

  constructor(parts: ModuleDependencies) {
    this.#parts = parts;
  }

  /**
   * Reads the stored entries and registers the modules of the configuration. Rejects with `ConfigInvalid`, naming id and
   * path, if one cannot be read or registered, and with `StorageFailed` if the store cannot keep it.
   */
  async start(configured: readonly ConfiguredModule[]): Promise<void> {
    const { registry, tools, cache } = this.#parts;
    await registry.recover();
    for (const { id, path } of configured) {
      try {
        const file = await tools.readFile(path, cache.limits.moduleBytesMax);
        await registry.configure(id, await this.#binaryOf(file));
      } catch (cause) {
        // A disk that fails is no fault of the configuration.
        if (!(cause instanceof LockstepError) || cause.code === 'StorageFailed') throw cause;
        const detail = `store_wasm_modules: the module ${id} (${path}): ${cause.message}`;
        throw new LockstepError('ConfigInvalid', detail, { cause });
      }
    }
  }

  /**
   * The route bytes of a key in a bucket that routes by a module. Throws `KeyfunUnavailable` if the module cannot route,
   * or the error of the call (`buckets/router.ts`).
   */
  route(moduleId: string, bucket: ByteString, key: ByteString): Uint8Array {
    return this.#routingModule(moduleId, bucket).call('keyfun', routeInput(bucket, key));
  }

  /**
   * Throws `BadRequest` if the registered module cannot route. A module that is not registered may still arrive, and one
   * that this node cannot load may be usable on other nodes.
   */
  checkRouting(moduleId: string): void {
    const entry = this.#parts.registry.get(moduleId);
    const module = entry === undefined ? undefined : this.#loaded(entry);
    if (module?.roles.includes('keyfun') === false)
      throw new LockstepError('BadRequest', cannotRoute(moduleId));
  }

  find(id: string, version?: string): PhaseModule | undefined {
    const module = this.#parts.registry.find(id, version);
    if (module?.roles.includes('phase') !== true) return undefined;
    return { id, version: module.digest, apply: (input) => module.call('phase', input) };
  }

  lacking(id: string): readonly string[] | undefined {
    const module = this.#parts.registry.find(id);
    if (module === undefined) return undefined;
    const { alloc, apply } = roleExports.phase;
    // The registry refuses a module with only one of the two.
    return module.roles.includes('phase') ? [] : [alloc, apply];
  }

  /**
   * Registers a module, in binary form or as text, and sends it to all members. Rejects with `BadRequest`, `TooLarge`,
   * `Timeout` (compiling takes too long), `Conflict` (buckets route by the present module), and the store's errors.
   */
  async register(id: string, body: Uint8Array): Promise<Registration> {
    const { registry, spread, members } = this.#parts;
    if (!isModuleId(id))
      throw new LockstepError(
        'BadRequest',
        `${JSON.stringify(id)} is not a module id; allowed: ${idsAllowed}`,
      );
    const { entry, outcome } = await registry.put(id, await this.#binaryOf(body));
    const report = await spread.push(entry, members());
    return { view: this.#viewOf(entry), outcome, ...report };
  }

  /** Deletes a module on all members. Rejects with `NotFound`, `Conflict`, and the store's errors. */
  async remove(id: string): Promise<SpreadReport> {
    const { registry, spread, members } = this.#parts;
    return spread.push(await registry.remove(id), members());
  }

  /** All registered modules, sorted by id. */
  list(): readonly ModuleView[] {
    const present = this.#parts.registry.entries().filter(({ content }) => content !== undefined);
    return present.map((entry) => this.#viewOf(entry));
  }

  /** A registered module; undefined if there is none. */
  get(id: string): ModuleView | undefined {
    const entry = this.#parts.registry.get(id);
    return entry?.content === undefined ? undefined : this.#viewOf(entry);
  }

  /** The binary of a registered module; undefined if there is none. */
  bytesOf(id: string): Uint8Array | undefined {
    return this.#parts.registry.get(id)?.content?.bytes;
  }

  #routingModule(moduleId: string, bucket: ByteString): CompiledModule {
    const unavailable = (why: string): LockstepError => {
      const detail = `the bucket ${textOf(bucket)} routes by chash_keyfun CUSTOM, and ${why}`;
      return new LockstepError('KeyfunUnavailable', detail);
    };
    if (moduleId === '') throw unavailable('its wasm_keyfun names no module');
    const entry = this.#parts.registry.get(moduleId);
    if (entry?.content === undefined) throw unavailable(`the module ${moduleId} is not registered`);
    if (entry.disputed) {
      throw unavailable(
        `two contents of the module ${moduleId} were registered at once on nodes that did not hear of each other; delete it, and register each under an id of its own`,
      );
    }
    const module = this.#loaded(entry);
    if (module?.roles.includes('keyfun') !== true) {
      throw unavailable(
        `the module ${moduleId} does not export keyfun_alloc and keyfun_route, or exceeds this node's limits`,
      );
    }
    return module;
  }

  /** The compiled module; undefined if this node's limits forbid it. */
  #loaded({ content }: ModuleEntry): CompiledModule | undefined {
    if (content === undefined) return undefined;
    try {
      return this.#parts.cache.of(content.digest, content.bytes);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      return undefined;
    }
  }

  #binaryOf(body: Uint8Array): Promise<Uint8Array> {
    const { tools, cache, textTimeoutUs } = this.#parts;
    return binaryOf(body, tools, cache.limits.moduleBytesMax, textTimeoutUs);
  }

  #viewOf(entry: ModuleEntry): ModuleView {
    const { id, version, content, disputed } = entry;
    const roles = this.#loaded(entry)?.roles ?? [];
    return { id, version, digest: content?.digest ?? '', bytes: content?.bytes.length ?? 0, roles, disputed };
  }
}

/** The input of keyfun: `u32le bucket_len | bucket | u32le key_len | key`. */
export function routeInput(bucket: ByteString, key: ByteString): Uint8Array {
  const input = Buffer.allocUnsafe(2 * lengthBytes + bucket.length + key.length);
  input.writeUInt32LE(bucket.length, 0);
  input.write(bucket, lengthBytes, 'latin1');
  const keyAt = lengthBytes + bucket.length;
  input.writeUInt32LE(key.length, keyAt);
  input.write(key, keyAt + lengthBytes, 'latin1');
  return input;
}

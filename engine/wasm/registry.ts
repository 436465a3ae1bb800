/**
 * The modules that this node knows, by id: registered here or by peers, durable, changed one at a time. `entry.ts`
 * defines the entries and how the knowledge of two nodes is merged; `spread.ts` exchanges entries with peers.
 */
import { hash } from 'node:crypto';

import { tryDecodeWhole } from '../base/decoding.ts';
import { LockstepError } from '../base/errors.ts';
import { bufferOf } from '../base/ids.ts';
import type { Log } from '../io/log.ts';
import type { ModuleEntry } from './entry.ts';
import { encodeEntry, merge, readEntry, sameStamp, stampOf } from './entry.ts';
import type { CompiledModule, ModuleCache, ModuleDigest } from './module-cache.ts';
import type { WasmMetrics } from './metrics.ts';

/** The durable storage of entries. */
export interface ModuleShelf {
  /** Every record by name. `bytes` is undefined if a record exists but cannot be read. */
  load(): Promise<readonly { readonly name: string; readonly bytes: Uint8Array | undefined }[]>;
  /** Stores a record; durable when it resolves. Rejects with a `LockstepError`. */
  save(name: string, bytes: Uint8Array): Promise<void>;
}

/** What the registry needs of other modules. */
export interface RegistryDependencies {
  readonly log: Log;
  readonly cache: ModuleCache;
  readonly metrics: WasmMetrics;
  readonly shelf: ModuleShelf;
  /** The buckets that route by a module, as text for messages. */
  readonly routedBy: (id: string) => readonly string[];
}

/** The result of a registration. */
export interface Registered {
  readonly entry: ModuleEntry;
  readonly outcome: 'created' | 'replaced' | 'unchanged';
}

/** Most ids kept, deleted ones included; each takes about 100 bytes. */
const deletedCountMax = 4096;
/** Prefix of the records of what the configuration last stated; no module id has this form. */
const configuredPrefix = 'configured/';
const noBytes = Buffer.alloc(0);
/** Most replaced contents kept for jobs that began with them. */
const retiredCountMax = 16;

/** The registry of one node. */
export class Registry {
  readonly #parts: RegistryDependencies;
  readonly #entries = new Map<string, ModuleEntry>();
  /** Replaced contents, the oldest first. */
  readonly #retired = new Map<ModuleDigest, Uint8Array>();
  /** The cached digest; undefined after a change. */
  #digest: string | undefined;
  /** The digest that this node's configuration last stated for an id, in hex. */
  readonly #configured = new Map<string, string>();
  /** Serializes changes: each begins with what the preceding one made durable. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(parts: RegistryDependencies) {
    this.#parts = parts;
  }

  /** Reads the stored records. Reports a damaged one as `wasm.entry.damaged`; peers still hold the entry. */
  async recover(): Promise<void> {
    for (const { name, bytes } of await this.#parts.shelf.load()) {
      if (name.startsWith(configuredPrefix)) {
        this.#configured.set(name.slice(configuredPrefix.length), bufferOf(bytes ?? noBytes).toString('hex'));
        continue;
      }
      const entry = bytes === undefined ? undefined : tryDecodeWhole(bytes, readEntry);
      if (entry?.id === name) this.#entries.set(name, entry);
      else this.#parts.log.event('error', 'wasm.entry.damaged', { id: name });
    }
  }

  /** Every entry, deleted ones included, sorted by id. */
  entries(): readonly ModuleEntry[] {
    return [...this.#entries.values()].sort((left, right) => (left.id < right.id ? -1 : 1));
  }

  /** A digest of all entries, which gossip carries; empty if there is none. */
  get digest(): string {
    if (this.#entries.size === 0) return '';
    this.#digest ??= hash('sha1', JSON.stringify(this.entries().map(stampOf)), 'hex');
    return this.#digest;
  }

  /** Number of registered modules. */
  get count(): number {
    let count = 0;
    for (const { content } of this.#entries.values()) if (content !== undefined) count += 1;
    return count;
  }

  /** The entry of an id, possibly a deletion; undefined if the id is unknown. */
  get(id: string): ModuleEntry | undefined {
    return this.#entries.get(id);
  }

  /** The current module of an id, or the version with this digest; undefined if this node does not hold it. */
  find(id: string, digest?: string): CompiledModule | undefined {
    const content = this.#entries.get(id)?.content;
    if (content !== undefined && (digest === undefined || content.digest === digest)) {
      return this.#parts.cache.of(content.digest, content.bytes);
    }
    const retired = digest === undefined ? undefined : this.#retired.get(digest as ModuleDigest);
    return retired === undefined ? undefined : this.#parts.cache.load(retired);
  }

  /**
   * Registers bytes under an id; durable when it resolves. Rejects with `BadRequest` or `TooLarge` if this node cannot
   * use them, `Conflict` if buckets route by the present module, and the store's errors.
   */
  put(id: string, bytes: Uint8Array): Promise<Registered> {
    return this.#next(() => this.#put(id, bytes));
  }

  /**
   * Registers a module of the configuration, unless the configuration already stated the same content: later
   * registrations and deletions then remain in force. Rejects as `put` does.
   */
  configure(id: string, bytes: Uint8Array): Promise<void> {
    return this.#next(async () => {
      const { digest } = this.#parts.cache.load(bytes);
      if (this.#configured.get(id) === digest && this.#entries.has(id)) return;
      await this.#put(id, bytes);
      await this.#parts.shelf.save(configuredPrefix + id, Buffer.from(digest, 'hex'));
      this.#configured.set(id, digest);
    });
  }

  /** Deletes a module; durable when it resolves. Rejects with `NotFound`, `Conflict`, and the store's errors. */
  remove(id: string): Promise<ModuleEntry> {
    return this.#next(async () => {
      const known = this.#entries.get(id);
      if (known?.content === undefined) throw new LockstepError('NotFound', `no module ${id} is registered`);
      // No bucket can route by a disputed module; deleting it resolves the dispute.
      if (!known.disputed) this.#refuseRouted(id, 'deleted');
      return this.#keep({ id, version: known.version + 1, content: undefined, disputed: false });
    });
  }

  /** Merges a peer's entry. Resolves to true if it was new; durable when it resolves. */
  take(entry: ModuleEntry): Promise<boolean> {
    return this.#next(async () => {
      const known = this.#entries.get(entry.id);
      const merged = merge(known, entry);
      if (known !== undefined && sameStamp(stampOf(known), stampOf(merged))) return false;
      await this.#keep(merged);
      this.#parts.metrics.received += 1;
      return true;
    });
  }

  async #put(id: string, bytes: Uint8Array): Promise<Registered> {
    const { cache } = this.#parts;
    const { digest, roles } = cache.load(bytes);
    const known = this.#entries.get(id);
    if (known?.content?.digest === digest && !known.disputed) return { entry: known, outcome: 'unchanged' };
    const present = known?.content !== undefined;
    const routes = roles.includes('keyfun');
    if (present) this.#refuseReplaced(known, routes);
    else this.#checkRoomForAnother(known);
    if (!routes) this.#refuseRouting(id);
    const content = { digest, bytes: Uint8Array.from(bytes), routes };
    const entry = await this.#keep({ id, version: (known?.version ?? 0) + 1, content, disputed: false });
    return { entry, outcome: present ? 'replaced' : 'created' };
  }

  /** Throws `TooLarge` if a further module, or an id that is not known yet, may not be kept. */
  #checkRoomForAnother(known: ModuleEntry | undefined): void {
    const { moduleCountMax } = this.#parts.cache.limits;
    if (this.count >= moduleCountMax) {
      const detail = `${this.count} modules are registered; allowed: at most ${moduleCountMax}`;
      throw new LockstepError('TooLarge', detail);
    }
    if (known !== undefined || this.#entries.size < deletedCountMax) return;
    const detail = `${this.#entries.size} ids are known, deleted ones included; allowed: at most ${deletedCountMax}. Register the module under an id that was used before`;
    throw new LockstepError('TooLarge', detail);
  }

  #refuseReplaced({ id, content, disputed }: ModuleEntry, routes: boolean): void {
    this.#refuseRouted(id, 'replaced');
    if (content?.routes !== true && !routes && !disputed) return;
    const detail = `the module ${id} routes keys, and is not replaced: another content would look for them elsewhere. Register the new one under an id of its own, or delete ${id} first`;
    throw new LockstepError('Conflict', detail);
  }

  /** Refuses a module without the keyfun role if buckets route by its id. */
  #refuseRouting(id: string): void {
    const buckets = this.#parts.routedBy(id);
    if (buckets.length === 0) return;
    const named = buckets.slice(0, 5).join(', ');
    throw new LockstepError('BadRequest', `${cannotRoute(id)}; keys are routed by it, in ${named}`);
  }

  #refuseRouted(id: string, what: 'replaced' | 'deleted'): void {
    const buckets = this.#parts.routedBy(id);
    if (buckets.length === 0) return;
    const named = buckets.slice(0, 5).join(', ');
    const detail = `the module ${id} cannot be ${what} while keys are routed by it, in ${named}; their properties chash_keyfun and wasm_keyfun come first`;
    throw new LockstepError('Conflict', detail);
  }

  async #keep(entry: ModuleEntry): Promise<ModuleEntry> {
    const { shelf, log, metrics } = this.#parts;
    await shelf.save(entry.id, encodeEntry(entry));
    const before = this.#entries.get(entry.id)?.content;
    this.#entries.set(entry.id, entry);
    this.#digest = undefined;
    const { id, version, content, disputed } = entry;
    if (before !== undefined && before.digest !== content?.digest) this.#retire(before.digest, before.bytes);
    if (before !== undefined && content !== undefined && before.digest !== content.digest)
      metrics.reloads += 1;
    const digest = content?.digest ?? 'deleted';
    log.event(disputed ? 'warn' : 'info', 'wasm.module.changed', { id, version, digest, disputed });
    return entry;
  }

  #retire(digest: ModuleDigest, bytes: Uint8Array): void {
    this.#retired.delete(digest);
    this.#retired.set(digest, bytes);
    const [oldest] = this.#retired.keys();
    if (this.#retired.size > retiredCountMax && oldest !== undefined) this.#retired.delete(oldest);
  }

  #next<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(change);
    // The caller gets the failure; the next change begins all the same.
    this.#tail = done.catch(() => undefined);
    return done;
  }
}

/** The detail of errors about a module that lacks the keyfun role. */
export function cannotRoute(id: string): string {
  return `the module ${id} cannot route keys: it does not export both keyfun_alloc and keyfun_route`;
}

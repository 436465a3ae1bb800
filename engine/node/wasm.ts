/**
 * Composes the node's Wasm modules: stores them in the node's own store, spreads them over the peer links, and offers
 * them to operators, to key routing and to MapReduce. How modules are metered and run is in `wasm/`.
 */
import { answerInTask } from '../peer/wire/answer.ts';
import type { ModuleAdmin } from '../api/http/wasm-routes.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError, asLockstepError } from '../base/errors.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { ByteString, Token } from '../base/ids.ts';
import { bucketPrefix, systemKey } from '../base/object-key.ts';
import type { NodeConfig } from '../config/config.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Reply } from '../replication/peer-service.ts';
import { refusal } from '../replica/key-slots.ts';
import type { Io } from '../io/io.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { CustomRoute } from '../buckets/router.ts';
import { noCustomRoute } from '../buckets/router.ts';
import type { NodeStats } from '../metrics/node-stats.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';
import { WasmMetrics } from '../wasm/metrics.ts';
import { ModuleCache } from '../wasm/module-cache.ts';
import type { WasmLimits } from '../wasm/module-limits.ts';
import { Modules } from '../wasm/modules.ts';
import type { PhaseModules } from '../wasm/phase-modules.ts';
import { noPhaseModules } from '../wasm/phase-modules.ts';
import type { ModuleShelf } from '../wasm/registry.ts';
import { Registry } from '../wasm/registry.ts';
import type { SpreadOptions } from '../wasm/spread.ts';
import { Spread } from '../wasm/spread.ts';

/**
 * The node's use of Wasm modules. If the feature is off, keys that a module routes fail with `KeyfunUnavailable`, and
 * peers are answered with `WasmNotImplemented`.
 */
export interface WasmServices {
  readonly route: CustomRoute;
  /** Throws `BadRequest` if the module is registered and cannot route keys. */
  readonly checkRouting: (moduleId: string) => void;
  readonly phases: PhaseModules;
  /** The operators' interface; undefined if the feature is off. */
  readonly desk: ModuleAdmin | undefined;
  start(): Promise<void>;
  stop(): void;
  answer(words: Uint8Array, reply: Reply): void;
}

/** The services that the modules use. */
export interface WasmDependencies {
  readonly io: Io;
  readonly config: NodeConfig;
  readonly stats: NodeStats;
  readonly store: Store;
  readonly driver: StoreDriver;
  readonly links: PeerLinks;
  readonly membership: Membership;
  readonly buckets: Buckets;
}

/** The engine's own records belong to no range of the ring. */
const recordToken = 0 as Token;
const moduleBucket = byteStringOf('wasm');
/** The approximate bytes of modules in one message, far below the limit of a frame. */
const messageBytesMax = 4 * 1024 * 1024;
/** The most bytes of a message with one module besides its content. */
const entryBytesMax = 4096;

/** Composes the modules; they are loaded when `start` is called. Registers their metrics families and gossip topic. */
export function composeWasm(parts: WasmDependencies): WasmServices {
  const { io, config, stats, links, membership, buckets } = parts;
  if (!config.featuresWasm) return withoutWasm;
  const metrics = new WasmMetrics();
  const cache = new ModuleCache(limitsOf(config), metrics, io.log);
  const shelf = shelfOf(parts);
  const routedBy = (id: string): readonly string[] => buckets.routedBy(id);
  const registry = new Registry({ log: io.log, cache, metrics, shelf, routedBy });
  const spread = new Spread(io, registry, spreadLinks(links, membership), spreadOptions(config), metrics);
  const modules = new Modules({
    clock: io.clock,
    log: io.log,
    tools: io.wasm,
    cache,
    registry,
    spread,
    members: () => membership.peers.map(({ node }) => node),
    textTimeoutUs: config.wasmTextTimeoutMs * 1000,
  });
  membership.topics.add('wasm', {
    digest: () => registry.digest,
    heard: (peer, digest) => spread.heard(peer, digest),
  });
  for (const family of metrics.families(() => registry.count)) stats.register(family);
  return {
    route: (id, bucket, key) => modules.route(id, bucket, key),
    checkRouting: (id) => modules.checkRouting(id),
    phases: modules,
    desk: deskOf(modules),
    start: async () => {
      await modules.start(config.storeWasmModules);
      checkBucketTypes(config, modules);
    },
    stop: () => spread.stop(),
    answer: (words, reply) => answer(io, spread, words, reply),
  };
}

/** Throws `ConfigInvalid` if a configured bucket type routes by a module that cannot route keys. */
function checkBucketTypes({ bucketTypes }: NodeConfig, modules: Modules): void {
  for (const [name, { chashKeyfun, wasmKeyfun }] of bucketTypes) {
    if (chashKeyfun !== 'CUSTOM') continue;
    try {
      modules.checkRouting(wasmKeyfun);
    } catch (cause) {
      const { message } = asLockstepError(cause);
      throw new LockstepError('ConfigInvalid', `bucket_types: ${name}: wasm_keyfun: ${message}`, { cause });
    }
  }
}

const withoutWasm: WasmServices = {
  route: noCustomRoute,
  checkRouting: () => undefined,
  phases: noPhaseModules,
  desk: undefined,
  start: () => Promise.resolve(),
  stop: () => undefined,
  answer: (_words, reply) => {
    const { code, message: detail } = new LockstepError('WasmNotImplemented');
    reply({ kind: 'failed', code, detail });
  },
};

function limitsOf(config: NodeConfig): WasmLimits {
  return {
    // A module travels as one message.
    moduleBytesMax: Math.min(config.wasmModuleBytesMax, config.frameBytesMax - entryBytesMax),
    memoryBytesMax: config.wasmMemoryBytesMax,
    fuelMax: config.wasmFuelMax,
    moduleCountMax: config.wasmModulesMax,
  };
}

function spreadOptions(config: NodeConfig): SpreadOptions {
  const bytesMax = Math.min(messageBytesMax, Math.floor(config.frameBytesMax / 2));
  return { timeoutUs: config.peerRequestTimeoutMs * 1000, messageBytesMax: bytesMax };
}

function deskOf(modules: Modules): ModuleAdmin {
  return {
    register: (id, body) => modules.register(id, body),
    remove: (id) => modules.remove(id),
    list: () => modules.list(),
    get: (id) => modules.get(id),
    bytesOf: (id) => modules.bytesOf(id),
  };
}

function spreadLinks(links: PeerLinks, membership: Membership): ConstructorParameters<typeof Spread>[2] {
  return {
    peers: () =>
      membership.peers
        .map(({ node }) => node)
        .filter((node) => membership.isRoutable(node))
        .sort(),
    ask: (peer, words, timeoutUs, onAnswer) =>
      links.request(peer, { kind: 'wasmModules', words }, timeoutUs, (reply) => {
        onAnswer(reply.kind === 'wasmModulesAnswered' ? Uint8Array.from(reply.words) : undefined);
      }),
  };
}

function answer(io: Io, spread: Spread, words: Uint8Array, reply: Reply): void {
  const asked = Uint8Array.from(words);
  answerInTask(io, 'wasm.answer', reply, async () => {
    return { kind: 'wasmModulesAnswered', words: await spread.answer(asked) };
  });
}

/** Stores modules as records of the node's own store, under keys that no client can name. */
function shelfOf({ store, driver }: WasmDependencies): ModuleShelf {
  const prefix = bucketPrefix('' as ByteString, moduleBucket);
  return {
    load: async () => {
      const found: { name: string; bytes: Uint8Array | undefined }[] = [];
      for (const key of [...store.keysOfBucket(prefix)].sort()) {
        const name = textOf(key.slice(prefix.length) as ByteString);
        const done = new Deferred<Uint8Array | undefined>();
        const outcome = driver.tryRead(key, (error, bytes) => {
          done.resolve(error !== undefined || bytes === undefined ? undefined : Uint8Array.from(bytes));
        });
        if (outcome !== 'ok') throw refusal(outcome);
        found.push({ name, bytes: await done.promise });
      }
      return found;
    },
    save: async (name, value) => {
      const key = systemKey(moduleBucket, byteStringOf(name));
      const done = new Deferred<void>();
      const write = { key, token: recordToken, value: Buffer.from(value) };
      const outcome = driver.tryWrite([write], (error) => {
        if (error === undefined) done.resolve();
        else done.reject(error);
      });
      if (outcome !== 'ok') throw refusal(outcome);
      await done.promise;
    },
  };
}

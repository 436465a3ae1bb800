/** Composes the Redis listener from the configuration, with the reaper of expired keys and the counts of commands. */
import type { RedisField } from '../api/redis/commands.ts';
import type { RedisDependencies } from '../api/redis/listener-dependencies.ts';
import { RedisServer } from '../api/redis/server.ts';
import { defaultSessionLimits } from '../api/redis/session-dependencies.ts';
import type { ListKeys } from '../api/redis/keyspace.ts';
import { bucketOfDatabase, databaseCount } from '../api/redis/databases.ts';
import type { Publications } from '../api/redis/messages/publications.ts';
import type { KeyQueue } from '../api/redis/key-queue.ts';
import type { ExpiryReaperDependencies } from '../api/redis/reaper.ts';
import { Scripts } from '../api/redis/script/scripts.ts';
import { Reaper } from '../api/redis/reaper.ts';
import { tryDecode } from '../base/decoding.ts';
import type { ByteString, NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import { version } from '../base/version.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { NameLister } from '../api/name-lister.ts';
import type { NodeConfig } from '../config/config.ts';
import { readLocally } from '../replica/local-read.ts';
import type { Address } from '../io/network.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import { decodeObject } from '../replica/object/object.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';
import type { NodeStats } from '../metrics/node-stats.ts';
import { requestBytesMax } from './topology.ts';

type Shared = Pick<
  RedisDependencies,
  | 'beginEpochs'
  | 'mayReplace'
  | 'gate'
  | 'io'
  | 'requests'
  | 'dispatcher'
  | 'transactions'
  | 'observer'
  | 'terms'
  | 'limits'
>;

/** The Redis listener and the reaper of expired keys, started and stopped together. */
export class RedisListener {
  readonly #server: RedisServer;
  readonly #reaper: Reaper;

  constructor(server: RedisServer, reaper: Reaper) {
    this.#server = server;
    this.#reaper = reaper;
  }

  /** Starts the reaper and listens at `address`, as `RedisServer.start`. Resolves with the bound address. */
  start(address: Address): Promise<Address> {
    this.#reaper.start();
    return this.#server.start(address);
  }

  /**
   * Stops as `RedisServer.stop`, with `drainMs` milliseconds for requests under way. Then the reaper deletes no more.
   */
  async stop(drainMs: number): Promise<void> {
    await Promise.all([this.#server.stop(drainMs), this.#reaper.stop()]);
  }
}

/** The node's own keys, which the reaper walks. */
export interface LocalKeys {
  readonly store: Pick<Store, 'keysOfBucket' | 'tokenOf'>;
  readonly driver: StoreDriver;
  readonly membership: Pick<Membership, 'ring'>;
  readonly buckets: Pick<Buckets, 'epochs'>;
}

/** Publish and subscribe, and the check of a client that uses it. */
export interface Messaging {
  readonly publications: Publications;
  /** Throws a definite error while this node takes no messages and subscriptions of clients. */
  readonly admit: () => void;
}

/** Composes the Redis listener; not yet listening. `coverage` lists keys for `KEYS` and `SCAN`. */
export function buildRedis(
  shared: Shared,
  config: NodeConfig,
  stats: NodeStats,
  coverage: NameLister,
  local: LocalKeys,
  { publications, admit }: Messaging,
): RedisListener {
  const bytesMax = requestBytesMax(config);
  const parts: RedisDependencies = {
    ...shared,
    count: countCommands(stats),
    type: defaultType,
    bucket: byteStringOf(config.redisBucket),
    timeoutMs: config.requestTimeoutMs,
    // An answer with one value must always fit.
    answerBytesMax: Math.max(config.redisAnswerBytesMax, bytesMax),
    keyCountMax: config.transactionOperationsMax,
    epochOf: (type, bucket) => local.buckets.epochs.of(type, bucket),
    graceUs: config.tombstoneGraceSeconds * 1_000_000,
    scripts: new Scripts(shared.io.log),
    subscribersOf: (message) => publications.subscriptions.reachOf(message),
    serverInfo: { node: config.name, version },
  };
  const server = new RedisServer(
    parts,
    {
      ...defaultSessionLimits,
      argumentBytesMax: bytesMax,
      requestBytesMax: Math.max(bytesMax, config.transactionBytesMax),
      messageUsMax: config.clientReadTimeoutMs * 1000,
      takingUsMax: config.clientWriteTimeoutMs * 1000,
      connectionCountMax: config.clientConnectionsMax,
      subscriberBytesMax: config.redisSubscriberBytesMax,
    },
    (bucket) => listKeys(coverage, parts, bucket),
    publications,
    admit,
  );
  return new RedisListener(server, new Reaper(reaperParts(parts, server.turns, config.name, local)));
}

function reaperParts(
  { io, type, bucket }: RedisDependencies,
  turns: KeyQueue,
  self: NodeId,
  { store, driver, membership, buckets: { epochs } }: LocalKeys,
): ExpiryReaperDependencies {
  return {
    io,
    turns,
    *keys() {
      for (let index = 0; index < databaseCount; index++) {
        yield* store.keysOfBucket(epochs.prefixOf(type, bucketOfDatabase(bucket, index)));
      }
    },
    isPrimary: ({ packed }) => {
      const token = store.tokenOf(packed);
      return token !== undefined && membership.ring.placement(token)[0]?.node === self;
    },
    read: async (key) => {
      const { error, bytes } = await readLocally(driver, key);
      if (error !== undefined || bytes === undefined) return undefined;
      // An object that does not decode is left to anti-entropy.
      return tryDecode(() => decodeObject(bytes));
    },
  };
}

/** Counts each command in its field of the server codec. */
function countCommands({ server }: NodeStats): (field: RedisField) => void {
  return (field) => {
    switch (field) {
      case 'get':
        server.redis_req_get += 1;
        break;
      case 'set':
        server.redis_req_set += 1;
        break;
      case 'del':
        server.redis_req_del += 1;
        break;
      case 'incr_decr':
        server.redis_req_incr_decr += 1;
        break;
      case 'keys':
        server.redis_req_keys += 1;
        break;
      case 'mget':
        server.redis_req_mget += 1;
        break;
      case 'scan':
        server.redis_req_scan += 1;
        break;
      case 'sort':
        server.redis_req_sort += 1;
        break;
      case 'lreqm':
        server.redis_req_lreqm += 1;
        break;
      case 'sunion':
        server.redis_req_sunion += 1;
        break;
      case 'ping':
        server.redis_req_ping += 1;
        break;
      case 'lists':
        server.redis_req_lists += 1;
        break;
      case 'sets':
        server.redis_req_sets += 1;
        break;
      case 'hashes':
        server.redis_req_hashes += 1;
        break;
      case 'sortedsets':
        server.redis_req_sortedsets += 1;
        break;
      case 'other':
        server.redis_req_other += 1;
        break;
    }
  };
}

/** Lists the bucket's live keys, page by page. */
function listKeys(coverage: NameLister, { type }: RedisDependencies, bucket: ByteString): ListKeys {
  return (first, deadlineUs, namesMax) => {
    const listing = { live: true, first };
    return coverage.keys(
      type,
      bucket,
      namesMax === undefined ? listing : { ...listing, namesMax },
      deadlineUs,
    );
  };
}

/** Composes MapReduce and the listings of keys and buckets over the node's own services. */
import { Deferred } from '../base/deferred.ts';
import type { ByteString } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { bucketPrefix } from '../base/object-key.ts';
import type { NodeConfig } from '../config/config.ts';
import type { CoverageDependencies } from '../mapreduce/listing/coverage.ts';
import { Coverage } from '../mapreduce/listing/coverage.ts';
import type { ListingStore } from '../mapreduce/listing/local-listing.ts';
import { LocalListing, pageLimits } from '../mapreduce/listing/local-listing.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import type { ClusterDispatcher } from '../replication/cluster-dispatcher.ts';
import { sleep } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { JobLimits } from '../mapreduce/job.ts';
import { defaultJobLimits } from '../mapreduce/job.ts';
import type { JobDependencies } from '../mapreduce/job-context.ts';
import { MapReduce } from '../mapreduce/mapreduce.ts';
import type { PhaseModules } from '../wasm/phase-modules.ts';
import { peerContentBytesMax } from './topology.ts';

/** The services that MapReduce calls. */
export interface MapReduceDependencies {
  readonly parts: RoundDependencies;
  readonly dispatcher: Pick<ClusterDispatcher, 'uncounted'>;
  readonly coverage: Coverage;
  readonly modules: PhaseModules;
  readonly knowsType: (type: ByteString) => boolean;
}

/** Values that a reduce function sees at once at most, whatever the configuration allows. */
const reducedMax = 1000;

/** The node's MapReduce service. Registers its metrics families. */
export function composeMapReduce(io: Io, config: NodeConfig, below: MapReduceDependencies): MapReduce {
  const { parts, dispatcher, coverage, modules, knowsType } = below;
  // The listener counts the cause of a failed job, so the job's own reads are not counted.
  const cluster: JobDependencies = { ...parts, coverage, dispatcher: dispatcher.uncounted };
  const store = { tryRead: parts.replica.read.bind(parts.replica) };
  const mapReduce = new MapReduce(io, cluster, store, modules, knowsType, {
    timeoutMs: config.mapredTimeoutMs,
    jobCountMax: config.mapredJobsMax,
    bytesMax: config.mapredBytesMax,
    batchMax: Math.min(reducedMax, config.peerPageItems),
    answerBytesMax: peerContentBytesMax(config),
  });
  for (const family of mapReduce.counts.families()) parts.stats.register(family);
  return mapReduce;
}

/** The configured limits of one job: the defaults with `mapred_inputs_max`. */
export function jobLimits(config: NodeConfig): JobLimits {
  return { ...defaultJobLimits, inputCountMax: config.mapredInputsMax };
}

/** The cluster-wide listings of keys and buckets. This node's part of each comes from its own store. */
export function composeListings(
  io: Io,
  config: NodeConfig,
  parts: RoundDependencies,
  store: Store,
  driver: StoreDriver,
): Coverage {
  const { epochs } = parts.router;
  const local: ListingStore = {
    keysOfTokens: (from, to) => store.keysOfTokens(from, to),
    keysOfBucket: (prefix) => store.keysOfBucket(prefix),
    bucketKeysMax: (prefix) => store.bucketKeysMax(prefix),
    tokenOf: (key) => store.tokenOf(key),
    wallMs: () => io.clock.wallMs(),
    tryRead: (key, done) => driver.tryRead(key, done),
    isFormer: (key) => epochs.isFormer(key),
    pause: () => sleep(io.clock, 0),
  };
  const namesMax = Math.min(pageLimits.namesMax, config.peerPageItems);
  const listing = new LocalListing(local, { ...pageLimits, namesMax });
  const epochOf: CoverageDependencies['epochOf'] = (type, bucket) => epochs.of(type, bucket);
  const admitEpoch: CoverageDependencies['admitEpoch'] = (type, bucket, epoch) => {
    const admitted = new Deferred<void>();
    // Any key of the bucket stands for all.
    const key = `${bucketPrefix(type, bucket, epoch)}k` as PackedKey;
    parts.replica.epochs.admit([key], (error) =>
      error === undefined ? admitted.resolve() : admitted.reject(error),
    );
    return admitted.promise;
  };
  return new Coverage(io, { ...parts, epochOf, admitEpoch }, listing);
}

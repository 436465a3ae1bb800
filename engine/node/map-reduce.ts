/** MapReduce as the configuration wants it, over the node's own rooms. */
import type { ByteString } from '../base/ids.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Coverage } from '../mapreduce/listing/coverage.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import type { ClusterDispatcher } from '../replication/cluster-dispatcher.ts';
import type { Io } from '../io/io.ts';
import type { JobLimits } from '../mapreduce/job.ts';
import { defaultJobLimits } from '../mapreduce/job.ts';
import type { JobDependencies } from '../mapreduce/job-context.ts';
import { MapReduce } from '../mapreduce/mapreduce.ts';
import type { PhaseModules } from '../wasm/phase-modules.ts';

/** What MapReduce stands on. */
export interface MapReduceDependencies {
  readonly parts: RoundDependencies;
  readonly dispatcher: Pick<ClusterDispatcher, 'uncounted'>;
  readonly coverage: Coverage;
  readonly modules: PhaseModules;
  readonly knowsType: (type: ByteString) => boolean;
}

export function buildMapReduce(io: Io, config: NodeConfig, ground: MapReduceDependencies): MapReduce {
  const { parts, dispatcher, coverage, modules, knowsType } = ground;
  // Why a job failed its listener counts.
  const cluster: JobDependencies = { ...parts, coverage, dispatcher: dispatcher.uncounted };
  const store = { tryRead: parts.replica.read.bind(parts.replica) };
  const mapReduce = new MapReduce(io, cluster, store, modules, knowsType, {
    timeoutMs: config.mapredTimeoutMs,
    jobCountMax: config.mapredJobsMax,
    bytesMax: config.mapredBytesMax,
  });
  for (const family of mapReduce.counts.families()) parts.stats.register(family);
  return mapReduce;
}

export function jobLimits(config: NodeConfig): JobLimits {
  return { ...defaultJobLimits, inputCountMax: config.mapredInputsMax };
}

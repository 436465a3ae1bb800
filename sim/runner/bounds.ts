/** The upper bounds of a node's resources by its configuration, for `resource-bounds`. */
import type { NodeConfig } from '../../engine/config/config.ts';
import { driverDefaults } from '../../engine/storage/driver.ts';
import type { Bound } from '../check/bounds/resources.ts';
import { defaultTuning } from '../world/core/tuning.ts';

/** Reads and writes have separate queues; the limit applies to each. */
const storeQueues = 2;
/** HTTP and the binary protocol. */
const clientListeners = 2;
/** Bytes of keys and values in a queue beyond the bound: the request that was just taken out of it. */
const oneRequestBytes = 1024 * 1024;

/** The bounds of a node's gauges. */
export function boundsOf(config: NodeConfig): readonly Bound[] {
  const { storeWritesMax, diskReadsMax, storeWriteBytesMax } = driverDefaults;
  return [
    { family: 'svc_server_in_queue', most: storeQueues * config.storeQueueCountMax },
    { family: 'svc_server_in_queue_bytes', most: storeQueues * config.storeQueueBytesMax },
    { family: 'svc_server_out_queue', most: storeWritesMax + diskReadsMax },
    { family: 'svc_server_out_queue_bytes', most: storeWriteBytesMax + oneRequestBytes },
    { family: 'svc_pool_client_connections', most: clientListeners * config.clientConnectionsMax },
    { family: 'svc_hints_kept_bytes', most: config.hintBytesMax },
  ];
}

/** Bytes of a chunk that the node was reading when it stopped accepting commands. */
const oneChunkBytes = 64 * 1024;

/**
 * Most bytes of requests that can have left a client that reads none of its replies; the replies are as long as the
 * requests.
 */
export function bytesHeldMax(): number {
  const { windowBytes, highWaterBytes } = defaultTuning.network;
  return 2 * (windowBytes + highWaterBytes + oneChunkBytes);
}

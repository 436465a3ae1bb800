/** What a node may hold by its configuration, for `resource-bounds`. */
import type { NodeConfig } from '../../engine/config/config.ts';
import { driverDefaults } from '../../engine/storage/driver.ts';
import type { Bound } from '../check/resources.ts';
import { defaultTuning } from '../world/core/tuning.ts';

/** Reads and writes queue apart; the queues' limit counts each. */
const storeQueues = 2;
/** HTTP and the binary protocol. */
const clientListeners = 2;
/** Keys and values that lie in a queue behind the bound: the request that was just taken out of it. */
const oneRequestBytes = 1024 * 1024;

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

/** A chunk that was being read when the node stopped taking commands. */
const oneChunkBytes = 64 * 1024;

/** What of a client's requests can have left it while it reads none of their replies, which are as long as they. */
export function bytesHeldMax(): number {
  const { windowBytes, highWaterBytes } = defaultTuning.network;
  return 2 * (windowBytes + highWaterBytes + oneChunkBytes);
}

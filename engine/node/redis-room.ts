/** The Redis protocol's room as the configuration wants it, and what it counts. */
import type { RedisField } from '../api/redis/commands.ts';
import type { RedisParts } from '../api/redis/parts.ts';
import { RedisServer } from '../api/redis/server.ts';
import { defaultSessionLimits } from '../api/redis/rooms.ts';
import { byteStringOf } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import { version } from '../base/version.ts';
import type { NodeConfig } from '../config/config.ts';
import type { NodeStats } from '../stats/node-stats.ts';
import { requestBytesMax } from './topology.ts';

type Shared = Pick<RedisParts, 'io' | 'dispatcher' | 'transactions' | 'observer' | 'terms' | 'limits'>;

export function buildRedis(shared: Shared, config: NodeConfig, stats: NodeStats): RedisServer {
  const bytesMax = requestBytesMax(config);
  const parts: RedisParts = {
    ...shared,
    count: countCommands(stats),
    type: defaultType,
    bucket: byteStringOf(config.redisBucket),
    timeoutMs: config.requestTimeoutMs,
    keyCountMax: config.transactionOperationsMax,
    serverInfo: { node: config.name, version },
  };
  return new RedisServer(
    parts,
    {
      ...defaultSessionLimits,
      argumentBytesMax: bytesMax,
      requestBytesMax: Math.max(bytesMax, config.transactionBytesMax),
      connectionCountMax: config.clientConnectionsMax,
    },
    undefined,
  );
}

/** One line of the server codec for every command. */
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

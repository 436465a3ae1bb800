/**
 * The fixed fields of the statistics, in the order of the legacy JSON (source: Dynomite's dyn_stats.h): each field is
 * declared here once, and its type, its live value, its place in the JSON and its metric family follow.
 *
 * The pool's 45 fields count the node's clients and peers; the server's 34 count the built-in store's driver and, for
 * `redis_req_*`, the Redis listener. A counter `f` is the family `svc_pool_f_total{pool}`; a gauge or timestamp is
 * `svc_pool_f{pool}`.
 */
import type { Family } from './family.ts';

interface Declared<Kind extends string> {
  readonly kind: Kind;
  readonly help: string;
}

const counter = (help: string): Declared<'counter'> => ({ kind: 'counter', help });
const gauge = (help: string): Declared<'gauge'> => ({ kind: 'gauge', help });
/** In microseconds since the epoch; 0 means never. */
const timestamp = (help: string): Declared<'timestamp'> => ({ kind: 'timestamp', help });

const poolTable = {
  client_eof: counter('Client connections that the client closed.'),
  client_err: counter('Client connections closed by an error, or requests that got an error answer.'),
  client_connections: gauge('Client connections open now, all client listeners.'),
  client_read_requests: counter('Read requests received from clients.'),
  client_write_requests: counter('Write requests received from clients.'),
  client_dropped_requests: counter('Client requests refused or given up without an answer from a replica.'),
  client_non_quorum_w_responses: counter('Writes whose level could not be met.'),
  client_non_quorum_r_responses: counter(
    'Reads whose level could not be met, or whose answers did not agree under a SAFE level.',
  ),
  server_ejects: counter('Times the store driver was taken out of service (fsync failure, crash).'),
  dnode_client_eof: counter('Inbound peer-plane connections that the peer closed.'),
  dnode_client_err: counter('Inbound peer-plane connections closed by an error.'),
  dnode_client_connections: gauge('Inbound peer-plane connections open now.'),
  dnode_client_in_queue: gauge('Requests received from peers and not yet handled.'),
  dnode_client_in_queue_bytes: gauge('Bytes of the requests received from peers and not yet handled.'),
  dnode_client_out_queue: gauge('Answers to peers not yet written out.'),
  dnode_client_out_queue_bytes: gauge('Bytes of the answers to peers not yet written out.'),
  peer_dropped_requests: counter(
    'Requests to a peer of the local datacenter dropped (channel full or closed).',
  ),
  peer_timedout_requests: counter('Requests to a local peer that timed out.'),
  remote_peer_dropped_requests: counter(
    'Requests to a peer of another datacenter dropped (channel full or closed).',
  ),
  remote_peer_timedout_requests: counter('Requests to a peer of another datacenter that timed out.'),
  remote_peer_failover_requests: counter(
    'Requests sent to another rack of a remote datacenter because the preferred one was away.',
  ),
  peer_eof: counter('Outbound peer connections that the peer closed.'),
  peer_err: counter('Outbound peer connections closed by an error.'),
  peer_timedout: counter('Outbound connections to local peers that timed out.'),
  remote_peer_timedout: counter('Outbound connections to remote-datacenter peers that timed out.'),
  peer_connections: gauge('Outbound peer connections open now.'),
  peer_forward_error: gauge('Forwards to a peer that failed now (a gauge, as in the original).'),
  peer_requests: counter('Requests sent to peers.'),
  peer_request_bytes: counter('Bytes of the requests sent to peers.'),
  peer_responses: counter('Answers received from peers.'),
  peer_response_bytes: counter('Bytes of the answers received from peers.'),
  peer_ejected_at: timestamp('When a peer was last taken out of routing, microseconds since the epoch.'),
  peer_ejects: counter('Times a peer was taken out of routing.'),
  peer_in_queue: gauge('Requests queued toward local peers, not yet sent.'),
  remote_peer_in_queue: gauge('Requests queued toward remote peers, not yet sent.'),
  peer_in_queue_bytes: gauge('Bytes of the requests queued toward local peers, not yet sent.'),
  remote_peer_in_queue_bytes: gauge('Bytes of the requests queued toward remote peers, not yet sent.'),
  peer_out_queue: gauge('Requests sent to local peers and not yet answered.'),
  remote_peer_out_queue: gauge('Requests sent to remote peers and not yet answered.'),
  peer_out_queue_bytes: gauge('Bytes of the requests sent to local peers and not yet answered.'),
  remote_peer_out_queue_bytes: gauge('Bytes of the requests sent to remote peers and not yet answered.'),
  peer_mismatch_requests: counter('Answers from a peer that match no request in flight.'),
  forward_error: counter('Requests that could not be forwarded at all.'),
  fragments: counter('Single-key requests made out of multi-key ones.'),
  stats_count: counter('Requests served by the stats listener.'),
};

const serverTable = {
  server_eof: counter("Times the store driver's channel was closed in order."),
  server_err: counter('Store operations that failed.'),
  server_timedout: counter('Times the driver stopped answering in time.'),
  server_ejected_at: timestamp(
    'When the driver was last taken out of service, microseconds since the epoch.',
  ),
  server_dropped_requests: counter("Requests dropped at the driver's channel (full or closed)."),
  server_timedout_requests: counter('Store requests that timed out.'),
  read_requests: counter('Reads given to the store.'),
  read_request_bytes: counter('Bytes of the reads given to the store.'),
  write_requests: counter('Writes given to the store.'),
  write_request_bytes: counter('Bytes of the writes given to the store.'),
  read_responses: counter('Read answers of the store.'),
  read_response_bytes: counter('Bytes of the read answers of the store.'),
  write_responses: counter('Write answers of the store.'),
  write_response_bytes: counter('Bytes of the write answers of the store.'),
  in_queue: gauge('Requests queued at the driver now.'),
  in_queue_bytes: gauge('Bytes of the requests queued at the driver now.'),
  out_queue: gauge('Requests in the store now.'),
  out_queue_bytes: gauge('Bytes of the requests in the store now.'),
  redis_req_get: counter('Redis-protocol GET commands received.'),
  redis_req_set: counter('Redis-protocol SET, SETNX, SETEX, GETSET, APPEND and the like received.'),
  redis_req_del: counter('Redis-protocol DEL, UNLINK commands received.'),
  redis_req_incr_decr: counter('Redis-protocol INCR, INCRBY, INCRBYFLOAT, DECR, DECRBY commands received.'),
  redis_req_keys: counter('Redis-protocol KEYS commands received.'),
  redis_req_mget: counter('Redis-protocol MGET commands received.'),
  redis_req_scan: counter('Redis-protocol SCAN commands received.'),
  redis_req_sort: counter('Redis-protocol SORT commands received.'),
  redis_req_lreqm: counter('Redis-protocol LREM commands received.'),
  redis_req_sunion: counter('Redis-protocol SUNION commands received.'),
  redis_req_ping: counter('Redis-protocol PING commands received.'),
  redis_req_lists: counter('Redis-protocol list commands received.'),
  redis_req_sets: counter('Redis-protocol set commands received.'),
  redis_req_hashes: counter('Redis-protocol hash commands received.'),
  redis_req_sortedsets: counter('Redis-protocol sorted-set commands received.'),
  redis_req_other: counter('Every other Redis-protocol command received, also the refused ones.'),
};

/** The fields of a table that are read rather than incremented. */
type Read<Table> = {
  [Field in keyof Table]: Table[Field] extends Declared<'counter'> ? never : Field;
}[keyof Table];

/** A field of the pool. */
export type PoolField = keyof typeof poolTable;
/** The gauges and timestamps of the pool. */
export type PoolGaugeField = Read<typeof poolTable>;
/** A field of the server. */
export type ServerField = keyof typeof serverTable;
/** The gauges and timestamps of the server. */
export type ServerGaugeField = Read<typeof serverTable>;

/** The pool's fields in order of publication. */
export const poolFields = Object.keys(poolTable) as readonly PoolField[];
/** The server's fields in order of publication. */
export const serverFields = Object.keys(serverTable) as readonly ServerField[];

/** The pool's families, in the order of `poolFields`. */
export const poolFamilies: readonly Family[] = familiesOf('pool', poolTable);
/** The server's families, in the order of `serverFields`. */
export const serverFamilies: readonly Family[] = familiesOf('server', serverTable);

/** Live values of the pool, all 0. */
export const newPoolStats = (): Record<PoolField, number> => zeros(poolFields);
/** Live values of the server, all 0. */
export const newServerStats = (): Record<ServerField, number> => zeros(serverFields);

/** Each value is a plain property, so that counting costs no more than `pool.client_read_requests += 1`. */
function zeros<Field extends string>(fields: readonly Field[]): Record<Field, number> {
  return Object.fromEntries(fields.map((field) => [field, 0])) as Record<Field, number>;
}

function familiesOf(
  group: 'pool' | 'server',
  table: Readonly<Record<string, Declared<string>>>,
): readonly Family[] {
  return Object.entries(table).map(([field, { kind, help }]): Family => {
    const counts = kind === 'counter';
    const name = `svc_${group}_${field}${counts ? '_total' : ''}`;
    return { name, help, type: counts ? 'counter' : 'gauge', labels: [group] };
  });
}

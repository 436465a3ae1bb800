/**
 * The 34 fields of the server, which here is the built-in store's driver (and, for `redis_req_*`, the Redis listener),
 * in the order of the legacy JSON (source: Dynomite's dyn_stats.h). A counter `f` is the family
 * `svc_server_f_total{server}`; a gauge or timestamp is `svc_server_f{server}`.
 */
import type { CodecRow } from './codec-row.ts';

/** The rows (field, kind, HELP text), in order of publication. */
export const SERVER_CODEC = [
  { field: 'server_eof', kind: 'counter', help: "Times the store driver's channel was closed in order." },
  { field: 'server_err', kind: 'counter', help: 'Store operations that failed.' },
  { field: 'server_timedout', kind: 'counter', help: 'Times the driver stopped answering in time.' },
  {
    field: 'server_ejected_at',
    kind: 'timestamp',
    help: 'When the driver was last taken out of service, microseconds since the epoch.',
  },
  {
    field: 'server_dropped_requests',
    kind: 'counter',
    help: "Requests dropped at the driver's channel (full or closed).",
  },
  { field: 'server_timedout_requests', kind: 'counter', help: 'Store requests that timed out.' },
  { field: 'read_requests', kind: 'counter', help: 'Reads given to the store.' },
  { field: 'read_request_bytes', kind: 'counter', help: 'Bytes of the reads given to the store.' },
  { field: 'write_requests', kind: 'counter', help: 'Writes given to the store.' },
  { field: 'write_request_bytes', kind: 'counter', help: 'Bytes of the writes given to the store.' },
  { field: 'read_responses', kind: 'counter', help: 'Read answers of the store.' },
  { field: 'read_response_bytes', kind: 'counter', help: 'Bytes of the read answers of the store.' },
  { field: 'write_responses', kind: 'counter', help: 'Write answers of the store.' },
  { field: 'write_response_bytes', kind: 'counter', help: 'Bytes of the write answers of the store.' },
  { field: 'in_queue', kind: 'gauge', help: 'Requests queued at the driver now.' },
  { field: 'in_queue_bytes', kind: 'gauge', help: 'Bytes of the requests queued at the driver now.' },
  { field: 'out_queue', kind: 'gauge', help: 'Requests in the store now.' },
  { field: 'out_queue_bytes', kind: 'gauge', help: 'Bytes of the requests in the store now.' },
  { field: 'redis_req_get', kind: 'counter', help: 'Redis-protocol GET commands received.' },
  {
    field: 'redis_req_set',
    kind: 'counter',
    help: 'Redis-protocol SET, SETNX, SETEX, GETSET, APPEND and the like received.',
  },
  { field: 'redis_req_del', kind: 'counter', help: 'Redis-protocol DEL, UNLINK commands received.' },
  {
    field: 'redis_req_incr_decr',
    kind: 'counter',
    help: 'Redis-protocol INCR, INCRBY, INCRBYFLOAT, DECR, DECRBY commands received.',
  },
  { field: 'redis_req_keys', kind: 'counter', help: 'Redis-protocol KEYS commands received.' },
  { field: 'redis_req_mget', kind: 'counter', help: 'Redis-protocol MGET commands received.' },
  { field: 'redis_req_scan', kind: 'counter', help: 'Redis-protocol SCAN commands received.' },
  { field: 'redis_req_sort', kind: 'counter', help: 'Redis-protocol SORT commands received.' },
  { field: 'redis_req_lreqm', kind: 'counter', help: 'Redis-protocol LREM commands received.' },
  { field: 'redis_req_sunion', kind: 'counter', help: 'Redis-protocol SUNION commands received.' },
  { field: 'redis_req_ping', kind: 'counter', help: 'Redis-protocol PING commands received.' },
  { field: 'redis_req_lists', kind: 'counter', help: 'Redis-protocol list commands received.' },
  { field: 'redis_req_sets', kind: 'counter', help: 'Redis-protocol set commands received.' },
  { field: 'redis_req_hashes', kind: 'counter', help: 'Redis-protocol hash commands received.' },
  { field: 'redis_req_sortedsets', kind: 'counter', help: 'Redis-protocol sorted-set commands received.' },
  {
    field: 'redis_req_other',
    kind: 'counter',
    help: 'Every other Redis-protocol command received, also the refused ones.',
  },
] as const satisfies readonly CodecRow[];

type Row = (typeof SERVER_CODEC)[number];

/** A field of the server. */
export type ServerField = Row['field'];
/** The fields that are read rather than incremented: gauges and timestamps. */
export type ServerGaugeField = Exclude<Row, { kind: 'counter' }>['field'];

/** The live values, one plain field each, so that counting costs no more than `server.read_requests += 1`. */
export class ServerStats implements Record<ServerField, number> {
  server_eof = 0;
  server_err = 0;
  server_timedout = 0;
  server_ejected_at = 0;
  server_dropped_requests = 0;
  server_timedout_requests = 0;
  read_requests = 0;
  read_request_bytes = 0;
  write_requests = 0;
  write_request_bytes = 0;
  read_responses = 0;
  read_response_bytes = 0;
  write_responses = 0;
  write_response_bytes = 0;
  in_queue = 0;
  in_queue_bytes = 0;
  out_queue = 0;
  out_queue_bytes = 0;
  redis_req_get = 0;
  redis_req_set = 0;
  redis_req_del = 0;
  redis_req_incr_decr = 0;
  redis_req_keys = 0;
  redis_req_mget = 0;
  redis_req_scan = 0;
  redis_req_sort = 0;
  redis_req_lreqm = 0;
  redis_req_sunion = 0;
  redis_req_ping = 0;
  redis_req_lists = 0;
  redis_req_sets = 0;
  redis_req_hashes = 0;
  redis_req_sortedsets = 0;
  redis_req_other = 0;
}

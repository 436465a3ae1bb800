/**
 * The 45 fields of the pool, which count the node's clients and peers, in the order of the legacy JSON (source:
 * Dynomite's dyn_stats.h). A counter `f` is the family `svc_pool_f_total{pool}`; a gauge or timestamp is
 * `svc_pool_f{pool}`.
 */
import type { CodecRow } from './codec-row.ts';

/** The rows (field, kind, HELP text), in order of publication. */
export const POOL_CODEC = [
  { field: 'client_eof', kind: 'counter', help: 'Client connections that the client closed.' },
  {
    field: 'client_err',
    kind: 'counter',
    help: 'Client connections closed by an error, or requests that got an error answer.',
  },
  { field: 'client_connections', kind: 'gauge', help: 'Client connections open now, all client listeners.' },
  { field: 'client_read_requests', kind: 'counter', help: 'Read requests received from clients.' },
  { field: 'client_write_requests', kind: 'counter', help: 'Write requests received from clients.' },
  {
    field: 'client_dropped_requests',
    kind: 'counter',
    help: 'Client requests refused or given up without an answer from a replica.',
  },
  { field: 'client_non_quorum_w_responses', kind: 'counter', help: 'Writes whose level could not be met.' },
  {
    field: 'client_non_quorum_r_responses',
    kind: 'counter',
    help: 'Reads whose level could not be met, or whose answers did not agree under a SAFE level.',
  },
  {
    field: 'server_ejects',
    kind: 'counter',
    help: 'Times the store driver was taken out of service (fsync failure, crash).',
  },
  {
    field: 'dnode_client_eof',
    kind: 'counter',
    help: 'Inbound peer-plane connections that the peer closed.',
  },
  { field: 'dnode_client_err', kind: 'counter', help: 'Inbound peer-plane connections closed by an error.' },
  { field: 'dnode_client_connections', kind: 'gauge', help: 'Inbound peer-plane connections open now.' },
  {
    field: 'dnode_client_in_queue',
    kind: 'gauge',
    help: 'Requests received from peers and not yet handled.',
  },
  {
    field: 'dnode_client_in_queue_bytes',
    kind: 'gauge',
    help: 'Bytes of the requests received from peers and not yet handled.',
  },
  { field: 'dnode_client_out_queue', kind: 'gauge', help: 'Answers to peers not yet written out.' },
  {
    field: 'dnode_client_out_queue_bytes',
    kind: 'gauge',
    help: 'Bytes of the answers to peers not yet written out.',
  },
  {
    field: 'peer_dropped_requests',
    kind: 'counter',
    help: 'Requests to a peer of the local datacenter dropped (channel full or closed).',
  },
  { field: 'peer_timedout_requests', kind: 'counter', help: 'Requests to a local peer that timed out.' },
  {
    field: 'remote_peer_dropped_requests',
    kind: 'counter',
    help: 'Requests to a peer of another datacenter dropped (channel full or closed).',
  },
  {
    field: 'remote_peer_timedout_requests',
    kind: 'counter',
    help: 'Requests to a peer of another datacenter that timed out.',
  },
  {
    field: 'remote_peer_failover_requests',
    kind: 'counter',
    help: 'Requests sent to another rack of a remote datacenter because the preferred one was away.',
  },
  { field: 'peer_eof', kind: 'counter', help: 'Outbound peer connections that the peer closed.' },
  { field: 'peer_err', kind: 'counter', help: 'Outbound peer connections closed by an error.' },
  { field: 'peer_timedout', kind: 'counter', help: 'Outbound connections to local peers that timed out.' },
  {
    field: 'remote_peer_timedout',
    kind: 'counter',
    help: 'Outbound connections to remote-datacenter peers that timed out.',
  },
  { field: 'peer_connections', kind: 'gauge', help: 'Outbound peer connections open now.' },
  {
    field: 'peer_forward_error',
    kind: 'gauge',
    help: 'Forwards to a peer that failed now (a gauge, as in the original).',
  },
  { field: 'peer_requests', kind: 'counter', help: 'Requests sent to peers.' },
  { field: 'peer_request_bytes', kind: 'counter', help: 'Bytes of the requests sent to peers.' },
  { field: 'peer_responses', kind: 'counter', help: 'Answers received from peers.' },
  { field: 'peer_response_bytes', kind: 'counter', help: 'Bytes of the answers received from peers.' },
  {
    field: 'peer_ejected_at',
    kind: 'timestamp',
    help: 'When a peer was last taken out of routing, microseconds since the epoch.',
  },
  { field: 'peer_ejects', kind: 'counter', help: 'Times a peer was taken out of routing.' },
  { field: 'peer_in_queue', kind: 'gauge', help: 'Requests queued toward local peers, not yet sent.' },
  {
    field: 'remote_peer_in_queue',
    kind: 'gauge',
    help: 'Requests queued toward remote peers, not yet sent.',
  },
  {
    field: 'peer_in_queue_bytes',
    kind: 'gauge',
    help: 'Bytes of the requests queued toward local peers, not yet sent.',
  },
  {
    field: 'remote_peer_in_queue_bytes',
    kind: 'gauge',
    help: 'Bytes of the requests queued toward remote peers, not yet sent.',
  },
  { field: 'peer_out_queue', kind: 'gauge', help: 'Requests sent to local peers and not yet answered.' },
  {
    field: 'remote_peer_out_queue',
    kind: 'gauge',
    help: 'Requests sent to remote peers and not yet answered.',
  },
  {
    field: 'peer_out_queue_bytes',
    kind: 'gauge',
    help: 'Bytes of the requests sent to local peers and not yet answered.',
  },
  {
    field: 'remote_peer_out_queue_bytes',
    kind: 'gauge',
    help: 'Bytes of the requests sent to remote peers and not yet answered.',
  },
  {
    field: 'peer_mismatch_requests',
    kind: 'counter',
    help: 'Answers from a peer that match no request in flight.',
  },
  { field: 'forward_error', kind: 'counter', help: 'Requests that could not be forwarded at all.' },
  { field: 'fragments', kind: 'counter', help: 'Single-key requests made out of multi-key ones.' },
  { field: 'stats_count', kind: 'counter', help: 'Requests served by the stats listener.' },
] as const satisfies readonly CodecRow[];

type Row = (typeof POOL_CODEC)[number];

/** A field of the pool. */
export type PoolField = Row['field'];
/** The fields that are read rather than incremented: gauges and timestamps. */
export type PoolGaugeField = Exclude<Row, { kind: 'counter' }>['field'];

/** The live values, one plain field each, so that counting costs no more than `pool.client_read_requests += 1`. */
export class PoolStats implements Record<PoolField, number> {
  client_eof = 0;
  client_err = 0;
  client_connections = 0;
  client_read_requests = 0;
  client_write_requests = 0;
  client_dropped_requests = 0;
  client_non_quorum_w_responses = 0;
  client_non_quorum_r_responses = 0;
  server_ejects = 0;
  dnode_client_eof = 0;
  dnode_client_err = 0;
  dnode_client_connections = 0;
  dnode_client_in_queue = 0;
  dnode_client_in_queue_bytes = 0;
  dnode_client_out_queue = 0;
  dnode_client_out_queue_bytes = 0;
  peer_dropped_requests = 0;
  peer_timedout_requests = 0;
  remote_peer_dropped_requests = 0;
  remote_peer_timedout_requests = 0;
  remote_peer_failover_requests = 0;
  peer_eof = 0;
  peer_err = 0;
  peer_timedout = 0;
  remote_peer_timedout = 0;
  peer_connections = 0;
  peer_forward_error = 0;
  peer_requests = 0;
  peer_request_bytes = 0;
  peer_responses = 0;
  peer_response_bytes = 0;
  peer_ejected_at = 0;
  peer_ejects = 0;
  peer_in_queue = 0;
  remote_peer_in_queue = 0;
  peer_in_queue_bytes = 0;
  remote_peer_in_queue_bytes = 0;
  peer_out_queue = 0;
  remote_peer_out_queue = 0;
  peer_out_queue_bytes = 0;
  remote_peer_out_queue_bytes = 0;
  peer_mismatch_requests = 0;
  forward_error = 0;
  fragments = 0;
  stats_count = 0;
}

/**
 * The table of the node's histograms, in order of publication: the field of `NodeStats` that records, the family that
 * publishes the rollup, its HELP text, and its shape.
 */

/** Five samples with the label `quantile`. */
function quantiles<Field extends string>(field: Field, family: string, help: string) {
  return { field, family, help, shape: 'quantiles' } as const;
}

/** One sample. */
function p99<Field extends string>(field: Field, family: string, help: string) {
  return { field, family, help, shape: 'p99' } as const;
}

/** The rows. */
export const HISTOGRAMS = [
  quantiles('requestLatencyUs', 'svc_request_latency_microseconds', 'Top-level request latency.'),
  quantiles('payloadBytes', 'svc_payload_size_bytes', 'Observed payload sizes.'),
  quantiles(
    'crossRegionLatencyUs',
    'svc_cross_region_latency_microseconds',
    'Cross-region peer round-trip latency.',
  ),
  quantiles('crossZoneLatencyUs', 'svc_cross_zone_latency_microseconds', 'Cross-zone peer latency.'),
  quantiles('serverLatencyUs', 'svc_server_latency_microseconds', 'Backing-server response latency.'),
  quantiles('crossRegionQueueWaitUs', 'svc_cross_region_queue_wait_microseconds', 'Cross-region queue wait.'),
  quantiles('crossZoneQueueWaitUs', 'svc_cross_zone_queue_wait_microseconds', 'Cross-zone queue wait.'),
  quantiles('serverQueueWaitUs', 'svc_server_queue_wait_microseconds', 'Server queue wait.'),
  p99('clientOutQueue', 'svc_client_out_queue_p99', '99th percentile of client outbound queue length.'),
  p99('serverInQueue', 'svc_server_in_queue_p99', '99th percentile of server inbound queue length.'),
  p99('serverOutQueue', 'svc_server_out_queue_p99', '99th percentile of server outbound queue length.'),
  p99(
    'dnodeClientOutQueue',
    'svc_dnode_client_out_queue_p99',
    '99th percentile of peer-plane client outbound queue length.',
  ),
  p99('peerInQueue', 'svc_peer_in_queue_p99', '99th percentile of local-DC peer inbound queue length.'),
  p99('peerOutQueue', 'svc_peer_out_queue_p99', '99th percentile of local-DC peer outbound queue length.'),
  p99(
    'remotePeerInQueue',
    'svc_remote_peer_in_queue_p99',
    '99th percentile of remote-DC peer inbound queue length.',
  ),
  p99(
    'remotePeerOutQueue',
    'svc_remote_peer_out_queue_p99',
    '99th percentile of remote-DC peer outbound queue length.',
  ),
] as const;

/** The field names of the histograms in `NodeStats`. */
export type HistogramName = (typeof HISTOGRAMS)[number]['field'];

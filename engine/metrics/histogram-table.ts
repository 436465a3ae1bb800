/**
 * The table of the node's histograms, in order of publication: the field of `NodeStats` that records, the family that
 * publishes the rollup, and its shape (`quantiles`: five samples with the label `quantile`; `p99`: one sample).
 */
interface HistogramRow {
  readonly field: string;
  readonly family: string;
  readonly shape: 'quantiles' | 'p99';
  readonly help: string;
}

/** The rows. */
export const HISTOGRAMS = [
  {
    field: 'requestLatencyUs',
    family: 'svc_request_latency_microseconds',
    shape: 'quantiles',
    help: 'Top-level request latency.',
  },
  {
    field: 'payloadBytes',
    family: 'svc_payload_size_bytes',
    shape: 'quantiles',
    help: 'Observed payload sizes.',
  },
  {
    field: 'crossRegionLatencyUs',
    family: 'svc_cross_region_latency_microseconds',
    shape: 'quantiles',
    help: 'Cross-region peer round-trip latency.',
  },
  {
    field: 'crossZoneLatencyUs',
    family: 'svc_cross_zone_latency_microseconds',
    shape: 'quantiles',
    help: 'Cross-zone peer latency.',
  },
  {
    field: 'serverLatencyUs',
    family: 'svc_server_latency_microseconds',
    shape: 'quantiles',
    help: 'Backing-server response latency.',
  },
  {
    field: 'crossRegionQueueWaitUs',
    family: 'svc_cross_region_queue_wait_microseconds',
    shape: 'quantiles',
    help: 'Cross-region queue wait.',
  },
  {
    field: 'crossZoneQueueWaitUs',
    family: 'svc_cross_zone_queue_wait_microseconds',
    shape: 'quantiles',
    help: 'Cross-zone queue wait.',
  },
  {
    field: 'serverQueueWaitUs',
    family: 'svc_server_queue_wait_microseconds',
    shape: 'quantiles',
    help: 'Server queue wait.',
  },
  {
    field: 'clientOutQueue',
    family: 'svc_client_out_queue_p99',
    shape: 'p99',
    help: '99th percentile of client outbound queue length.',
  },
  {
    field: 'serverInQueue',
    family: 'svc_server_in_queue_p99',
    shape: 'p99',
    help: '99th percentile of server inbound queue length.',
  },
  {
    field: 'serverOutQueue',
    family: 'svc_server_out_queue_p99',
    shape: 'p99',
    help: '99th percentile of server outbound queue length.',
  },
  {
    field: 'dnodeClientOutQueue',
    family: 'svc_dnode_client_out_queue_p99',
    shape: 'p99',
    help: '99th percentile of peer-plane client outbound queue length.',
  },
  {
    field: 'peerInQueue',
    family: 'svc_peer_in_queue_p99',
    shape: 'p99',
    help: '99th percentile of local-DC peer inbound queue length.',
  },
  {
    field: 'peerOutQueue',
    family: 'svc_peer_out_queue_p99',
    shape: 'p99',
    help: '99th percentile of local-DC peer outbound queue length.',
  },
  {
    field: 'remotePeerInQueue',
    family: 'svc_remote_peer_in_queue_p99',
    shape: 'p99',
    help: '99th percentile of remote-DC peer inbound queue length.',
  },
  {
    field: 'remotePeerOutQueue',
    family: 'svc_remote_peer_out_queue_p99',
    shape: 'p99',
    help: '99th percentile of remote-DC peer outbound queue length.',
  },
] as const satisfies readonly HistogramRow[];

/** The field names of the histograms in `NodeStats`. */
export type HistogramName = (typeof HISTOGRAMS)[number]['field'];

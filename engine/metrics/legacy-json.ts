/**
 * Renders the legacy JSON of `/`, `/info` and `/stats`: one line without spaces, keys in a fixed order, byte for byte
 * as Dynomite's stats port does (golden in `testdata/`). The text is built from an ordered list, not from an object: an
 * object would move a pool named `8098` to the front.
 */
import type { Rollup } from './histogram.ts';
import { poolFields, serverFields } from './fixed-fields.ts';
import type { StatsSnapshot } from './snapshot.ts';

type Entry = readonly [key: string, value: string | number | readonly Entry[]];

/** Value of the key `service`. */
export const serviceName = 'lockstep';

/** The JSON as one line, without a line end. */
export function renderLegacyJson(snapshot: StatsSnapshot): string {
  return formatEntries(entriesOf(snapshot));
}

/** The same entries for people: one a line, indented by two spaces, with a final line end. */
export function renderPrettyJson(snapshot: StatsSnapshot): string {
  return `${formatPretty(entriesOf(snapshot), '')}\n`;
}

function entriesOf(snapshot: StatsSnapshot): readonly Entry[] {
  const { identity } = snapshot;
  return [
    ['service', serviceName],
    ['source', identity.source],
    ['version', identity.version],
    ['uptime', snapshot.uptimeSeconds],
    ['timestamp', snapshot.timestampSeconds],
    ['rack', identity.rack],
    ['dc', identity.dc],
    ...rollupEntries('latency', snapshot.rollups.requestLatencyUs),
    ...rollupEntries('payload_size', snapshot.rollups.payloadBytes),
    ...waitEntries(snapshot),
    ...queueEntries(snapshot),
    ['alloc_msgs', snapshot.allocMsgs],
    ['free_msgs', snapshot.freeMsgs],
    ['alloc_mbufs', snapshot.allocMbufs],
    ['free_mbufs', snapshot.freeMbufs],
    ['dyn_memory', snapshot.residentBytes],
    [identity.pool, poolEntries(snapshot)],
  ];
}

function rollupEntries(name: string, rollup: Rollup): readonly Entry[] {
  return [
    [`${name}_max`, rollup.max],
    [`${name}_999th`, rollup.p999],
    [`${name}_99th`, rollup.p99],
    [`${name}_95th`, rollup.p95],
    [`${name}_mean`, rollup.mean],
  ];
}

function waitEntries({ rollups }: StatsSnapshot): readonly Entry[] {
  return [
    ...meanAndP99('cross_region_rtt', rollups.crossRegionLatencyUs),
    ...meanAndP99('cross_zone_latency', rollups.crossZoneLatencyUs),
    ...meanAndP99('server_latency', rollups.serverLatencyUs),
    ...meanAndP99('cross_region_queue_wait', rollups.crossRegionQueueWaitUs),
    ...meanAndP99('cross_zone_queue_wait', rollups.crossZoneQueueWaitUs),
    ...meanAndP99('server_queue_wait', rollups.serverQueueWaitUs),
  ];
}

function meanAndP99(name: string, rollup: Rollup): readonly Entry[] {
  return [
    [`average_${name}`, rollup.mean],
    [`99_${name}`, rollup.p99],
  ];
}

function queueEntries({ rollups }: StatsSnapshot): readonly Entry[] {
  return [
    ['client_out_queue_99', rollups.clientOutQueue.p99],
    ['server_in_queue_99', rollups.serverInQueue.p99],
    ['server_out_queue_99', rollups.serverOutQueue.p99],
    ['dnode_client_out_queue_99', rollups.dnodeClientOutQueue.p99],
    ['peer_in_queue_99', rollups.peerInQueue.p99],
    ['peer_out_queue_99', rollups.peerOutQueue.p99],
    // Out before in, as in the original.
    ['remote_peer_out_queue_99', rollups.remotePeerOutQueue.p99],
    ['remote_peer_in_queue_99', rollups.remotePeerInQueue.p99],
  ];
}

function poolEntries({ identity, pool, server }: StatsSnapshot): readonly Entry[] {
  const ofPool = poolFields.map((field, index): Entry => [field, pool[index] ?? 0]);
  const ofServer = serverFields.map((field, index): Entry => [field, server[index] ?? 0]);
  return [...ofPool, [identity.server, ofServer]];
}

function formatEntries(entries: readonly Entry[]): string {
  const members = entries.map(([key, value]) => {
    const text = typeof value === 'object' ? formatEntries(value) : JSON.stringify(value);
    return `${JSON.stringify(key)}:${text}`;
  });
  return `{${members.join(',')}}`;
}

function formatPretty(entries: readonly Entry[], indent: string): string {
  const inner = `${indent}  `;
  const members = entries.map(([key, value]) => {
    const text = typeof value === 'object' ? formatPretty(value, inner) : JSON.stringify(value);
    return `${inner}${JSON.stringify(key)}: ${text}`;
  });
  return `{\n${members.join(',\n')}\n${indent}}`;
}

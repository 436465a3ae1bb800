/**
 * A stats snapshot as metric families, in the order of the service document: base families, pool, server, peer states,
 * histograms, failure causes, anti-entropy, then whatever rooms registered.
 */
import type { CodecRow } from './codec-row.ts';
import { codecFamilyName } from './codec-row.ts';
import type { CollectedFamily, FamilyType, Labels, Sample } from './family.ts';
import { noLabels } from './family.ts';
import type { Rollup } from './histogram.ts';
import { HISTOGRAMS } from './histogram-table.ts';
import { POOL_CODEC } from './pool-codec.ts';
import { SERVER_CODEC } from './server-codec.ts';
import type { StatsSnapshot } from './snapshot.ts';

export function familiesOf(snapshot: StatsSnapshot): readonly CollectedFamily[] {
  const { identity } = snapshot;
  return [
    ...baseFamilies(snapshot),
    ...codecFamilies('pool', identity.pool, POOL_CODEC, snapshot.pool),
    ...codecFamilies('server', identity.server, SERVER_CODEC, snapshot.server),
    ...snapshot.peerState,
    ...histogramFamilies(snapshot),
    ...snapshot.families,
  ];
}

function baseFamilies(snapshot: StatsSnapshot): readonly CollectedFamily[] {
  const { version, source, rack, dc } = snapshot.identity;
  return [
    family('svc_build_info', 'Identification of the running engine; value always 1.', 'gauge', [
      { labels: { version, source, rack, dc }, value: 1 },
    ]),
    plain('svc_uptime_seconds', 'Seconds since engine start.', snapshot.uptimeSeconds),
    plain(
      'svc_timestamp_seconds',
      'Wall-clock seconds since the UNIX epoch at snapshot time.',
      snapshot.timestampSeconds,
    ),
    plain('svc_alloc_msgs', 'Message structs currently allocated.', snapshot.allocMsgs),
    plain('svc_free_msgs', 'Message structs on the free list.', snapshot.freeMsgs),
    plain('svc_alloc_mbufs', 'Mbuf chunks currently allocated.', snapshot.allocMbufs),
    plain('svc_free_mbufs', 'Mbuf chunks on the free list.', snapshot.freeMbufs),
    plain('svc_memory_bytes', 'Resident set size in bytes.', snapshot.residentBytes),
  ];
}

function codecFamilies(
  group: 'pool' | 'server',
  name: string,
  codec: readonly CodecRow[],
  values: readonly number[],
): readonly CollectedFamily[] {
  const labels: Labels = Object.freeze({ [group]: name });
  return codec.map((row, index) => {
    const type = row.kind === 'counter' ? 'counter' : 'gauge';
    return family(codecFamilyName(group, row), row.help, type, [{ labels, value: values[index] ?? 0 }]);
  });
}

function histogramFamilies(snapshot: StatsSnapshot): readonly CollectedFamily[] {
  return HISTOGRAMS.map((row) => {
    const rollup = snapshot.rollups[row.field];
    return row.shape === 'p99'
      ? plain(row.family, row.help, rollup.p99)
      : family(row.family, row.help, 'gauge', quantileSamples(rollup));
  });
}

/** One object for each label, since the text of labels is kept by their object (exposition.ts). */
const quantiles = Object.freeze({
  mean: Object.freeze({ quantile: 'mean' }),
  p95: Object.freeze({ quantile: '0.95' }),
  p99: Object.freeze({ quantile: '0.99' }),
  p999: Object.freeze({ quantile: '0.999' }),
  max: Object.freeze({ quantile: 'max' }),
});

function quantileSamples(rollup: Rollup): readonly Sample[] {
  return [
    { labels: quantiles.mean, value: rollup.mean },
    { labels: quantiles.p95, value: rollup.p95 },
    { labels: quantiles.p99, value: rollup.p99 },
    { labels: quantiles.p999, value: rollup.p999 },
    { labels: quantiles.max, value: rollup.max },
  ];
}

function plain(name: string, help: string, value: number): CollectedFamily {
  return family(name, help, 'gauge', [{ labels: noLabels, value }]);
}

function family(name: string, help: string, type: FamilyType, samples: readonly Sample[]): CollectedFamily {
  const labels = Object.keys(samples[0]?.labels ?? noLabels);
  return { family: { name, help, type, labels }, samples };
}

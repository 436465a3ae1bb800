/**
 * Converts a snapshot to metric families, in order of publication: base families, pool, server, peer states,
 * histograms, failure causes, anti-entropy, then the registered families.
 */
import { present } from '../base/assert.ts';
import type { CollectedFamily, Family, Labels, Sample } from './family.ts';
import { noLabels } from './family.ts';
import { poolFamilies, serverFamilies } from './fixed-fields.ts';
import type { Rollup } from './histogram.ts';
import { HISTOGRAMS } from './histogram-table.ts';
import type { StatsIdentity, StatsSnapshot } from './snapshot.ts';

/** All families of a snapshot. */
export function familiesOf(snapshot: StatsSnapshot): readonly CollectedFamily[] {
  const { pool, server } = snapshot.identity;
  const families = baseFamilies(snapshot);
  addFixed(families, poolFamilies, { pool }, snapshot.pool);
  addFixed(families, serverFamilies, { server }, snapshot.server);
  families.push(...snapshot.peerState);
  addHistograms(families, snapshot);
  families.push(...snapshot.families);
  return families;
}

const buildInfo: Family = {
  name: 'svc_build_info',
  help: 'Identification of the running engine; value always 1.',
  type: 'gauge',
  labels: ['version', 'source', 'rack', 'dc'],
};

/** The leading gauges without labels, and their values. */
const plainGauges: readonly (readonly [Family, (snapshot: StatsSnapshot) => number])[] = [
  [plain('svc_uptime_seconds', 'Seconds since engine start.'), (snapshot) => snapshot.uptimeSeconds],
  [
    plain('svc_timestamp_seconds', 'Wall-clock seconds since the UNIX epoch at snapshot time.'),
    (snapshot) => snapshot.timestampSeconds,
  ],
  [plain('svc_alloc_msgs', 'Message structs currently allocated.'), (snapshot) => snapshot.allocMsgs],
  [plain('svc_free_msgs', 'Message structs on the free list.'), (snapshot) => snapshot.freeMsgs],
  [plain('svc_alloc_mbufs', 'Mbuf chunks currently allocated.'), (snapshot) => snapshot.allocMbufs],
  [plain('svc_free_mbufs', 'Mbuf chunks on the free list.'), (snapshot) => snapshot.freeMbufs],
  [plain('svc_memory_bytes', 'Resident set size in bytes.'), (snapshot) => snapshot.residentBytes],
];

const histogramFamilies: readonly Family[] = HISTOGRAMS.map(({ family, help, shape }) =>
  shape === 'p99' ? plain(family, help) : { name: family, help, type: 'gauge', labels: ['quantile'] },
);

function baseFamilies(snapshot: StatsSnapshot): CollectedFamily[] {
  const build = { family: buildInfo, samples: [{ labels: buildLabels(snapshot.identity), value: 1 }] };
  return [build, ...plainGauges.map(([family, read]) => one(family, noLabels, read(snapshot)))];
}

function buildLabels({ version, source, rack, dc }: StatsIdentity): Labels {
  return { version, source, rack, dc };
}

function addFixed(
  to: CollectedFamily[],
  families: readonly Family[],
  labels: Labels,
  values: readonly number[],
): void {
  for (let index = 0; index < families.length; index++) {
    to.push(one(present(families[index], 'a family of the fixed fields'), labels, values[index] ?? 0));
  }
}

function addHistograms(to: CollectedFamily[], { rollups }: StatsSnapshot): void {
  HISTOGRAMS.forEach(({ field, shape }, index) => {
    const family = present(histogramFamilies[index], 'the family of a histogram');
    const rollup = rollups[field];
    to.push(
      shape === 'p99' ? one(family, noLabels, rollup.p99) : { family, samples: quantileSamples(rollup) },
    );
  });
}

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

function one(family: Family, labels: Labels, value: number): CollectedFamily {
  return { family, samples: [{ labels, value }] };
}

function plain(name: string, help: string): Family {
  return { name, help, type: 'gauge', labels: [] };
}

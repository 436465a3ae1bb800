/**
 * `stats-agreement` (INV25), the two formats of the stats listener agree. For one snapshot, every number of the legacy
 * JSON equals its sample in the text exposition, every sample with a place in the JSON is there, and the text is
 * well-formed. The tables below follow the interface (spec/stats-codecs.md and the service document), independently of
 * the engine. Each scrape is one comparison. Skipped: scrapes without a snapshot (node down), or with two different
 * ones.
 */
import type { ExpositionReader, ParsedFamily, ParsedSample } from './exposition-text.ts';
import { ExpositionError, expositionReader } from './exposition-text.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** One scrape of a node's `/stats` and `/metrics`; `seen` only if both showed the same snapshot. */
export interface StatsSample {
  readonly id: string;
  readonly node: string;
  readonly atUs: number;
  readonly seen: { readonly stats: string; readonly metrics: string } | undefined;
}

/** The result of comparing the two formats. */
export interface StatsAgreement {
  /** Number of numbers and texts found in both. */
  readonly compared: number;
  /** Sentences; empty when the formats agree. */
  readonly differences: readonly string[];
}

/** What clients received of `/stats` and `/metrics`. */
export interface ScrapeEvidence {
  readonly scrapes: readonly StatsSample[];
  readonly reader: ExpositionReader;
}

/** The row of `stats-agreement`. */
export const statsAgreementRow = invariant({
  name: 'stats-agreement',
  code: 'INV25',
  promise: '/stats and /metrics show the same numbers',
  gravity: 'operations',
  breach: 'two dashboards of one node disagree',
  needs: [],
  everydayFloor: 3,
  check: ({ scrapes, reader }: ScrapeEvidence) => checkStatsAgreement(scrapes, reader),
});

/** Checks every scrape. */
export function checkStatsAgreement(looks: readonly StatsSample[], parse = expositionReader()): CheckReport {
  const tally = new Tally('stats-agreement');
  for (const { id, node, atUs, seen } of looks) {
    if (seen === undefined) {
      tally.skip();
      continue;
    }
    const { differences } = compareStats(seen.stats, seen.metrics, parse);
    tally.compare(differences.length === 0, atUs, () => {
      const more = differences.length > 3 ? ` and ${differences.length - 3} more` : '';
      return `${id} of ${node}: ${differences.slice(0, 3).join('; ')}${more}`;
    });
  }
  return tally.report();
}

/** Compares the legacy JSON and the text exposition of one snapshot. Malformed text is a difference too. */
export function compareStats(json: string, exposition: string, parse = expositionReader()): StatsAgreement {
  const comparison = new Comparison();
  const families = readFamilies(exposition, comparison, parse);
  const legacy = readJson(json, comparison);
  if (families !== undefined && legacy !== undefined) comparison.run(legacy, families);
  return comparison;
}

/** JSON keys to series, in the JSON's order. */
const plainSeries: readonly (readonly [key: string, series: string])[] = [
  ['uptime', 'svc_uptime_seconds'],
  ['timestamp', 'svc_timestamp_seconds'],
  ...quantileSeries('latency', 'svc_request_latency_microseconds'),
  ...quantileSeries('payload_size', 'svc_payload_size_bytes'),
  ...waitSeries('cross_region_rtt', 'svc_cross_region_latency_microseconds'),
  ...waitSeries('cross_zone_latency', 'svc_cross_zone_latency_microseconds'),
  ...waitSeries('server_latency', 'svc_server_latency_microseconds'),
  ...waitSeries('cross_region_queue_wait', 'svc_cross_region_queue_wait_microseconds'),
  ...waitSeries('cross_zone_queue_wait', 'svc_cross_zone_queue_wait_microseconds'),
  ...waitSeries('server_queue_wait', 'svc_server_queue_wait_microseconds'),
  ['client_out_queue_99', 'svc_client_out_queue_p99'],
  ['server_in_queue_99', 'svc_server_in_queue_p99'],
  ['server_out_queue_99', 'svc_server_out_queue_p99'],
  ['dnode_client_out_queue_99', 'svc_dnode_client_out_queue_p99'],
  ['peer_in_queue_99', 'svc_peer_in_queue_p99'],
  ['peer_out_queue_99', 'svc_peer_out_queue_p99'],
  ['remote_peer_out_queue_99', 'svc_remote_peer_out_queue_p99'],
  ['remote_peer_in_queue_99', 'svc_remote_peer_in_queue_p99'],
  ['alloc_msgs', 'svc_alloc_msgs'],
  ['free_msgs', 'svc_free_msgs'],
  ['alloc_mbufs', 'svc_alloc_mbufs'],
  ['free_mbufs', 'svc_free_mbufs'],
  ['dyn_memory', 'svc_memory_bytes'],
];

const plainFamilies = new Set(plainSeries.map(([, series]) => series.replace(/\{.*/, '')));

/** The JSON has the mean and the 99th percentile of these families, the text five quantiles. */
const waitFamilies: readonly string[] = [
  'svc_cross_region_latency_microseconds',
  'svc_cross_zone_latency_microseconds',
  'svc_server_latency_microseconds',
  'svc_cross_region_queue_wait_microseconds',
  'svc_cross_zone_queue_wait_microseconds',
  'svc_server_queue_wait_microseconds',
];
const textOnlyQuantiles: readonly string[] = ['0.95', '0.999', 'max'];

/** JSON keys whose texts are labels of `svc_build_info`. */
const identityKeys: readonly string[] = ['version', 'source', 'rack', 'dc'];

const plainKeys = new Set(['service', ...identityKeys, ...plainSeries.map(([key]) => key)]);

/** The number of fields in a group, and the fields that are no counters. */
interface FieldGroup {
  readonly label: string;
  readonly count: number;
  readonly gauges: readonly string[];
}

const poolGroup: FieldGroup = {
  label: 'pool',
  count: 45,
  gauges: [
    'client_connections',
    ...['', '_bytes'].flatMap((bytes) => [
      `dnode_client_in_queue${bytes}`,
      `dnode_client_out_queue${bytes}`,
      `peer_in_queue${bytes}`,
      `peer_out_queue${bytes}`,
      `remote_peer_in_queue${bytes}`,
      `remote_peer_out_queue${bytes}`,
    ]),
    'dnode_client_connections',
    'peer_connections',
    'peer_forward_error',
    'peer_ejected_at',
  ],
};

const serverGroup: FieldGroup = {
  label: 'server',
  count: 34,
  gauges: ['server_ejected_at', 'in_queue', 'in_queue_bytes', 'out_queue', 'out_queue_bytes'],
};

function quantileSeries(key: string, family: string): readonly (readonly [string, string])[] {
  return [
    [`${key}_max`, withQuantile(family, 'max')],
    [`${key}_999th`, withQuantile(family, '0.999')],
    [`${key}_99th`, withQuantile(family, '0.99')],
    [`${key}_95th`, withQuantile(family, '0.95')],
    [`${key}_mean`, withQuantile(family, 'mean')],
  ];
}

function waitSeries(key: string, family: string): readonly (readonly [string, string])[] {
  return [
    [`average_${key}`, withQuantile(family, 'mean')],
    [`99_${key}`, withQuantile(family, '0.99')],
  ];
}

function withQuantile(family: string, quantile: string): string {
  return `${family}{quantile="${quantile}"}`;
}

type JsonObject = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readFamilies(
  text: string,
  comparison: Comparison,
  parse: ExpositionReader,
): readonly ParsedFamily[] | undefined {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof ExpositionError)) throw error;
    comparison.differ(`/metrics is malformed, ${error.message}`);
    return undefined;
  }
}

function readJson(text: string, comparison: Comparison): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Said below.
  }
  comparison.differ(`the legacy JSON is no JSON object: ${text.slice(0, 60)}`);
  return undefined;
}

class Comparison implements StatsAgreement {
  compared = 0;
  readonly differences: string[] = [];
  readonly #unmatched = new Map<string, ParsedSample>();

  differ(sentence: string): void {
    this.differences.push(sentence);
  }

  run(legacy: JsonObject, families: readonly ParsedFamily[]): void {
    for (const { samples } of families) {
      for (const sample of samples) this.#unmatched.set(sample.series, sample);
    }
    this.#compareIdentity(legacy, families.find(({ name }) => name === 'svc_build_info')?.samples ?? []);
    for (const [key, series] of plainSeries) this.#compareNumber(key, legacy[key], series);
    const [poolName = '', ...more] = Object.keys(legacy).filter((key) => !plainKeys.has(key));
    if (more.length > 0) this.differ(`the JSON has keys that nobody knows: ${more.join(', ')}`);
    this.#comparePool(poolName, legacy[poolName]);
    for (const sample of this.#unmatched.values()) this.#mayBeTextOnly(sample);
  }

  /** `svc_build_info` has one sample, whose labels equal the JSON's texts. */
  #compareIdentity(legacy: JsonObject, infos: readonly ParsedSample[]): void {
    if (infos.length !== 1) this.differ(`svc_build_info has ${infos.length} samples`);
    for (const key of identityKeys) {
      this.compared += 1;
      const label = infos[0]?.labels.get(key);
      if (label === undefined || legacy[key] !== label) {
        this.differ(
          `${key} is ${JSON.stringify(legacy[key])} in the JSON, ${JSON.stringify(label)} in the text`,
        );
      }
    }
  }

  #comparePool(poolName: string, pool: unknown): void {
    if (!isObject(pool)) return this.differ('the JSON has no object named after the pool');
    const [serverName] = Object.keys(pool).filter((key) => isObject(pool[key]));
    const server = serverName === undefined ? undefined : pool[serverName];
    if (serverName === undefined || !isObject(server)) {
      return this.differ('the JSON has no object named after the server');
    }
    const fields = Object.entries(pool).filter(([key]) => key !== serverName);
    this.#compareFields(poolGroup, poolName, fields);
    this.#compareFields(serverGroup, serverName, Object.entries(server));
  }

  #compareFields(
    { label, count, gauges }: FieldGroup,
    name: string,
    fields: readonly (readonly [string, unknown])[],
  ): void {
    if (fields.length !== count) this.differ(`the ${label} has ${fields.length} fields, not ${count}`);
    const labels = `{${label}=${JSON.stringify(name)}}`;
    for (const [field, value] of fields) {
      const suffix = gauges.includes(field) ? '' : '_total';
      const series = `svc_${label}_${field}${suffix}${labels}`;
      this.#compareNumber(`${label}.${field}`, value, series);
    }
  }

  #compareNumber(key: string, value: unknown, series: string): void {
    this.compared += 1;
    const sample = this.#unmatched.get(series);
    this.#unmatched.delete(series);
    if (!Number.isInteger(value))
      this.differ(`${key} is ${JSON.stringify(value)} in the JSON, no whole number`);
    else if (sample === undefined) this.differ(`${key} is in the JSON, but the text has no ${series}`);
    else if (sample.value !== value) {
      this.differ(`${key} is ${JSON.stringify(value)} in the JSON, ${series} is ${sample.value} in the text`);
    }
  }

  /** A remaining sample must belong to a family without a place in the JSON. */
  #mayBeTextOnly(sample: ParsedSample): void {
    const { name, labels } = sample;
    const quantile = labels.get('quantile');
    if (waitFamilies.includes(name) && quantile !== undefined && textOnlyQuantiles.includes(quantile)) return;
    const hasPlace = labels.has('pool') || labels.has('server') || plainFamilies.has(name);
    if (hasPlace) this.differ(`${sample.series} is in the text, but not in the JSON`);
  }
}

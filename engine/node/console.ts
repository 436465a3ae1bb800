/** What a node reports of itself and of the cluster for the console (`GET /console/overview`). */
import type { ClusterControl } from '../api/http/cluster-routes.ts';
import type {
  ConsoleInDoubt,
  ConsoleLatencies,
  ConsoleVersions,
  LatencySeries,
  NodeReport,
  RingPicture,
} from '../api/http/console-answers.ts';
import type { ConsoleSource } from '../api/http/console-routes.ts';
import type { AntiEntropyAdmin } from '../api/http/anti-entropy-routes.ts';
import type { HealthSource } from '../api/stats/health.ts';
import { notReadyReasons } from '../api/stats/health.ts';
import type { Token } from '../base/ids.ts';
import { version } from '../base/version.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Ring } from '../cluster/ring/ring.ts';
import type { Io } from '../io/io.ts';
import { bucketEndsSeconds } from '../metrics/native-histogram.ts';
import type { StatsSnapshot } from '../metrics/snapshot.ts';
import type { TransactionService } from '../transactions/transactions.ts';

/** The modules that the report reads. */
export interface ConsoleDependencies {
  readonly io: Pick<Io, 'clock'>;
  readonly health: HealthSource;
  readonly membership: Pick<Membership, 'ring'>;
  readonly cluster: Pick<ClusterControl, 'describe'>;
  readonly transactions: Pick<TransactionService, 'inDoubt'>;
  /** Undefined if anti-entropy is off. */
  readonly antiEntropy: Pick<AntiEntropyAdmin, 'describe'> | undefined;
  /** The snapshot that was published last. */
  readonly snapshot: () => StatsSnapshot;
  readonly versions: () => Promise<ConsoleVersions['members']>;
}

/** The slots that the token space is drawn with. */
const slots = 360;
/** The most transactions in doubt of one report; their total is stated beside them. */
const inDoubtMax = 100;

/** The families whose sums the report has: repairs, hints, anti-entropy, and the size of the store. */
const countedFamilies: ReadonlySet<string> = new Set([
  'svc_read_repairs_total',
  'svc_hints_total',
  'svc_hints_kept',
  'svc_hints_kept_bytes',
  'svc_store_keys',
  'svc_store_disk_bytes',
  'svc_store_live_bytes',
  'aae_exchange_attempts_total',
  'aae_exchange_success_total',
  'aae_exchange_divergent_keys_total',
  'aae_repair_dispatched_total',
  'svc_aae_exchanges_aborted_total',
]);

/** The source of the console's facts over one node's modules. */
export function consoleSource(parts: ConsoleDependencies): ConsoleSource {
  let drawn: { readonly ring: Ring; readonly picture: RingPicture } | undefined;
  const pictureNow = (): RingPicture => {
    const { ring } = parts.membership;
    // A ring is immutable, so its picture is drawn once.
    if (drawn?.ring !== ring) drawn = { ring, picture: pictureOf(ring) };
    return drawn.picture;
  };
  return {
    versions: async () => ({ members: await parts.versions() }),
    report: () => reportOf(parts, pictureNow()),
  };
}

function reportOf(parts: ConsoleDependencies, ring: RingPicture): NodeReport {
  const { io, health, cluster, antiEntropy } = parts;
  const snapshot = parts.snapshot();
  const inDoubt = parts.transactions.inDoubt();
  return {
    node: health.node,
    version,
    time_ms: io.clock.wallMs(),
    uptime_seconds: snapshot.uptimeSeconds,
    not_ready: health.notReady.map((code) => ({ code, detail: notReadyReasons[code] })),
    cluster: cluster.describe(),
    ring,
    in_doubt: {
      total: inDoubt.length,
      transactions: inDoubt.slice(0, inDoubtMax).map((entry): ConsoleInDoubt => ({
        transaction_id: entry.xid,
        role: entry.role,
        state: entry.state,
        coordinator: entry.coordinator,
        branches: entry.branches,
        lost: entry.lost,
        age_ms: entry.ageMs,
      })),
    },
    anti_entropy: antiEntropy?.describe() ?? null,
    counts: countsOf(snapshot),
    latencies: latenciesOf(snapshot),
  };
}

/** Who owns each slot's middle token, rack by rack. */
export function pictureOf(ring: Ring): RingPicture {
  const racks = new Map<string, { datacenter: string; rack: string; runs: [string, number][] }>();
  for (let slot = 0; slot < slots; slot++) {
    const token = Math.floor(((slot + 0.5) * 2 ** 32) / slots) as Token;
    for (const { node, datacenter, rack } of ring.placement(token)) {
      const name = JSON.stringify([datacenter, rack]);
      const line = racks.get(name) ?? { datacenter, rack, runs: [] };
      racks.set(name, line);
      const last = line.runs.at(-1);
      if (last?.[0] === node) last[1] += 1;
      else line.runs.push([node, 1]);
    }
  }
  const names = [...racks.keys()].sort();
  return { slots, racks: names.flatMap((name) => racks.get(name) ?? []) };
}

function countsOf({ families }: StatsSnapshot): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { family, samples } of families) {
    if (!countedFamilies.has(family.name)) continue;
    const [label] = family.labels;
    for (const { labels, value } of samples) {
      counts[family.name] = (counts[family.name] ?? 0) + value;
      if (family.labels.length !== 1 || label === undefined) continue;
      const name = `${family.name}.${labels[label] ?? ''}`;
      counts[name] = (counts[name] ?? 0) + value;
    }
  }
  return counts;
}

function latenciesOf({ families, rollups, recorded }: StatsSnapshot): ConsoleLatencies {
  const found = families.find(({ family }) => family.name === 'svc_request_duration_seconds');
  const series = new Map<string, { protocol: string; operation: string; counts: number[] }>();
  for (const { labels, value, suffix } of found?.samples ?? []) {
    if (suffix !== '_bucket') continue;
    const protocol = String(labels['protocol'] ?? '');
    const operation = String(labels['operation'] ?? '');
    const name = `${protocol} ${operation}`;
    const one: LatencySeries & { counts: number[] } = series.get(name) ?? { protocol, operation, counts: [] };
    one.counts.push(value);
    series.set(name, one);
  }
  const recent = { ...rollups.requestLatencyUs, count: recorded.requestLatencyUs };
  return { ends: bucketEndsSeconds, series: [...series.values()], recent };
}

/**
 * The counters of processes: each process's against what clients asked of it, by the equations of `metrics-reconcile`;
 * and, where nothing disturbed either run, their sums against the world's.
 */
import { parseExposition } from '../check/metrics/exposition-text.ts';
import type { CountedSample } from '../check/metrics/reconcile/account.ts';
import { clientEquations } from '../check/metrics/reconcile/client-equations.ts';
import { Numbers } from '../check/metrics/reconcile/numbers.ts';
import type { ClientsTruth } from './client-wire.ts';
import type { Comparer } from './difference.ts';
import type { CountedProcess } from './process-run.ts';
import type { WorldOutcome } from './world-run.ts';

/** Claims about numbers that no exposition holds, or about moments: the count of connections, and which side ended. */
const notOutside: readonly string[] = [
  'requests of the latency histogram',
  'requests of client_out_queue',
  'values of the payload histogram',
  'client_connections',
  'svc_stats_connections',
  'client_eof',
  'stats_count',
];

/** Counters of the pool that the same requests must leave in any cluster. */
const fromRequests = ['client_read_requests', 'client_write_requests'] as const;

/** Compares each process's counters with what was asked of it. */
export function reconcileProcesses(counted: readonly CountedProcess[], comparer: Comparer): void {
  for (const { node, life, metrics, truth } of counted) {
    if (metrics === undefined) {
      comparer.compare('counter', `${node}: /metrics`, 'answers', 'does not answer');
      continue;
    }
    if (truth === undefined) continue;
    const numbers = new Numbers({ counted: samplesOf(metrics), recorded: {} });
    const lost = lostIn(truth);
    for (const { what, value, least, most } of clientEquations(numbers, { truth })) {
      if (notOutside.includes(what)) continue;
      const broken = what === 'client_err' ? truth.failedConnects : 0;
      const isWithin = value >= least - lost && value <= most + lost + broken;
      const expected = least === most ? String(least) : `${least} to ${most}`;
      comparer.compare(
        'counter',
        `${node} (process ${life}): ${what}`,
        expected,
        isWithin ? expected : String(value),
      );
    }
  }
}

/** Compares sums over all nodes, where clients asked exactly the same in both runs. */
export function compareCounters(
  world: WorldOutcome,
  counted: readonly CountedProcess[],
  comparer: Comparer,
): void {
  for (const field of fromRequests) {
    const sum = counted.reduce((total, { metrics }) => {
      const numbers = new Numbers({ counted: metrics === undefined ? [] : samplesOf(metrics), recorded: {} });
      return total + numbers.pool(field);
    }, 0);
    comparer.compare('counter', `all nodes: ${field}`, String(world.counters.get(field) ?? 0), String(sum));
  }
}

/** Requests whose end the clients did not see: the node may have counted them, or their failure, or not. */
function lostIn({ clients, redis }: ClientsTruth): number {
  return clients.abandonedGets + clients.abandonedWrites + redis.abandoned;
}

function samplesOf(text: string): readonly CountedSample[] {
  return parseExposition(text).flatMap(({ type, samples }) =>
    type === 'counter' || type === 'gauge'
      ? samples.map(({ name, labels, value }) => {
          return { family: name, type, labels: Object.fromEntries(labels), value };
        })
      : [],
  );
}

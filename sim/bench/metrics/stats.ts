/**
 * `npm run bench stats`: the cost of counting (nanoseconds and bytes of garbage per operation), of a publication
 * (milliseconds, both formats), and the gain of the frame path's pools. Medians of rounds, in one process.
 */
import { performance } from 'node:perf_hooks';

import { Exposition } from '../../../engine/metrics/exposition.ts';
import { renderLegacyJson } from '../../../engine/metrics/legacy-json.ts';
import { NodeStats } from '../../../engine/metrics/node-stats.ts';
import type { StatsIdentity } from '../../../engine/metrics/snapshot.ts';
import { takeSnapshot } from '../../../engine/metrics/snapshot.ts';
import { figure, median, table } from '../figures.ts';
import { poolCosts } from './pools.ts';

/** Number of rounds and form of the output. */
export interface StatsBenchOptions {
  readonly rounds: number;
  readonly json: boolean;
}

interface Cost {
  readonly name: string;
  readonly nanoseconds: number;
  readonly garbageBytes: number;
}

const identity: StatsIdentity = {
  source: 'n1',
  version: '0.0.0',
  rack: 'rack1',
  dc: 'dc1',
  pool: 'lockstep',
  server: 'store_local',
};

const repetitions = 1_000_000;

/** Runs the benchmark and prints its tables, or one line of JSON. */
export async function run(options: StatsBenchOptions): Promise<void> {
  const costs = recordingCosts(options.rounds);
  const publications = [
    { peers: 2, milliseconds: await publicationMs(2, options.rounds) },
    { peers: 100, milliseconds: await publicationMs(100, options.rounds) },
  ];
  const pools = poolCosts(options.rounds);
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ costs, publications, pools })}\n`);
    return;
  }
  const rows = [
    ['recording', 'ns', 'bytes'],
    ...costs.map((cost) => [cost.name, figure(cost.nanoseconds), figure(cost.garbageBytes)]),
    ['a snapshot and both formats', 'ms', ''],
    ...publications.map((publication) => [
      `${publication.peers} peers`,
      figure(publication.milliseconds),
      '',
    ]),
  ];
  const ofPools = [
    ['pools of the frame path', 'used again, ns', 'made anew, ns'],
    ...pools.map(({ name, pooledNs, anewNs }) => [name, figure(pooledNs), figure(anewNs)]),
  ];
  process.stdout.write(`${table(rows)}\n${table(ofPools)}\n`);
}

function recordingCosts(rounds: number): readonly Cost[] {
  const stats = statsOf(100);
  const values = Array.from({ length: 4096 }, (_, index) => (index * 7919) % 2_000_003);
  return [
    measure('a counter', rounds, () => {
      stats.pool.client_read_requests += 1;
    }),
    measure('a histogram', rounds, (index) => {
      stats.requestLatencyUs.record(values[index & 4095] ?? 0);
    }),
    measure('a failure by peer', rounds, (index) => {
      stats.failures.peerSendFull(index % 100, 'dc1');
    }),
    measure('a failure by level', rounds, () => {
      stats.failures.noTargets('dc1', 'rack1', 'DC_QUORUM');
    }),
  ];
}

function measure(name: string, rounds: number, step: (index: number) => void): Cost {
  const nanoseconds: number[] = [];
  const garbage: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const before = process.memoryUsage().heapUsed;
    const start = performance.now();
    for (let index = 0; index < repetitions; index++) step(index);
    const elapsed = performance.now() - start;
    const grown = process.memoryUsage().heapUsed - before;
    // Round 0 warms up; a garbage collection within a round invalidates its count of garbage.
    if (round > 0) nanoseconds.push((elapsed * 1e6) / repetitions);
    if (round > 0 && grown >= 0) garbage.push(grown / repetitions);
  }
  return { name, nanoseconds: median(nanoseconds), garbageBytes: median(garbage) };
}

async function publicationMs(peers: number, rounds: number): Promise<number> {
  const stats = statsOf(peers);
  const exposition = new Exposition();
  const elapsed: number[] = [];
  for (let sequence = 1; sequence <= rounds * 40; sequence++) {
    const start = performance.now();
    const snapshot = takeSnapshot(stats, identity, {
      sequence,
      uptimeSeconds: sequence,
      timestampSeconds: 1_700_000_000 + sequence,
      residentBytes: 100_000_000,
    });
    Buffer.from(renderLegacyJson(snapshot), 'utf8');
    Buffer.from(await exposition.render(snapshot), 'utf8');
    elapsed.push(performance.now() - start);
  }
  return median(elapsed);
}

/** The metrics of a node that has counted something in every family, with peers in three datacenters of five racks. */
function statsOf(peers: number): NodeStats {
  const stats = new NodeStats();
  stats.failures.startAt('dc1', 'rack1');
  for (let peer = 0; peer < peers; peer++) {
    const dc = `dc${(peer % 3) + 1}`;
    const rack = `rack${(peer % 5) + 1}`;
    stats.failures.addPeer(peer, `n${peer + 2}`, dc, rack, 2);
    stats.failures.setPhi(peer, dc, rack, peer * 13);
    stats.failures.peerStateTransition(peer, 'DOWN', 'NORMAL');
    stats.failures.peerStateTransition(peer, 'NORMAL', 'DOWN');
    stats.antiEntropy.addPeer(peer, dc, rack);
  }
  for (let value = 1; value < 100_000; value += 7) {
    stats.requestLatencyUs.record(value);
    stats.payloadBytes.record(value);
  }
  return stats;
}

/**
 * Tests `metrics-reconcile` over real runs: its equations hold, and they detect a metric that is one too high or too
 * low.
 */
import { beforeAll, describe, expect, it } from 'vitest';

import { present } from '../../engine/base/assert.ts';
import { checkExposition } from '../check/metrics/exposition.ts';
import type { CountedSample, IncarnationAccount } from '../check/metrics/reconcile/account.ts';
import { checkReconciliation, claimsOf } from '../check/metrics/reconcile/reconciliation.ts';
import { runPlan } from '../runner/run.ts';
import { planOfSeed } from '../runner/task.ts';

let accounts: readonly IncarnationAccount[];
let settled: IncarnationAccount;
/** Accounts taken during transactions and after them. */
let contended: readonly IncarnationAccount[];

beforeAll(async () => {
  accounts = (await runPlan({ ...planOfSeed('calm', 1), stormUs: 800_000 })).accounts;
  settled = present(
    accounts.find(({ moment }) => moment === 'settled'),
    'an account after the calm',
  );
  contended = (await runPlan({ ...planOfSeed('conflicting-batches', 1), stormUs: 800_000 })).accounts;
});

/** Families without an equation; reports/README.md gives the reason for each. */
const unequated: readonly RegExp[] = [
  /^svc_(build_info|uptime_seconds|timestamp_seconds|memory_bytes)$/,
  /_microseconds$/,
  /^svc_payload_size_bytes$/,
  /_queue_p99$/,
  /^svc_store_merges_total$/,
  /^svc_wasm_(fuel_used_total|reloads_total|modules.*)$/,
  /^svc_tombstones_/,
];

/** Only the counts of native histograms are exact: a duration that is another one may fit as well. */
const bucketOrSum = /_duration_seconds_(bucket|sum)$/;

/** Families with bounds instead of an equation: one more or one less may be correct as well. */
const bounded: readonly RegExp[] = [
  /^svc_(alloc|free)_mbufs$/,
  /^svc_pool_peer_forward_error$/,
  /^svc_server_read_(request|response)_bytes_total$/,
  /^svc_server_(in|out)_queue_bytes$/,
  /^svc_read_repairs_total$/,
  /^svc_read_disagreements_total$/,
  /^svc_gossip_bytes_total$/,
  /^svc_peer_handshakes_refused_total$/,
  /^gossip_phi_score_milli$/,
  bucketOrSum,
];

function oneOf(patterns: readonly RegExp[], family: string): boolean {
  return patterns.some((pattern) => pattern.test(family));
}

function noticed(index: number, sample: CountedSample, account = settled): boolean {
  const counted = account.counted.map((other, at) => (at === index ? sample : other));
  return !checkReconciliation([{ ...account, counted }], 0).ok;
}

/** Rollups of values, except the longest: other tests compare those. A transaction's whole duration is the client's. */
function isRollup({ labels }: CountedSample): boolean {
  if ('quantile' in labels) return labels['quantile'] !== 'max';
  return 'rollup' in labels && (labels['rollup'] !== 'max' || labels['phase'] === 'total');
}

describe('the reconciliation of metrics', () => {
  it('holds at every instant of a run, crashes and restarts included', async () => {
    expect(checkReconciliation(accounts, 0).reasons).toEqual([]);
    const crashed = await runPlan({ ...planOfSeed('crash-and-restart', 1), stormUs: 1_500_000 });
    expect(checkReconciliation(crashed.accounts, 0).reasons).toEqual([]);
    expect(new Set(crashed.accounts.map(({ moment }) => moment))).toContain('crashed');
    const compared = crashed.reports.find(({ invariant }) => invariant === 'valid-exposition')?.checked ?? 0;
    expect(compared).toBeGreaterThan(
      planOfSeed('crash-and-restart', 1).floors['valid-exposition'] ?? Infinity,
    );
    expect(compared, 'each look and each scrape is due, and no more').toBe(
      crashed.floors['valid-exposition'],
    );
  });

  it('has an equation for every family, except those with a stated reason', () => {
    const { families } = claimsOf(settled);
    const silent = settled.counted.map(({ family }) => family).filter((family) => !families.has(family));
    expect(silent.filter((family) => !oneOf(unequated, family))).toEqual([]);
    expect([...families].filter((family) => oneOf(unequated, family))).toEqual([]);
  });

  it('finds a sample of every family before its first event, so that rates are complete', () => {
    const shown = new Set(settled.counted.map(({ family }) => family));
    expect([...claimsOf(settled).families].filter((family) => !shown.has(family))).toEqual([]);
  });

  it('notices one too many and one too few of every number that the world knows', () => {
    const missed = settled.counted.filter((sample, index) => {
      const { family, value } = sample;
      if (oneOf(unequated, family) || oneOf(bounded, family) || isRollup(sample)) return false;
      const more = noticed(index, { ...sample, value: value + 1 });
      return !more || (value > 0 && !noticed(index, { ...sample, value: value - 1 }));
    });
    expect(missed.map(({ family, labels }) => `${family} ${JSON.stringify(labels)}`)).toEqual([]);
  });

  it('notices one too many and one too few of everything about transactions', () => {
    expect(checkReconciliation(contended, 0).reasons).toEqual([]);
    const seen = new Set<string>();
    const missed: string[] = [];
    // A commit in progress has bounds only: it may have failed and be waiting again.
    const exact = contended.filter(({ truth }) => truth.transactions.oldestKnown);
    for (const account of exact) {
      for (const [index, sample] of account.counted.entries()) {
        const { family, value, labels } = sample;
        if (!family.startsWith('svc_transaction') || isRollup(sample) || bucketOrSum.test(family)) continue;
        if (value > 0) seen.add(family);
        const more = noticed(index, { ...sample, value: value + 1 }, account);
        const less = value === 0 || noticed(index, { ...sample, value: value - 1 }, account);
        if (!more || !less) missed.push(`${family} ${JSON.stringify(labels)}`);
      }
    }
    expect(missed).toEqual([]);
    expect([...seen].sort()).toEqual(
      expect.arrayContaining([
        'svc_transaction_branches_total',
        'svc_transaction_lock_conflicts_total',
        'svc_transaction_locks',
        'svc_transaction_oldest_age_seconds',
        'svc_transaction_phase_latency_seconds',
        'svc_transactions_in_doubt',
        'svc_transactions_prepared',
        'svc_transactions_total',
      ]),
    );
  });

  it('notices a histogram that counted an operation not at all, or twice', () => {
    for (const [histogram, count] of Object.entries(settled.recorded)) {
      const recorded = { ...settled.recorded, [histogram]: count + 1 };
      expect([histogram, checkReconciliation([{ ...settled, recorded }], 0).ok]).toEqual([histogram, false]);
    }
  });
});

describe('the exposition', () => {
  it('may not decrease within an incarnation, and may in the next one', () => {
    const family = 'svc_pool_peer_requests_total';
    const fallen = (life: number): IncarnationAccount => ({
      ...settled,
      life,
      counted: settled.counted.map((one) => (one.family === family ? { ...one, value: one.value - 1 } : one)),
    });
    const { node, life } = settled;
    const series = `${family}{pool="lockstep"}`;
    expect(checkExposition([], [settled, fallen(life)]).reasons[0]).toContain(
      `${node} life ${life}: ${series} fell`,
    );
    expect(checkExposition([], [settled, fallen(life + 1)]).ok).toBe(true);
  });

  it('may not be malformed', () => {
    const look = { id: 's0', node: 'n1', life: 'life 1', atUs: 5, seen: { stats: '{}', metrics: 'x 1' } };
    expect(checkExposition([look], []).firstBad?.text).toContain('the text does not end with a newline');
  });
});

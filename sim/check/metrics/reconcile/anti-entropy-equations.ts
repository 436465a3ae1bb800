/**
 * Equations of anti-entropy. Every exchange that began has ended in one way or is in progress, and its results are
 * counted once. A snapshot is saved, loaded or rejected as the file on the disk demands. `exchange-soundness` checks
 * whether the reported keys differ.
 */
import type { IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, equal } from './claims.ts';
import type { Numbers } from './numbers.ts';

const counters = [
  ['aae_exchange_attempts_total', 'attempts'],
  ['aae_exchange_success_total', 'successes'],
  ['aae_exchange_divergent_keys_total', 'divergentKeys'],
  ['aae_repair_dispatched_total', 'repairs'],
] as const;

const steps = ['settle', 'hashes', 'parts', 'list', 'repair', 'close', 'busy'];

/** The claims about the anti-entropy metrics of one account. */
export function antiEntropyEquations(numbers: Numbers, { truth }: IncarnationAccount): readonly Claim[] {
  const known = truth.antiEntropy;
  const attempts = numbers.sum('aae_exchange_attempts_total');
  const ended = numbers.sum('aae_exchange_success_total') + numbers.sum('svc_aae_exchanges_aborted_total');
  return [
    equal('aae exchanges attempted less those that ended', attempts - ended, known.underWay),
    ...steps.map((step) =>
      equal(
        `svc_aae_exchanges_aborted_total at ${step}`,
        numbers.sum('svc_aae_exchanges_aborted_total', { step }),
        known.abortedAt[step] ?? 0,
      ),
    ),
    ...Object.entries(known.byPlace).flatMap(([place, exchanges]) => {
      const [dc = '', rack = ''] = place.split('/');
      return counters.map(([family, field]) =>
        equal(`${family} of ${place}`, numbers.sum(family, { dc, rack }), exchanges[field]),
      );
    }),
    equal('aae_snapshot_save_total', numbers.sum('aae_snapshot_save_total'), known.saved),
    equal('aae_snapshot_load_total', numbers.sum('aae_snapshot_load_total'), known.loaded),
    equal('aae_snapshot_corruption_total', numbers.sum('aae_snapshot_corruption_total'), known.rejected),
    equal(
      'svc_aae_tree_verify_failures_total',
      numbers.sum('svc_aae_tree_verify_failures_total'),
      known.refuted,
    ),
    between('leaves refuted, of those altered', known.refuted, 0, known.alteredLeaves),
    equal(
      'aae_full_sweep_last_completed_seconds_gauge, over all peers',
      numbers.sum('aae_full_sweep_last_completed_seconds_gauge'),
      known.sweptSeconds,
    ),
    ...numbers
      .samples('aae_tree_segments_dirty_gauge')
      .map(({ labels, value }) =>
        between(`aae_tree_segments_dirty_gauge of peer ${labels['peer_idx'] ?? ''}`, value, ...known.dirty),
      ),
  ];
}

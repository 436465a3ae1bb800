/**
 * Equations of MapReduce metrics, compared with the wire: jobs over the binary protocol (no client of these runs uses
 * HTTP for them), their outcomes as clients received them, and phase batches between nodes. Jobs whose connection ended
 * before the answer (`abandoned`) have bounds only. Without jobs the metrics are 0.
 */
import type { IncarnationAccount } from './account.ts';
import type { Claim } from './claims.ts';
import { between, upTo } from './claims.ts';
import type { Numbers } from './numbers.ts';

const jobs = 'svc_mapred_jobs_total';
const phaseTime = 'svc_mapred_phase_seconds_total';

/** The claims about the MapReduce metrics of one account. */
export function mapReduceEquations(
  numbers: Numbers,
  { truth, moment }: IncarnationAccount,
): readonly Claim[] {
  const { heard, done, failed, abandoned } = truth.clients.jobs;
  const { beside, near, far, asked } = truth;
  const sentFrames = beside.phases + near.phases + far.phases;
  const outcome = (name: string): number => numbers.sum(jobs, { outcome: name });
  const running = numbers.sum('svc_mapred_jobs_running');
  const ended = ['completed', 'failed', 'timedOut', 'cancelled', 'refused'].map(outcome);
  const all = ended.reduce((sum, count) => sum + count, running);
  const unhappy = outcome('failed') + outcome('timedOut') + outcome('refused') + outcome('cancelled');
  const waiting = numbers.poolGauge('peer_in_queue') + numbers.poolGauge('remote_peer_in_queue');
  const dropped = numbers.pool('peer_dropped_requests') + numbers.pool('remote_peer_dropped_requests');
  const over = beside.left + near.left + far.left + beside.reset + near.reset + far.reset;
  const unsent =
    waiting + dropped + (over === 0 && beside.ended + near.ended + far.ended === 0 ? 0 : Infinity);
  const answers = numbers.poolGauge('dnode_client_out_queue');
  const lost = asked.ended + asked.reset + asked.left + asked.timedOut + asked.broken === 0 ? 0 : Infinity;
  const mapped = numbers.sum('svc_mapred_mapped_total');
  const any = heard + asked.phasesHeard;
  return [
    // A request that waited behind others when its client left has not begun.
    between('jobs, ended and running', all, heard - abandoned, heard),
    upTo(`${jobs}, completed`, outcome('completed'), done, abandoned),
    between(`${jobs}, not completed`, unhappy, failed, failed + abandoned),
    ...['failed', 'timedOut', 'refused', 'cancelled'].map((name) =>
      between(`${jobs}, ${name}`, outcome(name), 0, failed + abandoned),
    ),
    between('svc_mapred_jobs_running', running, 0, moment === 'settled' || moment === 'stopped' ? 0 : heard),
    upTo(
      'svc_mapred_batches_sent_total',
      numbers.sum('svc_mapred_batches_sent_total'),
      sentFrames,
      any === 0 ? 0 : unsent,
    ),
    upTo(
      'svc_mapred_batches_served_total',
      numbers.sum('svc_mapred_batches_served_total'),
      asked.phasesAnswered,
      any === 0 ? 0 : answers + lost,
    ),
    // The tests in sim/tests/mapreduce compare, per job, how many inputs a bucket has and which replica ran them.
    between('svc_mapred_mapped_total', mapped, asked.phaseInputs, any === 0 ? 0 : Infinity),
    between('svc_mapred_inputs_total', numbers.sum('svc_mapred_inputs_total'), 0, heard === 0 ? 0 : Infinity),
    between(
      'svc_mapred_retried_total',
      numbers.sum('svc_mapred_retried_total'),
      0,
      heard === 0 ? 0 : Infinity,
    ),
    ...['map', 'reduce'].map((phase) =>
      between(`${phaseTime}, ${phase}`, numbers.sum(phaseTime, { phase }), 0, any === 0 ? 0 : Infinity),
    ),
  ];
}

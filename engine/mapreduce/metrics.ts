/** The counters of MapReduce on one node. `reports/README.md` states the equations between them. */
import type { FamilySource } from '../metrics/family.ts';
import { counterBy, counterOf, gaugeOf } from '../metrics/family.ts';

/**
 * How a job ended: `completed`; `failed` (a phase or the cluster failed); `timedOut`; `cancelled` (the client
 * disconnected, or the node stopped); `refused` (not begun: malformed, unknown module, too many at once).
 */
export type JobOutcome = 'completed' | 'failed' | 'timedOut' | 'cancelled' | 'refused';

/** The counters. */
export class MapReduceCounts {
  /** In the order of publication. */
  readonly jobs: Record<JobOutcome, number> = {
    completed: 0,
    failed: 0,
    timedOut: 0,
    cancelled: 0,
    refused: 0,
  };
  /** Jobs that run now. */
  running = 0;
  /** Inputs of this node's clients' jobs: listed by the client, or found in buckets. */
  inputs = 0;
  /** Batches that this node asked peers to run, and batches that it ran for peers. */
  batchesSent = 0;
  batchesServed = 0;
  /** Inputs of map and link phases that this node ran, for itself and for peers. */
  mapped = 0;
  /** Inputs that were sent again, to the same or to another replica. */
  retried = 0;
  /** Microseconds that this node spent in phases, including waits for its store. */
  readonly phaseUs: Record<'map' | 'reduce', number> = { map: 0, reduce: 0 };

  /** The counters as metric families. */
  families(): readonly FamilySource[] {
    return [
      counterBy(
        'svc_mapred_jobs_total',
        'MapReduce jobs by how they ended: completed, failed, timedOut, cancelled (the client went away), refused.',
        'outcome',
        () => this.jobs,
      ),
      gaugeOf('svc_mapred_jobs_running', 'MapReduce jobs under way.', () => this.running),
      counterOf(
        'svc_mapred_inputs_total',
        'Objects that jobs of this node’s clients began with.',
        () => this.inputs,
      ),
      counterOf(
        'svc_mapred_mapped_total',
        'Inputs of map and link phases that this node ran.',
        () => this.mapped,
      ),
      counterOf(
        'svc_mapred_batches_sent_total',
        'Batches of a phase that this node asked peers to run.',
        () => this.batchesSent,
      ),
      counterOf(
        'svc_mapred_batches_served_total',
        'Batches of a phase that this node ran for peers.',
        () => this.batchesServed,
      ),
      counterOf(
        'svc_mapred_retried_total',
        'Inputs that were asked for again, as their replica died, failed or did not have them.',
        () => this.retried,
      ),
      counterBy(
        'svc_mapred_phase_seconds_total',
        'Time that this node spent in phases: map (link phases too) and reduce.',
        'phase',
        () => ({ map: this.phaseUs.map / 1e6, reduce: this.phaseUs.reduce / 1e6 }),
      ),
    ];
  }
}

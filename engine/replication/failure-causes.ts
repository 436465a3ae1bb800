/**
 * Counts why a client's request failed (spec: failure-cause families, pool codec 7 and 8). A request of any kind is
 * counted once, on the node that answers its client. Nodes that were asked on the way count nothing of it.
 */
import type { ErrorCode } from '../base/errors.ts';
import type { RoundDependencies } from './round-dependencies.ts';
import type { ConsistencyLevel } from './requests.ts';

/** What counting a failure needs of the node. */
export interface CauseParts extends Pick<RoundDependencies, 'stats'> {
  readonly self: { readonly datacenter: string; readonly rack: string };
}

/** Codes of requests whose level could not be met. */
const unmet: readonly ErrorCode[] = ['NoQuorum', 'Timeout', 'ReplicasDisagree'];

/**
 * Counts a request at `level` that failed with `code`. Codes other than `NoTargets`, `Timeout`, `NoQuorum` and
 * `ReplicasDisagree` are not counted here.
 */
export function countCause(
  { self, stats }: CauseParts,
  code: ErrorCode,
  what: 'read' | 'write',
  level: ConsistencyLevel,
): void {
  const { failures, pool } = stats;
  if (code === 'NoTargets') failures.noTargets(self.datacenter, self.rack, level);
  if (code === 'Timeout') failures.responseTimeout(level);
  if (!unmet.includes(code)) return;
  if (what === 'read') pool.client_non_quorum_r_responses += 1;
  else pool.client_non_quorum_w_responses += 1;
}

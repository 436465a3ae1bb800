/**
 * The result of a run whose thread ran out of memory. Nothing else of such a run is known. A node that grows without
 * bound is its likely cause, so it breaks `resource-bounds`; the campaign goes on.
 */
import type { RunResult } from './result.ts';

/** Whether a worker died because its heap reached its limit. */
export function isOutOfMemory(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}

/** The failed result of the run. `error`: what the worker died of; `wallMs`: real time until then. */
export function outOfMemoryResult(
  { scenario, seed }: Pick<RunResult, 'scenario' | 'seed'>,
  error: Error,
  wallMs: number,
): RunResult {
  const why = `a node, or the simulator, grew until the run’s thread had no memory left: ${error.message}`;
  const counted = { checked: 1, skipped: 0, firstBad: undefined, vacuous: false };
  return {
    ...{ scenario, seed, verdict: 'failed', outOfMemory: true },
    reports: [{ invariant: 'resource-bounds', ok: false, reasons: [why], ...counted }],
    ...{ digest: '', events: 0, nodeEvents: 0, virtualUs: 0, wallMs, because: '' },
    ...{ outcomes: { ok: 0, fail: 0, unknown: 0 }, struck: {}, missed: [] },
  };
}

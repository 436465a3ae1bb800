/**
 * Load at a fixed rate without coordinated omission: operation n is due at its own time whatever became of those before
 * it, and its latency counts from that time. A server that pauses is charged for everything that was due meanwhile
 * (Gil Tene, "How NOT to Measure Latency").
 */
import type { ErrorCounts } from '../load/closed-loop.ts';
import { countError } from '../load/closed-loop.ts';

/** The result of one run at a rate. */
export interface OpenLoopResult {
  readonly due: number;
  readonly done: number;
  readonly errors: ErrorCounts;
  /** Microseconds from the time at which each operation was due, unordered. */
  readonly latenciesUs: readonly number[];
}

/** An operation that is still under way this long after the last one was due counts as an error. */
const patienceMs = 10_000;

/**
 * Runs `operate` at `rate` operations a second for `seconds`; `operate` gets its lane, 0 to `lanes` - 1, and no lane has
 * two operations at once. Operations that find no lane free wait, and that wait is part of their latency.
 */
export async function openLoop(
  rate: number,
  seconds: number,
  lanes: number,
  operate: (lane: number) => Promise<void>,
): Promise<OpenLoopResult> {
  const total = Math.round(rate * seconds);
  const latenciesUs: number[] = [];
  const errors: ErrorCounts = new Map();
  const free = Array.from({ length: lanes }, (_, lane) => lane);
  const waiting: number[] = [];
  const startUs = nowUs();
  let settled = 0;
  let finished: () => void = () => undefined;
  const over = new Promise<void>((resolve) => (finished = resolve));
  const run = async (lane: number, dueUs: number): Promise<void> => {
    try {
      await operate(lane);
      latenciesUs.push(nowUs() - dueUs);
    } catch (error) {
      countError(errors, error);
    }
    settled += 1;
    if (settled === total) finished();
    const next = waiting.shift();
    if (next === undefined) free.push(lane);
    else run(lane, next).catch(() => undefined);
  };
  let next = 0;
  const pump = setInterval(() => {
    const now = nowUs();
    while (next < total && startUs + (next * 1e6) / rate <= now) {
      const dueUs = startUs + (next * 1e6) / rate;
      next += 1;
      const lane = free.pop();
      if (lane === undefined) waiting.push(dueUs);
      else run(lane, dueUs).catch(() => undefined);
    }
    if (next === total) clearInterval(pump);
  }, 1);
  const late = setTimeout(() => finished(), seconds * 1000 + patienceMs);
  await over;
  clearInterval(pump);
  clearTimeout(late);
  if (settled < total) errors.set('no answer in time', total - settled);
  return { due: total, done: latenciesUs.length, errors, latenciesUs };
}

function nowUs(): number {
  return Number(process.hrtime.bigint()) / 1000;
}

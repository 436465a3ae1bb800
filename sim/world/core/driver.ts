/**
 * What turns the world. After each step all promise reactions run and unhandled rejections are reported, as Node.js does
 * it after each of its own callbacks, and by the same function: it is on `process` for whoever takes a turn by hand
 * (`lib/internal/bootstrap/node.js`, since Node.js 0.10), though no documentation names it. A Node.js without it does the
 * same between two `setImmediate` callbacks of one batch, by documented behaviour: each takes one step then, and costs an
 * object and a place in a queue more, a twentieth of what an event takes.
 *
 * The last callback of a batch takes no step. Between it and the first of the next batch Node.js looks at the machine:
 * whatever of the engine runs then was woken by something that is no door, and is caught (`outside`).
 *
 * The only file of the world that touches the machine.
 */
export interface Driven {
  /** Takes a step. False: the run is over. */
  step(): boolean;
  /** Between two batches (true), nothing of the engine may run. */
  outside(is: boolean): void;
  /** A promise was rejected and nobody heard of it. */
  unhandled(reason: unknown): void;
}

/** Runs ticks and promise reactions until none is left, and reports the rejections that nobody handles. */
export type Settle = () => void;

interface Way {
  readonly settle: Settle | undefined;
}

const settleHere = (process as { readonly _tickCallback?: Settle })._tickCallback;

const batchMin = 8;
const batchMax = 256;

/** Takes steps until one says that the run is over; resolves then. Rejects when a step throws, which ends the run too. */
export function drive(driven: Driven, { settle }: Way = { settle: settleHere }): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    let batch = batchMin;
    const unhandled = (reason: unknown): void => driven.unhandled(reason);
    const end = (): void => {
      over = true;
      process.removeListener('unhandledRejection', unhandled);
    };
    const step = (): void => {
      if (over) return;
      try {
        if (driven.step()) return;
      } catch (error) {
        end();
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      end();
      resolve();
    };
    const beginBatch = (): void => driven.outside(false);
    const endBatch = (): void => {
      if (over) return;
      driven.outside(true);
      batch = Math.min(batch * 2, batchMax);
      queueBatch();
    };
    const takeBatch = (settleNow: Settle): void => {
      for (let left = batch; left > 0 && !over; left--) {
        step();
        settleNow();
      }
    };
    const queueBatch = (): void => {
      setImmediate(beginBatch);
      if (settle !== undefined) setImmediate(takeBatch, settle);
      else for (let count = 0; count < batch; count++) setImmediate(step);
      setImmediate(endBatch);
    };
    process.on('unhandledRejection', unhandled);
    queueBatch();
  });
}

/**
 * Drives the world's steps. After each step all promise reactions run and unhandled rejections are reported, as Node.js
 * does after each of its own callbacks, and by the same function. That function is on `process`
 * (`lib/internal/bootstrap/node.js`, since Node.js 0.10), though no documentation names it.
 *
 * Without it, the driver relies on documented behaviour: Node.js does the same between two `setImmediate` callbacks of
 * one batch. Each callback then takes one step, at the cost of one more object and one more queue entry, a twentieth of
 * what an event takes.
 *
 * The last callback of a batch takes no step. Between it and the first of the next batch, Node.js polls the machine.
 * Code of the engine that runs then was not woken through a port, and is caught (`outside`).
 *
 * This is the only file of the world that touches the machine.
 */
export interface Driven {
  /** Takes a step. Returns false if the run is over. */
  step(): boolean;
  /**
   * Called with true when a batch ends and with false when the next begins: in between no code of the engine may run.
   */
  outside(is: boolean): void;
  /** A promise was rejected without a handler. */
  unhandled(reason: unknown): void;
}

/** Runs ticks and promise reactions until none is left, and reports unhandled rejections. */
export type Settle = () => void;

interface Way {
  readonly settle: Settle | undefined;
}

const settleHere = (process as { readonly _tickCallback?: Settle })._tickCallback;

const batchMin = 8;
const batchMax = 256;

/**
 * Takes steps until one reports that the run is over, then resolves. Rejects if a step throws, which ends the run too.
 */
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

/**
 * What turns the world. Node.js drains all promise reactions (and reports unhandled rejections) between two
 * `setImmediate` callbacks of one batch, by documented behaviour: so a batch of callbacks is queued, each takes one
 * step, and everything that a step woke has settled before the next. That costs a third of a microsecond; one
 * callback per turn of the event loop would cost four times as much.
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

const batchMin = 8;
const batchMax = 256;

/** Takes steps until one says that the run is over; resolves then. Rejects when a step throws, which ends the run too. */
export function drive(driven: Driven): Promise<void> {
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
      driven.outside(false);
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
    const endBatch = (): void => {
      if (over) return;
      driven.outside(true);
      batch = Math.min(batch * 2, batchMax);
      queueBatch();
    };
    const queueBatch = (): void => {
      for (let count = 0; count < batch; count++) setImmediate(step);
      setImmediate(endBatch);
    };
    process.on('unhandledRejection', unhandled);
    queueBatch();
  });
}

/**
 * What turns the world. After each step all promise reactions run and unhandled rejections are reported, as Node.js does
 * it after each of its own callbacks, and by the same function: it is on `process` for whoever takes a turn by hand
 * (`lib/internal/bootstrap/node.js`, since Node.js 0.10), though no documentation names it. That costs a twentieth of a
 * microsecond; a turn of the event loop, which is what a Node.js without that function takes after each step, costs more
 * than one.
 *
 * Between two batches of steps Node.js looks at the machine: whatever of the engine runs then was woken by something
 * that is no door, and is caught (`outside`).
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

/**
 * Takes steps until one says that the run is over; resolves then. Rejects when a step throws, which ends the run too.
 * Without `settle`, each step is a batch of its own, and Node.js settles what it woke before it ends the batch.
 */
export function drive(driven: Driven, { settle }: Way = { settle: settleHere }): Promise<void> {
  return new Promise((resolve, reject) => {
    let over = false;
    let batch = settle === undefined ? 1 : batchMin;
    const unhandled = (reason: unknown): void => driven.unhandled(reason);
    const end = (): void => {
      over = true;
      process.removeListener('unhandledRejection', unhandled);
    };
    const takeBatch = (): void => {
      driven.outside(false);
      try {
        for (let left = batch; left > 0; left--) {
          if (!driven.step()) {
            end();
            resolve();
            return;
          }
          settle?.();
        }
      } catch (error) {
        end();
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    };
    const endBatch = (): void => {
      if (over) return;
      driven.outside(true);
      if (settle !== undefined) batch = Math.min(batch * 2, batchMax);
      queueBatch();
    };
    // Of one turn of the event loop: between the two, Node.js runs promise reactions but does not look at the machine.
    const queueBatch = (): void => {
      setImmediate(takeBatch);
      setImmediate(endBatch);
    };
    process.on('unhandledRejection', unhandled);
    queueBatch();
  });
}

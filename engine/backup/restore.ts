/**
 * Sends the state of a backup to a running cluster of any shape, batch by batch. Each object is merged at its owners by
 * causality. So a restore may be started again at any time, and an object that is newer in the cluster stays.
 */
import type { PackedKey } from '../base/object-key.ts';
import { encodeRestoreBatch } from './restore-batch.ts';
import type { RestoredObject } from './restore-batch.ts';
import type { RestoredState } from './restored-state.ts';

/** What a restore sent. */
export interface RestoreReport {
  readonly objects: number;
  readonly bytes: number;
}

/** How a restore is done. */
export interface RestoreOptions {
  readonly isWanted: (key: PackedKey) => boolean;
  /** Bytes of objects in one batch, about. */
  readonly batchBytes: number;
  readonly progress: (objects: number) => void;
}

/** The defaults of `lockstep restore`. */
export const restoreDefaults: RestoreOptions = {
  isWanted: () => true,
  batchBytes: 256 * 1024,
  progress: () => undefined,
};

/** Sends every wanted object. `send` resolves once each owner of the batch's objects has them durably. */
export async function sendState(
  state: Pick<RestoredState, 'objects'>,
  send: (batch: Buffer) => Promise<void>,
  options: RestoreOptions = restoreDefaults,
): Promise<RestoreReport> {
  let batch: RestoredObject[] = [];
  let held = 0;
  let objects = 0;
  let bytes = 0;
  const flush = async (): Promise<void> => {
    if (batch.length === 0) return;
    await send(encodeRestoreBatch(batch));
    objects += batch.length;
    bytes += held;
    options.progress(objects);
    batch = [];
    held = 0;
  };
  for await (const object of state.objects(options.isWanted)) {
    const size = object.key.length + object.bytes.length;
    if (held + size > options.batchBytes) await flush();
    batch.push(object);
    held += size;
  }
  await flush();
  return { objects, bytes };
}

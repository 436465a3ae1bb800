/** Decides which batches a store refuses, and with which error. */
import { LockstepError } from '../base/errors.ts';
import type { StoreWrite, WriteDone } from './log/record.ts';
import { keyBytesMax } from './log/record.ts';

/** `failed`: reads continue, writes need the store to be opened again. */
export type StoreState = 'open' | 'failed' | 'closed';

/** The error with which a batch of `bytes` encoded bytes is refused; undefined if it is accepted. */
export function refusalOf(
  state: StoreState,
  batch: readonly StoreWrite[],
  bytes: number,
  bytesMax: number,
): LockstepError | undefined {
  if (state === 'closed') return new LockstepError('ShuttingDown', 'the store is closed');
  if (state === 'failed') return new LockstepError('StorageFailed', 'the store is out of service for writes');
  if (batch.length === 0) return new LockstepError('BadRequest', 'a batch holds at least one write');
  if (bytes > bytesMax) {
    return new LockstepError('TooLarge', `the batch has ${bytes} bytes; at most ${bytesMax} are allowed`);
  }
  const long = batch.find((write) => write.key.length > keyBytesMax);
  return long === undefined ? undefined : new LockstepError('TooLarge', 'a stored key exceeds 65,535 bytes');
}

/** Calls `done`, but not within the caller's call. */
export async function answerLater(done: WriteDone, error: LockstepError): Promise<void> {
  await Promise.resolve();
  done(error);
}

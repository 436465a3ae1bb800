/**
 * The harness that the laws of the disk port (`disk.contract.ts`, `disk-crash.contract.ts`) need, and their helpers.
 */
import { expect } from 'vitest';
import type { Disk, DiskFailure, DiskFile } from './disk.ts';
import { DiskError, readFully, writeFully } from './disk.ts';
import type { Harness } from './law.contract.ts';

/** What an implementation of the disk port provides to its laws. */
export interface DiskHarness extends Harness {
  /** The disk of a running host whose data directory is empty. */
  readonly disk: Disk;
  /**
   * Takes the lock in another incarnation, kills that incarnation while it holds the lock, and resolves with the disk
   * of the next one. (The machine kills a process; the simulated world crashes the host.)
   */
  dieHolding(lockPath: string): Promise<Disk>;
  /** Faults that only a simulated world can inject. Laws that use them are skipped by name where this is undefined. */
  readonly faults: DiskFaults | undefined;
}

/**
 * What a crash leaves of everything unsynced (bytes, lengths, names). `lost`: nothing. `kept`: everything. `torn`: each
 * sector and each name independently, by the harness's seed.
 */
export type Unsynced = 'lost' | 'kept' | 'torn';

/** Faults of a simulated disk. */
export interface DiskFaults {
  /** The host crashes now, without notice, and restarts. Resolves with the disk of its new incarnation. */
  crash(unsynced: Unsynced): Promise<Disk>;
  /** The next sync of this file fails with `fault`; the next `lost` crash drops the bytes it covered. */
  failNextSync(path: string): void;
  /** The next write to this file fails. */
  failNextWrite(path: string, failure: 'noSpace' | 'fault'): void;
  /** From now on no read or write moves more than this many bytes. */
  limitTransfers(bytesMax: number): void;
}

/** Makes a file with this content, unsynced. */
export async function makeFile(disk: Disk, path: string, content: Buffer | string): Promise<void> {
  const file = await disk.open(path, 'create');
  await writeFully(file, [Buffer.from(content)], 0);
  await file.close();
}

/** Up to `length` bytes of the file from `offset`. */
export async function bytesAt(file: DiskFile, offset: number, length: number): Promise<Buffer> {
  const into = Buffer.alloc(length);
  return into.subarray(0, await readFully(file, into, offset));
}

/** Asserts that the call fails with a `DiskError` of this failure. */
export async function expectFailure(failure: DiskFailure, call: () => Promise<unknown>): Promise<void> {
  const error = await call().then(
    () => 'it succeeded',
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(DiskError);
  expect(error instanceof DiskError && error.failure).toBe(failure);
}

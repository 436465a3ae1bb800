/** What the laws of the disk door (disk.contract.ts, disk-crash.contract.ts) ask of an implementation. */
import { expect } from 'vitest';
import type { Disk, DiskFailure, DiskFile } from './disk.ts';
import { DiskError, readFully, writeFully } from './disk.ts';
import type { Harness } from './law.contract.ts';

export interface DiskHarness extends Harness {
  /** The door of a living host whose data directory is empty. */
  readonly disk: Disk;
  /**
   * Takes the lock in another life, kills that life while it holds the lock, and resolves with the disk of a life
   * after it. (The machine kills a process; the world crashes the host.)
   */
  dieHolding(lockPath: string): Promise<Disk>;
  /** What only a world can do; a law that asks for it must be skipped by name where it is undefined. */
  readonly faults: DiskFaults | undefined;
}

/**
 * What a crash leaves of everything that was not synced (bytes, lengths, names). `lost`: nothing of it. `kept`: all
 * of it. `torn`: each sector and each name by itself, by the harness's seed.
 */
export type Unsynced = 'lost' | 'kept' | 'torn';

export interface DiskFaults {
  /** The host dies now, in silence, and starts again: resolves with the disk of its new life. */
  crash(unsynced: Unsynced): Promise<Disk>;
  /** The next sync of this file fails with `fault`, and what it covered is dropped at the next `lost` crash. */
  failNextSync(path: string): void;
  /** The next write to this file fails. */
  failNextWrite(path: string, failure: 'noSpace' | 'fault'): void;
  /** From now on no read or write moves more than this many bytes. */
  limitTransfers(bytesMax: number): void;
}

/** Makes a file with these bytes, unsynced. */
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

/** The call fails with a `DiskError` of this failure. */
export async function expectFailure(failure: DiskFailure, call: () => Promise<unknown>): Promise<void> {
  const error = await call().then(
    () => 'it succeeded',
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(DiskError);
  expect(error instanceof DiskError && error.failure).toBe(failure);
}

/**
 * Reads one record from its segment. The record counts only if its checksums, sequence number and key match what the
 * key directory expects. A misdirected read, within the file or to another one, fails these checks.
 */
import type { PackedKey } from '../base/object-key.ts';
import type { DiskFile } from '../io/disk.ts';
import { readFully } from '../io/disk.ts';
import {
  recordBytes,
  recordHeadBytes,
  recordHeadIsSound,
  recordKeyBytes,
  recordSeq,
  recordValueBytes,
  recordValueIsSound,
} from './log/record.ts';

/** What the key directory knows of the record. */
export interface ExpectedRecord {
  readonly key: PackedKey;
  readonly offset: number;
  readonly valueBytes: number;
  readonly seq: number;
  readonly salt: number;
}

/**
 * Reads a record. Passes its value to `then`, or undefined if two reads do not find the record (the second tells a
 * transient disk fault from bit rot) or the file is lost. Passes the disk's error to `failed`. Resolves or rejects as
 * these do. (With both callbacks inside, the usual read costs one promise beyond the disk port's.)
 */
export function readRecord<T>(
  file: DiskFile | undefined,
  expected: ExpectedRecord,
  then: (value: Buffer | undefined) => T | Promise<T>,
  failed: (error: unknown) => never,
): Promise<T> {
  if (file === undefined) return Promise.resolve(undefined).then(then);
  const bytes = Buffer.allocUnsafe(recordBytes(expected.key.length, expected.valueBytes));
  return file.readAt(bytes, expected.offset).then((count) => {
    const expectedBytes = count === bytes.length && isExpected(bytes, expected);
    return expectedBytes
      ? then(valueIn(bytes, expected))
      : readAgain(file, bytes, expected).then(then, failed);
  }, failed);
}

/** Completes a short read, and repeats a wrong one once. */
async function readAgain(
  file: DiskFile,
  bytes: Buffer,
  expected: ExpectedRecord,
): Promise<Buffer | undefined> {
  const count = await readFully(file, bytes, expected.offset);
  return count === bytes.length && isExpected(bytes, expected) ? valueIn(bytes, expected) : undefined;
}

function valueIn(bytes: Buffer, expected: ExpectedRecord): Buffer {
  return bytes.subarray(recordHeadBytes + expected.key.length);
}

function isExpected(bytes: Buffer, expected: ExpectedRecord): boolean {
  const { key, valueBytes, seq, salt } = expected;
  return (
    recordKeyBytes(bytes, 0) === key.length &&
    recordValueBytes(bytes, 0) === valueBytes &&
    recordHeadIsSound(bytes, 0, bytes.length, salt) &&
    recordValueIsSound(bytes, 0, bytes.length, salt) &&
    recordSeq(bytes, 0) === seq &&
    isKey(bytes, recordHeadBytes, key)
  );
}

function isKey(bytes: Buffer, from: number, key: PackedKey): boolean {
  for (let index = 0; index < key.length; index++) {
    if (bytes[from + index] !== key.charCodeAt(index)) return false;
  }
  return true;
}

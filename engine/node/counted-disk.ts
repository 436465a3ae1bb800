/**
 * Counts the disk's errors: a wrapper of the disk port that counts every operation that the disk refused, by operation,
 * by the file's role and by kind of failure (`fault`, `noSpace`). A missing file or a held lock is not an error of the
 * disk and is not counted. The wrapper changes nothing else: callers get every result and error as before.
 */
import type { Disk, DiskFile, DiskLock, DiskOperation, OpenMode } from '../io/disk.ts';
import { DiskError } from '../io/disk.ts';
import type { FamilySource } from '../metrics/family.ts';
import { LabelledFamily } from '../metrics/labelled-family.ts';

const roles: readonly (readonly [role: string, pattern: RegExp])[] = [
  ['log', /^(store|hints)\/\d+\.log$/],
  ['hint', /^(store|hints)\/\d+\.hint(\.new)?$/],
  ['manifest', /^(store|hints)\/MANIFEST(\.new)?$/],
  ['identity', /^identity(\.new)?$/],
  ['members', /^members(\.new)?$/],
  ['snapshot', /^aae\//],
];

/** The role of the file at `path`, as the label `role`. */
function roleOf(path: string): string {
  return roles.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other';
}

/** Operations on files, operations on directories (their role is `other`), and those that need free space. */
const ofFiles = ['open', 'read', 'write', 'sync', 'truncate', 'rename', 'remove', 'size'] as const;
const ofDirectories = ['list', 'makeDirectory', 'syncDirectory', 'lock'] as const;
const needsRoom = ['open', 'write', 'sync', 'rename', 'makeDirectory'] as const;

/** The family of counters. Each expected combination of labels starts at 0, so that a first error shows as a rate. */
function errorFamily(): LabelledFamily {
  const family = new LabelledFamily({
    name: 'svc_disk_errors_total',
    help: "Operations that the disk refused, by operation, the file's role, and how: fault, noSpace.",
    type: 'counter',
    labels: ['operation', 'role', 'failure'],
  });
  const begin = (operation: DiskOperation, role: string): void => {
    family.child(operation, role, 'fault');
    if (needsRoom.some((one) => one === operation)) family.child(operation, role, 'noSpace');
  };
  for (const operation of ofFiles) for (const [role] of roles) begin(operation, role);
  for (const operation of [...ofFiles, ...ofDirectories]) begin(operation, 'other');
  return family;
}

/** A `Disk` that passes every operation on to another one and counts its faults. */
export class CountedDisk implements Disk {
  readonly #disk: Disk;
  /** The family `svc_disk_errors_total`. */
  readonly family: FamilySource;
  readonly #errors = errorFamily();

  constructor(disk: Disk) {
    this.#disk = disk;
    this.family = this.#errors;
  }

  async open(path: string, mode: OpenMode): Promise<DiskFile> {
    return new CountedFile(await this.#counted(this.#disk.open(path, mode)), this.#count);
  }

  rename(from: string, to: string): Promise<void> {
    return this.#counted(this.#disk.rename(from, to));
  }

  remove(path: string): Promise<void> {
    return this.#counted(this.#disk.remove(path));
  }

  list(directory: string): Promise<readonly string[]> {
    return this.#counted(this.#disk.list(directory));
  }

  makeDirectory(directory: string): Promise<void> {
    return this.#counted(this.#disk.makeDirectory(directory));
  }

  syncDirectory(directory: string): Promise<void> {
    return this.#counted(this.#disk.syncDirectory(directory));
  }

  size(path: string): Promise<number | undefined> {
    return this.#counted(this.#disk.size(path));
  }

  lock(path: string): Promise<DiskLock> {
    return this.#counted(this.#disk.lock(path));
  }

  #counted<T>(operation: Promise<T>): Promise<T> {
    return operation.catch(this.#count);
  }

  readonly #count = (error: unknown): never => {
    if (error instanceof DiskError && (error.failure === 'fault' || error.failure === 'noSpace')) {
      this.#errors.child(error.operation, roleOf(error.path), error.failure).value += 1;
    }
    throw error;
  };
}

class CountedFile implements DiskFile {
  readonly path: string;
  readonly #file: DiskFile;
  readonly #count: (error: unknown) => never;

  constructor(file: DiskFile, count: (error: unknown) => never) {
    this.path = file.path;
    this.#file = file;
    this.#count = count;
  }

  size(): Promise<number> {
    return this.#file.size().catch(this.#count);
  }

  readAt(into: Uint8Array, offset: number): Promise<number> {
    return this.#file.readAt(into, offset).catch(this.#count);
  }

  writeAt(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    return this.#file.writeAt(chunks, offset).catch(this.#count);
  }

  writeDurably(chunks: readonly Uint8Array[], offset: number): Promise<number> {
    return this.#file.writeDurably(chunks, offset).catch(this.#count);
  }

  sync(): Promise<void> {
    return this.#file.sync().catch(this.#count);
  }

  truncate(length: number): Promise<void> {
    return this.#file.truncate(length).catch(this.#count);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/**
 * The disk door, with its errors counted: every operation that the disk itself refused, by what was asked, of which
 * file, and how it failed. What the caller got wrong (a file that is not there, a lock that is held) is no error of the
 * disk. Nothing else is changed: who asked is told as ever.
 */
import type { Disk, DiskFile, DiskLock, DiskOperation, OpenMode } from '../io/disk.ts';
import { DiskError } from '../io/disk.ts';
import type { FamilySource } from '../stats/family.ts';

const roles: readonly (readonly [role: string, pattern: RegExp])[] = [
  ['log', /^(store|hints)\/\d+\.log$/],
  ['hint', /^(store|hints)\/\d+\.hint(\.new)?$/],
  ['manifest', /^(store|hints)\/MANIFEST(\.new)?$/],
  ['identity', /^identity(\.new)?$/],
  ['members', /^members(\.new)?$/],
  ['snapshot', /^aae\//],
];

/** What the file at a path is for. */
function roleOf(path: string): string {
  return roles.find(([, pattern]) => pattern.test(path))?.[0] ?? 'other';
}

interface ErrorCount {
  readonly labels: Readonly<Record<'operation' | 'role' | 'failure', string>>;
  value: number;
}

export class CountedDisk implements Disk {
  readonly #disk: Disk;
  readonly #counts = new Map<string, ErrorCount>();

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** The family that the counts are published as. */
  family(): FamilySource {
    return {
      name: 'svc_disk_errors_total',
      help: "Operations that the disk refused, by operation, the file's role, and how: fault, noSpace.",
      type: 'counter',
      labels: ['operation', 'role', 'failure'],
      collect: () => [...this.#counts.values()].map(({ labels, value }) => ({ labels, value })),
    };
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
      this.#add(error.operation, roleOf(error.path), error.failure);
    }
    throw error;
  };

  #add(operation: DiskOperation, role: string, failure: string): void {
    const key = `${operation} ${role} ${failure}`;
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { labels: { operation, role, failure }, value: 1 });
    else known.value += 1;
  }
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

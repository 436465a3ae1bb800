/**
 * A repository of backups in a bucket of an S3-compatible server, with the layout of a directory. A segment up to one
 * part is put under its hash at once. A longer one is uploaded in parts under its temporary name while its hash is
 * computed, then copied by the server. Memory: one part for each segment that is under way.
 */
import { createHash } from 'node:crypto';

import type { BackupStorage, SegmentSource, StorageLock, StoredFile } from '../../backup/backup-storage.ts';
import { DiskError } from '../../io/disk.ts';
import type { S3Client } from '../../real/s3/s3-client.ts';
import { S3Error } from '../../real/s3/s3-error.ts';
import type { LockTimes } from './s3-lock.ts';
import { lockTimes, takeS3Lock } from './s3-lock.ts';

/** S3 takes parts of 5 MiB to 5 GiB, and at most 10,000 of them. */
const partBytesDefault = 8 * 1024 * 1024;
const deletesAtOnce = 8;

/** The objects below the prefix of the client's settings. */
export class S3Storage implements BackupStorage {
  readonly #client: S3Client;
  readonly #partBytes: number;
  readonly #lockTimes: LockTimes;

  constructor(client: S3Client, partBytes = partBytesDefault, times: LockTimes = lockTimes) {
    this.#client = client;
    this.#partBytes = partBytes;
    this.#lockTimes = times;
  }

  lock(): Promise<StorageLock> {
    return takeS3Lock(this.#client, this.#keyOf('LOCK'), this.#lockTimes);
  }

  async list(folder: string): Promise<readonly string[]> {
    return [...(await this.#client.list(`${this.#keyOf(folder)}/`))].sort();
  }

  async read(path: string, bytesMax: number): Promise<Buffer | undefined> {
    const asked = { method: 'GET', key: this.#keyOf(path), answerBytesMax: bytesMax } as const;
    return (await this.#client.find(asked))?.body;
  }

  async size(path: string): Promise<number | undefined> {
    const answer = await this.#client.find({ method: 'HEAD', key: this.#keyOf(path) });
    return answer === undefined ? undefined : Number(answer.headers.get('content-length'));
  }

  async open(path: string): Promise<StoredFile> {
    const size = await this.size(path);
    if (size === undefined) throw new DiskError('notFound', 'open', path);
    return new S3File(this.#client, this.#keyOf(path), size, this.#partBytes);
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    await this.#client.request({ method: 'PUT', key: this.#keyOf(path), body: bytes });
  }

  async store(
    part: string,
    source: SegmentSource,
    pathOf: (sha256: string) => string,
  ): Promise<{ readonly sha256: string; readonly bytes: number }> {
    const upload = new PartUpload(this.#client, this.#keyOf(part), this.#partBytes);
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      for await (const chunk of source) {
        hash.update(chunk);
        bytes += chunk.length;
        await upload.add(chunk);
      }
      const sha256 = hash.digest('hex');
      await upload.finish(this.#keyOf(pathOf(sha256)));
      return { sha256, bytes };
    } catch (error) {
      await upload.drop();
      throw error;
    }
  }

  settle(): Promise<void> {
    // An object is durable once its put was answered.
    return Promise.resolve();
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (let at = 0; at < paths.length; at += deletesAtOnce) {
      const some = paths.slice(at, at + deletesAtOnce);
      await Promise.all(some.map((path) => this.#client.find({ method: 'DELETE', key: this.#keyOf(path) })));
    }
  }

  async removeUnfinished(): Promise<void> {
    try {
      for (const { key, id } of await this.#client.uploads(this.#keyOf('segments/')))
        await this.#client.dropUpload(key, id);
    } catch (error) {
      // Some servers list no uploads; theirs end by the server's own rules.
      if (!(error instanceof S3Error) || (error.code !== 'NotImplemented' && error.status !== 405))
        throw error;
    }
  }

  #keyOf(path: string): string {
    const { prefix } = this.#client.settings;
    return prefix === '' ? path : `${prefix}/${path}`;
  }
}

/** Collects bytes, and uploads each part that is full. */
class PartUpload {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #partBytes: number;
  readonly #tags: string[] = [];
  #part = Buffer.alloc(0);
  #filled = 0;
  #id: string | undefined;

  constructor(client: S3Client, key: string, partBytes: number) {
    this.#client = client;
    this.#key = key;
    this.#partBytes = partBytes;
  }

  async add(chunk: Uint8Array): Promise<void> {
    for (let rest = chunk; rest.length > 0;) {
      if (this.#part.length === 0) this.#part = Buffer.allocUnsafe(this.#partBytes);
      // A full part is sent only once more follows: an object of one part needs no upload in parts.
      if (this.#filled === this.#partBytes) await this.#flush();
      const count = Math.min(rest.length, this.#partBytes - this.#filled);
      this.#part.set(rest.subarray(0, count), this.#filled);
      this.#filled += count;
      rest = rest.subarray(count);
    }
  }

  /** Makes the object `key` of all bytes. */
  async finish(key: string): Promise<void> {
    const body = this.#part.subarray(0, this.#filled);
    if (this.#id === undefined) {
      await this.#client.request({ method: 'PUT', key, body });
      return;
    }
    await this.#flush();
    await this.#client.endUpload(this.#key, this.#id, this.#tags);
    this.#id = undefined;
    await this.#client.copy(this.#key, key);
    await this.#client.find({ method: 'DELETE', key: this.#key });
  }

  /** Drops what was uploaded, as well as it can: `removeUnfinished` finds the rest. */
  async drop(): Promise<void> {
    try {
      if (this.#id !== undefined) await this.#client.dropUpload(this.#key, this.#id);
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
    }
  }

  async #flush(): Promise<void> {
    this.#id ??= await this.#client.beginUpload(this.#key);
    const body = this.#part.subarray(0, this.#filled);
    this.#tags.push(await this.#client.uploadPart(this.#key, this.#id, this.#tags.length + 1, body));
    this.#filled = 0;
  }
}

/** Reads an object block by block; the last block is kept. */
class S3File implements StoredFile {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #size: number;
  readonly #blockBytes: number;
  #block: Buffer = Buffer.alloc(0);
  #blockAt = 0;

  constructor(client: S3Client, key: string, size: number, blockBytes: number) {
    this.#client = client;
    this.#key = key;
    this.#size = size;
    this.#blockBytes = blockBytes;
  }

  size(): Promise<number> {
    return Promise.resolve(this.#size);
  }

  async readAt(into: Uint8Array, offset: number): Promise<number> {
    if (offset >= this.#size || into.length === 0) return 0;
    if (offset < this.#blockAt || offset >= this.#blockAt + this.#block.length) await this.#load(offset);
    const from = offset - this.#blockAt;
    const some = this.#block.subarray(from, from + into.length);
    into.set(some);
    return some.length;
  }

  close(): Promise<void> {
    this.#block = Buffer.alloc(0);
    return Promise.resolve();
  }

  async #load(offset: number): Promise<void> {
    const end = Math.min(this.#size, offset + this.#blockBytes);
    const { body } = await this.#client.request({
      method: 'GET',
      key: this.#key,
      headers: { range: `bytes=${offset}-${end - 1}` },
      answerBytesMax: this.#blockBytes,
    });
    if (body.length !== end - offset)
      throw new S3Error(200, '', `the server sent ${body.length} of ${end - offset} bytes of ${this.#key}`);
    this.#block = body;
    this.#blockAt = offset;
  }
}

/**
 * The lock of a repository in a bucket: an object `LOCK` that names its holder, and that the holder writes again every
 * minute. A lock that its holder has not written for ten minutes is that of a process that has ended; both times are the
 * server's, so clocks of clients do not matter.
 *
 * The lock is taken by a conditional put (`If-None-Match: *`). Where the server refuses or ignores conditions, the
 * process writes, waits, and reads whose name stands there: two processes that begin within a moment may then both
 * believe that they hold it. Backups do not harm each other (their files have different names); an expiry beside a
 * backup may.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import type { StorageLock } from '../../backup/backup-storage.ts';
import { LockstepError } from '../../base/errors.ts';
import type { S3Client } from '../../real/s3/s3-client.ts';
import { S3Error } from '../../real/s3/s3-error.ts';

/** The times of a lock, in milliseconds. */
export interface LockTimes {
  readonly renewMs: number;
  readonly staleMs: number;
  /** Between the write and the read where the server knows no conditions. */
  readonly settleMs: number;
}

/** The defaults. */
export const lockTimes: LockTimes = { renewMs: 60_000, staleMs: 600_000, settleMs: 2000 };

interface Found {
  readonly owner: string;
  readonly host: string;
  readonly tag: string;
  readonly ageMs: number;
}

/** Takes the lock. Rejects with `Conflict` while another process holds it, or with `S3Error`. */
export async function takeS3Lock(
  client: S3Client,
  key: string,
  times: LockTimes = lockTimes,
): Promise<StorageLock> {
  const lock = new S3Lock(client, key, times);
  await lock.take();
  return lock;
}

class S3Lock implements StorageLock {
  readonly #client: S3Client;
  readonly #key: string;
  readonly #times: LockTimes;
  readonly #owner = randomUUID();
  #renewal: NodeJS.Timeout | undefined;
  #renewing: Promise<void> = Promise.resolve();

  constructor(client: S3Client, key: string, times: LockTimes) {
    this.#client = client;
    this.#key = key;
    this.#times = times;
  }

  async take(): Promise<void> {
    const found = await this.#find();
    this.#refuseIfHeld(found);
    let taken = await this.#put(found === undefined ? { 'if-none-match': '*' } : { 'if-match': found.tag });
    // Another process was faster, or the answer to an earlier attempt of this put was lost.
    if (taken === 'refused') this.#refuseIfHeld(await this.#find());
    // A server that ignores conditions would let the second put through.
    if (taken === 'written' && (await this.#put({ 'if-none-match': '*' })) === 'written')
      taken = 'unconditional';
    if (taken === 'unconditional') await this.#takeUnconditionally();
    await this.check();
    this.#renewal = setInterval(() => {
      this.#renewing = this.#renew();
    }, this.#times.renewMs);
    this.#renewal.unref();
  }

  async check(): Promise<void> {
    const found = await this.#find();
    if (found?.owner === this.#owner) return;
    if (found !== undefined) throw held(found);
    throw new LockstepError('Conflict', 'the lock was removed meanwhile; another process may be at work');
  }

  async release(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#renewing;
    if ((await this.#find())?.owner === this.#owner)
      await this.#client.find({ method: 'DELETE', key: this.#key });
  }

  #refuseIfHeld(found: Found | undefined): void {
    if (found !== undefined && found.owner !== this.#owner && found.ageMs < this.#times.staleMs)
      throw held(found);
  }

  async #takeUnconditionally(): Promise<void> {
    this.#refuseIfHeld(await this.#find());
    await this.#put({});
    await new Promise((resolve) => setTimeout(resolve, this.#times.settleMs));
  }

  /** A failed renewal is seen by the next `check`, or does no harm. */
  async #renew(): Promise<void> {
    try {
      if ((await this.#find())?.owner === this.#owner) await this.#put({});
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
    }
  }

  async #put(condition: Readonly<Record<string, string>>): Promise<'written' | 'refused' | 'unconditional'> {
    const body = Buffer.from(JSON.stringify({ owner: this.#owner, host: hostname() }));
    const headers = { 'content-type': 'application/json', ...condition };
    try {
      await this.#client.request({ method: 'PUT', key: this.#key, headers, body });
      return 'written';
    } catch (error) {
      if (!(error instanceof S3Error)) throw error;
      if (error.status === 412 || error.status === 409) return 'refused';
      if (error.code === 'NotImplemented') return 'unconditional';
      throw error;
    }
  }

  async #find(): Promise<Found | undefined> {
    const answer = await this.#client.find({ method: 'GET', key: this.#key, answerBytesMax: 4096 });
    if (answer === undefined) return undefined;
    const written = Date.parse(answer.headers.get('last-modified') ?? '');
    const now = Date.parse(answer.headers.get('date') ?? '');
    const { owner = '', host = '' } = parsed(answer.body.toString('utf8'));
    // Without both times the lock is taken to be fresh.
    const ageMs = Number.isNaN(now - written) ? 0 : now - written;
    return { owner, host, tag: answer.headers.get('etag') ?? '', ageMs };
  }
}

function parsed(text: string): { readonly owner?: string; readonly host?: string } {
  try {
    return JSON.parse(text) as { readonly owner?: string; readonly host?: string };
  } catch {
    return {};
  }
}

function held({ host, ageMs }: Found): LockstepError {
  const seconds = Math.max(0, Math.round(ageMs / 1000));
  return new LockstepError(
    'Conflict',
    `another backup, or an expiry, is at work in this bucket (on ${host}, last seen ${seconds} s ago)`,
  );
}

/**
 * Judges the manifests of stores against power losses: the segments that a durable manifest names hold, in bytes that
 * any crash leaves, the newest record that was durable of each key, or a newer one. A removal may vanish, and nothing
 * else: what replaces a record must be synced before the manifest gives the record up (with `sync: N` a merge waits for
 * that), and so must a copy of it.
 */
import type { BadEvent } from '../check/report.ts';
import type { DotRecords } from '../check/disks/dots.ts';
import { manifestName } from '../../engine/storage/log/file-names.ts';
import type { LogRecord } from './log-records.ts';
import { newestRecords, storeNames } from './newest-records.ts';
import { nameOf } from './store-dump.ts';

/** The files of a disk, by path. */
type Files = ReadonlyMap<string, Buffer>;

/** What a host's disk would hold after any crash. */
interface Synced {
  readonly manifests: readonly (Buffer | undefined)[];
  readonly records: ReadonlyMap<string, LogRecord>;
}

/** Follows the newest durable record of every key of both stores of each host. */
export class SyncedRecords {
  readonly #hosts = new Map<string, Synced>();
  readonly #altered = new Set<string>();
  readonly #lost: BadEvent[] = [];
  readonly #read: typeof newestRecords;
  #compared = 0;

  /** `read`: how to read the newest records of a disk. */
  constructor(read = newestRecords) {
    this.#read = read;
  }

  /** The findings, with those of the object observer. */
  added(dots: DotRecords): DotRecords {
    return { ...dots, compared: dots.compared + this.#compared, lost: [...dots.lost, ...this.#lost] };
  }

  /** Number of manifests that were judged, and the records that they gave up. */
  get records(): { readonly compared: number; readonly lost: readonly BadEvent[] } {
    return { compared: this.#compared, lost: this.#lost };
  }

  /** A fault has altered what the host's disk holds: its manifests are not judged any more. */
  altered(host: string): void {
    this.#altered.add(host);
  }

  /** The incarnation ends, or cuts what a crash has left of its log. */
  ended(host: string): void {
    this.#hosts.delete(host);
  }

  /** A store of the host is open; `files` are those that any crash leaves. */
  opened(host: string, files: Files): void {
    if (!this.#altered.has(host)) this.#hosts.set(host, this.#syncedIn(files));
  }

  /** Names of the host's disk have become durable; `files` are those that any crash leaves. */
  named(host: string, files: Files, atUs: number): void {
    const before = this.#hosts.get(host);
    if (before === undefined || this.#altered.has(host) || isSame(before.manifests, manifestsIn(files)))
      return;
    const now = this.#syncedIn(files);
    this.#hosts.set(host, now);
    this.#compared += 1;
    for (const [place, { key, seq, value }] of before.records) {
      const record = now.records.get(place);
      if (value === undefined || value === 'damaged' || (record !== undefined && record.seq >= seq)) continue;
      const found = record === undefined ? 'none' : `that of ${record.seq}`;
      const text = `${host} published a manifest whose segments durably hold ${found} of the records of ${nameOf(key)}: that of ${seq} was durable before`;
      this.#lost.push({ atUs, text });
    }
  }

  #syncedIn(files: Files): Synced {
    const records = new Map(this.#read(files).map(([room, key, record]) => [`${room} ${key}`, record]));
    return { manifests: manifestsIn(files), records };
  }
}

function manifestsIn(files: Files): Synced['manifests'] {
  return storeNames.map((room) => files.get(`${room}/${manifestName}`));
}

function isSame(some: Synced['manifests'], others: Synced['manifests']): boolean {
  return some.every((one, index) => {
    const other = others[index];
    return one === undefined || other === undefined ? one === other : one.equals(other);
  });
}

/**
 * Judges the merges of stores: the segments that a manifest names after a merge hold the newest record of every key, as
 * those before it did. A removed key has no older record there, since the next start would bring it back.
 */
import type { BadEvent } from '../check/report.ts';
import type { LogRecord } from './log-records.ts';
import { newestRecords } from './newest-records.ts';
import { nameOf } from './store-dump.ts';

type Written = Pick<LogRecord, 'key' | 'seq' | 'value'>;

/** What a host's disk was seen to hold of a key. */
interface Newest {
  readonly key: LogRecord['key'];
  readonly seq: number;
  readonly removed: boolean;
}

/** Follows the newest record of every key of both stores of each host, the engine's own keys included. */
export class MergeObserver {
  readonly #hosts = new Map<string, Map<string, Newest>>();
  readonly #lost: BadEvent[] = [];
  readonly #read: typeof newestRecords;
  #compared = 0;

  /** `read`: how to read the newest records of a disk. */
  constructor(read = newestRecords) {
    this.#read = read;
  }

  /** Number of merges that were judged, and what they lost or brought back. */
  get records(): { readonly compared: number; readonly lost: readonly BadEvent[] } {
    return { compared: this.#compared, lost: this.#lost };
  }

  /** An incarnation starts: forgets what the host held. */
  started(host: string): void {
    this.#hosts.set(host, new Map());
  }

  /** A record of the store `room` lies in a segment of its log. */
  wrote(host: string, room: string, { key, seq, value }: Written): void {
    const records = this.#hosts.get(host);
    if (records === undefined || value === 'damaged') return;
    const place = `${room} ${key}`;
    const known = records.get(place);
    if (known === undefined || known.seq < seq)
      records.set(place, { key, seq, removed: value === undefined });
  }

  /** A merge of the host has ended; `files` are those on its disk. */
  merged(host: string, files: ReadonlyMap<string, Buffer>, atUs: number): void {
    const found = new Map(this.#read(files).map(([room, key, record]) => [`${room} ${key}`, record]));
    this.#compared += 1;
    for (const [place, { key, seq, removed }] of this.#hosts.get(host) ?? []) {
      const record = found.get(place);
      const isThere = record !== undefined && record.value !== undefined;
      if (removed ? !isThere || record.seq > seq : record !== undefined && record.seq >= seq) continue;
      const text = removed
        ? `${host} merged segments, and a record of ${nameOf(key)} older than its removal (${record?.seq} before ${seq}) counts again`
        : `${host} merged segments, and the newest record of ${nameOf(key)} (${seq}) is in none of them`;
      this.#lost.push({ atUs, text });
    }
  }
}

/**
 * What was found unreadable, and what may therefore not be answered.
 *
 * A lost record whose key is known marks that key in the key directory. When the key is not known, its hash may be
 * (storage/log/record.ts: the xors of a group's head); failing that, nothing is. Until it is settled, a key that may have been in
 * the lost place, and whose newest known record is older, is answered `Corrupted`: neither an old value nor "there is
 * none" would be true. A newer write to the key, or `settle`, ends that.
 */
import type { Token } from '../../base/ids.ts';
import type { Log } from '../../io/log.ts';
import { segmentName } from '../log/file-names.ts';

/** How it was noticed: at the start, when a client read it, or by a merge that passed. */
export type DamageFinder = 'recovery' | 'read' | 'merge' | 'verify';

export type DamageKind =
  /** A value does not match its checksum; its key is known. */
  | 'value'
  /** A record's head or key does not match its checksum. */
  | 'record'
  /** A group's head does not match its checksum. */
  | 'group'
  /** Bytes that are no groups. */
  | 'region'
  /** The segment's head does not match its checksum; no data is touched. */
  | 'head'
  /** The file is shorter than what was written and synced. */
  | 'truncated'
  /** The file is not there. */
  | 'missing'
  /** The disk refuses to read it. */
  | 'unreadable';

export interface Damage {
  readonly kind: DamageKind;
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
  /** Records lost whose keys are known. */
  readonly keyCount: number;
  /** Tokens that anti-entropy must compare again; `all` when it cannot be known. */
  readonly tokens: readonly Token[] | 'all';
  readonly foundBy: DamageFinder;
}

/** A key that was lost without its name. */
export interface Suspicion {
  /** The key's hash; undefined: any key. */
  readonly hash: number | undefined;
  /** The lost record's sequence number is at most this. */
  readonly seqMax: number;
}

/** Everything that is wrong with a store, and what it makes doubtful. */
export class Damages {
  readonly #log: Log;
  readonly #directory: string;
  readonly #damages: Damage[] = [];
  /** Per hash of a lost key (as a signed integer), the highest sequence number that it may have had. */
  readonly #byHash = new Map<number, number>();
  /** The highest sequence number that a lost record of any key may have had; 0 for none. */
  #anySeqMax = 0;

  constructor(log: Log, directory: string) {
    this.#log = log;
    this.#directory = directory;
  }

  get damages(): readonly Damage[] {
    return this.#damages;
  }

  /** Some lost record's key is not known. */
  get suspicious(): boolean {
    return this.#anySeqMax > 0 || this.#byHash.size > 0;
  }

  /** Enters what was found and says so in the log. */
  add(damage: Damage): void {
    this.#damages.push(damage);
    const { kind, offset, bytes, foundBy } = damage;
    const path = `${this.#directory}/${segmentName(damage.segment)}`;
    this.#log.event('error', 'store.damage.found', { path, kind, offset, bytes, by: foundBy });
  }

  suspect({ hash, seqMax }: Suspicion): void {
    if (hash === undefined) this.#anySeqMax = Math.max(this.#anySeqMax, seqMax);
    else this.#byHash.set(hash | 0, Math.max(this.#byHash.get(hash | 0) ?? 0, seqMax));
  }

  /** A key with this hash, whose newest known record has number `seq` (0: none is known), may have a newer lost one. */
  doubts(hash: number, seq: number): boolean {
    return seq < Math.max(this.#anySeqMax, this.#byHash.get(hash | 0) ?? 0);
  }

  /** What was lost was fetched from elsewhere, or given up: nothing is doubted any more. */
  settle(): void {
    this.#byHash.clear();
    this.#anySeqMax = 0;
  }
}

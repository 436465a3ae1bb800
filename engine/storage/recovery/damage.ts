/**
 * Records what was found unreadable, and which keys may therefore not be answered.
 *
 * A lost record with a known key marks that key in the key directory. If the key is unknown, its hash may be known (the
 * xors of a group's head, `log/record.ts`), or nothing. Until the damage is settled, a key that may have been in the
 * lost place, and whose newest known record is older, is answered `Corrupted`: both an old value and "not found" might
 * be wrong. A newer write of the key ends that, unless its writer keeps the doubt, since the write may lack what was
 * lost. `settle` ends it in any case.
 */
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { Log } from '../../io/log.ts';
import { segmentName } from '../log/file-names.ts';

/** How damage was found: at the start, by a client's read, by a merge, or by a full re-read of the log. */
export type DamageFinder = 'recovery' | 'read' | 'merge' | 'verify';

/** What is unreadable. */
export type DamageKind =
  /** A value does not match its checksum; its key is known. */
  | 'value'
  /** A record's head or key does not match its checksum. */
  | 'record'
  /** A group's head does not match its checksum. */
  | 'group'
  /** Bytes that are not groups. */
  | 'region'
  /** The segment's head does not match its checksum; no data is affected. */
  | 'head'
  /** The file is shorter than what was written and synced. */
  | 'truncated'
  /** The file is missing. */
  | 'missing'
  /** The disk refuses to read it. */
  | 'unreadable';

/** One finding in a segment: its position, and the keys that it may affect. */
export interface Damage {
  readonly kind: DamageKind;
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
  /** Lost records whose keys are known. */
  readonly keyCount: number;
  /** Tokens that anti-entropy must compare again; `all` if they are unknown. */
  readonly tokens: readonly Token[] | 'all';
  readonly foundBy: DamageFinder;
}

/** A lost record whose key is unknown. */
export interface Suspicion {
  /** The key's hash; undefined: any key. */
  readonly hash: number | undefined;
  /** The lost record's sequence number is at most this. */
  readonly seqMax: number;
}

/** All damage of a store, and the keys that it makes doubtful. */
export class Damages {
  readonly #log: Log;
  readonly #directory: string;
  readonly #damages: Damage[] = [];
  /** Per hash of a lost key (a signed integer), the highest sequence number that it may have had. */
  readonly #byHash = new Map<number, number>();
  /** The highest sequence number that a lost record of any key may have had; 0 for none. */
  #anySeqMax = 0;
  /** Keys that were written since their newest value was lost, and may lack a part of it. */
  readonly #kept = new Set<PackedKey>();

  constructor(log: Log, directory: string) {
    this.#log = log;
    this.#directory = directory;
  }

  /** All findings, oldest first. */
  get damages(): readonly Damage[] {
    return this.#damages;
  }

  /** Whether some lost record's key is unknown. */
  get suspicious(): boolean {
    return this.#anySeqMax > 0 || this.#byHash.size > 0;
  }

  /** Adds a finding and logs it. */
  add(damage: Damage): void {
    this.#damages.push(damage);
    const { kind, offset, bytes, foundBy } = damage;
    const path = `${this.#directory}/${segmentName(damage.segment)}`;
    this.#log.event('error', 'store.damage.found', { path, kind, offset, bytes, by: foundBy });
  }

  /** Makes keys doubtful until `settle`. */
  suspect({ hash, seqMax }: Suspicion): void {
    if (hash === undefined) this.#anySeqMax = Math.max(this.#anySeqMax, seqMax);
    else this.#byHash.set(hash | 0, Math.max(this.#byHash.get(hash | 0) ?? 0, seqMax));
  }

  /** Whether a key with this hash may have a lost record newer than `seq`, its newest known one (0: none is known). */
  doubts(hash: number, seq: number): boolean {
    return seq < Math.max(this.#anySeqMax, this.#byHash.get(hash | 0) ?? 0);
  }

  /** The key stays doubtful although it is written. */
  keepDoubt(key: PackedKey): void {
    this.#kept.add(key);
  }

  /** Whether the key was written and stays doubtful. */
  keepsDoubt(key: PackedKey): boolean {
    return this.#kept.size > 0 && this.#kept.has(key);
  }

  /** The key is as whole as on other replicas. */
  endDoubt(key: PackedKey): void {
    this.#kept.delete(key);
  }

  /** The keys that were written and stay doubtful, oldest first. */
  get doubtedKeys(): readonly PackedKey[] {
    return [...this.#kept];
  }

  /** Lost records have been fetched from other replicas or given up: no key is doubtful any more. */
  settle(): void {
    this.#kept.clear();
    this.#byHash.clear();
    this.#anySeqMax = 0;
  }
}

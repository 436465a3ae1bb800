/**
 * Follows each put of a client of single keys, and each value that a Redis command writes, until its coordinator has heard of every replica (`hint-delivery`). A
 * coordinator that lives that long leaves no replica without the write and without a hint: every owner's disk has held
 * the write, or some disk has held a hint of it for that owner. The evidence is on the disks alone.
 *
 * Invariant: an open write is judged once, at the first event after its patience; a write whose coordinator ends before
 * is skipped, because a coordinator keeps what it has not yet hinted in memory.
 */
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import type { Dot } from '../../engine/replica/object/dots.ts';
import type { SpreadRecords } from '../check/disks/hints.ts';
import type { BadEvent } from '../check/report.ts';

/** What the observer knows of the cluster and its disks. */
export interface SpreadTerms {
  /** Longest time, in virtual microseconds, until a living coordinator has a missed replica's hint on its disk. */
  readonly patienceUs: number;
  /** A fault may keep the node from writing a hint in time: its writes are skipped. */
  readonly isHindered: (node: string) => boolean;
  /** The nodes that own a token now. */
  readonly ownersOf: (token: number) => readonly string[];
  /** Whether the node's disk holds the write, or something that replaced it. */
  readonly holds: (node: string, key: PackedKey, dot: Dot) => boolean;
  /** Whether some disk holds a hint of the write for that node now. */
  readonly isHinted: (peer: string, key: PackedKey, dot: Dot) => boolean;
  readonly describe: (key: PackedKey, dot: Dot) => string;
}

interface OpenWrite {
  readonly coordinator: string;
  readonly key: PackedKey;
  readonly token: number;
  readonly dot: Dot;
  readonly atUs: number;
  /** Nodes for which some disk has held a hint of the write. */
  readonly hinted: Set<string>;
}

/** The open and the judged writes of one run. */
export class WriteSpread {
  readonly #terms: SpreadTerms;
  /** In the order of their times. */
  #open: OpenWrite[] = [];
  readonly #missed: BadEvent[] = [];
  #compared = 0;
  #skipped = 0;

  constructor(terms: SpreadTerms) {
    this.#terms = terms;
  }

  get records(): SpreadRecords {
    return { compared: this.#compared, skipped: this.#skipped, missed: this.#missed };
  }

  /** A write has reached its first disk. Only a coordinator's own disk begins one. */
  wrote(host: string, key: PackedKey, token: number, dot: Dot, atUs: number): void {
    if (!textOf(dot.actor).startsWith(`${host}.`)) return;
    if (this.#terms.isHindered(host)) {
      this.#skipped += 1;
      return;
    }
    // A slow disk may write the hint of a replica that was not asked before the coordinator's own copy.
    const hinted = new Set(
      this.#terms.ownersOf(token).filter((owner) => this.#terms.isHinted(owner, key, dot)),
    );
    this.#open.push({ coordinator: host, key, token, dot, atUs, hinted });
  }

  /** A hint for a peer has reached a disk; `has` tells whether it covers a dot. */
  hinted(peer: string, key: PackedKey, has: (dot: Dot) => boolean): void {
    for (const write of this.#open) if (write.key === key && has(write.dot)) write.hinted.add(peer);
  }

  /** The incarnation of a node ends. */
  ended(host: string): void {
    const left = this.#open.filter(({ coordinator }) => coordinator !== host);
    this.#skipped += this.#open.length - left.length;
    this.#open = left;
  }

  /** Judges the writes whose time is up. */
  judge(nowUs: number): void {
    for (;;) {
      const [first] = this.#open;
      if (first === undefined || nowUs - first.atUs <= this.#terms.patienceUs) return;
      this.#open.shift();
      this.#judge(first, nowUs);
    }
  }

  #judge({ coordinator, key, token, dot, hinted }: OpenWrite, atUs: number): void {
    for (const owner of this.#terms.ownersOf(token)) {
      if (owner === coordinator) continue;
      this.#compared += 1;
      if (hinted.has(owner) || this.#terms.holds(owner, key, dot)) continue;
      const text = `${coordinator} wrote ${this.#terms.describe(key, dot)}; ${owner} lacks it, and no disk has had a hint of it`;
      this.#missed.push({ atUs, text });
    }
  }
}

/**
 * Compares the dates of versions with the wall clocks of their coordinators (`timestamp-accuracy`). The world reports
 * every reading of a wall clock, and every object that reaches a disk, as a value or as a hint.
 *
 * The observer judges a version when it first sees it, shortly after the write: readings within `windowUs` count. It
 * reports a date as too early only below everything that the clock ever showed, because a write may stay with its
 * coordinator alone for long.
 */
import { textOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { staleMsMin } from '../../engine/replica/actor-ids.ts';
import { clockSkewMsMax } from '../../engine/replica/object/dates.ts';
import type { Dot } from '../../engine/replica/object/dots.ts';
import { instantMsOf } from '../../engine/replica/object/dots.ts';
import type { Sibling, StoredObject } from '../../engine/replica/object/object.ts';
import type { DateRecords } from '../check/disks/dates.ts';
import type { BadEvent } from '../check/report.ts';
import { nameOf } from './store-dump.ts';

/** Longest time from a write to its first record on any disk, in virtual microseconds. */
const windowUs = 6_000_000;
const sliceUs = 250_000;

/** Readings of one clock: the latest time in each slice of virtual time, and the earliest and the latest time of all. */
interface Shown {
  readonly latestMs: Map<number, number>;
  earliestMs: number;
  everMs: number;
}

/** What all disks together say of a key. */
interface KnownKey {
  readonly dots: Set<string>;
  highestMs: number;
}

/** Judges the date and the dot of every version once. `#wrong` collects the versions that no clock reading explains. */
export class DateObserver {
  readonly #nowUs: () => number;
  readonly #shown = new Map<string, Shown>();
  readonly #keys = new Map<PackedKey, KnownKey>();
  readonly #wrong: BadEvent[] = [];
  #compared = 0;
  #skipped = 0;

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs;
  }

  get dates(): DateRecords {
    return { compared: this.#compared, skipped: this.#skipped, wrong: this.#wrong };
  }

  /** An incarnation on `host` read its wall clock as `wallMs` (milliseconds since 1970). */
  told(host: string, wallMs: number): void {
    const slice = this.#slice();
    let shown = this.#shown.get(host);
    if (shown === undefined) {
      shown = { latestMs: new Map(), earliestMs: wallMs, everMs: wallMs };
      this.#shown.set(host, shown);
    }
    shown.latestMs.set(slice, Math.max(wallMs, shown.latestMs.get(slice) ?? wallMs));
    shown.earliestMs = Math.min(wallMs, shown.earliestMs);
    shown.everMs = Math.max(wallMs, shown.everMs);
  }

  /** The object was written to a disk. */
  stored(key: PackedKey, { context, siblings }: StoredObject): void {
    let known = this.#keys.get(key);
    if (known === undefined) this.#keys.set(key, (known = { dots: new Set(), highestMs: 0 }));
    for (const sibling of siblings) {
      const name = `${sibling.dot.actor}:${sibling.dot.counter}`;
      if (known.dots.has(name)) continue;
      known.dots.add(name);
      const others = context.filter(({ actor }) => actor !== sibling.dot.actor);
      const aheadMs = Math.max(known.highestMs, ...others.map(instantMsOf));
      this.#judge(key, sibling, aheadMs);
    }
    known.highestMs = Math.max(known.highestMs, ...context.map(instantMsOf));
  }

  #judge(key: PackedKey, { dot, lastModifiedMs }: Sibling, keyMs: number): void {
    const host = hostOf(dot);
    const shown = this.#shown.get(host);
    const latestMs = shown === undefined ? undefined : this.#latestMs(shown);
    if (shown === undefined || latestMs === undefined) {
      this.#skipped += 1;
      return;
    }
    this.#compared += 1;
    const what = `a version of ${nameOf(key)} by ${host}, whose clock showed ${latestMs} at most`;
    if (lastModifiedMs < shown.earliestMs || lastModifiedMs > latestMs + clockSkewMsMax)
      this.#complain(`${what}, is dated ${lastModifiedMs}`);
    else if (instantMsOf(dot) > Math.max(latestMs + aheadMsMax(shown, latestMs), keyMs + 1))
      this.#complain(`${what}, is named for ${instantMsOf(dot)}; its key was at ${keyMs}`);
  }

  #complain(text: string): void {
    this.#wrong.push({ atUs: this.#nowUs(), text });
  }

  /** The latest time that the clock showed within the window; undefined without a reading. */
  #latestMs({ latestMs }: Shown): number | undefined {
    let latest: number | undefined;
    const now = this.#slice();
    for (let slice = now - windowUs / sliceUs; slice <= now; slice++) {
      const shownMs = latestMs.get(slice);
      if (shownMs !== undefined && (latest === undefined || shownMs > latest)) latest = shownMs;
    }
    return latest;
  }

  #slice(): number {
    return Math.floor(this.#nowUs() / sliceUs);
  }
}

/** How far the dots of a node may be ahead of its clock. One that has gone back is followed only from `staleMsMin` on. */
function aheadMsMax({ everMs }: Shown, latestMs: number): number {
  return everMs > latestMs ? staleMsMin : clockSkewMsMax;
}

/** The host of a dot's actor. An actor is `host.epoch`, with a number where a host has several actors. */
function hostOf({ actor }: Dot): string {
  const text = textOf(actor);
  return text.slice(0, text.lastIndexOf('.'));
}

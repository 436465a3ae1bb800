/**
 * Judges what nodes prune from causal contexts, by the limits of the bucket (engine/replica/object/prune.ts). Only a
 * coordinator prunes, as it writes: oldest entries first, none of an actor that has a sibling, none younger than
 * `young_vclock`, and none that leaves fewer than `small_vclock`. Where fewer than `big_vclock` are left, all that are
 * gone were older than `old_vclock`.
 *
 * The disks show which entries a record lacks of the one before it. Nodes also log what they prune (`PrunedEntries`):
 * an entry that came with the client's context was never on the coordinator's disk. Both are judged.
 *
 * The age of an entry is counted up to the dot of the coordinator's write, which is never before the coordinator's clock:
 * so it is never too small, whatever clocks do. Not judged: an entry that stays although it might go.
 */
import type { PackedKey } from '../../engine/base/object-key.ts';
import { nameOfKey, unpackKey } from '../../engine/base/object-key.ts';
import { byteStringOf, textOf } from '../../engine/base/ids.ts';
import type { BucketProperties } from '../../engine/buckets/properties.ts';
import { defaultProperties } from '../../engine/buckets/properties.ts';
import type { Actor, Dot } from '../../engine/replica/object/dots.ts';
import { instantMsOf } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { describeObject } from '../../engine/replica/object/object.ts';
import type { ContextLimits } from '../../engine/replica/object/prune.ts';
import type { DotRecords } from '../check/disks/dots.ts';
import type { BadEvent } from '../check/report.ts';
import type { PrunedEntry } from '../evidence/prunings.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import { nameOfDot, sameDot } from './dot-names.ts';

/** The limits of a key's bucket type, of those that a node's configuration names; else the engine's own. */
export function contextLimitsOf(key: PackedKey, types: ReadonlyMap<string, BucketProperties>): ContextLimits {
  const name = unpackKey(key);
  return (name === undefined ? undefined : types.get(textOf(name.type))) ?? defaultProperties;
}

/**
 * What `now`, which replaces `old` on a disk, lacks of its context: undefined if nothing, else `allowed`, or why the
 * coordinator may not have pruned that.
 */
export function judgePruning(
  old: StoredObject,
  now: StoredObject,
  limits: ContextLimits | undefined,
): string | undefined {
  const gone = old.context.filter(({ actor }) => now.context.every((one) => one.actor !== actor));
  if (limits === undefined || gone.length === 0) return undefined;
  const why = faultOf(old, now, gone, limits);
  if (why === undefined) return 'allowed';
  return `${gone.map(nameOfDot).join(', ')} is gone, but ${why}: ${describeObject(now)} replaces ${describeObject(old)}`;
}

/** Why `gone`, the entries that `now` lacks of `old`, may not all be pruned; undefined: they may. */
function faultOf(
  old: StoredObject,
  now: StoredObject,
  gone: readonly Dot[],
  limits: ContextLimits,
): string | undefined {
  const written = now.siblings.filter(({ dot }) => !old.siblings.some((one) => sameDot(one.dot, dot)));
  if (written.length === 0) return 'nothing was written';
  const nowMs = Math.max(...written.map(({ dot }) => instantMsOf(dot)));
  const why = beyondLimits(gone, now.context.length, nowMs, limits);
  if (why !== undefined) return why;
  const kept = now.context.find(
    (entry) =>
      now.siblings.every(({ dot }) => dot.actor !== entry.actor) &&
      gone.some(({ counter }) => entry.counter < counter),
  );
  return kept === undefined ? undefined : `${nameOfDot(kept)} is older, and stays`;
}

/** Why a write at `nowMs` may not prune `gone` and leave so many entries; undefined: it may. */
function beyondLimits(
  gone: readonly Dot[],
  left: number,
  nowMs: number,
  limits: ContextLimits,
): string | undefined {
  if (left < limits.smallVclock) return `fewer than ${limits.smallVclock} are left`;
  const isFew = left < limits.bigVclock;
  const ageMsMin = 1000 * (isFew ? Math.max(limits.oldVclock, limits.youngVclock) : limits.youngVclock);
  const young = gone.find((entry) => nowMs - instantMsOf(entry) < ageMsMin);
  if (young === undefined) return undefined;
  return `${nameOfDot(young)} is ${nowMs - instantMsOf(young)} ms old, not ${ageMsMin}`;
}

/** What nodes log that they prune. Only an entry that may go excuses anything; any other one is a breach of `causality`. */
export class PrunedEntries {
  readonly #faults: BadEvent[] = [];
  readonly #typesOf: (host: string) => ReadonlyMap<string, BucketProperties>;
  readonly #entries: (PrunedEntry & { readonly name: string })[] = [];
  #compared = 0;

  /** `typesOf`: the bucket types that the host's configuration names. */
  constructor(typesOf: (host: string) => ReadonlyMap<string, BucketProperties>) {
    this.#typesOf = typesOf;
  }

  /** The findings of `causality`, with those of here. */
  added(dots: DotRecords): DotRecords {
    return { ...dots, compared: dots.compared + this.#compared, lost: [...dots.lost, ...this.#faults] };
  }

  /** The entries that were rightly pruned, in the order of their times. */
  get entries(): readonly PrunedEntry[] {
    return this.#entries;
  }

  limitsOf(host: string, key: PackedKey): ContextLimits {
    return contextLimitsOf(key, this.#typesOf(host));
  }

  /** Whether an entry of the key was rightly pruned that covers the dot. */
  covers(key: PackedKey, { actor, counter }: Dot): boolean {
    if (this.#entries.length === 0) return false;
    const [name, from] = [nameOfKey(key), textOf(actor)];
    return this.#entries.some((one) => one.name === name && one.actor === from && one.counter >= counter);
  }

  /** A node logs `replica.context.pruned`. */
  logged({ host, atUs, fields }: Pick<TraceEvent, 'host' | 'atUs' | 'fields'>): void {
    this.#compared += 1;
    const name = String(fields['key']);
    const [type = '', ...parts] = name.split('/').map(decodeURIComponent);
    const limits = this.#typesOf(host).get(type) ?? defaultProperties;
    const gone = dotsIn(String(fields['entries']));
    const nowMs = Math.max(...dotsIn(String(fields['by'])).map(instantMsOf));
    const why = beyondLimits(gone, Number(fields['left']), nowMs, limits);
    const key = parts.join('/');
    if (why !== undefined)
      this.#faults.push({ atUs, text: `${host} prunes ${String(fields['entries'])} of ${key}, but ${why}` });
    else
      for (const { actor, counter } of gone)
        this.#entries.push({ node: host, name, key, actor: textOf(actor), counter, atUs });
  }
}

/** The dots of `[n1.5f:3 n2.07:1]`. */
function dotsIn(text: string): readonly Dot[] {
  return text
    .slice(1, -1)
    .split(' ')
    .map((dot) => {
      const at = dot.lastIndexOf(':');
      return { actor: byteStringOf(dot.slice(0, at)) as Actor, counter: Number(dot.slice(at + 1)) };
    });
}

/**
 * Plays random histories of one key on several replicas, beside a simple model that knows causality as plain sets:
 * which writes a replica has heard of, and which of them no other one replaced. For the tests of this folder.
 */
import fc from 'fast-check';
import { present } from '../../base/assert.ts';
import type { ByteString } from '../../base/ids.ts';
import type { Content } from './content.ts';
import { tombstone } from './content.ts';
import type { Actor, Dot } from './dots.ts';
import { emptyVector, highestCounter, nextCounter } from './dots.ts';
import type { Sibling, StoredObject } from './object.ts';
import { applyWrite, basisOf, mergeObjects } from './object.ts';

/** Replicas in every history. */
export const replicaCount = 3;

/** One event. Each step makes a numbered snapshot; messages carry snapshots, late and repeatedly. */
export type Step =
  | {
      readonly kind: 'write';
      readonly at: number;
      /** The snapshot that the client has read; undefined for a blind write. */
      readonly seen: number | undefined;
      readonly deletes: boolean;
      /** The content was made from what the client has read. */
      readonly fromRead: boolean;
    }
  | { readonly kind: 'merge'; readonly at: number; readonly snapshot: number };

/** A random history. */
export interface History {
  /** Milliseconds by which each replica's clock is off. */
  readonly skewsMs: readonly number[];
  readonly steps: readonly Step[];
}

const at = fc.nat(replicaCount - 1);
const snapshot = fc.nat(50);

/** Generates histories of at most 25 steps. */
export const histories: fc.Arbitrary<History> = fc.record({
  skewsMs: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: replicaCount, maxLength: replicaCount }),
  steps: fc.array(
    fc.oneof(
      fc.record({
        kind: fc.constant('write' as const),
        at,
        seen: fc.option(snapshot, { nil: undefined }),
        deletes: fc.boolean(),
        fromRead: fc.boolean(),
      }),
      fc.record({ kind: fc.constant('merge' as const), at, snapshot }),
    ),
    { maxLength: 25 },
  ),
});

/** The model of a replica: what it knows, by the numbers of the writes. */
export interface Twin {
  readonly known: ReadonlySet<number>;
  readonly live: ReadonlySet<number>;
}

/** A replica's object beside its model. */
export interface Snapshot {
  readonly object: StoredObject | undefined;
  readonly twin: Twin;
}

/** The outcome of a history. */
export interface Played {
  readonly snapshots: readonly Snapshot[];
  /** The last state of each replica. */
  readonly replicas: readonly Snapshot[];
  /** The dot of each write, by its number. */
  readonly dots: readonly Dot[];
  /** Each write as it was made, by its number. */
  readonly written: readonly Sibling[];
  /** The writes that each write had replaced or heard of, by its number. */
  readonly seen: readonly ReadonlySet<number>[];
}

const nothing: Snapshot = { object: undefined, twin: { known: new Set(), live: new Set() } };

/** Plays a history. `resolve` is applied to what each replica stores, as in a bucket without siblings. */
export function play(history: History, resolve = (object: StoredObject): StoredObject => object): Played {
  const replicas: Snapshot[] = Array.from({ length: replicaCount }, () => nothing);
  const counters = replicas.map(() => 0);
  const snapshots: Snapshot[] = [nothing];
  const dots: Dot[] = [];
  const seen: ReadonlySet<number>[] = [];
  const written: Sibling[] = [];
  history.steps.forEach((step, stepIndex) => {
    const here = present(replicas[step.at], 'the replica');
    const source =
      snapshots[(step.kind === 'write' ? (step.seen ?? 0) : step.snapshot) % snapshots.length] ?? nothing;
    let next: Snapshot;
    if (step.kind === 'merge') {
      next = { object: mergedOf(here.object, source.object), twin: mergedTwin(here.twin, source.twin) };
    } else {
      const seenByWriter = step.seen === undefined ? nothing : source;
      const context = seenByWriter.object?.context ?? emptyVector;
      const nowMs = stepIndex + (history.skewsMs[step.at] ?? 0);
      const known = Math.max(
        counters[step.at] ?? 0,
        highestCounter(context),
        highestCounter(here.object?.context ?? emptyVector),
      );
      const dot = { actor: `n${step.at}.00` as Actor, counter: nextCounter(known, nowMs) };
      counters[step.at] = dot.counter;
      const content = step.deletes ? tombstone : contentOf(`write ${dots.length}`);
      const basis = step.fromRead ? basisOf(context, dot) : 0;
      const object = applyWrite(here.object, context, content, dot, nowMs, basis);
      written.push(
        present(
          object.siblings.find((sibling) => sibling.dot === dot),
          'the write',
        ),
      );
      next = {
        object,
        twin: writtenTwin(here.twin, seenByWriter.twin, dots.length),
      };
      seen.push(seenByWriter.twin.known);
      dots.push(dot);
    }
    const stored = { object: next.object === undefined ? undefined : resolve(next.object), twin: next.twin };
    replicas[step.at] = stored;
    snapshots.push(stored);
  });
  return { snapshots, replicas, dots, written, seen };
}

/** A value with this text. */
export function contentOf(text: string): Content {
  return {
    ...tombstone,
    tombstone: false,
    value: Buffer.from(text),
    contentType: 'text/plain' as ByteString,
  };
}

/** As `mergeObjects`; either side may be absent. */
export function mergedOf(
  left: StoredObject | undefined,
  right: StoredObject | undefined,
): StoredObject | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return mergeObjects(left, right);
}

function mergedTwin(left: Twin, right: Twin): Twin {
  const live = new Set([
    ...[...left.live].filter((write) => right.live.has(write) || !right.known.has(write)),
    ...[...right.live].filter((write) => left.live.has(write) || !left.known.has(write)),
  ]);
  return { known: new Set([...left.known, ...right.known]), live };
}

function writtenTwin(here: Twin, seen: Twin, write: number): Twin {
  const live = new Set([...[...here.live].filter((other) => !seen.known.has(other)), write]);
  return { known: new Set([...here.known, ...seen.known, write]), live };
}

/**
 * Which writes coordinators have rightly pruned from the causal contexts of their keys (engine/replica/object/prune.ts).
 * Plain data for the checks.
 *
 * A coordinator prunes only entries that cover no sibling, so each value that a pruned entry covers was replaced or
 * deleted. From the pruning on, the new context no longer says so. A replica that has not received the key since then
 * takes the value for a concurrent one, and it may be back beside what replaced it, for a while or for good. Nothing
 * else may change: what replaced it is still there, no value vanishes, and no value is back that no pruned entry covers.
 */
import type { WriteOperation } from './history.ts';

/** The dot of a put: the incarnation that coordinated it, and its place among that incarnation's writes. */
export interface CoordinatedAt {
  readonly actor: string;
  readonly counter: number;
}

/** An entry that a coordinator has rightly pruned: it covers the actor's writes of the key up to the counter. */
export interface PrunedEntry extends CoordinatedAt {
  /** The coordinator. */
  readonly node: string;
  /** `bucket/key`, as the history names it. */
  readonly key: string;
  readonly atUs: number;
}

/** The prunings of one run. */
export interface Prunings {
  /** Whether an entry that covers the put was rightly pruned by then, so that its value may be back. */
  mayBeBack(put: WriteOperation, atUs: number): boolean;
}

/** No context is pruned. */
export const nothingPruned: Prunings = { mayBeBack: () => false };

/** Indexes the entries; `coordinated`: by tag, the dots of the puts that reached a disk. */
export function pruningsOf(
  entries: readonly PrunedEntry[],
  coordinated: ReadonlyMap<string, CoordinatedAt>,
): Prunings {
  if (entries.length === 0) return nothingPruned;
  return {
    mayBeBack: ({ key, tag }, atUs) => {
      const dot = coordinated.get(tag);
      return entries.some(
        (entry) =>
          entry.key === key &&
          entry.atUs <= atUs &&
          entry.actor === dot?.actor &&
          entry.counter >= dot.counter,
      );
    },
  };
}

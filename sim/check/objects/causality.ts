/**
 * Derives which writes of a key a write had seen, from outside: a write carries the causal context of an earlier read,
 * and that read returned tags.
 *
 * There are two answers, because a context covers more than its reader was shown. `surely` follows what reads returned:
 * a tag, what its write had seen, and so on; it is never too large. `perhaps` adds what a context may cover unseen and
 * is never too small. A deletion leaves no tag, so a context read after a deletion began may cover the deletion and
 * everything that it had seen. A bucket without siblings shows the newest value only. Checks accuse by `surely` and
 * excuse by `perhaps`.
 */
import type { History, Operation, ReadOperation, WriteOperation } from '../../evidence/history.ts';
import { isRead, isWrite } from '../../evidence/history.ts';

/** The answers for the operations of one key. */
export interface Causality {
  /** The put that wrote a tag; undefined for a tag that no client wrote. */
  writeOf(tag: string): WriteOperation | undefined;
  /** The later write had certainly seen the earlier one. */
  surely(later: WriteOperation, earlier: WriteOperation): boolean;
  /** The later write may have seen the earlier one. */
  perhaps(later: WriteOperation, earlier: WriteOperation): boolean;
}

/** Derives the answers from the operations of one key. */
export function causalityOf(operations: History): Causality {
  const reads = new Map<number, ReadOperation>();
  const puts = new Map<string, WriteOperation>();
  const deletions: WriteOperation[] = [];
  for (const operation of operations) {
    if (isRead(operation)) reads.set(operation.id, operation);
    else if (operation.kind === 'put') puts.set(operation.tag, operation);
    else if (operation.outcome !== 'fail') deletions.push(operation);
  }
  const writes = operations.filter(isWrite);

  const shown = (write: WriteOperation): readonly WriteOperation[] => {
    const read = readBehind(write, reads);
    return read === undefined ? [] : read.values.flatMap((tag) => puts.get(tag) ?? []);
  };
  const possible = writes.filter((write) => write.outcome !== 'fail');
  const covered = (write: WriteOperation): readonly WriteOperation[] => {
    const read = readBehind(write, reads);
    if (read === undefined) {
      // A deletion without a context replaces whatever the node finds.
      return write.kind === 'delete' ? possible.filter((other) => beganBefore(other, write)) : [];
    }
    const unseen = write.siblings ? deletions : possible;
    return [...shown(write), ...unseen.filter((other) => beganBefore(other, read))];
  };
  const surely = closureOf(shown);
  const perhaps = closureOf(covered);
  return {
    writeOf: (tag) => puts.get(tag),
    surely: (later, earlier) => surely(later).has(earlier.id),
    perhaps: (later, earlier) => perhaps(later).has(earlier.id),
  };
}

function readBehind(
  write: WriteOperation,
  reads: ReadonlyMap<number, ReadOperation>,
): ReadOperation | undefined {
  return write.contextFrom === undefined ? undefined : reads.get(write.contextFrom);
}

/**
 * Whether `later` could have seen `write`: `write` was invoked before `later` completed. A write of unknown outcome
 * never completes, because the cluster may still apply it after its client has given up.
 */
function beganBefore(write: Operation, later: Operation): boolean {
  if (write.id === later.id) return false;
  const endUs = later.outcome === 'unknown' ? Infinity : (later.completedUs ?? Infinity);
  return write.invokedUs <= endUs;
}

/** The ids of all writes reachable by `next`; cached per write. */
function closureOf(
  next: (write: WriteOperation) => readonly WriteOperation[],
): (write: WriteOperation) => ReadonlySet<number> {
  const known = new Map<number, ReadonlySet<number>>();
  return (write) => {
    const remembered = known.get(write.id);
    if (remembered !== undefined) return remembered;
    const reached = new Set<number>();
    const pending = [...next(write)];
    for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
      if (reached.has(one.id)) continue;
      reached.add(one.id);
      pending.push(...next(one));
    }
    known.set(write.id, reached);
    return reached;
  };
}

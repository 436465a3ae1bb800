/** Builds short histories for tests: one key, one datacenter, three copies, reads and writes of two. */
import type { Operation, ReadOperation, WriteOperation } from '../evidence/history.ts';

const common = {
  client: 'c0',
  key: 'b/k',
  siblings: true,
  node: 'n1',
  datacenter: 'dc1',
  copies: 3,
  need: 2,
  outcome: 'ok',
  reason: '',
} as const;

/** A put of `tag` from `at` to `at + 1`. */
export function putAt(at: number, tag: string, over: Partial<WriteOperation> = {}): WriteOperation {
  return {
    ...common,
    id: at,
    kind: 'put',
    tag,
    contextFrom: undefined,
    durableCopies: 2,
    invokedUs: at,
    completedUs: at + 1,
    ...over,
  };
}

/** A deletion from `at` to `at + 1`. */
export function deleteAt(at: number, over: Partial<WriteOperation> = {}): WriteOperation {
  return { ...putAt(at, '', over), kind: 'delete' };
}

/** A read from `at` to `at + 1` that returned `values`. */
export function readAt(
  at: number,
  values: readonly string[],
  over: Partial<ReadOperation> = {},
): ReadOperation {
  return {
    ...common,
    id: at,
    kind: 'get',
    values,
    final: false,
    invokedUs: at,
    completedUs: at + 1,
    ...over,
  };
}

/** The same history in a bucket without siblings. */
export function newestWins(history: readonly Operation[]): readonly Operation[] {
  return history.map((operation) => ({ ...operation, siblings: false }));
}

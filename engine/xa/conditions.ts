/** The conditions of a branch, held against the newest objects of its keys. */
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { StoredObject } from '../object/object.ts';
import type { Branch } from './branch.ts';
import type { TransactionContext } from './context.ts';
import type { Voted } from './orders.ts';
import { describeKey, resolved, vettedWrite, votedAbort, withOperations } from './orders.ts';
import type { BranchOperation, BranchOrder } from './words.ts';

/**
 * Whatever the keys hold, the order is written as it is: it states no condition, has seen nothing, deletes nothing, and
 * leaves one value behind.
 */
export function isUnconditional({ parts }: TransactionContext, { operations }: BranchOrder): boolean {
  return operations.every(({ key, content, context, ifMatch, ifAbsent, check }) => {
    if (check || ifAbsent || content.tombstone || context !== undefined || ifMatch !== undefined)
      return false;
    const { allowMult, lastWriteWins } = parts.rules(key);
    return !allowMult || lastWriteWins;
  });
}

/** An abort when one does not hold; leaves in the order what is to be written, and what it has seen. */
export async function checkConditions(
  { parts }: TransactionContext,
  branch: Branch,
): Promise<Voted | undefined> {
  const { replica } = parts;
  const loaded = new Deferred<LockstepError | readonly (StoredObject | undefined)[]>();
  replica.newest(branch.places, (error, objects) => loaded.resolve(error ?? objects));
  const objects = await loaded.promise;
  if (objects instanceof LockstepError) return votedAbort('prepare_failed', objects.message);
  const operations: BranchOperation[] = [];
  for (const [index, operation] of branch.order.operations.entries()) {
    const current = objects[index];
    try {
      replica.vet(vettedWrite(operation), current);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      const reason = error.code === 'PreconditionFailed' ? 'precondition_failed' : 'prepare_failed';
      return votedAbort(reason, `operation on ${describeKey(operation.key)}: ${error.message}`);
    }
    operations.push(resolved(operation, current));
  }
  branch.order = withOperations(branch.order, operations);
  branch.orderBytes = undefined;
  return undefined;
}

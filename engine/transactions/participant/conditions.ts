/**
 * The checks before a branch votes: that its idempotency key is new, and that its conditions hold against the newest
 * objects of its keys.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { Branch } from './branch.ts';
import type { TransactionContext } from '../context.ts';
import type { Voted } from '../formats/prepare-request.ts';
import {
  describeKey,
  resolved,
  vettedWrite,
  votedAbort,
  withOperations,
} from '../formats/prepare-request.ts';
import { claimName } from '../idempotency/lookup.ts';
import type { BranchOperation, PrepareRequest } from '../formats/messages.ts';

/**
 * Whether the request is written as it is, whatever its keys hold: it has no condition and no context, deletes nothing,
 * and its buckets keep no siblings.
 */
function isUnconditional({ parts }: TransactionContext, { operations }: PrepareRequest): boolean {
  return operations.every(({ key, content, context, ifMatch, ifAbsent, check }) => {
    if (check || ifAbsent || content.tombstone || context !== undefined || ifMatch !== undefined)
      return false;
    const { allowMult, lastWriteWins } = parts.rules(key);
    return !allowMult || lastWriteWins;
  });
}

/** Whether nothing has to be checked before the request is written: no idempotency key, no condition. */
export function isFree(context: TransactionContext, order: PrepareRequest): boolean {
  return order.clientId === '' && isUnconditional(context, order);
}

/**
 * Resolves with an abort vote if the idempotency key of the branch was used before or one of its conditions does not
 * hold, and with undefined otherwise. The branch's request then holds what is to be written, with the contexts it has
 * seen.
 */
export async function checkPrepareRequest(
  context: TransactionContext,
  branch: Branch,
): Promise<Voted | undefined> {
  const { xid, order } = branch;
  const used = order.clientId === '' ? undefined : await claimName(context, xid, order);
  if (used !== undefined || isUnconditional(context, branch.order)) return used;
  return checkConditions(context, branch);
}

/** `checkPrepareRequest` of the conditions alone. */
async function checkConditions({ parts }: TransactionContext, branch: Branch): Promise<Voted | undefined> {
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

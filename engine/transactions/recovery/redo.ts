/**
 * Applies a committed branch again on a node that has lost its disk. An earlier incarnation may have applied it, and
 * other writes may have followed; only the acknowledgement was lost. Writing the branch once more would undo those
 * writes.
 *
 * So a branch sends a mark with its vote to commit: its actor, and how far that actor's counter has come. A key that is
 * ahead of the clock may hold a higher counter of that actor; the mark names it apart. From the vote until the outcome
 * the branch holds its keys, and what other clients write to them meanwhile is written under another actor
 * (`replica/actor-ids.ts`). So whatever that actor writes to them after the vote, beginning with the branch, has a
 * greater counter. Once the new disk has read back what other replicas hold, a key that has seen such a write is not
 * written again.
 *
 * A branch that is applied only after a restart is a write of another actor. If its disk is lost after that, the branch
 * is written again.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { Dot } from '../../replica/object/dots.ts';
import { highestCounter } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { Branch, namedOf } from '../participant/branch.ts';
import { writeClient } from '../formats/idempotency-records.ts';
import type { TransactionContext } from '../context.ts';
import type { Ended } from '../formats/prepare-request.ts';
import { placesOf, redone, withOperations } from '../formats/prepare-request.ts';
import { spreadBranch } from '../coordinator/branch-requests.ts';
import { mark } from '../formats/steps.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/**
 * The mark as text, such as `n1.5f0c8e12ab34 1837462 2:1900000`: the key of the third operation is ahead of the clock.
 * `objects`: what the keys of the operations hold, in their order; none if no key is ahead.
 */
export function markText(
  { actor, counter }: Dot,
  objects: readonly (StoredObject | undefined)[] = [],
): string {
  const ahead = objects.flatMap((object, index) => {
    const highest = highestOf(object, actor);
    return highest > counter ? [`${index}:${highest}`] : [];
  });
  return [actor, counter, ...ahead].join(' ');
}

/**
 * The highest counter of the incarnation's writes in the object's context, apart from writes to a key that a branch
 * held.
 */
function highestOf(object: StoredObject | undefined, incarnation: string): number {
  const own = object?.context.filter(
    ({ actor }) => actor === incarnation || actor.startsWith(`${incarnation}+`),
  );
  return highestCounter(own ?? []);
}

/**
 * The operations of the prepare request that must be applied again, each as it must be written. `told`: the mark of the
 * vote, empty for none. Resolves with an error while this node cannot tell yet.
 */
export async function leftOf(
  { replica, unread }: Pick<RoundDependencies, 'replica' | 'unread'>,
  order: PrepareRequest,
  told: string,
): Promise<PrepareRequest | LockstepError> {
  if (unread()) sometimes('transaction.redo-while-rebuilding');
  if (unread()) return new LockstepError('Overloaded', 'the disk is being filled again; try again later');
  const [life = '', last = '', ...ahead] = told.split(' ');
  const lasts = new Map(ahead.map((one) => [Number(one.split(':')[0]), Number(one.split(':')[1])]));
  const found = new Deferred<readonly (StoredObject | undefined)[] | LockstepError>();
  replica.newest(placesOf(order), (error, objects) => found.resolve(error ?? objects));
  const objects = await found.promise;
  if (objects instanceof LockstepError) return objects;
  const left = order.operations.flatMap((operation, index) => {
    const current = objects[index];
    const isDone = life !== '' && highestOf(current, life) > (lasts.get(index) ?? Number(last));
    return isDone ? [] : [redone(operation, current)];
  });
  return withOperations(order, left);
}

/**
 * The branch was applied before the disk was lost, and its writes (or newer ones) are restored. Re-sends them to the
 * other replicas.
 */
export async function confirm(context: TransactionContext, xid: Xid, order: PrepareRequest): Promise<Ended> {
  const { clock } = context.io;
  const places = placesOf(order);
  const branch = new Branch(xid, withOperations(order, []), places, clock.wallMs(), 'applied', clock.nowUs());
  const named = namedOf(branch, context.retention.nowMs);
  if (named !== undefined) {
    // If the disk does not take the record, the coordinator asks again. The other replicas keep it, too.
    if ((await context.log.force([writeClient(named)])) === undefined) context.names.enter(named);
  }
  mark(context.io, 'p.applied.synced', xid);
  await spreadBranch(context, branch);
  const met = (await branch.applying) === true;
  mark(context.io, 'p.ack.sent', xid, { met });
  return { kind: 'ended', met };
}

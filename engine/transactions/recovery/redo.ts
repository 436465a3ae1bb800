/**
 * Applies a committed branch again on a node that has lost its disk. An earlier incarnation may have applied it, and
 * other writes may have followed; only the acknowledgement was lost. Writing the branch once more would undo those
 * writes.
 *
 * So a branch sends a mark with its vote to commit: its actor, and how far that actor's counter has come. The branch
 * locks its keys from before the vote on. Whatever that actor writes to them afterwards, beginning with the branch, has
 * a greater counter. Once the new disk has read back what other replicas hold, a key that has seen such a write is not
 * written again.
 *
 * A branch that is applied only after a restart is a write of another actor. If its disk is lost after that, the branch
 * is written again.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { Actor, Dot } from '../../replica/object/dots.ts';
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

/** The mark as text, such as `n1.5f0c8e12ab34 1837462`. */
export function markText({ actor, counter }: Dot): string {
  return `${actor} ${counter}`;
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
  const [life = '', last = ''] = told.split(' ');
  const found = new Deferred<readonly (StoredObject | undefined)[] | LockstepError>();
  replica.newest(placesOf(order), (error, objects) => found.resolve(error ?? objects));
  const objects = await found.promise;
  if (objects instanceof LockstepError) return objects;
  const isOfThatLife = (actor: Actor): boolean => actor === life || actor.startsWith(`${life}+`);
  const isDone = (object: StoredObject | undefined): boolean =>
    life !== '' &&
    (object?.context.some(({ actor, counter }) => counter > Number(last) && isOfThatLife(actor)) ?? false);
  const left = order.operations.flatMap((operation, index) => {
    const current = objects[index];
    return isDone(current) ? [] : [redone(operation, current)];
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

/**
 * A decided branch is given again to a node that has lost its disk. Its earlier life may have carried it out before, and
 * others have written the keys since; only the acknowledgement was lost. Written once more it would undo them.
 *
 * So a branch says with its vote to commit which life it is, and how far that has come with its counters (the mark): it
 * holds the keys from before the vote on, and whatever that life writes there afterwards, itself first, has a higher counter.
 * Where the new disk, once it has read back what others hold, knows of such a write under a key, nothing is to be done
 * there again. (A branch that is carried out only after a restart is one of another life; lost after that, it is written
 * again.)
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { RoundDependencies } from '../../replication/round-dependencies.ts';
import type { Actor, Dot } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { namedOf, newBranch } from '../participant/branch.ts';
import { writeClient } from '../formats/idempotency-records.ts';
import type { TransactionContext } from '../context.ts';
import type { Ended } from '../formats/prepare-request.ts';
import { placesOf, withOperations } from '../formats/prepare-request.ts';
import { spreadBranch } from '../coordinator/branch-requests.ts';
import { mark } from '../formats/steps.ts';
import type { PrepareRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** `n1.5f0c8e12ab34 1837462`. */
export function markText({ actor, counter }: Dot): string {
  return `${actor} ${counter}`;
}

/** What of the order is to be written again; `told`: the mark of the vote, empty for nothing. An error: not to be said yet. */
export async function leftOf(
  { replica, unread }: Pick<RoundDependencies, 'replica' | 'unread'>,
  order: PrepareRequest,
  told: string,
): Promise<PrepareRequest | LockstepError> {
  if (unread()) return new LockstepError('Overloaded', 'the disk is being filled again; try again later');
  const [life = '', last = ''] = told.split(' ');
  if (life === '') return order;
  const found = new Deferred<readonly (StoredObject | undefined)[] | LockstepError>();
  replica.newest(placesOf(order), (error, objects) => found.resolve(error ?? objects));
  const objects = await found.promise;
  if (objects instanceof LockstepError) return objects;
  const isOfThatLife = (actor: Actor): boolean => actor === life || actor.startsWith(`${life}+`);
  const isDone = (object: StoredObject | undefined): boolean =>
    object?.context.some(({ actor, counter }) => counter > Number(last) && isOfThatLife(actor)) ?? false;
  return withOperations(
    order,
    order.operations.filter((_, index) => !isDone(objects[index])),
  );
}

/** It was carried out, and what that wrote, or what followed it, is here again: the other replicas get it, too. */
export async function confirm(context: TransactionContext, xid: Xid, order: PrepareRequest): Promise<Ended> {
  const { clock } = context.io;
  const places = placesOf(order);
  const branch = newBranch(xid, withOperations(order, []), places, clock.wallMs(), 'applied', clock.nowUs());
  const named = namedOf(branch);
  if (named !== undefined) {
    // A disk that does not take it is asked again: the others keep the name, too.
    if ((await context.log.force([writeClient(named)])) === undefined) context.names.enter(named);
  }
  mark(context.io, 'p.applied.synced', xid);
  await spreadBranch(context, branch);
  const met = (await branch.applying) === true;
  mark(context.io, 'p.ack.sent', xid, { met });
  return { kind: 'ended', met };
}

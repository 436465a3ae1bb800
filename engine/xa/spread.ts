/** What a start, or a loss, leaves to be said once more about a branch that is decided. */
import { Deferred } from '../base/deferred.ts';
import { BatchRound } from '../dispatch/batch-round.ts';
import type { StoredObject } from '../object/object.ts';
import { encodeObject } from '../object/object.ts';
import type { Branch } from './branch.ts';
import type { TransactionContext } from './context.ts';
import { askNode } from './context.ts';
import type { CommitReply } from './orders.ts';
import type { BranchOrder, BranchRequest } from './words.ts';
import type { Xid } from './xid.ts';

/** The writes of an applied branch go to the other replicas once more: a crash may have come before they did. */
export async function spreadBranch({ parts }: TransactionContext, branch: Branch): Promise<void> {
  const met = new Deferred<boolean>();
  // Whoever tells it to commit once more hears whether the level is met now, not that it was done.
  branch.applying = met.promise;
  const done = new Deferred<readonly (StoredObject | undefined)[]>();
  parts.replica.newest(branch.places, (_, objects) => done.resolve(objects));
  const objects = await done.promise;
  const items = branch.places.flatMap(({ key, token }, index) => {
    const object = objects[index];
    return object === undefined ? [] : [{ key, token, bytes: encodeObject(object) }];
  });
  if (items.length === 0) {
    met.resolve(branch.places.length === 0);
    return;
  }
  const round = new BatchRound(parts, items, branch.order.level);
  round.send(parts.settings.timeoutMs * 1000);
  round.durableHere();
  await Promise.all([round.met.then((value) => met.resolve(value)), round.spread]);
}

/** Who carries out what was decided. */
interface Carrier {
  commit(xid: Xid): Promise<CommitReply>;
  redo(xid: Xid, order: BranchOrder): Promise<CommitReply>;
}

/** What a coordinator that has decided asks of a branch. */
export function carryOut(
  branches: Carrier,
  request: Extract<BranchRequest, { readonly kind: 'commit' | 'redo' }>,
): Promise<CommitReply> {
  return request.kind === 'commit' ? branches.commit(request.xid) : branches.redo(request.xid, request.order);
}

/** The coordinator has decided the transaction, and still waits for a branch of it. */
export async function isStillWanted(
  context: TransactionContext,
  xid: Xid,
  { coordinator }: BranchOrder,
): Promise<boolean> {
  const { self, settings } = context.parts;
  if (coordinator === self.node) return true;
  const reply = await askNode(
    context,
    coordinator,
    { kind: 'inquire', xid, life: 0 },
    settings.timeoutMs * 1000,
  );
  return reply.kind === 'told' && reply.state === 'committed';
}

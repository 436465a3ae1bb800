/**
 * Sends a coordinator's requests to a branch, over the network or on the own node. Also sends an applied branch's
 * writes to the other replicas again, after a start or a lost disk.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { TraceContext } from '../../base/request-trace.ts';
import { BatchRound } from '../../replication/batch-round.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { encodeObject } from '../../replica/object/object.ts';
import type { Branch } from '../participant/branch.ts';
import { namedOf } from '../participant/branch.ts';
import { encodeName } from '../formats/idempotency-records.ts';
import type { NoAnswer, TransactionContext } from '../context.ts';
import { askNode, tryAskNode } from '../context.ts';
import type { CommitReply, Voted } from '../formats/prepare-request.ts';
import type { PrepareRequest, BranchReply, BranchRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** The pause before a branch's objects are read again from a store that did not answer. */
const readAgainUs = 500_000;

/** What the sending of an applied branch needs of the node. */
type SpreadContext = Pick<TransactionContext, 'parts' | 'retention' | 'batches' | 'pauses'> & {
  readonly spread: Pick<TransactionContext['spread'], 'follow'>;
};

/** How a branch that a start has found in the log is sent again. */
export interface RecoveredSpread {
  /** Resolves once this node has heard its peers: until then it sends them nothing, and may know an old ring. */
  readonly acquainted: Promise<void>;
  /** Called when the round begins, once the next primaries are sure to get the batch. */
  readonly onBegun: () => void;
}

/**
 * Sends the writes of an applied branch to the other replicas again: the node may have crashed before the first time.
 * Resolves once the round is over, with false if none of them is here any more, or the node stops.
 */
export async function spreadBranch(
  context: SpreadContext,
  branch: Branch,
  recovered?: RecoveredSpread,
): Promise<boolean> {
  const { parts, retention, spread, batches } = context;
  const met = new Deferred<boolean>();
  // A coordinator that repeats its commit hears from now on whether the level is met now.
  branch.applying = met.promise;
  if (recovered !== undefined) await recovered.acquainted;
  const { objects, isWhole } = await newestOf(context, branch);
  const places = branch.places.filter((_, index) => objects[index] !== undefined);
  const bytes = objects.filter((object) => object !== undefined).map(encodeObject);
  if (places.length === 0) {
    met.resolve(branch.places.length === 0);
    return false;
  }
  const named = namedOf(branch, retention.nowMs);
  const clientName = named === undefined ? undefined : encodeName(named);
  const round = new BatchRound(parts, places, bytes, branch.order, undefined, clientName);
  round.send(parts.settings.timeoutMs * 1000);
  round.durableHere();
  if (named !== undefined) spread.follow(named, round);
  batches.follow(branch.xid, round, recovered !== undefined);
  recovered?.onBegun();
  await Promise.all([round.met.then((value) => met.resolve(value && isWhole)), round.spread]);
  return true;
}

/** What this node holds of a branch's keys. */
interface HeldObjects {
  readonly objects: readonly (StoredObject | undefined)[];
  /** No copy is lost. */
  readonly isWhole: boolean;
}

/**
 * The newest objects of the branch's keys. While the store does not answer (its queue may be full of the reads of other
 * branches), reads them again, until the node stops: what this node cannot read now may be known to no other.
 */
async function newestOf({ parts, pauses }: SpreadContext, { places }: Branch): Promise<HeldObjects> {
  for (;;) {
    const done = new Deferred<HeldObjects | undefined>();
    parts.replica.newest(places, (error, objects) => {
      const isAnswered = error === undefined || error.code === 'Corrupted';
      done.resolve(isAnswered ? { objects, isWhole: error === undefined } : undefined);
    });
    const held = await done.promise;
    if (held !== undefined) return held;
    const over = new Deferred<boolean>();
    pauses.take(readAgainUs, (stopped) => over.resolve(stopped));
    if (await over.promise) return { objects: [], isWhole: false };
  }
}

/** The branches' methods that apply a decided branch. */
interface Carrier {
  commit(xid: Xid): Promise<CommitReply>;
  redo(xid: Xid, order: PrepareRequest, mark: string): Promise<CommitReply>;
}

/** Applies a decided branch on this node: by its record (`commit`) or by the prepare request sent again (`redo`). */
export function carryOut(
  branches: Carrier,
  request: Extract<BranchRequest, { readonly kind: 'commit' | 'redo' }>,
): Promise<CommitReply> {
  if (request.kind === 'commit') return branches.commit(request.xid);
  return branches.redo(request.xid, request.order, request.mark);
}

/** True if the coordinator has committed the transaction and still waits for one of its branches. */
export async function isStillWanted(
  context: TransactionContext,
  xid: Xid,
  { coordinator }: PrepareRequest,
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

/** The branches of one node. */
interface Holder extends Carrier {
  prepare(xid: Xid, order: PrepareRequest): Promise<Voted>;
  rollback(xid: Xid): void;
  forget(xids: readonly Xid[]): void;
}

/** Asks a branch, on this node without the network. Calls `heard` once, later. `trace`: as in `tryAskNode`. */
export function askBranch(
  context: TransactionContext,
  branches: Holder,
  node: NodeId,
  request: BranchRequest,
  heard: (reply: BranchReply | NoAnswer) => void,
  trace?: TraceContext,
): void {
  const { io, parts } = context;
  if (node === parts.self.node) {
    io.spawn('xa.ask', async () => heard(await askHere(branches, request)));
    return;
  }
  const unsent = tryAskNode(context, node, request, parts.settings.timeoutMs * 1000, heard, trace);
  if (unsent === undefined) return;
  io.spawn('xa.ask', async () => {
    await Promise.resolve();
    heard(unsent);
  });
}

/** Runs a coordinator's request to a branch on its own node. */
async function askHere(branches: Holder, request: BranchRequest): Promise<BranchReply | NoAnswer> {
  switch (request.kind) {
    case 'prepare':
      return branches.prepare(request.xid, request.order);
    case 'commit':
    case 'redo': {
      const ended = await carryOut(branches, request);
      if (!(ended instanceof LockstepError)) return ended;
      return { kind: 'noAnswer', unsent: false, code: ended.code, detail: ended.message };
    }
    default:
      if (request.kind === 'rollback') branches.rollback(request.xid);
      if (request.kind === 'forget') branches.forget(request.xids);
      return { kind: 'told', state: 'aborted' };
  }
}

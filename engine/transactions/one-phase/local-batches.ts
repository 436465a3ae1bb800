/**
 * Batches of several unconditional puts whose keys all have this node as primary, and that a client asked this node
 * for. They are written in one atomic step under the keys' locks, without a record, as single puts are (local-puts.ts
 * says who knows of their outcome). With one copy of each key, that is one batch of the store, and one sync.
 *
 * The other replicas get a batch only once it is durable here. Otherwise a crash could make this node forget what they
 * hold, and a later write could replace a part of it (transactions/participant/branch.ts).
 */
import type { KeyPlacement } from '../../cluster/ring/key-placement.ts';
import type { LockstepError } from '../../base/errors.ts';
import type { BatchLevel, ReplicaGroup } from '../../replication/batch-round.ts';
import { BatchRound, enterReplicaGroup } from '../../replication/batch-round.ts';
import type { BatchListener, LocalWrite } from '../../replica/replica.ts';
import { emptyVector } from '../../replica/object/dots.ts';
import { certainly } from '../participant/branch.ts';
import type { TransactionContext } from '../context.ts';
import type { Locks } from '../participant/locks.ts';
import { describeKey } from '../formats/prepare-request.ts';
import type { Operation } from '../formats/outcomes.ts';
import { mark } from '../formats/steps.ts';
import type { Xid } from '../formats/xid.ts';

/** A batch with all that is needed to write it at once. */
export interface LocalBatch {
  readonly writes: readonly LocalWrite[];
  /** The replica groups of its keys, as of the moment at which its keys were locked. */
  readonly kin: readonly ReplicaGroup[];
  readonly level: BatchLevel;
}

/**
 * Locks the keys of a batch that qualifies; the caller must write it next. Undefined if the operations do not qualify
 * or cannot run now; the general path then reports why.
 */
export function takeBatch(
  { parts }: TransactionContext,
  locks: Locks,
  xid: Xid,
  operations: readonly Operation[],
  places: readonly KeyPlacement[],
  level: BatchLevel,
): LocalBatch | undefined {
  const { self, view, handedOver, pending, notReadyReason } = parts;
  if (!view.isRoutable(self) || notReadyReason() !== undefined) return undefined;
  const ring = parts.ring();
  const writes: LocalWrite[] = [];
  const kin: ReplicaGroup[] = [];
  for (const [index, operation] of operations.entries()) {
    const place = places[index];
    if (place === undefined || !statesNothing(operation)) return undefined;
    const { key, content } = operation;
    const { token } = place;
    const placement = place.in(ring);
    if (placement[0]?.node !== self.node) return undefined;
    // While owners change, the next primary must have the batch before any replica does (replication/batch-round.ts).
    if (pending(token).length > 0 || !handedOver(token)) return undefined;
    const ifContext = undefined;
    const write = { key: key.packed, token, content, seen: emptyVector, ifNoneMatch: false, ifContext };
    enterReplicaGroup(parts, kin, write, writes.length, placement, true, level);
    writes.push(write);
  }
  return kin.every(isPlain) && locks.takeShortly(xid, writes) ? { writes, kin, level } : undefined;
}

function statesNothing({ content, context, ifMatch, ifAbsent, check }: Operation): boolean {
  return check !== true && !content.tombstone && !ifAbsent && context === undefined && ifMatch === undefined;
}

/** True if the group can be written now, and every key keeps one value whatever it holds. */
function isPlain({ plan, rules }: ReplicaGroup): boolean {
  return plan.kind === 'plan' && (!rules.allowMult || rules.lastWriteWins);
}

/** Writes one batch: local store, then the other replicas. */
export class BatchWriting implements BatchListener {
  readonly tentative = true;
  readonly #context: TransactionContext;
  readonly #locks: Locks;
  readonly #xid: Xid;
  readonly #batch: LocalBatch;
  readonly #done: (met: boolean | LockstepError) => void;
  /** The replica groups are of this moment. */
  #fresh = true;
  #round: BatchRound | undefined;

  /**
   * Calls `done` once the batch is durable here: with whether its level was met, or with the error that prevented it.
   */
  constructor(
    context: TransactionContext,
    locks: Locks,
    xid: Xid,
    batch: LocalBatch,
    done: (met: boolean | LockstepError) => void,
  ) {
    this.#context = context;
    this.#locks = locks;
    this.#xid = xid;
    this.#batch = batch;
    this.#done = done;
  }

  /** Hands the batch to the local store. Call it once. */
  begin(): void {
    const { io, parts } = this.#context;
    const { writes } = this.#batch;
    if (io.log.enabled('trace')) {
      const keys = writes.map(({ key }) => describeKey(key)).join(' ');
      mark(io, 'p.locks.taken', this.#xid, { phase: 'committing', keys });
    }
    parts.replica.coordinateAll(writes, [], this);
    this.#fresh = false;
  }

  applied(objects: readonly Uint8Array[]): void {
    const { io, parts } = this.#context;
    const { writes, kin, level } = this.#batch;
    mark(io, 'p.apply.partial', this.#xid);
    // The ring may have changed while keys were read from the disk.
    this.#round = new BatchRound(parts, writes, objects, level, this.#fresh ? kin : undefined);
    mark(io, 'p.applied', this.#xid);
  }

  durable(): void {
    mark(this.#context.io, 'p.applied.synced', this.#xid);
    this.#release();
    const round = this.#round;
    if (round === undefined) return;
    round.whenMet(this.#done);
    round.send(this.#context.parts.settings.timeoutMs * 1000);
    round.durableHere();
  }

  failed(error: LockstepError): void {
    this.#release();
    this.#done(this.#round === undefined ? certainly(error) : error);
  }

  #release(): void {
    this.#locks.releaseShort(this.#batch.writes);
    mark(this.#context.io, 'p.locks.released', this.#xid);
  }
}

/**
 * Forwards a write to a replica of its key, for a node that holds none, or cannot read its own copy. The replica
 * coordinates the write.
 */
import { BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { OpenSpan } from '../base/request-trace.ts';
import type { KeyPlacement } from '../cluster/ring/key-placement.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import { encodeContent } from '../replica/object/content.ts';
import type { StoredObject } from '../replica/object/object.ts';
import { decodeObject, encodeContext } from '../replica/object/object.ts';
import { planForward } from './plan.ts';
import { checkTime } from './request-steps.ts';
import type { ConsistencyLevel, PutRequest, WriteNeed } from './requests.ts';
import type { ReplyFailure, RoundDependencies } from './round-dependencies.ts';
import { askPeer, replyError, unaskedError } from './round-dependencies.ts';

const noBytes = Buffer.alloc(0);

/** The forwarded writes of one node. */
export class Forwarding {
  readonly #parts: RoundDependencies;
  /** Peers that refused, or did not answer, the last write forwarded to them. */
  readonly #failing = new Set<NodeId>();
  /** How many writes were forwarded. */
  #count = 0;

  constructor(parts: RoundDependencies) {
    this.#parts = parts;
  }

  /** How many members of the ring refused, or did not answer, the last write forwarded to them. */
  get failingCount(): number {
    const ring = this.#parts.ring();
    let count = 0;
    for (const node of this.#failing) if (ring.member(node) !== undefined) count += 1;
    return count;
  }

  /**
   * Forwards the write to the replicas of its key, one after the other, until one takes it or `untilUs` has come, by this
   * node's clock. Resolves with the object that it answers. Rejects with its error, or with `NoTargets`, `Overloaded` or
   * `Timeout` if no replica was asked.
   */
  async run(
    request: PutRequest,
    need: WriteNeed,
    place: KeyPlacement,
    untilUs: number,
    span: OpenSpan | undefined,
  ): Promise<StoredObject> {
    const placement = place.in(this.#parts.ring());
    const targets = planForward(this.#parts.view, placement).filter((member) => member !== this.#parts.self);
    const message = {
      kind: 'coordinateWrite',
      key: request.key.packed,
      token: place.token,
      context: request.context.length === 0 ? noBytes : encodeContext(request.context),
      content: encodeContent(request.content),
      level: levelText(this.#parts.settings.writeLevel, need),
      ifNoneMatch: request.ifNoneMatch ?? false,
      ifContext: request.ifContext === undefined ? noBytes : encodeContext(request.ifContext),
      trace: span,
    } as const;
    this.#count += 1;
    const name = { life: this.#parts.ownLife(), number: this.#count };
    request.times?.asked(this.#parts.clock.nowUs());
    let refused: LockstepError | undefined;
    const unsent: ReplyFailure[] = [];
    for (const member of targets) {
      const leftUs = untilUs - this.#parts.clock.nowUs();
      if (leftUs <= 0) {
        // The one before has certainly written nothing.
        if (refused !== undefined) break;
        checkTime(leftUs);
      }
      const heardLife = this.#parts.lifeOf(member.node);
      const asked = this.#ask(member, { ...message, asked: { ...name, heardLife } }, leftUs);
      if (!(asked instanceof Promise)) {
        unsent.push(asked);
        continue;
      }
      try {
        return await asked;
      } catch (error) {
        // Nothing was written there. After a change of the ring that node may not hold the key any more; the next may.
        if (!isUnreadable(error) && !isNoTarget(error)) throw error;
        refused = error;
      }
    }
    if (refused !== undefined) throw refused;
    this.#parts.stats.pool.forward_error += 1;
    const overloaded = unaskedError(unsent);
    if (overloaded !== undefined) throw overloaded;
    const { self } = this.#parts;
    const names = placement.map((member) => member.node).join(', ');
    const why = this.#parts.view.isRoutable(self) ? '' : `; ${notServing(self)}`;
    throw new LockstepError('NoTargets', `no replica of the key (${names}) can take the write${why}`);
  }

  /** Forwards a write to a peer: the promise of its answer, or why the peer was not asked. */
  #ask(member: Member, message: PeerRequest, timeoutUs: number): Promise<StoredObject> | ReplyFailure {
    const result = new Deferred<StoredObject>();
    const error = askPeer(this.#parts, member, message, timeoutUs, (reply) => {
      const silent = reply.kind === 'failed' && (reply.code === 'PeerGone' || reply.code === 'Timeout');
      if (silent) this.#failing.add(member.node);
      else this.#failing.delete(member.node);
      settleForward(member.node, reply, result);
    });
    if (error !== undefined) this.#failing.add(member.node);
    return error ?? result.promise;
  }
}

/** The wire form that `parseLevel` (`peer-service.ts`) reads: `DC_QUORUM`, `2`, or `DC_EACH_SAFE_QUORUM+3`. */
function levelText(level: ConsistencyLevel, need: WriteNeed): string {
  if (need === 'default') return level;
  return typeof need === 'object' ? `${level}+${need.atLeast}` : String(need);
}

/** The node asked took no write: it owns the key no more, does not serve, or reaches too few replicas. */
function isNoTarget(error: unknown): error is LockstepError {
  return error instanceof LockstepError && error.code === 'NoTargets';
}

/**
 * The coordinating replica cannot read its own copy, against which the write's condition had to be checked. Nothing was
 * written.
 */
export function isUnreadable(error: unknown): error is LockstepError {
  return error instanceof LockstepError && error.code === 'Corrupted';
}

/** The error text for a client; this node's log says the same. */
export function notServing({ node }: Member): string {
  return `${node} takes no writes: its store has failed and must be opened again (after a full disk it is, once there is room), or its peers know no such member`;
}

function settleForward(by: NodeId, reply: PeerReply, result: Deferred<StoredObject>): void {
  if (reply.kind !== 'coordinated') {
    const error = replyError(reply);
    // The text counts replicas as the answering node sees them, so it names that node.
    const told =
      error.code === 'NoQuorum'
        ? new LockstepError(error.code, `${by}: ${error.message}`, error.facts)
        : error;
    result.reject(told);
    return;
  }
  try {
    result.resolve(decodeObject(reply.object));
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    // The peer has done the write, so the error is not definite.
    result.reject(
      new LockstepError('Internal', `${by} answered an object that does not decode: ${error.message}`),
    );
  }
}

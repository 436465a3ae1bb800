/**
 * Requests from peers: what each kind needs before this node may handle it, and which service handles it. A new kind of
 * request has one row in `requestRules` and one in the node's table of handlers (services.ts); the compiler asks for
 * both.
 *
 * Requests wait for two things:
 *
 * - **The same ring view.** The sender planned the request by its ring view. The request waits until both nodes have
 *   the same view (`cluster/view/ring-view-agreement.ts`), and fails if they do not agree in time. So a node that has
 *   given a range away serves no peer that still takes it for the owner, and a peer that missed a ring change cannot
 *   mislead this node. A former primary publishes the new view once no transaction runs there under the old view, after
 *   everything that it has written (`cluster/view/ring-view-publisher.ts`). Therefore waiting writes go before waiting
 *   reads. A new primary answers no read before it has heard the former primary, or has waited for it: a reader would
 *   otherwise miss what a transaction has committed. Until then it does not state either that a merged object is sole.
 * - **The peer's bucket properties.** A node that lacks a property record would take a bucket with siblings for one
 *   without, and would drop siblings for good. Until it knows a peer's properties, it handles no objects of that peer
 *   and requests none from it; it finds out with each new connection.
 */
import { Deferred } from '../base/deferred.ts';
import type { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { PropertyKeeper } from '../buckets/property-keeper.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Io } from '../io/io.ts';
import type { RequestHandler } from '../peer/inbound.ts';
import type { PeerRequest } from '../peer/wire/messages.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Reply } from '../replication/peer-service.ts';
import { notKnowingSole } from '../replication/peer-service.ts';
import { isFence, isPrepareRequest } from '../transactions/formats/messages.ts';

type Kind = PeerRequest['kind'];
type RequestOf<K extends Kind> = Extract<PeerRequest, { readonly kind: K }>;

/** One function for every kind of request; each calls `reply` exactly once, at any time. */
export type RequestHandlers = {
  readonly [K in Kind]: (request: RequestOf<K>, reply: Reply, from: NodeId) => void;
};

interface RequestRule {
  /**
   * Whether the sender planned the request by its ring view. It is false for requests that bring the agreement about,
   * for ranges and hints, which move between rings, and for data that is the same on every node. Of the messages of
   * transactions only prepare requests and fences are planned by the ring: an outcome goes to the node with the branch.
   */
  readonly plannedByRing: boolean | 'prepare-or-fence';
  /** Whether handling it changes or reads objects. Then this node must know the sender's bucket properties. */
  readonly needsProperties: boolean;
  /** Whether its answer brings objects of the peer to this node. */
  readonly bringsObjects: boolean;
}

const always = { plannedByRing: true, needsProperties: true, bringsObjects: false } as const;

const requestRules: Readonly<Record<Kind, RequestRule>> = {
  ping: { ...always, needsProperties: false },
  readObject: { ...always, bringsObjects: true },
  mergeObject: always,
  mergeBatch: always,
  mergeMany: always,
  readMany: { ...always, bringsObjects: true },
  coordinateWrite: always,
  gossip: { plannedByRing: false, needsProperties: false, bringsObjects: false },
  transact: { ...always, plannedByRing: 'prepare-or-fence' },
  antiEntropy: { ...always, bringsObjects: true },
  transferRange: { plannedByRing: false, needsProperties: true, bringsObjects: true },
  listNames: always,
  mapPhase: always,
  reap: always,
  keepHint: { ...always, plannedByRing: false },
  properties: { plannedByRing: false, needsProperties: false, bringsObjects: false },
  wasmModules: { plannedByRing: false, needsProperties: false, bringsObjects: false },
  pubsub: { plannedByRing: false, needsProperties: false, bringsObjects: false },
  upgrade: { plannedByRing: false, needsProperties: false, bringsObjects: false },
};

/** The peer plane's request handler: calls the table's handler of the request's kind. */
export function handlerOf(handlers: RequestHandlers): RequestHandler {
  return (from, request, reply) => {
    // The table's row of a kind takes requests of just that kind, which the type of a lookup cannot express.
    const handle = handlers[request.kind] as (request: PeerRequest, reply: Reply, from: NodeId) => void;
    handle(request, reply, from);
  };
}

/**
 * Wraps `handle`: delays each request that was planned by the ring while the sender has another ring view, and each
 * read while this node waits for the former primary. Replies with the error if the two nodes do not agree in time.
 */
export function whenAgreed(
  membership: Pick<Membership, 'agrees' | 'awaitAgreement' | 'handover'>,
  handle: RequestHandler,
): RequestHandler {
  const inTurn: RequestHandler = (from, request, reply) => {
    const isMerge = request.kind === 'mergeObject';
    const isRead = request.kind === 'readObject';
    const former = isRead || isMerge ? membership.handover.awaited(request.token) : undefined;
    if (former === undefined || isMerge) {
      handle(from, request, former === undefined ? reply : notKnowingSole(reply));
      return;
    }
    membership.awaitAgreement(former, false, (error) => {
      if (error?.code === 'ShuttingDown') refuse(reply, error);
      // The wait is over. A caller that needs what the former primary knows checks that itself (`Handover.isOver`).
      else handle(from, request, reply);
    });
  };
  return (from, request, reply) => {
    if (!isPlannedByRing(request) || membership.agrees(from)) {
      inTurn(from, request, reply);
      return;
    }
    const copied = copyOf(request);
    const writes = isMergeOf(request.kind);
    membership.awaitAgreement(from, writes, (error) => {
      if (error === undefined) inTurn(from, copied, reply);
      else refuse(reply, error);
    });
  };
}

/**
 * Wraps `handle`: delays each request that needs properties until this node knows the sender's bucket properties.
 * Replies with `Overloaded` if it cannot learn them.
 */
export function whenHeard(
  io: Pick<Io, 'spawn'>,
  keeper: Pick<PropertyKeeper, 'hasHeard' | 'hear'>,
  handle: RequestHandler,
): RequestHandler {
  return (from, request, reply) => {
    if (keeper.hasHeard(from) || !requestRules[request.kind].needsProperties) {
      handle(from, request, reply);
      return;
    }
    const copied = copyOf(request);
    io.spawn('props.hear', async () => {
      const heard = await keeper.hear(from);
      if (heard || keeper.hasHeard(from)) handle(from, copied, reply);
      else reply({ kind: 'failed', code: 'Overloaded', detail: 'this node asks what was set of buckets' });
    });
  };
}

/**
 * Wraps the links: a request whose answer brings objects is sent once this node knows that peer's bucket properties.
 * Fails with `PeerGone` if it cannot learn them, and with `Timeout` if that takes all of the request's time. If the
 * peer is not connected (`isConnected`), the request is refused
 * at once, as always. A peer's refusal of a flushed key arrives once this node knows of the flush.
 */
export function heardLinks(
  io: Pick<Io, 'clock' | 'spawn'>,
  given: PeerLinks,
  isConnected: (peer: NodeId) => boolean,
  keeper: () => Pick<PropertyKeeper, 'hasHeard' | 'hear'>,
): PeerLinks {
  const links = learningLinks(io, given, keeper);
  return {
    request: (peer, request, timeoutUs, onReply) => {
      if (!requestRules[request.kind].bringsObjects || keeper().hasHeard(peer) || !isConnected(peer))
        return links.request(peer, request, timeoutUs, onReply);
      const copied = copyOf(request);
      const endUs = io.clock.nowUs() + timeoutUs;
      const late = new Deferred<'late'>();
      const timer = io.clock.after(timeoutUs, () => late.resolve('late'));
      io.spawn('props.hear', async () => {
        const heard = await Promise.race([keeper().hear(peer), late.promise]);
        timer.cancel();
        const leftUs = endUs - io.clock.nowUs();
        if (heard === 'late' || leftUs <= 0) {
          const detail = `${peer} did not say in time what was set of buckets`;
          onReply({ kind: 'failed', code: 'Timeout', detail });
          return;
        }
        const outcome = heard ? links.request(peer, copied, leftUs, onReply) : 'closed';
        if (outcome !== 'ok')
          onReply({ kind: 'failed', code: 'PeerGone', detail: `${peer} is not heard of` });
      });
      return 'ok';
    },
  };
}

/**
 * Wraps `links`: if a peer refuses a request because its bucket was flushed, this node learns the peer's epochs before
 * it hears of the refusal.
 */
function learningLinks(
  io: Pick<Io, 'spawn'>,
  links: PeerLinks,
  keeper: () => Pick<PropertyKeeper, 'hear'>,
): PeerLinks {
  return {
    request: (peer, request, timeoutUs, onReply) =>
      links.request(peer, request, timeoutUs, (reply) => {
        if (reply.kind !== 'failed' || reply.code !== 'StaleEpoch') {
          onReply(reply);
          return;
        }
        io.spawn('props.hear', async () => {
          await keeper().hear(peer);
          onReply(reply);
        });
      }),
  };
}

function refuse(reply: Reply, { code, message }: LockstepError): void {
  reply({ kind: 'failed', code, detail: message });
}

function isPlannedByRing(request: PeerRequest): boolean {
  const { plannedByRing } = requestRules[request.kind];
  if (plannedByRing !== 'prepare-or-fence') return plannedByRing;
  return request.kind === 'transact' && (isPrepareRequest(request.words) || isFence(request.words));
}

/** A copy of a request for use after its call: the request's bytes are valid only during it (`peer/wire/frames.ts`). */
function copyOf(request: PeerRequest): PeerRequest {
  switch (request.kind) {
    case 'ping':
      return request;
    case 'readObject':
      if (request.version === undefined) return request;
      return { ...request, version: Buffer.from(request.version) };
    case 'mergeObject':
      return { ...request, object: Buffer.from(request.object), ...nameOf(request) };
    case 'mergeBatch':
      return { ...request, words: Buffer.from(request.words), ...nameOf(request) };
    case 'coordinateWrite': {
      const context = Buffer.from(request.context);
      const ifContext = Buffer.from(request.ifContext);
      return { ...request, context, ifContext, content: Buffer.from(request.content) };
    }
    default:
      return { ...request, words: Buffer.from(request.words) };
  }
}

function isMergeOf(kind: Kind): boolean {
  return kind === 'mergeObject' || kind === 'mergeBatch' || kind === 'mergeMany';
}

function nameOf({ clientName }: { readonly clientName?: Uint8Array | undefined }): {
  readonly clientName?: Uint8Array;
} {
  return clientName === undefined ? {} : { clientName: Buffer.from(clientName) };
}

/**
 * Requests of peers that see the ring otherwise than this node: whatever was planned by who owns what waits until both
 * agree, and is refused when they do not in time (engine/cluster/view/ring-view-agreement.ts). So a node that has given a range
 * away serves nobody any more who thinks that it still owns it, and one that slept through a change misleads nobody.
 *
 * A former primary tells that it knows the new ring when nothing is under way there by the one before, behind all that it
 * has written (engine/cluster/view/ring-view-publisher.ts). So what waits to be written goes before what waits to be read, and
 * whoever has become a primary answers no reads, whosever they are, before it has heard that, or has waited for it:
 * a reader would miss there what a transaction has committed.
 */
import type { LockstepError } from '../base/errors.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { RequestHandler } from '../peer/inbound.ts';
import type { PeerRequest } from '../peer/wire/messages.ts';
import { isFence, isPrepareRequest } from '../transactions/formats/messages.ts';

/** `handle`, held back while the peer that asks sees the ring otherwise. */
export function whenAgreed(
  membership: Pick<Membership, 'agrees' | 'awaitAgreement' | 'handover'>,
  handle: RequestHandler,
): RequestHandler {
  const inTurn: RequestHandler = (from, request, reply) => {
    const former = request.kind === 'readObject' ? membership.handover.awaited(request.token) : undefined;
    if (former === undefined) {
      handle(from, request, reply);
      return;
    }
    membership.awaitAgreement(former, false, (error) => {
      if (error?.code === 'ShuttingDown') refuse(reply, error);
      // Waited for long enough: who must have what the primary knows has made sure of it (`Handover.isOver`).
      else handle(from, request, reply);
    });
  };
  return (from, request, reply) => {
    if (!isPlannedByRing(request) || membership.agrees(from)) {
      inTurn(from, request, reply);
      return;
    }
    const kept = keptForLater(request);
    const writes = request.kind === 'mergeObject' || request.kind === 'mergeBatch';
    membership.awaitAgreement(from, writes, (error) => {
      if (error === undefined) inTurn(from, kept, reply);
      else refuse(reply, error);
    });
  };
}

function refuse(reply: Parameters<RequestHandler>[2], { code, message }: LockstepError): void {
  reply({ kind: 'failed', code, detail: message });
}

/**
 * Not so: what brings the agreement about; ranges, and hints, which are moved between the rings; what is the same on every node;
 * and the outcome of a transaction, which goes to whoever prepared it.
 */
function isPlannedByRing(request: PeerRequest): boolean {
  switch (request.kind) {
    case 'gossip':
    case 'transferRange':
    case 'keepHint':
    case 'properties':
    case 'wasmModules':
      return false;
    case 'transact':
      return isPrepareRequest(request.words) || isFence(request.words);
    default:
      return true;
  }
}

/** The bytes of a request are views that are good while it is handled (engine/peer/wire/frames.ts). */
export function keptForLater(request: PeerRequest): PeerRequest {
  switch (request.kind) {
    case 'ping':
    case 'readObject':
      return request;
    case 'mergeObject':
      return { ...request, object: Buffer.from(request.object), ...keptName(request) };
    case 'mergeBatch':
      return { ...request, words: Buffer.from(request.words), ...keptName(request) };
    case 'coordinateWrite': {
      const context = Buffer.from(request.context);
      const ifContext = Buffer.from(request.ifContext);
      return { ...request, context, ifContext, content: Buffer.from(request.content) };
    }
    default:
      return { ...request, words: Buffer.from(request.words) };
  }
}

function keptName({ clientName }: { readonly clientName?: Uint8Array | undefined }): {
  readonly clientName?: Uint8Array;
} {
  return clientName === undefined ? {} : { clientName: Buffer.from(clientName) };
}

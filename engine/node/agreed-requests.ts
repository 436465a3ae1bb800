/**
 * Requests of peers that see the ring otherwise than this node: whatever was planned by who owns what waits until both
 * agree, and is refused when they do not in time (engine/membership/agreement.ts). So a node that has given a range
 * away serves nobody any more who thinks that it still owns it, and one that slept through a change misleads nobody.
 */
import type { Membership } from '../membership/membership.ts';
import type { RequestHandler } from '../peer/inbound.ts';
import type { PeerRequest } from '../wire/messages.ts';
import { isOrder } from '../xa/words.ts';

/** `handle`, held back while the peer that asks sees the ring otherwise. */
export function whenAgreed(
  membership: Pick<Membership, 'agrees' | 'awaitAgreement'>,
  handle: RequestHandler,
): RequestHandler {
  return (from, request, reply) => {
    if (!isPlannedByRing(request) || membership.agrees(from)) {
      handle(from, request, reply);
      return;
    }
    const kept = keptForLater(request);
    membership.awaitAgreement(from, (error) => {
      if (error === undefined) handle(from, kept, reply);
      else reply({ kind: 'failed', code: error.code, detail: error.message });
    });
  };
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
      return isOrder(request.words);
    default:
      return true;
  }
}

/** The bytes of a request are views that are good while it is handled (engine/wire/frames.ts). */
function keptForLater(request: PeerRequest): PeerRequest {
  switch (request.kind) {
    case 'ping':
    case 'readObject':
      return request;
    case 'mergeObject':
      return { ...request, object: Buffer.from(request.object) };
    case 'coordinateWrite': {
      const context = Buffer.from(request.context);
      const ifContext = Buffer.from(request.ifContext);
      return { ...request, context, ifContext, content: Buffer.from(request.content) };
    }
    default:
      return { ...request, words: Buffer.from(request.words) };
  }
}

/**
 * What a node that began without the records of bucket properties does with objects until it has heard what a peer knows
 * of them: a bucket that keeps siblings would look to it like one that does not, and it would drop them for good. A
 * peer's request waits for that; what would bring objects of a peer here is not sent before.
 */
import type { NodeId } from '../base/ids.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Io } from '../io/io.ts';
import type { RequestHandler } from '../peer/inbound.ts';
import type { PropertyKeeper } from '../buckets/property-keeper.ts';
import type { PeerRequest } from '../peer/wire/messages.ts';
import { keptForLater } from './agreed-requests.ts';

/** `handle`, held back until this node has heard of what the peer that asks knows of properties. */
export function whenHeard(
  io: Pick<Io, 'spawn'>,
  keeper: Pick<PropertyKeeper, 'hasHeard' | 'hear'>,
  handle: RequestHandler,
): RequestHandler {
  return (from, request, reply) => {
    if (keeper.hasHeard(from) || needsNoProperties(request)) {
      handle(from, request, reply);
      return;
    }
    const kept = keptForLater(request);
    io.spawn('props.hear', async () => {
      const heard = await keeper.hear(from);
      if (heard || keeper.hasHeard(from)) handle(from, kept, reply);
      else reply({ kind: 'failed', code: 'Overloaded', detail: 'this node asks what was set of buckets' });
    });
  };
}

/**
 * `links`, on which a request that asks for objects of a peer leaves once this node has heard what the peer knows of
 * properties. `isConnected`: a request reaches the peer now; one that does not is turned away as ever.
 */
export function heardLinks(
  io: Pick<Io, 'spawn'>,
  links: PeerLinks,
  isConnected: (peer: NodeId) => boolean,
  keeper: () => Pick<PropertyKeeper, 'hasHeard' | 'hear'>,
): PeerLinks {
  return {
    request: (peer, request, timeoutUs, onReply) => {
      if (!bringsObjects(request) || keeper().hasHeard(peer) || !isConnected(peer))
        return links.request(peer, request, timeoutUs, onReply);
      const kept = keptForLater(request);
      io.spawn('props.hear', async () => {
        const heard = await keeper().hear(peer);
        const outcome = heard ? links.request(peer, kept, timeoutUs, onReply) : 'closed';
        if (outcome !== 'ok')
          onReply({ kind: 'failed', code: 'PeerGone', detail: `${peer} is not heard of` });
      });
      return 'ok';
    },
  };
}

function needsNoProperties({ kind }: PeerRequest): boolean {
  return kind === 'gossip' || kind === 'properties' || kind === 'wasmModules' || kind === 'ping';
}

function bringsObjects({ kind }: PeerRequest): boolean {
  return kind === 'readObject' || kind === 'antiEntropy' || kind === 'transferRange';
}

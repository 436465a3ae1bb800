/** The peer layer as this folder uses it. */
import type { SendOutcome } from '../base/channel.ts';
import type { NodeId } from '../base/ids.ts';
import type { Log } from '../io/log.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';

/** Called exactly once per accepted request: with the peer's answer, or `failed` by `PeerGone` or `Timeout`. */
export type ReplyHandler = (reply: PeerReply) => void;

/** Sends requests to peers: bounded outboxes, and an answer by the deadline at the latest. */
export interface PeerLinks {
  request(peer: NodeId, request: PeerRequest, timeoutUs: number, onReply: ReplyHandler): SendOutcome;
}

/**
 * Wraps `links` so that every refused request is logged as `dispatch.peer.refused`. For modules that count refused
 * requests by cause (`askPeer`). The peer layer itself logs all of them as `peer.request.dropped`.
 */
export function tellingLinks(log: Log, links: PeerLinks): PeerLinks {
  return {
    request: (peer, request, timeoutUs, onReply) => {
      const outcome = links.request(peer, request, timeoutUs, onReply);
      if (outcome !== 'ok' && log.enabled('debug')) {
        log.event('debug', 'dispatch.peer.refused', { peer, kind: request.kind, outcome });
      }
      return outcome;
    },
  };
}

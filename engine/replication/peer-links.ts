/** The peer plane as the dispatcher's parts need it. */
import type { SendOutcome } from '../base/channel.ts';
import type { NodeId } from '../base/ids.ts';
import type { Log } from '../io/log.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';

/** Called exactly once per accepted request: with the peer's answer, or `failed` by `PeerGone` or `Timeout`. */
export type ReplyHandler = (reply: PeerReply) => void;

/** The peer plane as the dispatcher needs it: bounded outboxes, an answer by the deadline at the latest. */
export interface PeerLinks {
  request(peer: NodeId, request: PeerRequest, timeoutUs: number, onReply: ReplyHandler): SendOutcome;
}

/**
 * The same links for those whose refused requests are counted by cause (`askPeer`): each is told, whoever counts, as
 * `dispatch.peer.refused`. The plane tells of everybody's (`peer.request.dropped`).
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

/** The peer plane as the dispatcher's parts need it. */
import type { SendOutcome } from '../base/channel.ts';
import type { NodeId } from '../base/ids.ts';
import type { PeerReply, PeerRequest } from '../wire/messages.ts';

/** Called exactly once per accepted request: with the peer's answer, or `failed` by `PeerGone` or `Timeout`. */
export type ReplyHandler = (reply: PeerReply) => void;

/** The peer plane as the dispatcher needs it: bounded outboxes, an answer by the deadline at the latest. */
export interface PeerLinks {
  request(peer: NodeId, request: PeerRequest, timeoutUs: number, onReply: ReplyHandler): SendOutcome;
}

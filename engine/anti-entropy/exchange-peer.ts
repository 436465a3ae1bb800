/**
 * The other side of an exchange, over the peer layer. Every method rejects with a `LockstepError`: the peer's,
 * `PeerGone` or `FrameInvalid`.
 */
import { BytesError } from '../base/bytes.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { PeerReply, PeerRequest } from '../peer/wire/messages.ts';
import type { Suspect } from './diff.ts';
import type { Answer, Question } from './messages.ts';
import { decodeAnswer, encodeQuestion } from './messages.ts';

/** A peer as anti-entropy uses it. */
export interface PeerIdentity {
  /** The peer's node id. */
  readonly node: NodeId;
  /** The label `peer_idx` in metrics. */
  readonly index: number;
  readonly datacenter: string;
  readonly rack: string;
}

/** Asks one peer; each answer may take `timeoutUs`. */
export class ExchangePeer {
  readonly identity: PeerIdentity;
  readonly #links: PeerLinks;
  readonly #timeoutUs: number;

  constructor(identity: PeerIdentity, links: PeerLinks, timeoutUs: number) {
    this.identity = identity;
    this.#links = links;
    this.#timeoutUs = timeoutUs;
  }

  /** Sends a question of an exchange. */
  ask(question: Question): Promise<Answer> {
    return this.#request({ kind: 'antiEntropy', words: encodeQuestion(question) }, (reply) => {
      return reply.kind === 'antiEntropyAnswered' ? decodeAnswer(reply.words) : undefined;
    });
  }

  /**
   * The peer's stored object; undefined if it has none or cannot read it, in which case this node's object heals it.
   */
  read({ key, token }: Suspect): Promise<Uint8Array | undefined> {
    return this.#request({ kind: 'readObject', key, token: token as Token }, (reply) => {
      if (reply.kind === 'failed' && reply.code === 'Corrupted') return { object: undefined };
      if (reply.kind !== 'object') return undefined;
      // The reply's bytes are a view into the connection's receive buffer.
      return { object: reply.object === undefined ? undefined : Buffer.from(reply.object) };
    }).then(({ object }) => object);
  }

  /** Resolves once the peer has merged the object durably. */
  async merge({ key, token }: Suspect, object: Uint8Array): Promise<void> {
    await this.#request({ kind: 'mergeObject', key, token: token as Token, object }, ({ kind }) => {
      return kind === 'written' ? kind : undefined;
    });
  }

  /** `take` reads the reply within the peer layer's callback; undefined if the reply is of another kind. */
  #request<T>(request: PeerRequest, take: (reply: PeerReply) => T | undefined): Promise<T> {
    const { node } = this.identity;
    const answer = new Deferred<T>();
    const outcome = this.#links.request(node, request, this.#timeoutUs, (reply) => {
      try {
        const taken = take(reply);
        if (taken === undefined) answer.reject(errorOf(node, reply));
        else answer.resolve(taken);
      } catch (error) {
        if (!(error instanceof BytesError)) throw error;
        answer.reject(new LockstepError('FrameInvalid', `an answer of ${node}: ${error.message}`));
      }
    });
    if (outcome !== 'ok') answer.reject(new LockstepError('PeerGone', `no way to ${node}: ${outcome}`));
    return answer.promise;
  }
}

function errorOf(node: NodeId, reply: PeerReply): LockstepError {
  if (reply.kind === 'failed') return new LockstepError(reply.code, `${node}: ${reply.detail}`);
  return new LockstepError('FrameInvalid', `${node} answered "${reply.kind}" to another question`);
}

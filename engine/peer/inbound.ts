/**
 * A connection that a peer has opened: greets, hands the peer's requests to the handler, and sends the answers back on
 * the same connection.
 *
 * Invariants: every answer carries the id of its request. A request is answered once; a second answer is counted and
 * ignored. The requests that are handled at once are bounded, and the others are answered `Overloaded`. The answers
 * that the peer does not read are bounded, too: first its requests are not read either, then reads are answered
 * `Overloaded`, then its connection is cut.
 */
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import type { Connection } from '../io/network.ts';
import { decodeRequest, encodeReply } from './wire/codec.ts';
import type { Frame } from './wire/frames.ts';
import { FrameError, headerBytes } from './wire/frames.ts';
import type { Refusal } from './wire/greetings.ts';
import { decodeGreeting, encodeRefusal } from './wire/greetings.ts';
import { greetingKinds, isRequestKind, requestKinds } from './wire/kinds.ts';
import type { Hello, PeerReply, PeerRequest } from './wire/messages.ts';
import { commonVersion, isSpoken } from './wire/versions.ts';
import type { Rival } from './admission.ts';
import { FrameStream } from './frame-stream.ts';
import type { CloseCause } from './observer.ts';
import type { PlaneContext } from './plane-context.ts';
import { pingId } from './plane-context.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { Refused } from './refusals.ts';

/** Handles a peer's request. Calls `reply` exactly once, now or later. */
export type RequestHandler = (from: NodeId, request: PeerRequest, reply: (reply: PeerReply) => void) => void;

/**
 * The factor on the limit of the answers' bytes at which the connection is cut. Beyond the limit itself only objects
 * that were read are refused, since a read may fail without harm. Answers that report what was done may use the rest.
 */
const hardLimitFactor = 2;

/** Owns the inbound connections: the reception. */
export interface InboundOwner {
  readonly handle: RequestHandler;
  /** Why the peer that has greeted is refused; undefined if it is admitted. */
  admit(inbound: Inbound, hello: Hello): Refusal | undefined;
  /** The connection is over. */
  closed(inbound: Inbound): void;
}

/** One inbound connection. */
export class Inbound implements Rival {
  readonly #context: PlaneContext;
  readonly #owner: InboundOwner;
  readonly #stream: FrameStream<Buffer>;
  #heartbeat: Heartbeat | undefined;
  /** The fields of the peer's greeting that are used later. */
  #hello: Pick<Hello, 'node' | 'epoch'> | undefined;
  /** The version of peer messages that both sides speak; 0 before the greeting. */
  #version = 0;
  #handshake: Timer | undefined;
  #refusedByPeer = false;
  #requestCount = 0;
  #requestBytes = 0;

  constructor(context: PlaneContext, owner: InboundOwner, connection: Connection) {
    const { io, options } = context;
    const { answers } = options.limits;
    this.#context = context;
    this.#owner = owner;
    const settings = {
      name: 'peer.inbound',
      limits: options.limits,
      chunks: context.chunks,
      outbox: { countMax: answers.countMax, bytesMax: answers.bytesMax * hardLimitFactor },
      patienceUs: options.timeouts.idleUs,
      lingerUs: options.timeouts.lingerUs,
      holdWhenCongested: true,
    };
    this.#stream = new FrameStream<Buffer>(io, connection, settings, {
      onFrame: (frame) => this.#onFrame(frame),
      onHeard: () => this.#heartbeat?.heard(),
      onDepart: (frame) => frame,
      onRejected: (error) => this.#onRejected(error),
      onClosed: (cause, detail) => this.#onClosed(cause, detail),
    });
  }

  /** The peer that has greeted; undefined before that, or if it was refused. */
  get peer(): NodeId | undefined {
    return this.#hello?.node;
  }

  /** The incarnation id in the peer's greeting. */
  get epoch(): string | undefined {
    return this.#hello?.epoch;
  }

  /** How many of the peer's requests are being handled. */
  get requestCount(): number {
    return this.#requestCount;
  }

  /** Bytes of the peer's requests that are being handled. */
  get requestBytes(): number {
    return this.#requestBytes;
  }

  /** Answers that were not handed to the connection yet. */
  get answerCount(): number {
    return this.#stream.outbox.length;
  }

  /** Bytes of those answers. */
  get answerBytes(): number {
    return this.#stream.outbox.bytes;
  }

  /** Starts reading, and waits for the peer's greeting. Call it once. */
  start(): void {
    const { io, options, observer } = this.#context;
    observer.inboundOpened();
    this.#handshake = io.clock.after(options.timeouts.handshakeUs, () => {
      this.#stream.close('timedOut', 'the peer did not greet in time');
    });
    this.#stream.start();
  }

  /** Ends the connection in order: answers that are ready are still sent. */
  finish(detail: string): void {
    this.#stream.finish('closedHere', detail);
  }

  /** Sends a pong that a living peer ignores. */
  probe(): void {
    this.#pong(0);
  }

  #onFrame(frame: Frame): void {
    if (this.#hello === undefined) this.#onGreeting(frame);
    else if (frame.kind === requestKinds.ping) this.#pong(frame.id);
    else if (frame.kind === greetingKinds.refusal) this.#onRefusal(this.#hello.node, frame);
    else if (isRequestKind(frame.kind)) this.#onRequest(this.#hello.node, frame);
    else throw new FrameError('type', `a frame of kind ${frame.kind} where a request was expected`);
  }

  #onGreeting(frame: Frame): void {
    const { io, refusals } = this.#context;
    const greeting = decodeGreeting(frame);
    if (greeting.kind === 'refusal') throw new FrameError('type', 'a refusal where a greeting was expected');
    const { hello } = greeting;
    const refusal = this.#owner.admit(this, hello);
    if (refusal !== undefined) {
      refusals.tell(this.#refused(hello.node, 'refused here'), refusal);
      this.#stream.control(encodeRefusal(this.#stream.arena, refusal));
      this.#stream.finish('error', refusal.detail);
      return;
    }
    refusals.over(this.#refused(hello.node, 'refused here'));
    this.#hello = { node: hello.node, epoch: hello.epoch };
    this.#version = commonVersion(this.#context.hello.messages, hello.messages) ?? 0;
    this.#handshake?.cancel();
    this.#heartbeat = this.#context.pulses.begin({
      isSending: () => this.#stream.sending,
      onSilent: () => undefined,
      onDead: () => this.#stream.close('timedOut', 'nothing was heard of the peer'),
    });
    this.#stream.control(this.#context.greeting(), 'lasting');
    io.log.event('debug', 'peer.inbound.admitted', {
      peer: hello.node,
      remote: this.#stream.remote,
      epoch: hello.epoch,
    });
    this.#context.admission.admitted(hello);
  }

  /** The peer has opened the connection, has seen this node's greeting, and refuses it. */
  #onRefusal(from: NodeId, frame: Frame): void {
    const greeting = decodeGreeting(frame);
    if (greeting.kind !== 'refusal') return;
    this.#refusedByPeer = true;
    this.#context.refusals.tell(this.#refused(from, 'refused by the peer'), greeting);
    this.#context.admission.refused(from, greeting);
    this.#stream.close('error', `refused by the peer: ${greeting.detail}`);
  }

  #pong(id: number): void {
    if (id === pingId) {
      this.#stream.control(this.#context.pongFrame, 'lasting');
      return;
    }
    this.#stream.control(encodeReply(this.#stream.arena, id, { kind: 'pong' }));
  }

  #onRequest(from: NodeId, frame: Frame): void {
    const bytes = headerBytes + frame.body.length;
    if (this.#overloaded(bytes)) {
      sometimes('peer.inbound-overloaded');
      this.#context.observer.inboundOverloaded();
      const detail = `${this.#requestCount} requests of this peer are being handled already`;
      this.#send(frame.id, { kind: 'failed', code: 'Overloaded', detail });
      return;
    }
    const request = decodeRequest(frame);
    if (!isSpoken(request.kind, this.#version)) {
      throw new FrameError('type', `${request.kind} on a connection of version ${this.#version}`);
    }
    this.#requestCount += 1;
    this.#requestBytes += bytes;
    this.#owner.handle(from, request, this.#answerOnce(frame.id, bytes));
  }

  #overloaded(bytes: number): boolean {
    const { inboundRequestCountMax, inboundRequestBytesMax } = this.#context.options.limits;
    if (this.#requestCount >= inboundRequestCountMax) return true;
    return this.#requestCount > 0 && this.#requestBytes + bytes > inboundRequestBytesMax;
  }

  /**
   * Every request gets a function of its own, not a reused record: a late second answer must not reach another request.
   */
  #answerOnce(id: number, bytes: number): (reply: PeerReply) => void {
    let answered = false;
    return (reply) => {
      if (answered) {
        this.#answeredTwice(id);
        return;
      }
      answered = true;
      this.#requestCount -= 1;
      this.#requestBytes -= bytes;
      this.#send(id, reply);
    };
  }

  #send(id: number, reply: PeerReply): void {
    const { outbox, open } = this.#stream;
    if (!open) return;
    const frame = this.#encode(id, this.#bounded(reply));
    const outcome = outbox.trySend(frame, frame.length);
    if (outcome === 'ok') this.#context.observer.answerQueued(outbox.length);
    if (outcome === 'full') {
      sometimes('peer.answers-not-read');
      this.#stream.close('error', 'the peer does not read its answers');
    }
  }

  /** The reply; or `Overloaded` for objects that would wait behind too many bytes. */
  #bounded(reply: PeerReply): PeerReply {
    const { observer, options } = this.#context;
    const { bytes } = this.#stream.outbox;
    const isRead = reply.kind === 'object' || reply.kind === 'readManyAnswered';
    if (!isRead || bytes < options.limits.answers.bytesMax) return reply;
    observer.inboundOverloaded();
    return { kind: 'failed', code: 'Overloaded', detail: `${bytes} bytes of answers wait for this peer` };
  }

  /**
   * An answer that is too large for a frame becomes a failure that is not definite: the request may have been applied.
   */
  #encode(id: number, reply: PeerReply): Buffer {
    const { arena } = this.#stream;
    try {
      return encodeReply(arena, id, reply);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      return encodeReply(arena, id, { kind: 'failed', code: 'Internal', detail: error.message });
    }
  }

  #answeredTwice(id: number): void {
    const { io, observer } = this.#context;
    observer.answerDoubled();
    io.log.event('error', 'peer.answer.doubled', { peer: this.#hello?.node ?? '', id });
  }

  #onRejected({ fault, message }: FrameError): void {
    const { io, observer, refusals } = this.#context;
    observer.frameRejected('inbound', fault);
    const refused = this.#hello === undefined && fault === 'version';
    io.log.event(refused ? 'debug' : 'warn', 'peer.frame.rejected', {
      peer: this.#hello?.node ?? '',
      remote: this.#stream.remote,
      direction: 'inbound',
      fault,
      detail: message,
    });
    if (refused) refusals.tell(this.#refused('', 'refused here'), { reason: 'version', detail: message });
  }

  #refused(peer: string, by: Refused['by']): Refused {
    return { peer, direction: 'inbound', by, remote: this.#stream.remote };
  }

  #onClosed(cause: CloseCause, detail: string): void {
    const { io, observer, refusals } = this.#context;
    this.#handshake?.cancel();
    this.#heartbeat?.stop();
    observer.inboundClosed(cause);
    if (this.#hello !== undefined && !this.#refusedByPeer) {
      refusals.over(this.#refused(this.#hello.node, 'refused by the peer'));
    }
    io.log.event('debug', 'peer.inbound.lost', {
      peer: this.#hello?.node ?? '',
      remote: this.#stream.remote,
      cause,
      detail,
      requests: this.#requestCount,
    });
    this.#owner.closed(this);
  }
}

/**
 * One connection of a link, from its opening to its end: greets, sends requests, matches answers, keeps deadlines.
 *
 *     greeting --hello--> up --lost--> over
 *         \--refused, timed out, lost--> over
 *
 * Invariants: an id names one request under way; an answer is given to the request whose id it carries, if that one
 * was sent and asked for that kind of answer, and to nobody otherwise; every request's handler is called exactly once.
 */
import type { SendOutcome } from '../base/channel.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { TransientMap } from '../base/transient-map.ts';
import type { Timer } from '../io/clock.ts';
import type { Connection } from '../io/network.ts';
import { decodeReply, encodeRequest } from './wire/codec.ts';
import type { Frame } from './wire/frames.ts';
import { FrameError, headerBytes } from './wire/frames.ts';
import { decodeGreeting, encodeRefusal } from './wire/greetings.ts';
import { isAnswer, isReplyKind, replyKinds } from './wire/kinds.ts';
import type { Hello, PeerReply, PeerRequest } from './wire/messages.ts';
import type { Rival } from './admission.ts';
import { FrameStream } from './frame-stream.ts';
import type { CloseCause } from './observer.ts';
import type { PeerTarget } from './options.ts';
import type { Pending, ReplyHandler } from './pending.ts';
import type { PlaneContext } from './plane-context.ts';
import { pingId } from './plane-context.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { Refused } from './refusals.ts';
import type { RequestIds } from './request-ids.ts';

export class LinkSession implements Rival {
  readonly #context: PlaneContext;
  readonly #target: PeerTarget;
  readonly #ids: RequestIds;
  readonly #stream: FrameStream<Pending>;
  #pulse: Heartbeat | undefined;
  readonly #pending = new TransientMap<number, Pending>();
  readonly #over = new Deferred<void>();
  #state: 'greeting' | 'up' | 'over' = 'greeting';
  /** Of the peer's greeting, what is asked for later. */
  #hello: Pick<Hello, 'node' | 'epoch'> | undefined;
  #stopping = false;
  #handshake: Timer | undefined;
  #sentCount = 0;
  #sentBytes = 0;

  constructor(context: PlaneContext, target: PeerTarget, ids: RequestIds, connection: Connection) {
    const { io, options } = context;
    this.#context = context;
    this.#target = target;
    this.#ids = ids;
    const settings = {
      name: 'peer.link',
      limits: options.limits,
      chunks: context.chunks,
      outbox: options.limits.outbox,
      lingerUs: options.timeouts.lingerUs,
      holdWhenCongested: false,
    };
    this.#stream = new FrameStream<Pending>(io, connection, settings, {
      onFrame: (frame) => this.#onFrame(frame),
      onHeard: () => this.#pulse?.heard(),
      onDepart: (pending) => this.#depart(pending),
      onRejected: (error) => this.#onRejected(error),
      onClosed: (cause, detail) => this.#onClosed(cause, detail),
    });
  }

  /** Greeted, and not over: requests are taken. */
  get up(): boolean {
    return this.#state === 'up' && this.#stream.open;
  }

  /** Was up at some time. */
  get greeted(): boolean {
    return this.#hello !== undefined;
  }

  /** Of the life that greeted. */
  get epoch(): string | undefined {
    return this.#hello?.epoch;
  }

  /** Waiting to be sent. */
  get queued(): number {
    return this.#stream.outbox.length;
  }

  get queuedBytes(): number {
    return this.#stream.outbox.bytes;
  }

  /** Requests are taken, and there is no room for one of `bytes` bytes. */
  isFull(bytes: number): boolean {
    return this.up && !this.#stream.outbox.hasRoom(bytes);
  }

  /** Sent and not answered. */
  get unanswered(): number {
    return this.#sentCount;
  }

  get unansweredBytes(): number {
    return this.#sentBytes;
  }

  /** When the oldest unanswered request of those kinds was made. */
  oldestRequestUs(kinds: ReadonlySet<PeerRequest['kind']>): number | undefined {
    let oldestUs: number | undefined;
    for (const { kind, queuedUs } of this.#pending.values()) {
      if (kinds.has(kind) && (oldestUs === undefined || queuedUs < oldestUs)) oldestUs = queuedUs;
    }
    return oldestUs;
  }

  /** Resolves when the connection is over and every request has been answered for. */
  async run(): Promise<void> {
    const { io, options, observer } = this.#context;
    observer.linkOpened(this.#target);
    this.#handshake = io.clock.after(options.timeouts.handshakeUs, () => {
      this.#stream.close('timedOut', 'the peer did not greet in time');
    });
    this.#stream.start();
    this.#stream.control(this.#context.greeting(), 'lasting');
    await this.#over.promise;
  }

  /** This node is stopping: what has not been sent certainly never happened, the rest may have. */
  stop(): void {
    this.#stopping = true;
    this.#stream.close('closedHere', 'the node is stopping');
  }

  /** Cuts the connection unless it leads to this life of the peer, or has yet to greet. */
  outlive(epoch: string): void {
    if (this.up && this.epoch !== epoch) this.leave('the peer has begun a new life');
  }

  /** Cuts the connection; what was asked may have been done. */
  leave(detail: string): void {
    this.#stream.close('closedHere', detail);
  }

  /** Asks for a sign of life. */
  probe(): void {
    this.#ping();
  }

  request(request: PeerRequest, timeoutUs: number, handler: ReplyHandler): SendOutcome {
    if (!this.up) return 'closed';
    const { io, observer, pool, wheel } = this.#context;
    const id = this.#nextId();
    const frame = this.#encode(id, request, handler);
    if (frame === undefined) return 'ok';
    const pending = pool.take();
    pending.id = id;
    pending.kind = request.kind;
    pending.owner = this;
    pending.handler = handler;
    pending.frame = frame;
    pending.frameBytes = frame.length;
    pending.queuedUs = io.clock.nowUs();
    const outcome = this.#stream.outbox.trySend(pending, frame.length);
    if (outcome === 'ok') {
      this.#pending.set(id, pending);
      wheel.add(pending, pending.queuedUs, timeoutUs);
      observer.requestQueued(this.#target, this.#stream.outbox.length);
    } else {
      this.#stream.arena.released(frame);
      pool.give(pending);
    }
    return outcome;
  }

  /** The wheel says that the request's deadline has passed. */
  expire(pending: Pending): void {
    const sent = pending.state === 'sent';
    this.#pending.delete(pending.id);
    this.#context.observer.requestTimedOut(this.#target, sent);
    const detail = sent ? 'the peer did not answer in time' : 'the request was not sent in time';
    this.#settle(pending, { kind: 'failed', code: 'Timeout', detail });
  }

  #nextId(): number {
    let id = this.#ids.next();
    // None can be under way before all of them were used once.
    if (this.#ids.haveComeRound) while (this.#pending.has(id)) id = this.#ids.next();
    return id;
  }

  /** The request's frame; undefined when it is too large for one, which the handler is told in a turn of its own. */
  #encode(id: number, request: PeerRequest, handler: ReplyHandler): Buffer | undefined {
    try {
      return encodeRequest(this.#stream.arena, id, request);
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      const { code, message: detail } = error;
      this.#context.io.spawn('peer.request.refuse', async () => {
        await Promise.resolve();
        handler({ kind: 'failed', code, detail });
      });
      return undefined;
    }
  }

  #depart(pending: Pending): Buffer | undefined {
    const { io, observer, pool } = this.#context;
    if (pending.state === 'void') {
      pool.give(pending);
      return undefined;
    }
    const { frame, frameBytes } = pending;
    pending.state = 'sent';
    pending.frame = noBytes;
    pending.sentUs = io.clock.nowUs();
    this.#sentCount += 1;
    this.#sentBytes += frameBytes;
    observer.requestSent(this.#target, frameBytes, pending.sentUs - pending.queuedUs, this.#sentCount);
    return frame;
  }

  #onFrame(frame: Frame): void {
    if (this.#state === 'greeting') this.#onGreeting(frame);
    else if (frame.kind === replyKinds.pong && frame.id === pingId) return;
    else if (isReplyKind(frame.kind)) this.#onReply(frame);
    else throw new FrameError('type', `a frame of kind ${frame.kind} where a reply was expected`);
  }

  #onGreeting(frame: Frame): void {
    const greeting = decodeGreeting(frame);
    if (greeting.kind === 'refusal') {
      this.#context.refusals.tell(this.#refused('refused by the peer'), greeting);
      this.#context.admission.refused(this.#target.node, greeting);
      this.#stream.close('error', `refused by the peer: ${greeting.detail}`);
      return;
    }
    const refusal = this.#context.judge(greeting.hello, this.#target);
    if (refusal === undefined) {
      this.#rise(greeting.hello);
      // Last: whoever waited for what the greeting tells asks this peer at once, and has to find the link up.
      this.#context.admission.admitted(greeting.hello);
      return;
    }
    this.#context.refusals.tell(this.#refused('refused here'), refusal);
    this.#stream.control(encodeRefusal(this.#stream.arena, refusal));
    this.#stream.finish('error', refusal.detail);
  }

  #rise(hello: Hello): void {
    const { io, observer, refusals } = this.#context;
    this.#handshake?.cancel();
    refusals.over(this.#refused('refused here'));
    refusals.over(this.#refused('refused by the peer'));
    this.#state = 'up';
    this.#hello = { node: hello.node, epoch: hello.epoch };
    this.#pulse = this.#context.pulses.begin({
      onSilent: () => this.#ping(),
      onDead: () => this.#stream.close('timedOut', 'nothing was heard of the peer'),
    });
    observer.peerAdmitted(this.#target);
    io.log.event('info', 'peer.link.connected', {
      peer: this.#target.node,
      address: this.#target.address,
      epoch: hello.epoch,
      version: hello.version,
    });
  }

  #onReply(frame: Frame): void {
    const { io, observer, wheel } = this.#context;
    const pending = this.#pending.get(frame.id);
    if (pending?.state !== 'sent') {
      this.#mismatch(frame);
      return;
    }
    const reply = decodeReply(frame);
    if (!isAnswer(pending.kind, reply.kind)) {
      this.#mismatch(frame);
      return;
    }
    wheel.remove(pending);
    this.#pending.delete(frame.id);
    const roundTripUs = io.clock.nowUs() - pending.sentUs;
    observer.responseReceived(this.#target, headerBytes + frame.body.length, roundTripUs);
    this.#settle(pending, reply);
  }

  #mismatch(frame: Frame): void {
    const { io, observer } = this.#context;
    observer.responseMismatched(this.#target);
    io.log.event('debug', 'peer.reply.mismatched', {
      peer: this.#target.node,
      id: frame.id,
      kind: frame.kind,
    });
  }

  /** Answers a request that is no longer under way. */
  #settle(pending: Pending, reply: PeerReply): void {
    const { handler } = pending;
    if (pending.state === 'sent') {
      this.#sentCount -= 1;
      this.#sentBytes -= pending.frameBytes;
      this.#context.pool.give(pending);
    } else {
      // Still in the outbox: passed over there, and given back then.
      pending.state = 'void';
      this.#stream.arena.released(pending.frame);
      pending.frame = noBytes;
    }
    handler(reply);
  }

  #ping(): void {
    this.#stream.control(this.#context.pingFrame, 'lasting');
  }

  #onRejected({ fault, message }: FrameError): void {
    const { io, observer, refusals } = this.#context;
    const peer = this.#target.node;
    observer.frameRejected('outbound', fault);
    const refused = this.#state === 'greeting' && fault === 'version';
    const fields = { peer, direction: 'outbound', fault, detail: message };
    io.log.event(refused ? 'debug' : 'warn', 'peer.frame.rejected', fields);
    if (refused) refusals.tell(this.#refused('refused here'), { reason: 'version', detail: message });
  }

  #refused(by: Refused['by']): Refused {
    return { peer: this.#target.node, direction: 'outbound', by };
  }

  #onClosed(cause: CloseCause, detail: string): void {
    const { io, observer } = this.#context;
    const lost = this.#state === 'up';
    this.#state = 'over';
    this.#handshake?.cancel();
    this.#pulse?.stop();
    observer.linkClosed(this.#target, cause);
    if (lost) observer.peerEjected(this.#target);
    const requests = this.#pending.size;
    io.log.event(lost ? 'info' : 'debug', 'peer.link.lost', {
      peer: this.#target.node,
      cause,
      detail,
      greeted: lost,
      requests,
    });
    this.#abandon(detail);
    this.#over.resolve();
  }

  /** Answers for every request that is still under way. */
  #abandon(detail: string): void {
    const { pool, wheel } = this.#context;
    const abandoned = this.#pending.values();
    this.#pending.clear();
    for (const pending of abandoned) {
      wheel.remove(pending);
      const unsent = this.#stopping && pending.state === 'queued';
      this.#settle(pending, { kind: 'failed', code: unsent ? 'ShuttingDown' : 'PeerGone', detail });
    }
    for (
      let left = this.#stream.outbox.tryReceive();
      left !== undefined;
      left = this.#stream.outbox.tryReceive()
    ) {
      pool.give(left);
    }
  }
}

const noBytes = Buffer.alloc(0);

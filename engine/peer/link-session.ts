/**
 * One connection of a link, from its opening to its end: greets, sends requests, matches answers, keeps deadlines.
 *
 *     greeting --hello--> up --lost--> over
 *         \--refused, timed out, lost--> over
 *
 * Invariants: an id names one request under way. An answer goes to the request whose id it carries, if that request was
 * sent and asked for that kind of answer; otherwise it is ignored. Every request's handler is called exactly once.
 */
import { failAssertion } from '../base/assert.ts';
import type { SendOutcome } from '../base/channel.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { sometimes } from '../base/sometimes.ts';
import type { Timer } from '../io/clock.ts';
import type { Connection } from '../io/network.ts';
import { decodeReply, encodeRequest } from './wire/codec.ts';
import type { Frame } from './wire/frames.ts';
import { FrameError, headerBytes } from './wire/frames.ts';
import { decodeGreeting, encodeRefusal } from './wire/greetings.ts';
import { isAnswer, isReplyKind, replyKinds } from './wire/kinds.ts';
import type { Hello, PeerReply, PeerRequest } from './wire/messages.ts';
import { commonVersion, isSpoken } from './wire/versions.ts';
import type { Rival } from './admission.ts';
import { FrameStream } from './frame-stream.ts';
import { InFlight } from './in-flight.ts';
import type { CloseCause } from './observer.ts';
import type { PeerTarget } from './options.ts';
import type { Pending, ReplyHandler } from './pending.ts';
import type { PlaneContext } from './plane-context.ts';
import { pingId } from './plane-context.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { Refused } from './refusals.ts';
import type { RequestIds } from './request-ids.ts';

/** One outbound connection. */
export class LinkSession implements Rival {
  readonly #context: PlaneContext;
  readonly #target: PeerTarget;
  readonly #ids: RequestIds;
  readonly #stream: FrameStream<Pending>;
  #heartbeat: Heartbeat | undefined;
  readonly #pending = new InFlight<Pending>();
  readonly #over = new Deferred<void>();
  #state: 'greeting' | 'up' | 'over' = 'greeting';
  /** The fields of the peer's greeting that are used later. */
  #hello: Pick<Hello, 'node' | 'epoch'> | undefined;
  /** The version of peer messages that both sides speak; 0 before the greeting. */
  #version = 0;
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
      patienceUs: options.timeouts.idleUs,
      lingerUs: options.timeouts.lingerUs,
      holdWhenCongested: false,
    };
    this.#stream = new FrameStream<Pending>(io, connection, settings, {
      onFrame: (frame) => this.#onFrame(frame),
      onHeard: () => this.#heartbeat?.heard(),
      onDepart: (pending) => this.#depart(pending),
      onRejected: (error) => this.#onRejected(error),
      onClosed: (cause, detail) => this.#onClosed(cause, detail),
    });
  }

  /** True once the peer has greeted, until the connection ends: requests are accepted. */
  get up(): boolean {
    return this.#state === 'up' && this.#stream.open;
  }

  /** True if the connection has ever been up. */
  get greeted(): boolean {
    return this.#hello !== undefined;
  }

  /** The incarnation id in the peer's greeting; undefined before that. */
  get epoch(): string | undefined {
    return this.#hello?.epoch;
  }

  /** Whether the connection is up and its peer reads requests of this kind. */
  reads(kind: PeerRequest['kind']): boolean {
    return this.up && isSpoken(kind, this.#version);
  }

  /** Requests that wait to be sent. */
  get queued(): number {
    return this.#stream.outbox.length;
  }

  /** Their bytes. */
  get queuedBytes(): number {
    return this.#stream.outbox.bytes;
  }

  /** True if the connection is up and its outbox has no space for a request of `bytes` bytes. */
  isFull(bytes: number): boolean {
    return this.up && !this.#stream.outbox.hasRoom(bytes);
  }

  /** Requests that were sent and not answered. */
  get unanswered(): number {
    return this.#sentCount;
  }

  /** Their bytes. */
  get unansweredBytes(): number {
    return this.#sentBytes;
  }

  /**
   * When the oldest unanswered request of these kinds was made (monotonic microseconds); undefined if there is none.
   */
  oldestRequestUs(kinds: ReadonlySet<PeerRequest['kind']>): number | undefined {
    let oldestUs: number | undefined;
    for (const { kind, queuedUs } of this.#pending.values()) {
      if (kinds.has(kind) && (oldestUs === undefined || queuedUs < oldestUs)) oldestUs = queuedUs;
    }
    return oldestUs;
  }

  /** Runs the connection. Resolves when it is over and every request's handler was called. */
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

  /**
   * Cuts the connection because this node stops. Requests that were not sent fail with `ShuttingDown`, which is
   * definite; the others fail with `PeerGone`.
   */
  stop(): void {
    this.#stopping = true;
    this.#stream.close('closedHere', 'the node is stopping');
  }

  /**
   * Cuts the connection if it leads to another incarnation of the peer than `epoch`. Does nothing before the peer has
   * greeted.
   */
  outlive(epoch: string): void {
    if (this.up && this.epoch !== epoch) this.leave('the peer has begun a new life');
  }

  /** Cuts the connection. Its requests fail with `PeerGone`: the peer may have handled them. */
  leave(detail: string): void {
    this.#stream.close('closedHere', detail);
  }

  /** Sends a ping. */
  probe(): void {
    this.#ping();
  }

  /**
   * Hands a request to the outbox. `ok`: the handler will be called exactly once, never within this call. `closed`: the
   * connection is not up.
   */
  request(request: PeerRequest, timeoutUs: number, handler: ReplyHandler): SendOutcome {
    if (!this.up) return 'closed';
    const { io, observer, pool, wheel } = this.#context;
    if (!isSpoken(request.kind, this.#version)) {
      this.#refuseUnspoken(request, handler);
      return 'ok';
    }
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
      this.#pending.add(pending);
      wheel.add(pending, pending.queuedUs, timeoutUs);
      observer.requestQueued(this.#target, this.#stream.outbox.length);
    } else {
      this.#stream.arena.released(frame);
      pool.give(pending);
    }
    return outcome;
  }

  /** Fails the request whose deadline has passed with `Timeout`. Called by the wheel. */
  expire(pending: Pending): void {
    const sent = pending.state === 'sent';
    if (!sent) sometimes('peer.expired-unsent');
    this.#pending.delete(pending.id);
    this.#context.observer.requestTimedOut(this.#target, sent);
    const detail = sent ? 'the peer did not answer in time' : 'the request was not sent in time';
    this.#settle(pending, { kind: 'failed', code: 'Timeout', detail });
  }

  #nextId(): number {
    let id = this.#ids.next();
    // Until every id was used once, none of them can be under way.
    if (this.#ids.haveComeRound) while (this.#pending.get(id) !== undefined) id = this.#ids.next();
    return id;
  }

  /**
   * The request's frame. Undefined if it is too large; the handler then gets the error later, never within the caller's
   * call.
   */
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

  /** The peer cannot read a request of this kind: nothing is sent, and the handler gets the error later. */
  #refuseUnspoken({ kind }: PeerRequest, handler: ReplyHandler): void {
    const detail = `the connection to ${this.#target.node} speaks version ${this.#version} of peer messages, which has no ${kind}`;
    this.#context.io.spawn('peer.request.refuse', async () => {
      await Promise.resolve();
      handler({ kind: 'failed', code: 'PeerRefused', detail });
    });
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
      // Comes last: requests that waited for the greeting's ring view are sent at once, and must find the link up.
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
    this.#version = commonVersion(this.#context.hello.messages, hello.messages) ?? 0;
    this.#hello = { node: hello.node, epoch: hello.epoch };
    this.#heartbeat = this.#context.pulses.begin({
      isSending: () => this.#stream.sending,
      onSilent: () => this.#ping(),
      onDead: () => this.#stream.close('timedOut', 'nothing was heard of the peer'),
    });
    observer.peerAdmitted(this.#target);
    io.log.event('info', 'peer.link.connected', {
      peer: this.#target.node,
      address: this.#target.address,
      epoch: hello.epoch,
      version: hello.version,
      messages: this.#version,
    });
  }

  #onReply(frame: Frame): void {
    const { io, observer, wheel } = this.#context;
    const pending = this.#pending.get(frame.id);
    if (pending?.state !== 'sent') {
      sometimes('peer.late-reply');
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

  /** Answers a request that is no longer in `#pending`. */
  #settle(pending: Pending, reply: PeerReply): void {
    const { handler } = pending;
    if (pending.state === 'sent') {
      this.#sentCount -= 1;
      this.#sentBytes -= pending.frameBytes;
      if (this.#sentCount < 0 || this.#sentBytes < 0)
        failAssertion('an answer settles a request that was sent', this.#sentCount, this.#sentBytes);
      this.#context.pool.give(pending);
    } else {
      // The request is still in the outbox. It is skipped and given back there.
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
    this.#heartbeat?.stop();
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

  /** Fails every request that is still under way. */
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

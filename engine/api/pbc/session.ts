/**
 * Serves one client's connection of the binary protocol: runs its requests, answers them in the order in which they
 * arrived, and bounds what either side can make the other hold.
 *
 * A client may pipeline: at most `inFlightMax` of its requests are under way. Of two requests on the same object, of
 * which one writes, the later waits for the earlier, so a client reads its own writes. The session takes no request and
 * stops reading in four cases:
 * - `inFlightMax` requests are under way, or fewer if answers are large (`api/session/pipeline-window.ts`);
 * - more than `owedBytesMax` bytes of answers wait for an earlier one;
 * - the client does not read what was written;
 * - it waits for its next turn (`api/session/fair-turns.ts`).
 *
 * Three faults end the connection: a malformed frame, one that is incomplete after `messageUsMax`, and one beyond the
 * budget of all clients. The session answers what came before, then the error, then closes. A wrong password ends it,
 * too, as in Riak. A request beyond the client's role gets only an error answer.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError, asLockstepError } from '../../base/errors.ts';
import type { CloseReason, Connection, ConnectionHandler } from '../../io/network.ts';
import type { Purpose } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import { answerBucketCall } from './bucket-calls.ts';
import type { StreamedCall, WaitingCall } from './call-order.ts';
import { concernsObjects, isStreamed, isQuick, meet, reads } from './call-order.ts';
import { RiakRefusal } from './call-texts.ts';
import type { AuthCall, Call } from './calls.ts';
import { parseCall } from './calls.ts';
import { Caller } from './caller.ts';
import { FrameReader } from './frames.ts';
import { answerListingCall } from './listing-calls.ts';
import type { JobAnswer } from './map-reduce-calls.ts';
import { answerMapReduceCall } from './map-reduce-calls.ts';
import type { PbcDependencies } from './object-calls.ts';
import { answerObjectCall } from './object-calls.ts';
import { errorFrame, errorFrameOf } from './replies.ts';
import { FairTurns } from '../session/fair-turns.ts';
import { LingeringClose } from '../session/lingering-close.ts';
import { MessageDeadline } from '../session/message-deadline.ts';
import { messages } from './schema.ts';
import { PipelineWindow } from '../session/pipeline-window.ts';
import { RequestShare } from '../session/request-budget.ts';
import { answerTransactionCall } from './transaction-calls.ts';

/** Bounds of one connection. */
export interface SessionLimits {
  /** Bytes of code and body of one frame. */
  readonly frameBytesMax: number;
  /** Requests of one connection under way. */
  readonly inFlightMax: number;
  /** Bytes of answers that may wait for an earlier one before the session takes no further request. */
  readonly owedBytesMax: number;
  /** Microseconds from a message's first byte to its last, not counting time in which the session does not read. */
  readonly messageUsMax: number;
  /** Microseconds within which a client must take some of the pending bytes. */
  readonly takingUsMax: number;
}

/** The bounds of a node whose configuration states none. */
export const defaultSessionLimits: SessionLimits = {
  frameBytesMax: 17 * 1024 * 1024,
  inFlightMax: 64,
  owedBytesMax: 4 * 1024 * 1024,
  messageUsMax: 60_000_000,
  takingUsMax: 60_000_000,
};

const noFrame = Buffer.alloc(0);

/** A request from its start to its answer. Exchanges are reused, so that `run` is created once. */
interface Exchange {
  call: Call | undefined;
  startUs: number;
  /** The answer, while it waits for earlier ones. */
  reply: Buffer | undefined;
  readonly run: () => Promise<void>;
}

/** One connection. The server creates it and calls `start`; `onOver` is called once, when the connection has closed. */
export class Session implements ConnectionHandler {
  readonly #parts: PbcDependencies;
  readonly #limits: SessionLimits;
  readonly #connection: Connection;
  readonly #onOver: (session: Session) => void;
  readonly #reader: FrameReader;
  /** Requests under way, or answered and waiting for an earlier answer; oldest first. */
  readonly #exchanges: Exchange[] = [];
  readonly #spare: Exchange[] = [];
  readonly #window: PipelineWindow;
  /** A call that was read but must wait for an earlier request on its object. */
  #held: Call | undefined;
  #owedBytes = 0;
  /** False while the connection's last write asked to wait for `onDrain`. */
  #writable = true;
  /** The latest MapReduce job of this client. */
  #job: JobAnswer | undefined;
  /** Resolved when the client reads again, or has closed; a stream waits for it. */
  #drained: Deferred<void> | undefined;
  readonly #caller: Caller;
  #paused = false;
  /** The client has ended its side. */
  #clientEnded = false;
  /** Set once the session takes no further request. The connection ends when the last answer is written. */
  #closing: 'eof' | 'error' | 'closedHere' | undefined;
  #over = false;
  readonly #fairTurns: FairTurns;
  readonly #lingeringClose: LingeringClose;
  readonly #deadline: MessageDeadline;
  readonly #share: RequestShare;

  constructor(
    parts: PbcDependencies,
    limits: SessionLimits,
    connection: Connection,
    onOver: (session: Session) => void,
  ) {
    this.#parts = parts;
    this.#limits = limits;
    this.#connection = connection;
    this.#onOver = onOver;
    this.#reader = new FrameReader(limits.frameBytesMax);
    this.#window = new PipelineWindow(limits.owedBytesMax);
    this.#deadline = new MessageDeadline(parts.io.clock, limits.messageUsMax, () => {
      if (this.#closing !== undefined) return;
      const detail = `a message was not whole ${limits.messageUsMax / 1000} ms after it began`;
      this.#fail(new LockstepError('FrameInvalid', detail));
    });
    this.#fairTurns = new FairTurns(parts.io.clock, () => this.#pump());
    this.#lingeringClose = new LingeringClose(parts.io.clock, connection);
    this.#share = new RequestShare(parts.requests);
    this.#caller = new Caller(parts, connection.remote);
    parts.observer.opened();
  }

  /** Starts serving; with a refusal, only answers it and closes. */
  start(refusal?: LockstepError): void {
    this.#connection.setPatience(this.#limits.takingUsMax);
    this.#connection.start(this);
    if (refusal !== undefined) this.#fail(refusal);
  }

  /** Takes no further request, and closes when those under way are answered. */
  close(): void {
    this.#closing ??= 'closedHere';
    this.#pump();
  }

  /** Closes at once. */
  destroy(): void {
    this.#closing ??= 'closedHere';
    this.#connection.destroy();
  }

  onData(chunk: Uint8Array): void {
    // A closing session keeps reading, so that the client's bytes do not reset the connection, but drops them.
    if (this.#closing !== undefined) return;
    this.#reader.push(chunk);
    this.#pump();
  }

  onDrain(): void {
    this.#writable = true;
    this.#drained?.resolve();
    this.#pump();
  }

  onEnd(): void {
    this.#clientEnded = true;
    this.#job?.gone();
    this.#pump();
  }

  onClose(reason: CloseReason): void {
    this.#over = true;
    this.#job?.gone();
    this.#drained?.resolve();
    this.#fairTurns.close();
    this.#lingeringClose.cancel();
    this.#deadline.close();
    this.#share.hold(0);
    this.#exchanges.length = 0;
    this.#parts.observer.closed(this.#closing ?? (reason === 'ended' ? 'eof' : 'error'));
    this.#onOver(this);
  }

  /** Does everything that is possible now: takes requests, and reads or pauses. */
  #pump(): void {
    if (this.#over) return;
    while (this.#hasRoom()) {
      const call = this.#held ?? this.#nextCall();
      if (call === undefined) break;
      this.#held = this.#mustWait(call) ? call : undefined;
      if (this.#held !== undefined) break;
      this.#begin(call);
    }
    this.#regulate();
    this.#timeMessage();
    this.#countGathered();
    this.#endWhenDone();
  }

  #hasRoom(): boolean {
    return (
      this.#closing === undefined &&
      this.#writable &&
      this.#exchanges.length < this.#limits.inFlightMax &&
      this.#window.hasRoom &&
      this.#fairTurns.hasRoom &&
      this.#owedBytes < this.#limits.owedBytesMax
    );
  }

  /** The next valid request. Invalid ones are answered with their error on the way. */
  #nextCall(): Call | undefined {
    for (;;) {
      let framed = false;
      try {
        const frame = this.#reader.next();
        if (frame === undefined) return undefined;
        framed = true;
        this.#deadline.end();
        this.#fairTurns.begun();
        this.#caller.admit(frame.code);
        return parseCall(frame, this.#parts);
      } catch (caught) {
        const error = asLockstepError(caught);
        if (!framed) {
          this.#fail(error);
          return undefined;
        }
        this.#refuse(error);
        if (!this.#hasRoom()) return undefined;
      }
    }
  }

  /** Whether an earlier request on the same object is under way and one of the two writes. */
  #mustWait(call: Call): boolean {
    for (const { call: earlier } of this.#exchanges) {
      if (earlier !== undefined && meet(earlier, call)) return true;
    }
    return false;
  }

  #begin(call: Call): void {
    if (call.kind === 'auth') {
      this.#authenticate(call);
      return;
    }
    const exchange = this.#open(call);
    if (isQuick(call)) {
      this.#settle(exchange, this.#caller.answer(call));
      return;
    }
    if (!isStreamed(call) && concernsObjects(call))
      this.#parts.observer.received(reads(call) ? 'read' : 'write');
    this.#parts.io.spawn('pbc.request', exchange.run);
  }

  #authenticate(call: AuthCall): void {
    const refusal = this.#caller.authenticate(call);
    if (refusal === undefined) this.#settle(this.#open(undefined), messages.authResp.encode({}));
    else if (refusal.ends) this.#fail(refusal.error);
    else this.#refuse(refusal.error);
  }

  /** Answers with an error in the request's turn. */
  #refuse(error: LockstepError): void {
    const exchange = this.#open(undefined);
    this.#settle(exchange, this.#errorReply(error, 'write'));
  }

  /** Ends the connection: answers with an error in its turn, then closes. */
  #fail(error: LockstepError): void {
    this.#parts.io.log.event('info', 'pbc.connection.refused', {
      remote: this.#connection.remote,
      code: error.code,
      detail: error.message,
    });
    this.#closing ??= 'error';
    this.#held = undefined;
    this.#reader.drop();
    this.#share.hold(0);
    this.#refuse(error);
    this.#endWhenDone();
  }

  #errorReply(error: LockstepError, purpose: Purpose): Buffer {
    observeError(this.#parts.observer, error, purpose);
    if (error.code === 'Internal') {
      this.#parts.io.log.event('error', 'api.pbc.failed', { detail: error.message });
    }
    return error instanceof RiakRefusal ? errorFrame(error.code, error.message) : errorFrameOf(error);
  }

  #open(call: Call | undefined): Exchange {
    const exchange = this.#spare.pop() ?? this.#makeExchange();
    exchange.call = call;
    exchange.startUs = this.#parts.io.clock.nowUs();
    this.#exchanges.push(exchange);
    this.#window.begun();
    this.#parts.observer.outQueue(this.#exchanges.length);
    return exchange;
  }

  #makeExchange(): Exchange {
    const exchange: Exchange = {
      call: undefined,
      startUs: 0,
      reply: undefined,
      run: () => this.#run(exchange),
    };
    return exchange;
  }

  async #run(exchange: Exchange): Promise<void> {
    const { call } = exchange;
    if (call === undefined || isQuick(call)) return;
    let reply: Buffer;
    try {
      reply = await (isStreamed(call) ? this.#stream(call) : this.#answer(call));
    } catch (caught) {
      // The client of a stream has gone, so nobody receives the outcome.
      if (this.#over && isStreamed(call)) return;
      const purpose = isStreamed(call) || (concernsObjects(call) && reads(call)) ? 'read' : 'write';
      reply = this.#errorReply(asLockstepError(caught), purpose);
    }
    if (!isStreamed(call) && concernsObjects(call)) {
      this.#parts.observer.answered(this.#parts.io.clock.nowUs() - exchange.startUs);
    }
    if (this.#over) return;
    this.#settle(exchange, reply);
    this.#pump();
  }

  #answer(call: WaitingCall): Promise<Buffer> {
    if ('key' in call) return answerObjectCall(this.#parts, call);
    return concernsObjects(call)
      ? answerTransactionCall(this.#parts, call)
      : answerBucketCall(this.#parts, call);
  }

  /** Writes frame by frame, each when the client has taken the previous ones. A stream runs alone on its connection. */
  async #stream(call: StreamedCall): Promise<Buffer> {
    for await (const frame of this.#framesOf(call)) {
      if (this.#over) break;
      this.#writable = this.#connection.write(frame);
      if (this.#writable) continue;
      this.#drained = new Deferred();
      await this.#drained.promise;
    }
    return noFrame;
  }

  #framesOf(call: StreamedCall): AsyncGenerator<Buffer, void, undefined> {
    if (call.kind !== 'mapReduce') return answerListingCall(this.#parts, call);
    const answer = answerMapReduceCall(this.#parts, call);
    this.#job = answer;
    // The client may have gone before the job's turn came.
    if (this.#over || this.#clientEnded) answer.gone();
    return answer.frames;
  }

  /** Stores the answer, and writes all answers that are next in order. */
  #settle(exchange: Exchange, reply: Buffer): void {
    exchange.call = undefined;
    exchange.reply = reply;
    this.#window.answered(reply.length);
    this.#owedBytes += reply.length;
    for (let first = this.#exchanges[0]; first?.reply !== undefined; first = this.#exchanges[0]) {
      this.#owedBytes -= first.reply.length;
      if (first.reply.length > 0) this.#writable = this.#connection.write(first.reply);
      first.reply = undefined;
      this.#exchanges.shift();
      this.#spare.push(first);
    }
  }

  #regulate(): void {
    const pause = this.#closing === undefined && (this.#held !== undefined || !this.#hasRoom());
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) this.#connection.pause();
    else this.#connection.resume();
  }

  #timeMessage(): void {
    if (this.#closing !== undefined || this.#paused || this.#reader.pendingBytes === 0) this.#deadline.end();
    else this.#deadline.begin();
  }

  /** Counts an incomplete message in the budget that all clients share. */
  #countGathered(): void {
    if (this.#share.hold(this.#closing === undefined ? this.#reader.gatheredBytes : 0)) return;
    this.#fail(this.#parts.requests.refuse());
  }

  /** Closes the connection once all answers are written, if the session is closing or the client has ended its side. */
  #endWhenDone(): void {
    if (this.#exchanges.length > 0 || this.#lingeringClose.begun) return;
    if (this.#closing === undefined) {
      // While it takes no requests, the reader may hold complete ones.
      if (!this.#clientEnded || this.#held !== undefined || !this.#hasRoom()) return;
      if (this.#reader.pendingBytes > 0) {
        this.#fail(new LockstepError('FrameInvalid', 'the connection ended within a frame'));
        return;
      }
      this.#closing = 'eof';
    }
    this.#lingeringClose.begin(this.#closing === 'closedHere');
  }
}

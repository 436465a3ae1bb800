/**
 * Serves one client's connection of the binary protocol: runs its requests, and answers them in the order in which they
 * arrived. `api/session/client-session.ts` has the bounds of a connection, and its end.
 *
 * Of two requests on the same object, of which one writes, the later waits for the earlier, so a client reads its own
 * writes. A wrong password ends the connection, as in Riak. A request beyond the client's role gets only an error
 * answer.
 */
import { Deferred } from '../../base/deferred.ts';
import type { LockstepError } from '../../base/errors.ts';
import { asLockstepError } from '../../base/errors.ts';
import type { Connection } from '../../io/network.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { Purpose } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import { answerBucketCall } from './bucket-calls.ts';
import type { StreamedCall, WaitingCall } from './call-order.ts';
import { concernsObjects, isStreamed, isQuick, meet, operationOf, reads } from './call-order.ts';
import { RiakRefusal } from './call-texts.ts';
import type { AuthCall, Call, ObjectCall } from './calls.ts';
import { parseCall } from './calls.ts';
import { judged, limitedLister } from './call-reach.ts';
import { Caller } from './caller.ts';
import { FrameReader } from './frames.ts';
import { answerListingCall } from './listing-calls.ts';
import type { JobAnswer } from './map-reduce-calls.ts';
import { answerMapReduceCall } from './map-reduce-calls.ts';
import type { PbcDependencies } from './object-calls.ts';
import { answerObjectCall } from './object-calls.ts';
import { errorFrame, errorFrameOf } from './replies.ts';
import type { ConnectionLimits } from '../session/client-session.ts';
import { ClientSession } from '../session/client-session.ts';
import { accessOf, isAdmins, nameOfCode } from './message-access.ts';
import { messages } from './schema.ts';
import type { TransactionCall } from './transaction-calls.ts';
import { answerTransactionCall } from './transaction-calls.ts';

/** Bounds of one connection. */
export interface SessionLimits extends ConnectionLimits {
  /** Bytes of code and body of one frame. */
  readonly frameBytesMax: number;
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
  times: RequestTimes | undefined;
  /** The answer, while it waits for earlier ones. */
  reply: Buffer | undefined;
  readonly run: () => Promise<void>;
}

/** One connection. The server creates it and calls `start`; `onOver` is called once, when the connection has closed. */
export class Session extends ClientSession<Call, Exchange> {
  protected override readonly unit = 'message';
  readonly #parts: PbcDependencies;
  readonly #onOver: (session: Session) => void;
  readonly #reader: FrameReader;
  readonly #spare: Exchange[] = [];
  /** The latest MapReduce job of this client. */
  #job: JobAnswer | undefined;
  /** Resolved when the client reads again, or has closed; a stream waits for it. */
  #drained: Deferred<void> | undefined;
  readonly #caller: Caller;

  constructor(
    parts: PbcDependencies,
    limits: SessionLimits,
    connection: Connection,
    onOver: (session: Session) => void,
  ) {
    const reader = new FrameReader(limits.frameBytesMax);
    super(parts, limits, connection, reader);
    this.#parts = parts;
    this.#onOver = onOver;
    this.#reader = reader;
    this.#caller = new Caller(parts, connection.remote);
  }

  override onDrain(): void {
    this.#drained?.resolve();
    super.onDrain();
  }

  override onEnd(): void {
    this.#job?.gone();
    super.onEnd();
  }

  protected override closed(): void {
    this.#job?.gone();
    this.#drained?.resolve();
    this.#onOver(this);
  }

  /** The next valid request. Invalid ones are answered with their error on the way. */
  protected override nextRequest(): Call | undefined {
    for (;;) {
      let framed = false;
      let code: number | undefined;
      try {
        const frame = this.#reader.next();
        if (frame === undefined) return undefined;
        framed = true;
        this.received();
        code = frame.code;
        this.#caller.admit(code);
        const { permit } = this.#caller;
        const call = parseCall(frame, this.#parts);
        return permit.isLimited ? judged(call, accessOf(code), permit, this.#parts.mapReduce) : call;
      } catch (caught) {
        const error = asLockstepError(caught);
        if (!framed) {
          this.fail(error);
          return undefined;
        }
        if (code !== undefined) this.#caller.audit(nameOfCode(code), error.code);
        this.#refuse(error);
        if (!this.hasRoom) return undefined;
      }
    }
  }

  protected override take(call: Call): boolean {
    if (this.#mustWait(call)) return false;
    this.#begin(call);
    return true;
  }

  /** Answers are written when they are next in order (`#settle`). */
  protected override flush(): void {}

  /** Ends the connection: answers with an error in its turn, then closes. */
  protected override fail(error: LockstepError): void {
    this.breakOff('pbc.connection.refused', { code: error.code, detail: error.message });
    this.#refuse(error);
    this.pump();
  }

  /** Whether an earlier request on the same object is under way and one of the two writes. */
  #mustWait(call: Call): boolean {
    for (const { call: earlier } of this.exchanges) {
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
    if (!isStreamed(call) && concernsObjects(call)) this.#receive(exchange, call);
    this.#parts.io.spawn('pbc.request', exchange.run);
  }

  #receive(exchange: Exchange, call: ObjectCall | TransactionCall): void {
    const { observer } = this.#parts;
    observer.received(reads(call) ? 'read' : 'write');
    exchange.times = observer.timesOf(exchange.startUs);
    if (exchange.times !== undefined && 'key' in call) exchange.times.bucket = call.key.bucket;
  }

  #authenticate(call: AuthCall): void {
    const refusal = this.#caller.authenticate(call);
    if (refusal === undefined) this.#settle(this.#open(undefined), messages.authResp.encode({}));
    else if (refusal.ends) this.fail(refusal.error);
    else this.#refuse(refusal.error);
  }

  /** Answers with an error in the request's turn. */
  #refuse(error: LockstepError): void {
    const exchange = this.#open(undefined);
    this.#settle(exchange, this.#errorReply(error, 'write'));
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
    this.begun(exchange);
    return exchange;
  }

  #makeExchange(): Exchange {
    const exchange: Exchange = {
      call: undefined,
      startUs: 0,
      times: undefined,
      reply: undefined,
      run: () => this.#run(exchange),
    };
    return exchange;
  }

  async #run(exchange: Exchange): Promise<void> {
    const { call } = exchange;
    if (call === undefined || isQuick(call)) return;
    let reply: Buffer;
    let outcome = 'done';
    try {
      reply = await (isStreamed(call) ? this.#stream(call) : this.#answer(call, exchange.times));
    } catch (caught) {
      // The client of a stream has gone, so nobody receives the outcome.
      if (this.over && isStreamed(call)) return;
      const purpose = isStreamed(call) || (concernsObjects(call) && reads(call)) ? 'read' : 'write';
      const error = asLockstepError(caught);
      outcome = error.code;
      if (exchange.times !== undefined) exchange.times.failure = error.code;
      reply = this.#errorReply(error, purpose);
    }
    if (isAdmins(call.kind)) this.#caller.audit(`${call.kind}Req`, outcome);
    if (!isStreamed(call) && concernsObjects(call)) {
      const latencyUs = this.#parts.io.clock.nowUs() - exchange.startUs;
      this.#parts.observer.answered(latencyUs, 'pbc', operationOf(call), exchange.times);
    }
    if (this.over) return;
    this.#settle(exchange, reply);
    this.pump();
  }

  #answer(call: WaitingCall, times: RequestTimes | undefined): Promise<Buffer> {
    if ('key' in call) return answerObjectCall(this.#parts, call, times);
    return concernsObjects(call)
      ? answerTransactionCall(this.#parts, call, times)
      : answerBucketCall(this.#parts, call);
  }

  /** Writes frame by frame, each when the client has taken the previous ones. A stream runs alone on its connection. */
  async #stream(call: StreamedCall): Promise<Buffer> {
    for await (const frame of this.#framesOf(call)) {
      if (this.over) break;
      this.writable = this.connection.write(frame);
      if (this.writable) continue;
      this.#drained = new Deferred();
      await this.#drained.promise;
    }
    return noFrame;
  }

  #framesOf(call: StreamedCall): AsyncGenerator<Buffer, void, undefined> {
    if (call.kind !== 'mapReduce') {
      const lister = limitedLister(this.#parts.lister, this.#caller.permit);
      return answerListingCall({ io: this.#parts.io, lister }, call);
    }
    const answer = answerMapReduceCall(this.#parts, call);
    this.#job = answer;
    // The client may have gone before the job's turn came.
    if (this.over || this.clientEnded) answer.gone();
    return answer.frames;
  }

  /** Stores the answer, and writes all answers that are next in order. */
  #settle(exchange: Exchange, reply: Buffer): void {
    exchange.call = undefined;
    this.answered(exchange, reply);
    for (let first = this.exchanges[0]; first?.reply !== undefined; first = this.exchanges[0]) {
      this.owedBytes -= first.reply.length;
      if (first.reply.length > 0) this.writable = this.connection.write(first.reply);
      first.reply = undefined;
      this.exchanges.shift();
      this.#spare.push(first);
    }
  }
}

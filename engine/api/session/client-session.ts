/**
 * What the sessions of all byte-stream protocols share: one client's connection, the order of its answers, and the
 * bounds of what either side can make the other hold. A protocol extends `ClientSession` with its requests.
 *
 * A client may pipeline: its requests run concurrently, and their answers leave in the order in which the requests
 * arrived. The session takes no request and stops reading in four cases:
 * - `inFlightMax` requests are under way, or fewer if answers are large (`pipeline-window.ts`);
 * - more than `owedBytesMax` bytes of answers wait for an earlier one;
 * - the client does not read what was written;
 * - it waits for its next turn (`fair-turns.ts`).
 *
 * Malformed input, a message that is incomplete after `messageUsMax`, and one beyond the budget of all clients end the
 * connection: the session answers what came before, then the error, then closes.
 */
import { LockstepError } from '../../base/errors.ts';
import type { BodyBudget, ConnectionObserver } from '../../io/http.ts';
import type { Io } from '../../io/io.ts';
import type { LogFields } from '../../io/log.ts';
import type { CloseReason, Connection, ConnectionHandler } from '../../io/network.ts';
import { FairTurns } from './fair-turns.ts';
import { LingeringClose } from './lingering-close.ts';
import { MessageDeadline } from './message-deadline.ts';
import { PipelineWindow } from './pipeline-window.ts';
import { RequestShare } from './request-budget.ts';

/** Bounds of one connection, in every protocol. */
export interface ConnectionLimits {
  /** Requests of one connection under way. */
  readonly inFlightMax: number;
  /** Bytes of answers that may wait for an earlier one before the session takes no further request. */
  readonly owedBytesMax: number;
  /** Microseconds from a message's first byte to its last, not counting time in which the session does not read. */
  readonly messageUsMax: number;
  /** Microseconds within which a client must take some of the pending bytes. */
  readonly takingUsMax: number;
}

/** Why a connection ended: the client ended it, it failed, or this node closed it. */
export type Closing = Parameters<ConnectionObserver['closed']>[0];

/** What a session needs of the node, in every protocol. */
export interface ConnectionDependencies {
  readonly io: Pick<Io, 'clock' | 'log'>;
  readonly observer: ConnectionObserver & { outQueue(length: number): void };
  /** Budget of the requests of all clients that are being received. */
  readonly requests: BodyBudget;
}

/** Cuts a connection's bytes into messages. */
export interface MessageReader {
  /** Appends bytes that arrived. */
  push(chunk: Uint8Array): void;
  /** Drops everything that has not been returned. The reader is not used afterwards. */
  drop(): void;
  /** Whether a message has begun and is incomplete. */
  readonly within: boolean;
  /** Bytes of memory that an incomplete message takes. */
  readonly gatheredBytes: number;
}

/** A request from its start to its answer. */
export interface AnswerSlot {
  /** The answer, while it waits for earlier ones. */
  reply: Buffer | undefined;
}

/**
 * Why the session itself ends a connection: it was refused from the start, a message was incomplete for too long, the
 * budget of all clients is used up, or the client has ended its side within a message.
 */
export type SessionFault = 'refused' | 'late' | 'crowded' | 'cut';

/** One connection; `Request` is what the protocol reads from it, `Exchange` a request under way. */
export abstract class ClientSession<Request, Exchange extends AnswerSlot> implements ConnectionHandler {
  protected readonly connection: Connection;
  /** Requests under way, or answered and waiting for an earlier answer; oldest first. */
  protected readonly exchanges: Exchange[] = [];
  protected readonly window: PipelineWindow;
  /** False while the connection's last write asked to wait for `onDrain`. */
  protected writable = true;
  /** Bytes of answers that are not written yet. */
  protected owedBytes = 0;
  /** Set once the session takes no further request. The connection ends when the last answer is written. */
  protected closing: Closing | undefined;
  /** The client has ended its side. */
  protected clientEnded = false;
  /** The connection has closed. */
  protected over = false;
  readonly #dependencies: ConnectionDependencies;
  readonly #limits: ConnectionLimits;
  readonly #reader: MessageReader;
  readonly #fairTurns: FairTurns;
  readonly #deadline: MessageDeadline;
  readonly #share: RequestShare;
  readonly #lingeringClose: LingeringClose;
  /** A request that was read but must wait for those under way. */
  #held: Request | undefined;
  #pumping = false;
  #paused = false;

  constructor(
    dependencies: ConnectionDependencies,
    limits: ConnectionLimits,
    connection: Connection,
    reader: MessageReader,
  ) {
    const { clock } = dependencies.io;
    this.connection = connection;
    this.#dependencies = dependencies;
    this.#limits = limits;
    this.#reader = reader;
    this.window = new PipelineWindow(limits.owedBytesMax);
    this.#fairTurns = new FairTurns(clock, () => this.pump());
    this.#deadline = new MessageDeadline(clock, limits.messageUsMax, () => this.#late());
    this.#lingeringClose = new LingeringClose(clock, connection);
    this.#share = new RequestShare(dependencies.requests);
    dependencies.observer.opened();
  }

  /** What the protocol calls a request, for messages to its clients: `message`, `command`. */
  protected abstract readonly unit: string;

  /** The next request that was read; undefined until more bytes arrive, or once `breakOff` was called. */
  protected abstract nextRequest(): Request | undefined;

  /** Begins or answers a request; false if it must wait for those under way. */
  protected abstract take(request: Request): boolean;

  /** Writes the answers that are next in order, if the protocol gathers them. */
  protected abstract flush(): void;

  /** Ends the connection because of `error`: with an answer if the protocol has one for `fault`. */
  protected abstract fail(error: LockstepError, fault: SessionFault): void;

  /** Called when the connection has closed, after everything else. */
  protected abstract closed(): void;

  /** Starts serving; with a refusal, only answers it and closes. */
  start(refusal?: LockstepError): void {
    this.connection.setPatience(this.#limits.takingUsMax);
    this.connection.start(this);
    if (refusal !== undefined) this.fail(refusal, 'refused');
  }

  /** Takes no further request, and closes when those under way are answered. */
  close(): void {
    this.closing ??= 'closedHere';
    this.pump();
  }

  /** Closes at once. */
  destroy(): void {
    this.closing ??= 'closedHere';
    this.connection.destroy();
  }

  onData(chunk: Uint8Array): void {
    // A closing session keeps reading, so that the client's bytes do not reset the connection, but drops them.
    if (this.closing !== undefined) return;
    this.#reader.push(chunk);
    this.pump();
  }

  onDrain(): void {
    this.writable = true;
    this.pump();
  }

  onEnd(): void {
    this.clientEnded = true;
    this.pump();
  }

  onClose(reason: CloseReason): void {
    this.over = true;
    this.#fairTurns.close();
    this.#lingeringClose.cancel();
    this.#deadline.close();
    this.#share.hold(0);
    this.exchanges.length = 0;
    this.#dependencies.observer.closed(this.closing ?? (reason === 'ended' ? 'eof' : 'error'));
    this.closed();
  }

  /** Does everything that is possible now: takes requests, writes ready answers, and reads or pauses. */
  protected pump(): void {
    if (this.over || this.#pumping) return;
    this.#pumping = true;
    while (this.hasRoom) {
      const request = this.#held ?? this.nextRequest();
      if (request === undefined) break;
      this.#held = this.take(request) ? undefined : request;
      if (this.#held !== undefined) break;
    }
    this.#pumping = false;
    this.flush();
    this.#regulate();
    this.#timeMessage();
    this.#countGathered();
    this.#endWhenDone();
  }

  /** Whether the session may take another request. */
  protected get hasRoom(): boolean {
    return (
      this.closing === undefined &&
      this.writable &&
      this.exchanges.length < this.#limits.inFlightMax &&
      this.window.hasRoom &&
      this.#fairTurns.hasRoom &&
      this.owedBytes < this.#limits.owedBytesMax
    );
  }

  /** Counts a message that was read whole. */
  protected received(): void {
    this.#deadline.end();
    this.#fairTurns.begun();
  }

  /** Adds a request under way, the newest. */
  protected begun(exchange: Exchange): void {
    this.exchanges.push(exchange);
    this.window.begun();
    this.#dependencies.observer.outQueue(this.exchanges.length);
  }

  /** Notes the answer of a request, which may have to wait for earlier ones. */
  protected answered(exchange: Exchange, reply: Buffer): void {
    exchange.reply = reply;
    this.window.answered(reply.length);
    this.owedBytes += reply.length;
  }

  /** Takes no further request because of an error, and logs `event`. The caller answers with the error, then pumps. */
  protected breakOff(event: string, fields: LogFields): void {
    this.#dependencies.io.log.event('info', event, { remote: this.connection.remote, ...fields });
    this.closing ??= 'error';
    this.#held = undefined;
    this.#reader.drop();
    this.#share.hold(0);
  }

  #regulate(): void {
    const pause = this.closing === undefined && (this.#held !== undefined || !this.hasRoom);
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) this.connection.pause();
    else this.connection.resume();
  }

  #timeMessage(): void {
    if (this.closing !== undefined || this.#paused || !this.#reader.within) this.#deadline.end();
    else this.#deadline.begin();
  }

  /**
   * Counts an incomplete message in the budget that all clients share, but not bytes that arrived while the session
   * pauses.
   */
  #countGathered(): void {
    if (this.closing === undefined && this.#paused) return;
    if (this.#share.hold(this.closing === undefined ? this.#reader.gatheredBytes : 0)) return;
    this.fail(this.#dependencies.requests.refuse(), 'crowded');
  }

  #late(): void {
    if (this.closing !== undefined) return;
    const ms = this.#limits.messageUsMax / 1000;
    this.fail(
      new LockstepError('FrameInvalid', `a ${this.unit} was not whole ${ms} ms after it began`),
      'late',
    );
  }

  /** Closes the connection once all answers are written, if the session is closing or the client has ended its side. */
  #endWhenDone(): void {
    if (this.exchanges.length > 0 || this.#lingeringClose.begun) return;
    if (this.closing === undefined) {
      // While it takes no requests, the reader may hold complete ones.
      if (!this.clientEnded || this.#held !== undefined || !this.hasRoom) return;
      if (this.#reader.within) {
        this.fail(new LockstepError('FrameInvalid', 'the connection ended within a frame'), 'cut');
        return;
      }
      this.closing = 'eof';
    }
    this.#lingeringClose.begin(this.closing === 'closedHere');
  }
}

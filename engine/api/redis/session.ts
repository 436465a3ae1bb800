/**
 * Serves one Redis client's connection: runs its commands, answers them in the order in which they arrived, and bounds
 * what either side can make the other hold.
 *
 * A client may pipeline: at most `inFlightMax` of its commands are under way. A command that would be out of order
 * waits. A read waits for writes of the same key, and a write for reads. A command on several keys waits for all
 * earlier ones. Writes of one key run together (`key-queue.ts`).
 *
 * The session takes no command and stops reading in four cases:
 * - `inFlightMax` commands are under way, or fewer if replies are large, since their size is not known in advance;
 * - more than `owedBytesMax` bytes of replies wait for an earlier one;
 * - the client does not read what was written;
 * - it waits for its next turn (`api/session/fair-turns.ts`).
 *
 * Malformed input, a command that is not complete in time, and one beyond the budget of all clients end the connection.
 * The session answers what came before, then the error, then closes.
 */
import type { LockstepError } from '../../base/errors.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { CloseReason, Connection, ConnectionHandler } from '../../io/network.ts';
import type { Failure } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import { FairTurns } from '../session/fair-turns.ts';
import { LingeringClose } from '../session/lingering-close.ts';
import { MessageDeadline } from '../session/message-deadline.ts';
import { PipelineWindow } from '../session/pipeline-window.ts';
import { RequestShare } from '../session/request-budget.ts';
import type { Command } from './commands.ts';
import { commands, fieldOf } from './commands.ts';
import type { ConnectionState } from './connection-commands.ts';
import type { Plan } from './conversation.ts';
import { Conversation } from './conversation.ts';
import type { ExchangeOwner, Order, Purpose } from './exchange.ts';
import { Exchange } from './exchange.ts';
import { failureOf, refusalText, unknownCommand } from './refusals.ts';
import { errorReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import { ProtocolError, RequestReader } from './request-reader.ts';
import type { SessionDependencies } from './session-dependencies.ts';
import { readKey, runTask } from './tasks.ts';

/** The first byte of an error line. */
const minus = 0x2d;

/** One connection. The server creates it and calls `start`; `onOver` is called once, when the connection has closed. */
export class Session implements ConnectionHandler, ExchangeOwner {
  readonly #dependencies: SessionDependencies;
  readonly #connection: Connection;
  readonly #onOver: (session: Session) => void;
  readonly #reader: RequestReader;
  readonly #conversation: Conversation;
  /** Commands under way, or answered and waiting for an earlier reply; oldest first. */
  readonly #exchanges: Exchange[] = [];
  readonly #window: PipelineWindow;
  /** A request that was read but must wait for those under way. */
  #held: Request | undefined;
  #owedBytes = 0;
  /** Replies that are next in order; `#flush` writes them together at the end of a pump. */
  #ready: Buffer[] = [];
  #pumping = false;
  #writable = true;
  #paused = false;
  #clientEnded = false;
  /** Set once the session takes no further command. The connection ends when the last reply is written. */
  #closing: 'eof' | 'error' | 'closedHere' | undefined;
  #over = false;
  readonly #fairTurns: FairTurns;
  readonly #lingeringClose: LingeringClose;
  readonly #deadline: MessageDeadline;
  readonly #share: RequestShare;

  constructor(
    dependencies: SessionDependencies,
    connection: Connection,
    id: number,
    onOver: (session: Session) => void,
  ) {
    this.#dependencies = dependencies;
    this.#connection = connection;
    this.#onOver = onOver;
    this.#reader = new RequestReader(dependencies.limits);
    this.#window = new PipelineWindow(dependencies.limits.owedBytesMax);
    this.#fairTurns = new FairTurns(dependencies.parts.io.clock, () => this.#pump());
    this.#lingeringClose = new LingeringClose(dependencies.parts.io.clock, connection);
    this.#share = new RequestShare(dependencies.parts.requests);
    const { messageUsMax } = dependencies.limits;
    this.#deadline = new MessageDeadline(dependencies.parts.io.clock, messageUsMax, () => this.#late());
    this.#conversation = new Conversation(dependencies, {
      id,
      remote: connection.remote,
      sinceUs: dependencies.parts.io.clock.nowUs(),
      version: 2,
      name: '',
      libraryName: '',
      libraryVersion: '',
      lastCommand: '',
    });
    dependencies.parts.observer.opened();
  }

  /** The connection as CLIENT, HELLO and INFO show it. */
  get state(): ConnectionState {
    return this.#conversation.state;
  }

  /** Starts serving; with a refusal, only answers it and closes. */
  start(refusal?: LockstepError): void {
    this.#connection.setPatience(this.#dependencies.limits.takingUsMax);
    this.#connection.start(this);
    if (refusal === undefined) return;
    const text = refusal.code === 'Overloaded' ? 'ERR max number of clients reached' : refusalText(refusal);
    this.#breakOff(text, refusal.message, refusal);
    this.#pump();
  }

  /** Takes no further command, and closes when those under way are answered. */
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
    this.#pump();
  }

  onEnd(): void {
    this.#clientEnded = true;
    this.#pump();
  }

  onClose(reason: CloseReason): void {
    this.#over = true;
    this.#fairTurns.close();
    this.#lingeringClose.cancel();
    this.#deadline.close();
    this.#share.hold(0);
    this.#exchanges.length = 0;
    this.#dependencies.parts.observer.closed(this.#closing ?? (reason === 'ended' ? 'eof' : 'error'));
    this.#onOver(this);
  }

  /** A command has its reply, which is written when all earlier ones are. */
  settled(exchange: Exchange, reply: Buffer): void {
    if (this.#over) return;
    exchange.reply = reply;
    this.#window.answered(reply.length);
    this.#owedBytes += reply.length;
    if (this.#exchanges[0] === exchange) this.#gather();
    this.#pump();
  }

  /** A command failed, or its outcome is unknown. */
  failed(exchange: Exchange, error: LockstepError | undefined, text: string): void {
    const { io } = this.#dependencies.parts;
    exchange.failure = failureOf(text, error?.definite === true);
    if (error?.code === 'Internal') io.log.event('error', 'api.redis.failed', { detail: error.message });
    this.settled(exchange, errorReply(text));
  }

  /** Does everything that is possible now: takes commands, writes ready replies, and reads or pauses. */
  #pump(): void {
    if (this.#over || this.#pumping) return;
    this.#pumping = true;
    while (this.#hasRoom()) {
      const request = this.#held ?? this.#nextRequest();
      if (request === undefined) break;
      this.#held = this.#take(request) ? undefined : request;
      if (this.#held !== undefined) break;
    }
    this.#pumping = false;
    this.#flush();
    this.#regulate();
    this.#timeCommand();
    this.#countGathered();
    this.#endWhenDone();
  }

  #hasRoom(): boolean {
    const { inFlightMax, owedBytesMax } = this.#dependencies.limits;
    return (
      this.#closing === undefined &&
      this.#writable &&
      this.#exchanges.length < inFlightMax &&
      this.#window.hasRoom &&
      this.#fairTurns.hasRoom &&
      this.#owedBytes < owedBytesMax
    );
  }

  #nextRequest(): Request | undefined {
    try {
      const request = this.#reader.next();
      if (request === undefined) return undefined;
      this.#deadline.end();
      this.#fairTurns.begun();
      this.#count(request);
      return request;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#breakOff(error.message, error.message);
      return undefined;
    }
  }

  #count(request: Request): void {
    const name = nameOf(request);
    this.#dependencies.parts.count(commands.get(name)?.field ?? fieldOf(name));
  }

  /** Begins a command; false if it must wait for those under way. */
  #take(request: Request): boolean {
    const command = commands.get(nameOf(request));
    if (command === undefined) {
      this.#conversation.spoil();
      this.#answer(unknown, request, errorReply(unknownCommand(request)));
      return true;
    }
    let plan: Plan;
    try {
      plan = this.#conversation.plan(command, request);
    } catch (caught) {
      this.#answer(command, request, this.#conversation.refused(command, caught));
      if (this.#conversation.gaveUp) this.#closing ??= 'error';
      return true;
    }
    return this.#begin(command, request, plan);
  }

  #begin(command: Command, request: Request, plan: Plan): boolean {
    const { parts, turns } = this.#dependencies;
    switch (plan.kind) {
      case 'answer':
        if (plan.ends) this.#closing = 'closedHere';
        this.#answer(command, request, plan.reply);
        return true;
      case 'alone': {
        if (this.#window.underWay > 0) return false;
        const exchange = this.#open(command, request, 'alone', undefined, plan.purpose);
        parts.io.spawn('redis.command', () =>
          runTask(this.#dependencies, this.#conversation, exchange, plan.task),
        );
        return true;
      }
      case 'read':
      case 'write': {
        const { kind, key } = plan;
        if (this.#mustWait(kind, key.packed)) return false;
        const exchange = this.#open(command, request, kind, key.packed, kind);
        if (command.name === 'set') parts.observer.payload(request[2]?.length ?? 0);
        if (kind === 'write') turns.submit(key, exchange);
        else
          parts.io.spawn('redis.read', () => readKey(this.#dependencies, this.#conversation, exchange, key));
        return true;
      }
    }
  }

  #mustWait(kind: 'read' | 'write', key: PackedKey): boolean {
    if (this.#window.underWay === 0) return false;
    for (const earlier of this.#exchanges) {
      if (earlier.reply !== undefined) continue;
      if (earlier.order === 'alone') return true;
      if (earlier.order !== kind && earlier.key === key) return true;
    }
    return false;
  }

  /** Answers a command in its turn with a reply that is known at once. */
  #answer(command: Command, request: Request, reply: Buffer): void {
    this.settled(this.#open(command, request, 'free', undefined, undefined), reply);
  }

  #open(
    command: Command,
    request: Request,
    order: Order,
    key: PackedKey | undefined,
    purpose: Purpose,
  ): Exchange {
    const { observer, io } = this.#dependencies.parts;
    const { version } = this.state;
    const startUs = purpose === undefined ? 0 : io.clock.nowUs();
    const exchange = new Exchange(this, command, request, version, order, key, startUs, purpose);
    this.#exchanges.push(exchange);
    this.#window.begun();
    if (purpose !== undefined) observer.received(purpose);
    observer.outQueue(this.#exchanges.length);
    return exchange;
  }

  /** Ends the connection: an error in its turn, then the close. */
  #breakOff(text: string, detail: string, failure?: Failure): void {
    const { remote } = this.#connection;
    this.#dependencies.parts.io.log.event('info', 'redis.connection.refused', { remote, detail });
    this.#closing ??= 'error';
    this.#held = undefined;
    this.#reader.drop();
    const exchange = this.#open(unknown, [], 'free', undefined, undefined);
    exchange.failure = failure;
    this.settled(exchange, errorReply(text));
  }

  /** Moves the replies that are next in order to `#ready`. A command counts as answered at this point. */
  #gather(): void {
    const { observer, io } = this.#dependencies.parts;
    let count = 0;
    for (const { reply, failure, purpose, startUs, payloadBytes } of this.#exchanges) {
      if (reply === undefined) break;
      this.#ready.push(reply);
      count += 1;
      if (purpose !== undefined) observer.answered(io.clock.nowUs() - startUs);
      if (payloadBytes !== undefined) observer.payload(payloadBytes);
      if (reply[0] !== minus) continue;
      observeError(observer, failure ?? failureOf(reply.toString('latin1', 1), false), purpose ?? 'write');
    }
    this.#exchanges.splice(0, count);
  }

  #flush(): void {
    const ready = this.#ready;
    const [first] = ready;
    if (first === undefined) return;
    this.#ready = [];
    const bytes = ready.length === 1 ? first : Buffer.concat(ready);
    this.#owedBytes -= bytes.length;
    this.#writable = this.#connection.write(bytes);
  }

  #regulate(): void {
    const pause = this.#closing === undefined && (this.#held !== undefined || !this.#hasRoom());
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) this.#connection.pause();
    else this.#connection.resume();
  }

  #timeCommand(): void {
    if (this.#closing !== undefined || this.#paused || !this.#reader.within) this.#deadline.end();
    else this.#deadline.begin();
  }

  /**
   * Counts an incomplete command in the budget that all clients share, but not bytes that arrived while the session
   * pauses.
   */
  #countGathered(): void {
    if (this.#closing === undefined && this.#paused) return;
    if (this.#share.hold(this.#closing === undefined ? this.#reader.gatheredBytes : 0)) return;
    const { message } = this.#dependencies.parts.requests.refuse();
    this.#breakOff(`OVERLOADED ${message}`, message);
  }

  /** A command was not complete in time. */
  #late(): void {
    if (this.#closing !== undefined) return;
    const ms = this.#dependencies.limits.messageUsMax / 1000;
    const detail = `a command was not whole ${ms} ms after it began`;
    this.#breakOff(`ERR Protocol error: ${detail}`, detail);
    this.#pump();
  }

  /** Closes the connection once all replies are written, if the session is closing or the client has ended its side. */
  #endWhenDone(): void {
    if (this.#exchanges.length > 0 || this.#lingeringClose.begun) return;
    if (this.#closing === undefined) {
      // While it takes no commands, the reader may hold complete ones.
      if (!this.#clientEnded || this.#held !== undefined || !this.#hasRoom()) return;
      this.#closing = this.#reader.within ? 'error' : 'eof';
    }
    this.#lingeringClose.begin(this.#closing === 'closedHere');
  }
}

/** Stands for a command that is not served. */
const unknown: Command = {
  name: 'unknown',
  arity: -1,
  kind: 'connection',
  field: 'other',
  places: undefined,
  apply: undefined,
  access: 'read',
};

/** The command's name in lower case; empty if there is none or it is too long. */
function nameOf(request: Request): string {
  const name = request[0];
  if (name === undefined || name.length > 32) return '';
  return name.toString('latin1').toLowerCase();
}

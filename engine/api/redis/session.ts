/**
 * One Redis client's connection: takes its commands, answers them in the order in which they came, and bounds what
 * either side can make the other hold.
 *
 * Several commands of a client may be under way (pipelining), at most `inFlightMax`. One that would be out of order
 * waits: a read behind a write of the same key and the other way round, and any command on several keys behind all.
 * Writes of one key go on together (key-queue.ts). While too much is under way or owed, or while the client does not read,
 * the session takes no command and stops reading. So it does between its turns (api/session/fair-turns.ts). Large replies make fewer be under way: what they will bring is not
 * known before they are there.
 *
 * Bytes that are no command, and a command that is not whole in time or that all clients’ budget has no room for, end the conversation: what came before is
 * answered, then the error, then it closes.
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

/** What an error's line begins with. */
const minus = 0x2d;

export class Session implements ConnectionHandler, ExchangeOwner {
  readonly #rooms: SessionDependencies;
  readonly #connection: Connection;
  readonly #onOver: (session: Session) => void;
  readonly #reader: RequestReader;
  readonly #conversation: Conversation;
  /** Under way or waiting for an earlier reply, oldest first. */
  readonly #exchanges: Exchange[] = [];
  readonly #window: PipelineWindow;
  /** Taken from the reader, but must wait for those under way. */
  #held: Request | undefined;
  #owedBytes = 0;
  /** Replies that are ready and in order; they leave at the end of what is being done. */
  #ready: Buffer[] = [];
  #pumping = false;
  #writable = true;
  #paused = false;
  #clientEnded = false;
  /** No further command is taken; the connection ends when the last reply is written. */
  #closing: 'eof' | 'error' | 'closedHere' | undefined;
  #over = false;
  readonly #fairTurns: FairTurns;
  readonly #farewell: LingeringClose;
  readonly #deadline: MessageDeadline;
  readonly #share: RequestShare;

  constructor(
    rooms: SessionDependencies,
    connection: Connection,
    id: number,
    onOver: (session: Session) => void,
  ) {
    this.#rooms = rooms;
    this.#connection = connection;
    this.#onOver = onOver;
    this.#reader = new RequestReader(rooms.limits);
    this.#window = new PipelineWindow(rooms.limits.owedBytesMax);
    this.#fairTurns = new FairTurns(rooms.parts.io.clock, () => this.#pump());
    this.#farewell = new LingeringClose(rooms.parts.io.clock, connection);
    this.#share = new RequestShare(rooms.parts.requests);
    const { messageUsMax } = rooms.limits;
    this.#deadline = new MessageDeadline(rooms.parts.io.clock, messageUsMax, () => this.#late());
    this.#conversation = new Conversation(rooms, {
      id,
      remote: connection.remote,
      sinceUs: rooms.parts.io.clock.nowUs(),
      version: 2,
      name: '',
      libraryName: '',
      libraryVersion: '',
      lastCommand: '',
    });
    rooms.parts.observer.opened();
  }

  get state(): ConnectionState {
    return this.#conversation.state;
  }

  /** Begins to serve; with a refusal, only to say so. */
  start(refusal?: LockstepError): void {
    this.#connection.setPatience(this.#rooms.limits.takingUsMax);
    this.#connection.start(this);
    if (refusal === undefined) return;
    const text = refusal.code === 'Overloaded' ? 'ERR max number of clients reached' : refusalText(refusal);
    this.#breakOff(text, refusal.message, refusal);
    this.#pump();
  }

  /** Takes no further command; closes when those under way are answered. */
  close(): void {
    this.#closing ??= 'closedHere';
    this.#pump();
  }

  /** Closes now. */
  destroy(): void {
    this.#closing ??= 'closedHere';
    this.#connection.destroy();
  }

  onData(chunk: Uint8Array): void {
    // A closing session reads on, so that the client's own bytes do not reset the connection, but keeps nothing.
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
    this.#farewell.cancel();
    this.#deadline.close();
    this.#share.hold(0);
    this.#exchanges.length = 0;
    this.#rooms.parts.observer.closed(this.#closing ?? (reason === 'ended' ? 'eof' : 'error'));
    this.#onOver(this);
  }

  /** A command has its reply; it leaves when those before it have. */
  settled(exchange: Exchange, reply: Buffer): void {
    if (this.#over) return;
    exchange.reply = reply;
    this.#window.answered(reply.length);
    this.#owedBytes += reply.length;
    if (this.#exchanges[0] === exchange) this.#gather();
    this.#pump();
  }

  /** A command could not be carried out, or nobody knows. */
  failed(exchange: Exchange, error: LockstepError | undefined, text: string): void {
    const { io } = this.#rooms.parts;
    exchange.failure = failureOf(text, error?.definite === true);
    if (error?.code === 'Internal') io.log.event('error', 'api.redis.failed', { detail: error.message });
    this.settled(exchange, errorReply(text));
  }

  /** Does all that can be done now: takes commands, writes what is ready, and reads or pauses. */
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
    const { inFlightMax, owedBytesMax } = this.#rooms.limits;
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
    this.#rooms.parts.count(commands.get(name)?.field ?? fieldOf(name));
  }

  /** Begins a command; false when it has to wait for those under way. */
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
    const { parts, turns } = this.#rooms;
    switch (plan.kind) {
      case 'answer':
        if (plan.ends) this.#closing = 'closedHere';
        this.#answer(command, request, plan.reply);
        return true;
      case 'alone': {
        if (this.#window.underWay > 0) return false;
        const exchange = this.#open(command, request, 'alone', undefined, plan.purpose);
        parts.io.spawn('redis.command', () => runTask(this.#rooms, this.#conversation, exchange, plan.task));
        return true;
      }
      case 'read':
      case 'write': {
        const { kind, key } = plan;
        if (this.#mustWait(kind, key.packed)) return false;
        const exchange = this.#open(command, request, kind, key.packed, kind);
        if (command.name === 'set') parts.observer.payload(request[2]?.length ?? 0);
        if (kind === 'write') turns.submit(key, exchange);
        else parts.io.spawn('redis.read', () => readKey(this.#rooms, this.#conversation, exchange, key));
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

  /** A reply in its turn, known at once. */
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
    const { observer, io } = this.#rooms.parts;
    const { version } = this.state;
    const startUs = purpose === undefined ? 0 : io.clock.nowUs();
    const exchange = new Exchange(this, command, request, version, order, key, startUs, purpose);
    this.#exchanges.push(exchange);
    this.#window.begun();
    if (purpose !== undefined) observer.received(purpose);
    observer.outQueue(this.#exchanges.length);
    return exchange;
  }

  /** The conversation cannot go on: an error in its turn, then the end. */
  #breakOff(text: string, detail: string, failure?: Failure): void {
    const { remote } = this.#connection;
    this.#rooms.parts.io.log.event('info', 'redis.connection.refused', { remote, detail });
    this.#closing ??= 'error';
    this.#held = undefined;
    this.#reader.drop();
    const exchange = this.#open(unknown, [], 'free', undefined, undefined);
    exchange.failure = failure;
    this.settled(exchange, errorReply(text));
  }

  /** Takes what is ready at the front of the queue; a command counts as answered when its turn has come. */
  #gather(): void {
    const { observer, io } = this.#rooms.parts;
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

  /** A command that is not whole counts with those of all clients; what waits while nothing is taken does not. */
  #countGathered(): void {
    if (this.#closing === undefined && this.#paused) return;
    if (this.#share.hold(this.#closing === undefined ? this.#reader.gatheredBytes : 0)) return;
    const { message } = this.#rooms.parts.requests.refuse();
    this.#breakOff(`OVERLOADED ${message}`, message);
  }

  /** A command that has begun did not become whole in time. */
  #late(): void {
    if (this.#closing !== undefined) return;
    const ms = this.#rooms.limits.messageUsMax / 1000;
    const detail = `a command was not whole ${ms} ms after it began`;
    this.#breakOff(`ERR Protocol error: ${detail}`, detail);
    this.#pump();
  }

  /** Ends the connection once nothing is owed: we are closing, or the client has sent its last command. */
  #endWhenDone(): void {
    if (this.#exchanges.length > 0 || this.#farewell.begun) return;
    if (this.#closing === undefined) {
      // Without room there may be whole commands left in the reader.
      if (!this.#clientEnded || this.#held !== undefined || !this.#hasRoom()) return;
      this.#closing = this.#reader.within ? 'error' : 'eof';
    }
    this.#farewell.begin(this.#closing === 'closedHere');
  }
}

/** Stands for a command that is none. */
const unknown: Command = {
  name: 'unknown',
  arity: -1,
  kind: 'connection',
  field: 'other',
  places: undefined,
  apply: undefined,
  access: 'read',
};

/** In small letters. */
function nameOf(request: Request): string {
  const name = request[0];
  if (name === undefined || name.length > 32) return '';
  return name.toString('latin1').toLowerCase();
}

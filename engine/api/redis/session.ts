/**
 * Serves one Redis client's connection: runs its commands, and answers them in the order in which they arrived.
 * `api/session/client-session.ts` has the bounds of a connection, and its end.
 *
 * A command that would be out of order waits. A read waits for writes of the same key, and a write for reads. A command
 * on several keys waits for all earlier ones. Writes of one key run together (`key-queue.ts`).
 */
import type { LockstepError } from '../../base/errors.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { Connection } from '../../io/network.ts';
import type { Failure } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import type { SessionFault } from '../session/client-session.ts';
import { ClientSession } from '../session/client-session.ts';
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
export class Session extends ClientSession<Request, Exchange> implements ExchangeOwner {
  protected override readonly unit = 'command';
  readonly #dependencies: SessionDependencies;
  readonly #onOver: (session: Session) => void;
  readonly #reader: RequestReader;
  readonly #conversation: Conversation;
  /** Replies that are next in order; `flush` writes them together at the end of a pump. */
  #ready: Buffer[] = [];

  constructor(
    dependencies: SessionDependencies,
    connection: Connection,
    id: number,
    onOver: (session: Session) => void,
  ) {
    const { parts, limits } = dependencies;
    const reader = new RequestReader(limits);
    super(parts, limits, connection, reader);
    this.#dependencies = dependencies;
    this.#onOver = onOver;
    this.#reader = reader;
    this.#conversation = new Conversation(dependencies, {
      id,
      remote: connection.remote,
      sinceUs: parts.io.clock.nowUs(),
      version: 2,
      name: '',
      libraryName: '',
      libraryVersion: '',
      lastCommand: '',
    });
  }

  /** The connection as CLIENT, HELLO and INFO show it. */
  get state(): ConnectionState {
    return this.#conversation.state;
  }

  /** A command has its reply, which is written when all earlier ones are. */
  settled(exchange: Exchange, reply: Buffer): void {
    if (this.over) return;
    this.answered(exchange, reply);
    if (this.exchanges[0] === exchange) this.#gather();
    this.pump();
  }

  /** A command failed, or its outcome is unknown. */
  failed(exchange: Exchange, error: LockstepError | undefined, text: string): void {
    const { io } = this.#dependencies.parts;
    exchange.failure = failureOf(text, error?.definite === true);
    if (error?.code === 'Internal') io.log.event('error', 'api.redis.failed', { detail: error.message });
    this.settled(exchange, errorReply(text));
  }

  protected override closed(): void {
    this.#onOver(this);
  }

  protected override nextRequest(): Request | undefined {
    try {
      const request = this.#reader.next();
      if (request === undefined) return undefined;
      this.received();
      this.#count(request);
      return request;
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#endWith(error.message, error.message);
      return undefined;
    }
  }

  /** Begins a command; false if it must wait for those under way. */
  protected override take(request: Request): boolean {
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
      if (this.#conversation.gaveUp) this.closing ??= 'error';
      return true;
    }
    return this.#begin(command, request, plan);
  }

  protected override flush(): void {
    const ready = this.#ready;
    const [first] = ready;
    if (first === undefined) return;
    this.#ready = [];
    const bytes = ready.length === 1 ? first : Buffer.concat(ready);
    this.owedBytes -= bytes.length;
    this.writable = this.connection.write(bytes);
  }

  /** Answers with the error of a fault, except to a client that has ended its side within a command. */
  protected override fail(error: LockstepError, fault: SessionFault): void {
    if (fault === 'cut') {
      this.closing = 'error';
      this.pump();
      return;
    }
    const { message } = error;
    if (fault === 'late') this.#endWith(`ERR Protocol error: ${message}`, message);
    else if (fault === 'crowded') this.#endWith(refusalText(error), message);
    else {
      const isFull = error.code === 'Overloaded';
      this.#endWith(isFull ? 'ERR max number of clients reached' : refusalText(error), message, error);
    }
  }

  #count(request: Request): void {
    const name = nameOf(request);
    this.#dependencies.parts.count(commands.get(name)?.field ?? fieldOf(name));
  }

  #begin(command: Command, request: Request, plan: Plan): boolean {
    const { parts, turns } = this.#dependencies;
    switch (plan.kind) {
      case 'answer':
        if (plan.ends) this.closing = 'closedHere';
        this.#answer(command, request, plan.reply);
        return true;
      case 'alone': {
        if (this.window.underWay > 0) return false;
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
    if (this.window.underWay === 0) return false;
    for (const earlier of this.exchanges) {
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
    if (purpose !== undefined) observer.received(purpose);
    this.begun(exchange);
    return exchange;
  }

  /** Ends the connection: an error in its turn, then the close. */
  #endWith(text: string, detail: string, failure?: Failure): void {
    this.breakOff('redis.connection.refused', { detail });
    const exchange = this.#open(unknown, [], 'free', undefined, undefined);
    exchange.failure = failure;
    this.settled(exchange, errorReply(text));
  }

  /** Moves the replies that are next in order to `#ready`. A command counts as answered at this point. */
  #gather(): void {
    const { observer, io } = this.#dependencies.parts;
    let count = 0;
    for (const { reply, failure, purpose, startUs, payloadBytes } of this.exchanges) {
      if (reply === undefined) break;
      this.#ready.push(reply);
      count += 1;
      if (purpose !== undefined) observer.answered(io.clock.nowUs() - startUs);
      if (payloadBytes !== undefined) observer.payload(payloadBytes);
      if (reply[0] !== minus) continue;
      observeError(observer, failure ?? failureOf(reply.toString('latin1', 1), false), purpose ?? 'write');
    }
    this.exchanges.splice(0, count);
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

/**
 * Serves one Redis client's connection: runs its commands, and answers them in the order in which they arrived.
 * `api/session/client-session.ts` has the bounds of a connection, and its end.
 *
 * A command waits for earlier ones on its own keys (`key-order.ts`), and those on other keys go on. Writes of one key,
 * and reads behind them, run together (`key-queue.ts`). Commands on all keys, and those of WATCH, wait for all earlier
 * ones, and all later ones for them.
 */
import type { LockstepError } from '../../base/errors.ts';
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import type { CloseReason, Connection } from '../../io/network.ts';
import type { Failure, Operation } from '../client-observer.ts';
import { observeError } from '../client-observer.ts';
import type { SessionFault } from '../session/client-session.ts';
import { ClientSession } from '../session/client-session.ts';
import type { Command } from './commands.ts';
import { commands, fieldOf } from './commands.ts';
import type { ConnectionState } from './connection-commands.ts';
import type { Plan } from './conversation.ts';
import { Conversation } from './conversation.ts';
import type { ExchangeOwner, Purpose, Work } from './exchange.ts';
import { Exchange } from './exchange.ts';
import type { Way } from './key-order.ts';
import { KeyOrder } from './key-order.ts';
import type { Message } from './messages/message.ts';
import type { Subscriber } from './messages/subscriptions.ts';
import { failureOf, refusalText, texts, unknownCommand } from './refusals.ts';
import type { RespVersion } from './replies.ts';
import { errorReply, integerReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import { ProtocolError, RequestReader } from './request-reader.ts';
import type { SessionDependencies } from './session-dependencies.ts';
import type { SettledSession } from './settlement.ts';
import { runSteps, runTask } from './tasks.ts';

/** A subscriber may let a quarter of what may wait for it wait for a minute, as Redis's default limits have it. */
const laggingShare = 4;
const laggingUsMax = 60_000_000;

const noWork: Work = { kind: 'none' };
/** The first byte of an error line. */
const minus = 0x2d;

/** One connection. The server creates it and calls `start`; `onOver` is called once, when the connection has closed. */
export class Session
  extends ClientSession<Request, Exchange>
  implements ExchangeOwner, SettledSession, Subscriber
{
  protected override readonly unit = 'command';
  readonly #dependencies: SessionDependencies;
  readonly #onOver: (session: Session) => void;
  readonly #reader: RequestReader;
  readonly #conversation: Conversation;
  readonly #order = new KeyOrder<Exchange>((exchange) => this.#run(exchange));
  /** Whether a command that must be alone is under way. */
  #isBlocked = false;
  /** Replies that are next in order; `flush` writes them together at the end of a pump. */
  #ready: Buffer[] = [];
  /** What commands publish once every earlier command has ended or published. */
  readonly #unpublished = new Map<Exchange, () => void>();
  /** The first commands that later ones need not wait for to publish: they have ended, or have published. */
  #publishedCount = 0;
  /** The commands under way when the connection closed: what they publish keeps its order. */
  #orphans: Exchange[] | undefined;
  /** Whether the step that settles commands now will call `resume`. */
  #isDue = false;
  /** The request that was read last, until it is taken, and the command that it names. */
  #named: Request | undefined;
  #command: Command | undefined;
  /** Since when more waits for this subscriber than it may have for long, on the clock's `nowUs`. */
  #laggingSinceUs: number | undefined;

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
    const state: ConnectionState = {
      id,
      remote: connection.remote,
      sinceUs: parts.io.clock.nowUs(),
      database: 0,
      version: 2,
      name: '',
      libraryName: '',
      libraryVersion: '',
      lastCommand: '',
    };
    this.#conversation = new Conversation(dependencies, state, this);
  }

  /** The protocol version of messages. */
  get version(): RespVersion {
    return this.state.version;
  }

  /** The connection as CLIENT, HELLO and INFO show it. */
  get state(): ConnectionState {
    return this.#conversation.state;
  }

  /** A command has its reply, which is written when all earlier ones are. */
  settled(exchange: Exchange, reply: Buffer): void {
    if (this.over) {
      exchange.reply = reply;
      this.#publishReady();
      return;
    }
    if (exchange.work.kind === 'alone') this.#isBlocked = false;
    else this.#order.done(exchange);
    this.answered(exchange, reply);
    this.#publishReady();
    if (this.#isDue) return;
    if (this.#dependencies.settlement.defers(this)) this.#isDue = true;
    else this.resume();
  }

  resume(): void {
    this.#isDue = false;
    if (this.over) return;
    if (this.exchanges[0]?.reply !== undefined) this.#gather();
    this.pump();
  }

  publish(exchange: Exchange, messages: readonly Message[], done: (counts: readonly number[]) => void): void {
    const { publications } = this.#dependencies;
    this.#unpublished.set(exchange, () => {
      const counts = messages.map(() => 0);
      let left = messages.length;
      messages.forEach((message, index) => {
        publications.publish(message, (count) => {
          counts[index] = count;
          left -= 1;
          if (left === 0) done(counts);
        });
      });
    });
    this.#publishReady();
  }

  push(bytes: Buffer): boolean {
    if (this.over || this.closing !== undefined) return false;
    if (!this.#conversation.mayReceive) {
      this.#endWith(texts.noAuth, texts.noAuth);
      return false;
    }
    if (this.#lags(bytes.length)) {
      this.#dependencies.publications.subscriberDropped();
      this.flush();
      const { io } = this.#dependencies.parts;
      const { remote, pendingBytes } = this.connection;
      io.log.event('info', 'redis.subscriber.dropped', { remote, pendingBytes });
      this.closing = 'error';
      this.connection.destroy();
      return false;
    }
    this.#ready.push(bytes);
    this.owedBytes += bytes.length;
    return true;
  }

  flushPushes(): void {
    if (!this.over) this.flush();
  }

  override onClose(reason: CloseReason): void {
    this.#orphans = [...this.exchanges];
    super.onClose(reason);
  }

  /** A command failed, or its outcome is unknown. */
  failed(exchange: Exchange, error: LockstepError | undefined, text: string): void {
    const { io } = this.#dependencies.parts;
    exchange.failure = failureOf(text, error?.definite === true);
    if (error?.code === 'Internal') io.log.event('error', 'api.redis.failed', { detail: error.message });
    this.settled(exchange, errorReply(text));
  }

  protected override closed(): void {
    this.#conversation.close();
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
    if (this.#isBlocked || !this.#takeAs(this.#commandOf(request), request)) return false;
    // A connection that waits for its client holds no request, which may be large.
    this.#named = undefined;
    return true;
  }

  #takeAs(command: Command | undefined, request: Request): boolean {
    if (command === undefined) {
      this.#conversation.spoil();
      this.#answer(unknown, request, errorReply(unknownCommand(request)));
      return true;
    }
    let plan: Plan;
    try {
      plan = this.#conversation.plan(command, request);
      if (plan.kind === 'quiet') {
        if (this.window.underWay > 0) return false;
        this.#answer(command, request, plan.answer());
        return true;
      }
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
    const field = this.#commandOf(request)?.field ?? fieldOf(nameOf(request));
    this.#dependencies.parts.count(field);
  }

  /** The command that a request names. Counting and taking a request look it up once. */
  #commandOf(request: Request): Command | undefined {
    if (request !== this.#named) {
      this.#named = request;
      this.#command = commands.get(nameOf(request));
    }
    return this.#command;
  }

  #begin(command: Command, request: Request, plan: Exclude<Plan, { kind: 'quiet' }>): boolean {
    switch (plan.kind) {
      case 'answer':
        if (plan.ends) this.closing = 'closedHere';
        this.#answer(command, request, plan.reply);
        return true;
      case 'publish': {
        const exchange = this.#open(command, request, { kind: 'publish' }, [], 'read', undefined);
        this.publish(exchange, [plan.message], ([count = 0]) => exchange.settle(integerReply(count)));
        return true;
      }
      case 'alone':
        if (this.window.underWay > 0) return false;
        this.#isBlocked = true;
        this.#run(
          this.#open(command, request, { kind: 'alone', task: plan.task }, [], 'batch', plan.purpose),
        );
        return true;
      case 'steps': {
        const { steps, keys, exec, purpose } = plan;
        const way = purpose === 'write' ? 'batch' : 'read';
        this.#order.add(this.#open(command, request, { kind: 'steps', steps, exec }, keys, way, purpose));
        return true;
      }
      case 'read':
      case 'write': {
        const { kind, key } = plan;
        const way = this.#wayOf(kind, key);
        const exchange = this.#open(command, request, { kind: 'key', key }, [key.packed], way, kind);
        if (command.name === 'set') this.#dependencies.parts.observer.payload(request[2]?.length ?? 0);
        this.#order.add(exchange);
        return true;
      }
    }
  }

  /** A read behind a write of its key takes part in the key's turns, unless WATCH bounds how old its value may be. */
  #wayOf(kind: 'read' | 'write', key: ObjectKey): Way {
    if (kind === 'write') return 'turn';
    const joins = this.#conversation.watched.length === 0 && this.#order.lastWay(key.packed) === 'turn';
    return joins ? 'turn' : 'read';
  }

  /** Starts a command whose turn has come. */
  #run(exchange: Exchange): void {
    const { work } = exchange;
    const { parts, turns, reads } = this.#dependencies;
    const spawn = (task: () => Promise<void>): void => parts.io.spawn('redis.command', task);
    switch (work.kind) {
      case 'none':
      case 'publish':
        return;
      case 'key':
        if (exchange.way === 'turn') turns.submit(work.key, exchange);
        else reads.begin(exchange, work.key, this.#conversation.watched);
        return;
      case 'steps':
        spawn(() => runSteps(this.#conversation, exchange, work.steps, work.exec));
        return;
      case 'alone':
        spawn(() => runTask(this.#dependencies, this.#conversation, exchange, work.task));
    }
  }

  /** Publishes what need not wait any more: in the order of the commands. */
  #publishReady(): void {
    const line = this.#orphans ?? this.exchanges;
    while (this.#unpublished.size > 0) {
      const exchange = line[this.#publishedCount];
      if (exchange === undefined) return;
      const begin = this.#unpublished.get(exchange);
      if (begin === undefined && exchange.reply === undefined) return;
      this.#publishedCount += 1;
      if (begin === undefined) continue;
      this.#unpublished.delete(exchange);
      begin();
    }
  }

  /** Whether `bytes` more would be too much for this subscriber: at once, or for too long. */
  #lags(bytes: number): boolean {
    const { subscriberBytesMax } = this.#dependencies.limits;
    const waiting = this.connection.pendingBytes + this.owedBytes + bytes;
    if (waiting > subscriberBytesMax) return true;
    const nowUs = this.#dependencies.parts.io.clock.nowUs();
    if (waiting <= subscriberBytesMax / laggingShare) this.#laggingSinceUs = undefined;
    else this.#laggingSinceUs ??= nowUs;
    return this.#laggingSinceUs !== undefined && nowUs - this.#laggingSinceUs > laggingUsMax;
  }

  /** Answers a command in its turn with a reply that is known at once. */
  #answer(command: Command, request: Request, reply: Buffer): void {
    this.settled(this.#open(command, request, noWork, [], 'read', undefined), reply);
  }

  #open(
    command: Command,
    request: Request,
    work: Work,
    keys: readonly PackedKey[],
    way: Way,
    purpose: Purpose,
  ): Exchange {
    const { observer, io } = this.#dependencies.parts;
    const { version } = this.state;
    const startUs = purpose === undefined ? 0 : io.clock.nowUs();
    const exchange = new Exchange(
      this,
      command,
      request,
      version,
      work,
      keys,
      way,
      this.#conversation.database,
      startUs,
      purpose,
      purpose === undefined ? undefined : observer.timesOf(startUs),
    );
    if (exchange.times !== undefined) exchange.times.bucket = exchange.database.parts.bucket;
    if (purpose !== undefined) observer.received(purpose);
    this.begun(exchange);
    return exchange;
  }

  /** Ends the connection: an error in its turn, then the close. */
  #endWith(text: string, detail: string, failure?: Failure): void {
    this.breakOff('redis.connection.refused', { detail });
    const exchange = this.#open(unknown, [], noWork, [], 'read', undefined);
    exchange.failure = failure;
    this.settled(exchange, errorReply(text));
  }

  /** Moves the replies that are next in order to `#ready`. A command counts as answered at this point. */
  #gather(): void {
    const { observer, io } = this.#dependencies.parts;
    let count = 0;
    for (const exchange of this.exchanges) {
      const { reply, failure, purpose, startUs, payloadBytes } = exchange;
      if (reply === undefined) break;
      this.#ready.push(reply);
      count += 1;
      if (purpose !== undefined) {
        const latencyUs = io.clock.nowUs() - startUs;
        observer.answered(latencyUs, 'redis', operationOf(exchange.command, purpose), exchange.times);
      }
      if (payloadBytes !== undefined) observer.payload(payloadBytes);
      if (reply[0] !== minus) continue;
      observeError(observer, failure ?? failureOf(reply.toString('latin1', 1), false), purpose ?? 'write');
    }
    this.exchanges.splice(0, count);
    this.#publishedCount = Math.max(0, this.#publishedCount - count);
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

/** What a command is counted as, beside its own counter. */
function operationOf({ name }: Command, purpose: 'read' | 'write'): Operation {
  switch (name) {
    case 'get':
      return 'get';
    case 'set':
      return 'put';
    case 'del':
      return 'delete';
    case 'exec':
    case 'eval':
    case 'evalsha':
    case 'eval_ro':
    case 'evalsha_ro':
      return 'transaction';
    default:
      return purpose;
  }
}

/** The command's name in lower case; empty if there is none or it is too long. */
function nameOf(request: Request): string {
  const name = request[0];
  if (name === undefined || name.length > 32) return '';
  return name.toString('latin1').toLowerCase();
}

/**
 * Holds the state of one client's conversation: its transaction, watched keys, identity, name and protocol version. It
 * plans each command and answers those that need no replica; `session.ts` decides when the others run.
 */
import type { Identity } from '../../auth/gate.ts';
import type { BucketName } from '../../auth/permit.ts';
import { present } from '../../base/assert.ts';
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import type { ObjectKey, PackedKey } from '../../base/object-key.ts';
import { AnswerSize } from './answer-size.ts';
import type { Step, Watched } from './batches.ts';
import type { Command } from './commands.ts';
import { hasArity, keysOf } from './commands.ts';
import type { ConnectionState } from './connection-commands.ts';
import { answerConnection, checkSubcommand, helloOptions, helloReply } from './connection-commands.ts';
import type { Purpose, Task } from './exchange.ts';
import type { Message } from './messages/message.ts';
import { messageOf } from './messages/message.ts';
import type { Subscriber } from './messages/subscriptions.ts';
import { OwnSubscriptions } from './messages/own-subscriptions.ts';
import { readInteger } from './numbers.ts';
import { checkObject } from './key-commands.ts';
import { keyOf } from './listener-dependencies.ts';
import { Refusal, refusalText, texts, wrongArity } from './refusals.ts';
import { arrayReply, bulkReply, errorReply, okReply, queuedReply, simpleReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import { pieceBytes } from './request-reader.ts';
import type { Database, SessionDependencies } from './session-dependencies.ts';
import { QueuedCommands, TransactionMemory } from './transaction-memory.ts';

/** What to do with a command. */
export type Plan =
  /** The command is done. */
  | { readonly kind: 'answer'; readonly reply: Buffer; readonly ends: boolean }
  | { readonly kind: 'read' | 'write'; readonly key: ObjectKey }
  /**
   * Steps on `keys`, which are distinct. `exec`: the steps of a transaction under which no key is watched, and which
   * concerns keys alone.
   */
  | {
      readonly kind: 'steps';
      readonly steps: readonly Step[];
      readonly keys: readonly PackedKey[];
      readonly exec: boolean;
      readonly purpose: Purpose;
    }
  /** A message to publish once every earlier command has ended. */
  | { readonly kind: 'publish'; readonly message: Message }
  /** An answer that is made, at once, when nothing of this connection is under way. It may throw `Refusal`. */
  | { readonly kind: 'quiet'; readonly answer: () => Buffer }
  /** A task that runs while nothing else of this connection is under way. */
  | { readonly kind: 'alone'; readonly task: Task; readonly purpose: Purpose };

/** A transaction that EXEC runs. */
export interface TakenTransaction {
  readonly steps: readonly Step[];
  readonly watched: readonly Watched[];
  /** Carries out what its commands change of the connection, such as its name. Called once EXEC has succeeded. */
  settle(): void;
}

/** The conversation of one client. */
export class Conversation {
  /** The connection as CLIENT, HELLO and INFO show it. */
  readonly state: ConnectionState;
  readonly subscriptions: OwnSubscriptions;
  readonly #dependencies: SessionDependencies;
  readonly #memory: TransactionMemory;
  /** The transaction that MULTI began. */
  #multi: QueuedCommands | undefined;
  /** The identity that the client has proved. */
  #identity: Identity | undefined;
  #wrongCount = 0;
  /** The latest request that was admitted; it may be planned again, after it has waited for others. */
  #admitted: Request | undefined;
  #watched: readonly Watched[] = [];

  /** `subscriber`: the connection as messages reach it. */
  constructor(dependencies: SessionDependencies, state: ConnectionState, subscriber: Subscriber) {
    this.#dependencies = dependencies;
    this.state = state;
    this.#memory = new TransactionMemory(dependencies.parts.requests.waiting);
    this.subscriptions = new OwnSubscriptions(dependencies.publications.subscriptions, subscriber);
  }

  /** Whether the client's credential, if any, still admits it to messages. */
  get mayReceive(): boolean {
    if (this.#identity?.revoked === true) return false;
    const { gate, type, bucket } = this.#dependencies.parts;
    return gate.permitOf('redis', this.state.remote, this.#identity).mayReach(type, bucket);
  }

  /** The selected database. */
  get database(): Database {
    return present(this.#dependencies.databases[this.state.database], 'a database');
  }

  /** The keys under WATCH, as WATCH read them. */
  get watched(): readonly Watched[] {
    return this.#watched;
  }

  /** Whether the client has sent so many wrong passwords that the session must close the connection. */
  get gaveUp(): boolean {
    return this.#wrongCount >= wrongCountMax;
  }

  /** Plans a command. Throws `Refusal` or `LockstepError`, which the session passes to `refused` for the reply. */
  plan(command: Command, request: Request): Plan {
    const { name } = command;
    if (!hasArity(command, request.length)) throw wrongArity(name);
    if (!this.#dependencies.parts.gate.open) this.#admit(command, request);
    if (this.#multi !== undefined && !neverQueued.includes(name)) {
      return answer(this.#queue(this.#multi, command, request));
    }
    this.#checkSubscribed(command, request);
    this.state.lastCommand = name;
    switch (command.kind) {
      case 'connection':
        return answer(this.#connectionReply(command, request), name === 'quit');
      case 'transaction':
        return this.#planTransactional(name);
      case 'keyspace':
        checkFlush(command, request);
        return { kind: 'alone', task: 'walk', purpose: command.access === 'write' ? 'write' : 'read' };
      case 'publish':
        this.#dependencies.admit();
        return { kind: 'publish', message: messageOf(request, this.#valueBytesMax) };
      case 'subscription':
        if (name === 'pubsub') return { kind: 'alone', task: 'pubsub', purpose: undefined };
        if (!name.includes('unsubscribe')) this.#dependencies.admit();
        return { kind: 'quiet', answer: () => this.subscriptions.act(command, request) };
      case 'read':
      case 'write':
        this.#checkSizes(command, request);
        if (!isOnOneKey(command, request)) {
          return this.#planSteps([{ command, request, immediate: undefined }], false, command.kind);
        }
        return { kind: command.kind, key: keyOf(this.database.parts, request[1] ?? noBytes) };
    }
  }

  /** The reply to a refused command. It also updates the transaction that the command belongs to. */
  refused({ name }: Command, caught: unknown): Buffer {
    const text = caught instanceof Refusal ? caught.message : refusalText(asLockstepError(caught));
    if (name === 'exec' && text !== texts.noMulti) {
      this.#forgetTransaction();
      const why = text.startsWith('ERR ') ? text.slice(4) : text;
      return errorReply(`EXECABORT Transaction discarded because of: ${why}`);
    }
    // Redis refuses these two when it carries them out, and every other command before that.
    if (text !== texts.nestedMulti && text !== texts.watchInside) this.spoil();
    return errorReply(text);
  }

  /** Marks the transaction as having a refused command. */
  spoil(): void {
    this.#multi?.spoil();
  }

  /** Notes the keys under WATCH. Throws `Overloaded`, after which those are watched that were before. */
  watch(watched: readonly Watched[]): void {
    this.#memory.watch(watched);
    this.#watched = watched;
  }

  /** The connection has closed. */
  close(): void {
    this.subscriptions.clear();
    this.#memory.close();
  }

  /**
   * Ends the transaction and returns it for EXEC, with the replies of the commands that need no keys. Those change a
   * draft of the connection's state, which `settle` puts in force. Throws `TooLarge`.
   */
  takeTransaction(): TakenTransaction {
    const { steps = [] } = this.#multi ?? {};
    const { watched } = this;
    this.#forgetTransaction();
    const draft = { ...this.state };
    const size = new AnswerSize(this.#dependencies.parts.answerBytesMax);
    const answered = steps.map(({ command, request }) => {
      const immediate = this.#immediateReply(command, request, draft);
      size.add(immediate?.length ?? 0);
      return { command, request, immediate };
    });
    const settle = (): void => void Object.assign(this.state, draft);
    return { steps: answered, watched, settle };
  }

  #forgetTransaction(): void {
    this.#multi?.drop();
    this.#multi = undefined;
    this.watch([]);
  }

  #planTransactional(name: string): Plan {
    switch (name) {
      case 'multi':
        if (this.#multi !== undefined) throw new Refusal(texts.nestedMulti);
        this.#multi = new QueuedCommands(this.#memory);
        return answer(okReply);
      case 'discard':
        if (this.#multi === undefined) throw new Refusal('ERR DISCARD without MULTI');
        this.#forgetTransaction();
        return answer(okReply);
      case 'watch':
        if (this.#multi !== undefined) throw new Refusal(texts.watchInside);
        return { kind: 'alone', task: 'watch', purpose: 'read' };
      case 'unwatch':
        // An earlier WATCH may still be under way.
        return { kind: 'alone', task: 'unwatch', purpose: undefined };
      default:
        return this.#planExec();
    }
  }

  #planExec(): Plan {
    const multi = this.#multi;
    if (multi === undefined) throw new Refusal(texts.noMulti);
    if (multi.isSpoilt) {
      this.#forgetTransaction();
      return answer(errorReply(texts.execAbort));
    }
    if (multi.steps.some((step) => step.command.kind === 'publish')) this.#dependencies.admit();
    const writes = multi.steps.some((step) => step.command.kind === 'write');
    const touches = writes || multi.steps.some((step) => step.command.kind === 'read');
    const turns = multi.steps.some((step) => step.command.kind === 'connection');
    const purpose = writes ? 'write' : touches || this.watched.length > 0 ? 'read' : undefined;
    // Later commands must see what this one changes of the connection.
    if (this.watched.length > 0 || turns) return { kind: 'alone', task: 'exec', purpose };
    return this.#planSteps(this.takeTransaction().steps, true, purpose);
  }

  #planSteps(steps: readonly Step[], exec: boolean, purpose: Purpose): Plan {
    const { parts } = this.database;
    const keys = new Set<PackedKey>();
    for (const { command, request } of steps) {
      for (const key of keysOf(command, request)) keys.add(keyOf(parts, key).packed);
      // Too many: the batch is refused, so that it needs no place in the order.
      if (keys.size > parts.keyCountMax) return { kind: 'steps', steps, keys: [], exec, purpose };
    }
    return { kind: 'steps', steps, keys: [...keys], exec, purpose };
  }

  #queue(multi: QueuedCommands, command: Command, request: Request): Buffer {
    const { limits } = this.#dependencies;
    const { parts } = this.database;
    if (['keyspace', 'subscription'].includes(command.kind) || notInMulti.includes(command.name)) {
      throw new Refusal('ERR Command not allowed inside a transaction');
    }
    // A transaction has one database. Later commands would otherwise run in the wrong one.
    if (command.name === 'select' && this.#selectsAnother(request)) {
      throw new Refusal('ERR SELECT of another database is not supported inside a transaction');
    }
    if (command.name === 'object') checkObject(request);
    checkSubcommand(command, request);
    this.#checkSizes(command, request);
    if (command.kind === 'publish') messageOf(request, this.#valueBytesMax);
    for (const key of keysOf(command, request)) keyOf(parts, key);
    if (!multi.add(command, request, limits.queuedMax, limits.requestBytesMax)) {
      const most = `${limits.queuedMax} commands and, with ${pieceBytes} for each argument, ${limits.requestBytesMax} bytes`;
      throw new Refusal(`ERR a transaction holds at most ${most}`);
    }
    return queuedReply;
  }

  #immediateReply(command: Command, request: Request, draft: ConnectionState): Buffer | undefined {
    // EXEC has ended the watch before.
    if (command.name === 'unwatch') return okReply;
    return command.kind === 'connection' ? this.#replyInside(command, request, draft) : undefined;
  }

  /** The reply, within a transaction, of a command that needs no keys. */
  #replyInside(command: Command, request: Request, draft: ConnectionState): Buffer {
    try {
      return answerConnection(command, request, draft, this.#dependencies.listener);
    } catch (caught) {
      if (!(caught instanceof Refusal)) throw caught;
      return errorReply(caught.message);
    }
  }

  get #valueBytesMax(): number {
    return this.#dependencies.parts.limits.valueBytesMax;
  }

  /** Refuses too large arguments before they can fail a turn that other commands share. */
  #checkSizes({ kind }: Command, request: Request): void {
    if (kind !== 'write') return;
    for (const one of request) if (one.length > this.#valueBytesMax) throw new Refusal(texts.tooLong);
  }

  /** Whether messages and replies could not be told apart: version 2 has one form for both. */
  get #isSubscribed(): boolean {
    return this.state.version === 2 && this.subscriptions.count > 0;
  }

  /** Refuses what a subscriber in version 2 may not send. */
  #checkSubscribed({ name, kind }: Command, request: Request): void {
    if (!this.#isSubscribed) return;
    if ((kind === 'subscription' && name !== 'pubsub') || whileSubscribed.includes(name)) return;
    const shown = withSubcommand.includes(name) ? `${name}|${subcommandOf(request)}` : name;
    throw new Refusal(
      `ERR Can't execute '${shown}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context`,
    );
  }

  #connectionReply(command: Command, request: Request): Buffer {
    switch (command.name) {
      case 'quit':
        return okReply;
      case 'ping':
        if (!this.#isSubscribed || request.length > 2) break;
        return arrayReply([pongWord, bulkReply(request[1] ?? noBytes)]);
      case 'reset':
        this.#forgetTransaction();
        this.subscriptions.clear();
        this.state.version = 2;
        this.state.database = 0;
        this.state.name = '';
        this.#identity = undefined;
        return simpleReply('RESET');
      case 'select':
        if (this.#multi === undefined && this.watched.length > 0 && this.#selectsAnother(request)) {
          throw new Refusal('ERR SELECT is not supported while keys are watched; send UNWATCH first');
        }
        break;
      case 'auth':
        return this.#authenticate(request);
      case 'hello':
        return this.#hello(request);
    }
    return answerConnection(command, request, this.state, this.#dependencies.listener);
  }

  /** Whether SELECT names a database that there is, and another one than is selected. */
  #selectsAnother(request: Request): boolean {
    const index = readInteger(request[1] ?? noBytes);
    const known = index !== undefined && this.#dependencies.databases[Number(index)] !== undefined;
    return known && Number(index) !== this.state.database;
  }

  #authenticate(request: Request): Buffer {
    if (request.length > 3) throw new Refusal(texts.syntax);
    if (request.length === 2 && this.#dependencies.parts.gate.open) throw new Refusal(texts.noPassword);
    const user = request.length === 3 ? (request[1] ?? noBytes).toString('utf8') : openUser;
    this.#logIn(user, request.at(-1) ?? noBytes);
    return okReply;
  }

  #logIn(user: string, password: Buffer): void {
    const { gate } = this.#dependencies.parts;
    if (gate.open) {
      if (user !== openUser) throw new Refusal(texts.wrongPassword);
      return;
    }
    const identity = gate.identify(password, user);
    if (identity === undefined) {
      this.#wrongCount += 1;
      gate.refuse('redis', this.state.remote, 'wrong');
      throw new Refusal(texts.wrongPassword);
    }
    this.#wrongCount = 0;
    this.#identity = identity;
  }

  /**
   * Throws Redis's text if the client may not send this command, or not in the selected database. A database is one
   * bucket, and messages belong to the bucket of database 0.
   */
  #admit(command: Command, request: Request): void {
    const { name, access } = command;
    const { gate } = this.#dependencies.parts;
    try {
      gate.admit('redis', this.state.remote, this.#identity, access, this.#admitted === request);
      this.#admitted = request;
      if (access === 'open') return;
      const permit = gate.permitOf('redis', this.state.remote, this.#identity);
      if (permit.isLimited) permit.mustReach(this.#bucketsOf(command));
    } catch (caught) {
      if (!(caught instanceof LockstepError)) throw caught;
      if (caught.code === 'Unauthorized') throw new Refusal(texts.noAuth);
      if (caught.code === 'RateLimited') throw caught;
      throw new Refusal(`NOPERM this user has no permissions to run the '${name}' command`);
    }
  }

  /** The buckets that a command concerns. */
  #bucketsOf({ name, kind }: Command): readonly BucketName[] {
    const { databases, parts } = this.#dependencies;
    if (name === 'flushall') return databases.map((database) => database.parts);
    switch (kind) {
      case 'connection':
        return [];
      case 'publish':
      case 'subscription':
        return [parts];
      default:
        return [this.database.parts];
    }
  }

  /** HELLO has its own text for a missing password. */
  #mustBeKnown(): void {
    const { gate } = this.#dependencies.parts;
    if (gate.open || (this.#identity !== undefined && !this.#identity.revoked)) return;
    gate.refuse('redis', this.state.remote, 'missing');
    throw new Refusal(texts.helloNoAuth);
  }

  #hello(request: Request): Buffer {
    const { version, user, password, name } = helloOptions(request);
    if (user !== undefined) this.#logIn(user, password);
    this.#mustBeKnown();
    if (version !== undefined) this.state.version = version;
    if (name !== undefined) this.state.name = name;
    return helloReply(this.state);
  }
}

const noBytes = Buffer.alloc(0);
/** Redis's name of the user of a listener without credentials. */
const openUser = 'default';
/** The number of wrong passwords in a row after which the connection ends. */
const wrongCountMax = 10;
const notInMulti: readonly string[] = ['hello', 'auth', 'save', 'shutdown'];
/** What a subscriber in version 2 may send beside subscribing and unsubscribing. */
const whileSubscribed: readonly string[] = ['ping', 'quit', 'reset'];
const withSubcommand: readonly string[] = ['client', 'command', 'config', 'object', 'pubsub', 'script'];
const pongWord = bulkReply(Buffer.from('pong'));
const neverQueued: readonly string[] = ['exec', 'discard', 'multi', 'watch', 'quit', 'reset'];

function answer(reply: Buffer, ends = false): Plan {
  return { kind: 'answer', reply, ends };
}

/** FLUSHDB and FLUSHALL take ASYNC or SYNC, without effect. */
function checkFlush({ name }: Command, request: Request): void {
  if (name !== 'flushdb' && name !== 'flushall') return;
  const word = (request[1] ?? noBytes).toString('latin1').toUpperCase();
  if (request.length > 2 || (request.length === 2 && word !== 'ASYNC' && word !== 'SYNC')) {
    throw new Refusal(texts.syntax);
  }
}

function subcommandOf(request: Request): string {
  return (request[1] ?? noBytes).toString('latin1', 0, 128).toLowerCase();
}

function isOnOneKey({ places }: Command, request: Request): boolean {
  return places?.last === 1 || (places?.step === 1 && request.length === 2);
}

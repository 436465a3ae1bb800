/**
 * A simulated Redis client: increments counters, moves amounts between accounts in transactions, writes values that
 * expire, reads all of them, publishes messages and listens to them. It never retries an operation that may have happened. If no answer comes or the
 * connection is lost, it goes to another node.
 */
import type { Reply } from '../../engine/api/redis/reply-reader.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import { pick } from '../../engine/io/random.ts';
import type { Outcome } from '../evidence/history.ts';
import type { PlanRedisOperation } from '../plan/plan.ts';
import type { KeyWalk, RedisKind, RedisRecord } from '../evidence/redis.ts';
import { indefiniteErrors, mortalCommands } from '../evidence/redis.ts';
import type { PageCommand } from '../evidence/redis-pages.ts';
import { pageCommands } from '../evidence/redis-pages.ts';
import { listenPlan, publishCommands } from '../evidence/redis-messages.ts';
import type { DatabaseAct } from '../evidence/redis-databases.ts';
import {
  databaseActOf,
  databaseCommands,
  flushedDatabase,
  isDatabaseWrite,
  isUnderWatch,
  commandsWhileWatching,
  watchBefore,
} from '../evidence/redis-databases.ts';
import { pipelineCommands } from '../evidence/redis-pipelines.ts';
import {
  commandsOfWatch,
  commandsUnderWatch,
  watchedOf,
  watchedSpareMs,
  watchedTtlMs,
  watchesExpiringValue,
} from '../evidence/redis-watches.ts';
import type { ClientTarget } from './client.ts';
import { Impatience } from './impatient-client.ts';
import type { RedisCommand, RedisExchange } from './redis-connection.ts';
import { RedisConnection } from './redis-connection.ts';
import { listen } from './redis-listener.ts';

/** What a Redis client needs. */
export interface RedisClientSetup {
  readonly name: string;
  readonly io: Io;
  readonly targets: readonly ClientTarget[];
  readonly accounts: number;
  readonly records: RedisRecord[];
  readonly nowUs: () => number;
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
}

/** How an operation ended. */
interface Seen {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly counted?: number | undefined;
  readonly balances?: readonly number[];
  readonly found?: string | undefined;
  readonly replies?: readonly string[];
  readonly repliedUs?: readonly number[];
  readonly connection?: number;
  readonly leftUs?: number;
  readonly walked?: KeyWalk;
}

/** One simulated Redis client. */
export class RedisClient {
  readonly impatience: Impatience;
  readonly #setup: RedisClientSetup;
  #target: ClientTarget;
  #connection: RedisConnection | undefined;
  /** In the flushed database, with keys under WATCH. */
  #watching: { readonly connection: RedisConnection; readonly node: string } | undefined;
  #connectionCount = 0;

  constructor(setup: RedisClientSetup) {
    this.#setup = setup;
    this.impatience = new Impatience(setup.io.clock);
    this.#target = pick(setup.io.random, setup.targets);
  }

  async work(operations: readonly PlanRedisOperation[], stopped: () => boolean): Promise<void> {
    for (const operation of operations) {
      await sleep(this.#setup.io.clock, operation.thinkUs);
      if (stopped()) break;
      await this.perform(operation, false);
    }
    this.close();
  }

  /** Sends all further requests to that node. */
  turnTo(target: ClientTarget): void {
    this.close();
    this.#connection = undefined;
    this.#target = target;
  }

  close(): void {
    this.#connection?.close();
    this.#watching?.connection.close();
  }

  async perform(operation: Omit<PlanRedisOperation, 'thinkUs' | 'client'>, final: boolean): Promise<Outcome> {
    const { name, nowUs, records } = this.#setup;
    const { id, kind, key, other, amount } = operation;
    // A listener has a connection of its own.
    const connection = kind === 'listen' ? undefined : await this.#connect();
    const invokedUs = nowUs();
    const { node, datacenter } = this.#target;
    const seen = kind === 'listen' ? await this.#listen(key, amount) : await this.#act(connection, operation);
    const { outcome, reason, counted, balances = [], found, replies = [], ...more } = seen;
    const about = { id, kind, client: name, node, datacenter, key, other, amount, final };
    const saw = { counted, balances, found, replies, ...more };
    records.push({ ...about, invokedUs, completedUs: nowUs(), outcome, reason, ...saw });
    return outcome;
  }

  async #act(
    connection: RedisConnection | undefined,
    { id, kind, key, other, amount }: Omit<PlanRedisOperation, 'thinkUs' | 'client'>,
  ): Promise<Seen> {
    if (connection === undefined) return neverSent;
    switch (kind) {
      case 'incr':
        return seenOf(await this.#ask(connection, [['INCR', `c${key}`]]), 'write');
      case 'read':
        return seenOf(await this.#ask(connection, [['GET', `c${key}`]]), 'read');
      case 'mortal':
        return seenOf(await this.#ask(connection, mortalCommands(`m${key}`, id, amount)), 'write');
      case 'look':
        return lookOf(await this.#ask(connection, [['GET', `m${key}`]]));
      case 'snapshot':
        return balancesOf(await this.#ask(connection, this.#readAccounts()));
      case 'page':
        return pagesOf(await this.#ask(connection, pageCommands({ id, key, other }).map(wordsOf)));
      case 'watched':
        return this.#watched(connection, { id, key, other, amount });
      case 'pipeline':
      case 'sets':
        return this.#pipeline(connection, { id, kind, amount });
      case 'publish':
        return this.#publish(connection, { id, key, amount });
      case 'listen':
        return this.#listen(key, amount);
      case 'script':
        return seenOf(await this.#ask(connection, [scriptCommand({ key, other, amount })]), 'write');
      case 'database':
      case 'flushall':
        return this.#onDatabase(connection, { id, amount }, databaseActOf({ amount }, kind === 'flushall'));
      case 'transfer':
        return this.#transfer(connection, key, other, amount);
    }
  }

  /** Sends a pipeline; what it was answered before the connection was lost counts, too. */
  async #pipeline(
    connection: RedisConnection,
    operation: { readonly id: string; readonly kind: RedisKind; readonly amount: number },
  ): Promise<Seen> {
    const commands = pipelineCommands(operation);
    const exchange = await this.#ask(
      connection,
      commands.map(({ words }) => words),
    );
    const replies = connection.replies.map(({ reply }) => shown(reply));
    const repliedUs = connection.replies.map(({ atUs }) => atUs);
    const failed = commands.every(({ kind }) => kind === 'get') && replies.some((one) => one.startsWith('-'));
    if (exchange.kind === 'lost') return { outcome: 'unknown', reason: exchange.reason, replies, repliedUs };
    return { outcome: failed ? 'fail' : 'ok', reason: failed ? 'a read failed' : '', replies, repliedUs };
  }

  /** Runs a script behind WATCH on a key that no other client writes. */
  async #watched(
    connection: RedisConnection,
    operation: Pick<PlanRedisOperation, 'id' | 'key' | 'other' | 'amount'>,
  ): Promise<Seen> {
    const { amount } = operation;
    const watched = `w-${this.#setup.name}`;
    const beganUs = this.#setup.nowUs();
    const unwatched = failureOf(await this.#ask(connection, commandsOfWatch(operation, watched)), 'read');
    if (unwatched !== undefined) return unwatched;
    if (watchesExpiringValue(operation)) {
      if (this.#setup.nowUs() - beganUs > watchedTtlMs * 500) {
        await this.#ask(connection, [['UNWATCH']]);
        return { outcome: 'fail', reason: 'the value may have expired before WATCH' };
      }
      await sleep(this.#setup.io.clock, (watchedTtlMs + watchedSpareMs) * 1000);
    }
    const commands = commandsUnderWatch(operation, watched, scriptCommand(operation), scriptKeys(operation));
    const exchange = await this.#ask(connection, commands);
    const replies = connection.replies.map(({ reply }) => shown(reply));
    const { answer } = watchedOf({ amount, replies });
    // Without an answer it may have happened.
    if (answer === undefined) {
      const reason = exchange.kind === 'lost' ? exchange.reason : 'no answer of the script';
      return { outcome: 'unknown', reason, replies };
    }
    if (answer.startsWith('-')) return { ...errorOf(answer.slice(1), 'write'), replies };
    if (answer === 'nil') return { outcome: 'fail', reason: 'the script did not run', replies };
    return { outcome: 'ok', reason: '', counted: Number(answer.slice(1)), replies };
  }

  /** Works on the database that is flushed, and returns to database 0. */
  async #onDatabase(
    connection: RedisConnection,
    { id, amount }: Pick<PlanRedisOperation, 'id' | 'amount'>,
    act: DatabaseAct,
  ): Promise<Seen> {
    const watching = isUnderWatch({ amount }, act);
    const other = watching ? await this.#watchingConnection() : undefined;
    if (watching && other === undefined) return neverSent;
    const exchange =
      other === undefined
        ? await this.#ask(connection, databaseCommands(id, act))
        : await this.#askWatching(other, id, act);
    const purpose = isDatabaseWrite(act) ? 'write' : 'read';
    const failure = failureOf(exchange, purpose);
    if (failure !== undefined || exchange.kind === 'lost') return failure ?? neverSent;
    // EXEC answers nothing if it was given up, without a watch never.
    const isGivenUp = purpose === 'write' && exchange.answer.some(({ kind }) => kind === 'nothing');
    if (isGivenUp) return { outcome: 'fail', reason: 'the transaction was given up' };
    const replies = exchange.answer.map(shown);
    if (act.kind !== 'audit') return { outcome: 'ok', reason: '', replies };
    return { ...(await this.#walk(connection)), replies };
  }

  /** The connection that watches keys, in the flushed database at the present node; undefined if there is none. */
  async #watchingConnection(): Promise<RedisConnection | undefined> {
    const { io, nowUs, connectTimeoutUs } = this.#setup;
    const { node } = this.#target;
    if (this.#watching?.connection.open === true && this.#watching.node === node)
      return this.#watching.connection;
    this.#watching?.connection.close();
    this.#watching = undefined;
    try {
      const connection = await RedisConnection.open(io, this.#target, connectTimeoutUs, nowUs);
      const selected = await this.#ask(connection, [['SELECT', String(flushedDatabase)]]);
      if (failureOf(selected, 'read') === undefined) this.#watching = { connection, node };
      else connection.close();
    } catch {
      // The node refuses or is silent: the operation certainly fails.
    }
    return this.#watching?.connection;
  }

  /** Performs the operation there. The answer is that of `databaseCommands`. */
  async #askWatching(connection: RedisConnection, id: string, act: DatabaseAct): Promise<RedisExchange> {
    const exchange = await this.#ask(connection, commandsWhileWatching(id, act));
    if (exchange.kind === 'lost') return exchange;
    const selected: Reply = { kind: 'text', text: 'OK' };
    const replies = exchange.answer.slice(watchBefore(act).length);
    return { kind: 'answered', answer: [selected, ...replies, selected] };
  }

  /** Names all keys of the flushed database by SCAN, a few at a time. */
  async #walk(connection: RedisConnection): Promise<Seen> {
    const keys: string[] = [];
    let cursor = '0';
    for (let calls = 0; calls < walkCallsMax; calls++) {
      const exchange = await this.#ask(connection, [
        ['SELECT', String(flushedDatabase)],
        ['SCAN', cursor, 'COUNT', walkCount],
        ['SELECT', '0'],
      ]);
      const failure = failureOf(exchange, 'read');
      if (failure !== undefined || exchange.kind === 'lost') return failure ?? neverSent;
      const page = exchange.answer[1];
      const [next, names] = page?.kind === 'array' ? page.items : [];
      if (next?.kind !== 'bulk' && next?.kind !== 'text')
        return { outcome: 'fail', reason: 'SCAN returns no cursor' };
      cursor = next.kind === 'bulk' ? next.bytes.toString() : next.text;
      for (const name of names?.kind === 'array' ? names.items : [])
        if (name.kind === 'bulk') keys.push(name.bytes.toString());
      if (cursor === '0') return { outcome: 'ok', reason: '', walked: { keys, ended: true } };
    }
    return { outcome: 'ok', reason: '', walked: { keys, ended: false } };
  }

  /** Publishes messages; those that were answered before the connection was lost count, too. */
  async #publish(
    connection: RedisConnection,
    operation: { readonly id: string; readonly key: number; readonly amount: number },
  ): Promise<Seen> {
    const number = this.#connectionCount;
    const commands = publishCommands(operation).map(({ words }) => words);
    const exchange = await this.#ask(connection, commands);
    const saw = {
      replies: connection.replies.map(({ reply }) => shown(reply)),
      repliedUs: connection.replies.map(({ atUs }) => atUs),
      connection: number,
    };
    if (exchange.kind === 'lost') return { outcome: 'unknown', reason: exchange.reason, ...saw };
    const refused = saw.replies.find((reply) => reply.startsWith('-'));
    return { outcome: refused === undefined ? 'ok' : 'fail', reason: refused ?? '', ...saw };
  }

  /** Listens at the present node; goes to another one if the connection is lost. */
  async #listen(key: number, amount: number): Promise<Seen> {
    const { io, targets, nowUs, connectTimeoutUs, answerTimeoutUs } = this.#setup;
    const plan = listenPlan({ key, amount });
    const setup = { target: this.#target, plan, nowUs, connectTimeoutUs, answerTimeoutUs };
    const { heard, leftUs, lost } = await listen(setup, io);
    if (lost !== '') this.turnTo(pick(io.random, targets));
    return {
      outcome: lost === '' ? 'ok' : 'fail',
      reason: lost,
      replies: heard.map(({ reply }) => shown(reply)),
      repliedUs: heard.map(({ atUs }) => atUs),
      ...(leftUs === undefined ? {} : { leftUs }),
    };
  }

  #readAccounts(): readonly RedisCommand[] {
    const reads = Array.from({ length: this.#setup.accounts }, (_, account) => ['GET', `a${account}`]);
    return [['MULTI'], ...reads, ['EXEC']];
  }

  /** Moves an amount between two accounts on condition that neither has changed since it read them (WATCH). */
  async #transfer(connection: RedisConnection, from: number, to: number, amount: number): Promise<Seen> {
    const watched = await this.#ask(connection, [['WATCH', `a${from}`, `a${to}`]]);
    const unwatched = failureOf(watched, 'read');
    if (unwatched !== undefined) return unwatched;
    const read = await this.#ask(connection, [
      ['GET', `a${from}`],
      ['GET', `a${to}`],
    ]);
    const unread = failureOf(read, 'read');
    if (unread !== undefined || read.kind === 'lost') {
      if (read.kind === 'answered') await this.#ask(connection, [['UNWATCH']]);
      return unread ?? neverSent;
    }
    const balance = read.answer.map(numberOf);
    const exchange = await this.#ask(connection, [
      ['MULTI'],
      ['SET', `a${from}`, (balance[0] ?? 0) - amount],
      ['SET', `a${to}`, (balance[1] ?? 0) + amount],
      ['EXEC'],
    ]);
    if (exchange.kind === 'lost') return { outcome: 'unknown', reason: exchange.reason };
    const last = exchange.answer.at(-1);
    if (last?.kind === 'nothing') return { outcome: 'fail', reason: 'an account has changed' };
    if (last?.kind === 'error') return errorOf(last.text, 'write');
    return { outcome: 'ok', reason: '' };
  }

  async #connect(): Promise<RedisConnection | undefined> {
    if (this.#connection?.open === true) return this.#connection;
    const { io, connectTimeoutUs } = this.#setup;
    try {
      this.#connection = await RedisConnection.open(io, this.#target, connectTimeoutUs, this.#setup.nowUs);
      this.#connectionCount += 1;
    } catch {
      // The node refuses or is silent: the operation certainly fails, and the client asks another node next.
      this.#connection = undefined;
      this.#target = pick(io.random, this.#setup.targets);
    }
    return this.#connection;
  }

  async #ask(connection: RedisConnection, commands: readonly RedisCommand[]): Promise<RedisExchange> {
    const { io, targets, answerTimeoutUs } = this.#setup;
    const asked = connection.ask(commands, answerTimeoutUs);
    const exchange = await this.impatience.over(connection, asked, false);
    if (exchange.kind === 'lost') this.#target = pick(io.random, targets);
    return exchange;
  }
}

/** COUNT of a walk, and the calls after which it would have ended many times. */
const walkCount = 2;
const walkCallsMax = 200;

const neverSent: Seen = { outcome: 'fail', reason: 'no connection could be made' };

/** Why an exchange is no success; undefined if it is one. A read has no effect, answered or not. */
function failureOf(exchange: RedisExchange, purpose: 'read' | 'write'): Seen | undefined {
  if (exchange.kind === 'lost') {
    return { outcome: purpose === 'read' ? 'fail' : 'unknown', reason: exchange.reason };
  }
  const error = exchange.answer.find((reply) => reply.kind === 'error');
  return error?.kind === 'error' ? errorOf(error.text, purpose) : undefined;
}

function errorOf(text: string, purpose: 'read' | 'write'): Seen {
  const word = text.slice(0, text.indexOf(' '));
  const unknown = purpose === 'write' && indefiniteErrors.includes(word);
  return { outcome: unknown ? 'unknown' : 'fail', reason: text };
}

function seenOf(exchange: RedisExchange, purpose: 'read' | 'write'): Seen {
  const failure = failureOf(exchange, purpose);
  if (failure !== undefined || exchange.kind === 'lost') return failure ?? neverSent;
  return { outcome: 'ok', reason: '', counted: numberOf(exchange.answer[0]) };
}

function lookOf(exchange: RedisExchange): Seen {
  const failure = failureOf(exchange, 'read');
  if (failure !== undefined || exchange.kind === 'lost') return failure ?? neverSent;
  const [reply] = exchange.answer;
  return { outcome: 'ok', reason: '', found: reply?.kind === 'bulk' ? reply.bytes.toString() : undefined };
}

function wordsOf({ kind, page, text }: PageCommand): RedisCommand {
  if (kind === 'echo') return ['ECHO', text];
  return kind === 'read' ? ['GET', page] : ['SET', page, text];
}

/** Some of the commands may have failed; each reply says so itself. */
function pagesOf(exchange: RedisExchange): Seen {
  if (exchange.kind === 'lost') return { outcome: 'unknown', reason: exchange.reason };
  return { outcome: 'ok', reason: '', replies: exchange.answer.map(shown) };
}

function shown(reply: Reply): string {
  switch (reply.kind) {
    case 'bulk':
      return `=${reply.bytes.toString()}`;
    case 'error':
      return `-${reply.text}`;
    case 'text':
      return `+${reply.text}`;
    case 'nothing':
      return 'nil';
    case 'integer':
      return `:${reply.value}`;
    case 'array':
      return `*${JSON.stringify(reply.items.map(shown))}`;
  }
}

function balancesOf(exchange: RedisExchange): Seen {
  const failure = failureOf(exchange, 'read');
  if (failure !== undefined || exchange.kind === 'lost') return failure ?? neverSent;
  const last = exchange.answer.at(-1);
  if (last?.kind !== 'array') return { outcome: 'fail', reason: 'the transaction was given up' };
  return { outcome: 'ok', reason: '', balances: last.items.map(numberOf) };
}

/** The number in a reply; a key without a value counts as 0. */
function numberOf(reply: Reply | undefined): number {
  if (reply?.kind === 'integer') return reply.value;
  return reply?.kind === 'bulk' ? Number(reply.bytes.toString()) : 0;
}

/**
 * Moves an amount between two accounts and counts that. A few of these scripts never end, and so must leave nothing. Some
 * name their keys in their calls alone, and take a value that is no number for 0, as a careless program does.
 */
const movingScript = `
local from, to, counter = KEYS[1] or ARGV[3], KEYS[2] or ARGV[4], KEYS[3] or ARGV[5]
if #KEYS == 3 then
  redis.call('DECRBY', from, ARGV[1])
  redis.call('INCRBY', to, ARGV[1])
else
  redis.call('SET', from, string.format('%d', (tonumber(redis.call('GET', from) or 0) or 0) - ARGV[1]))
  redis.call('SET', to, string.format('%d', (tonumber(redis.call('GET', to) or 0) or 0) + ARGV[1]))
end
local count = redis.call('INCR', counter)
while ARGV[2] == 'endless' do count = count + 1 end
return count`;

/** One amount in so many makes the script endless. */
const endlessOf = 50;

type ScriptOperation = Pick<PlanRedisOperation, 'key' | 'other' | 'amount'>;

/** The accounts and the counter of the script. */
function scriptKeys({ key, other }: Pick<ScriptOperation, 'key' | 'other'>): readonly string[] {
  return [`a${other}`, 'a0', `c${key}`];
}

/** Two scripts of five declare all keys, the others none or one of them. */
function scriptCommand(operation: ScriptOperation): RedisCommand {
  const { amount } = operation;
  const mode = amount % endlessOf === 0 ? 'endless' : 'brief';
  const keys = scriptKeys(operation);
  const declared = [3, 0, 3, 1, 0][amount % 5] ?? 3;
  return ['EVAL', movingScript, declared, ...keys.slice(0, declared), amount, mode, ...keys];
}

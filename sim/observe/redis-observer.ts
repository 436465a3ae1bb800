/**
 * Decodes the Redis connections of one incarnation from the wire, independently of the engine: commands as the process
 * receives them, replies as it writes them, and how connections end. Replies come in the order of the commands.
 *
 * A node starts a command at the latest when no conflicting command is in progress, and never before an earlier command
 * of the connection. The moment when a conflict ends is invisible from outside. A command that had to wait therefore
 * counts as started once it, or a later one, is answered; until then it is counted apart (`held`). The same holds for:
 *
 * - a command behind several that have no reply, since a node bounds how many it begins;
 * - one that was delivered to a node whose client does not read its replies: the node takes no command until it does;
 * - those after the last command of a fair turn (`requestsPerTurn`): the node begins them when a timer has fired, which
 *   may be late.
 */
import { requestsPerTurn } from '../../engine/api/session/fair-turns.ts';
import { ProtocolError, RequestReader } from '../../engine/api/redis/request-reader.ts';
import type { Reply } from '../../engine/api/redis/reply-reader.ts';
import { ReplyReader } from '../../engine/api/redis/reply-reader.ts';
import type { RedisTruth } from '../check/metrics/reconcile/account.ts';
import type { MessageCommand } from './message-tally.ts';
import { ConnectionMessages, MessageTally } from './message-tally.ts';
import { Tallies } from './tallies.ts';

type Purpose = 'read' | 'write';

/** Covers only the commands of the simulator's clients; extend the tables when clients send more. */
const fields: Readonly<Record<string, string>> = {
  get: 'get',
  mget: 'mget',
  set: 'set',
  getset: 'set',
  getdel: 'set',
  mset: 'set',
  psetex: 'set',
  setnx: 'set',
  getex: 'set',
  append: 'set',
  setrange: 'set',
  incr: 'incr_decr',
  del: 'del',
  auth: 'other',
  multi: 'other',
  exec: 'other',
  watch: 'other',
  unwatch: 'other',
  echo: 'other',
  keys: 'keys',
  scan: 'scan',
  eval: 'other',
  publish: 'other',
};
const purposes: Readonly<Record<string, Purpose>> = {
  get: 'read',
  mget: 'read',
  exists: 'read',
  set: 'write',
  getset: 'write',
  getdel: 'write',
  mset: 'write',
  psetex: 'write',
  expire: 'write',
  append: 'write',
  setrange: 'write',
  pexpire: 'write',
  incr: 'write',
  del: 'write',
  eval: 'write',
  watch: 'read',
  dbsize: 'read',
  scan: 'read',
  flushdb: 'write',
  flushall: 'write',
};

/** Errors of denied commands; EXEC wraps them in an error of its own. */
const turnedAway = /^(EXECABORT Transaction discarded because of: )?(NOAUTH|WRONGPASS|NOPERM) /;

const rateLimited = /^(EXECABORT Transaction discarded because of: )?RATELIMITED /;

/** Commands of a connection that a node begins before it has answered any of them; further ones may wait. */
const begunAtOnce = 4;

/** `alone` waits for every command in progress; `free` waits for none. */
type Order = Purpose | 'alone' | 'free';

interface Asked {
  readonly name: string;
  readonly purpose: Purpose | undefined;
  readonly order: Order;
  readonly key: string;
  /** The counters that the command increments, and by how much. */
  readonly sums: readonly (readonly [name: string, amount: number])[];
  readonly messages: MessageCommand;
  /** The number of its fair turn. */
  readonly turn: number;
  /** Replies to come: a command that subscribes has one for each name. */
  left: number;
  held: boolean;
}

class Conversation {
  readonly heard = new RequestReader({
    argumentCountMax: 1024 * 1024,
    argumentBytesMax: 64 * 1024 * 1024,
    requestBytesMax: 64 * 1024 * 1024,
  });
  readonly wrote = new ReplyReader();
  readonly owed: Asked[] = [];
  /** Commands received. */
  received = 0;
  /** The last fair turn that has certainly begun. */
  turn = 0;
  /** Purposes of the commands between MULTI and EXEC. */
  queued: (Purpose | undefined)[] | undefined;
  /** Keys that EXEC will name, and watched keys. */
  readonly keys = new Set<string>();
  readonly watched = new Set<string>();
  /** Keys that the WATCH in progress adds if it succeeds. */
  watching: readonly string[] = [];
  readonly messages = new ConnectionMessages();
  broken = false;
  toldEnd = false;
  left: 'afterEnd' | 'first' | undefined;
  /** The node is stopping: it accepts no further command, and it does not count what the client does from here on. */
  letGo = false;
}

/** Counts commands, replies and connection ends of one incarnation, for the client equations of `metrics-reconcile`. */
export class RedisObserver {
  readonly #sums = new Tallies();
  readonly #open = new Map<number, Conversation>();
  readonly #messages = new MessageTally();

  /** A client wrote a value with an expiry at this node. */
  get mortal(): boolean {
    return this.#sums.get('mortal') > 0;
  }

  /** A client flushed a database at this node. */
  get flushes(): boolean {
    return this.#sums.get('flushes') > 0;
  }

  /** `mortal`: a client wrote a value with an expiry at any node. `flushes`: a client flushed a database at any node. */
  truth(mortal: boolean, flushes: boolean): RedisTruth {
    const sums = this.#sums;
    return {
      open: this.#open.size,
      eof: sums.get('eof'),
      broken: sums.get('broken'),
      commands: sums.get('commands'),
      reads: sums.get('read'),
      writes: sums.get('write'),
      answers: sums.get('answers'),
      values: sums.get('values'),
      fragments: sums.get('fragments'),
      errors: sums.get('errors'),
      readErrors: sums.under('read.error.'),
      writeErrors: sums.under('write.error.'),
      turnedAway: sums.get('turnedAway'),
      rateLimited: sums.get('rateLimited'),
      abandoned: sums.get('abandoned'),
      mortal,
      flushes,
      messages: this.#messages.truth,
      fields: sums.under('field.'),
      held: {
        commands: sums.get('held.commands'),
        reads: sums.get('held.read'),
        writes: sums.get('held.write'),
        values: sums.get('held.values'),
        fragments: sums.get('held.fragments'),
        fields: sums.under('held.field.'),
      },
    };
  }

  opened(id: number): void {
    this.#open.set(id, new Conversation());
  }

  heard(id: number, bytes: Uint8Array): void {
    const conversation = this.#open.get(id);
    if (conversation === undefined || !listens(conversation)) return;
    conversation.heard.push(bytes);
    try {
      for (let next = conversation.heard.next(); next !== undefined; next = conversation.heard.next()) {
        this.#asked(conversation, next);
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#breaks(conversation);
    }
  }

  wrote(id: number, bytes: Uint8Array): void {
    const conversation = this.#open.get(id);
    if (conversation === undefined) return;
    conversation.wrote.push(bytes);
    for (let next = conversation.wrote.next(); next !== undefined; next = conversation.wrote.next()) {
      if (this.#messages.takes(conversation.messages, next)) continue;
      if (isCutOff(conversation, next)) this.#breaks(conversation);
      const asked = conversation.owed[0];
      if (asked !== undefined) {
        this.#release(asked);
        conversation.turn = asked.turn;
        asked.left -= 1;
        if (asked.left > 0 && next.kind !== 'error') continue;
        conversation.owed.shift();
      }
      this.#answered(conversation, asked, next);
    }
  }

  /** The client does not take its replies: from here on the node takes no command until the client does. */
  full(id: number): void {
    for (const asked of this.#open.get(id)?.owed ?? []) this.#hold(asked);
  }

  toldEnd(id: number): void {
    const conversation = this.#open.get(id);
    if (conversation === undefined) return;
    conversation.toldEnd = true;
    if (conversation.heard.within && listens(conversation)) conversation.broken = true;
  }

  /** The listener is closed: from here on the node accepts no command and closes the open connections. */
  letGo(): void {
    for (const conversation of this.#open.values()) conversation.letGo ||= listens(conversation);
  }

  left(id: number): void {
    const conversation = this.#open.get(id);
    if (conversation === undefined) return;
    conversation.left = conversation.toldEnd ? 'afterEnd' : 'first';
    const isDropped = !conversation.toldEnd && !conversation.broken && !conversation.letGo;
    if (isDropped && this.#messages.left(conversation.messages)) conversation.broken = true;
  }

  closed(id: number): void {
    const conversation = this.#open.get(id);
    if (conversation === undefined) return;
    this.#open.delete(id);
    const { broken, left, letGo, owed } = conversation;
    if (broken || (left === undefined && !letGo)) this.#sums.add('broken');
    else if (left === 'afterEnd' && !letGo) this.#sums.add('eof');
    this.#messages.closed(conversation.messages);
    for (const { purpose } of owed) if (purpose !== undefined) this.#sums.add('abandoned');
  }

  /** The node will answer with an error that ends the connection, and counts that as a command. */
  #breaks(conversation: Conversation): void {
    conversation.broken = true;
    const messages = { replies: 1, publishes: 0 };
    const malformed = { name: '', purpose: undefined, order: 'free', key: '', sums: commandAlone } as const;
    const turn = Math.floor(conversation.received / requestsPerTurn);
    this.#owe(conversation, { ...malformed, messages, turn });
  }

  #asked(conversation: Conversation, request: readonly Buffer[]): void {
    const name = request[0]?.toString('latin1').toLowerCase() ?? '';
    const messages = this.#messages.heard(conversation.messages, request, conversation.queued !== undefined);
    const fragments = fragmentsOf(conversation, name, request);
    const purpose = purposeOf(conversation, name);
    const sums: (readonly [string, number])[] = [...commandAlone, [`field.${fields[name] ?? 'other'}`, 1]];
    if (purpose !== undefined) sums.push([purpose, 1]);
    if (fragments > 1) sums.push(['fragments', fragments]);
    if (name === 'set' && purpose === 'write') sums.push(['values', 1]);
    if (isMortal(name, request)) this.#sums.add('mortal');
    if (name === 'flushdb' || name === 'flushall') this.#sums.add('flushes');
    const order = alone.includes(name) ? 'alone' : (purpose ?? 'free');
    const key = request[1]?.toString('latin1') ?? '';
    const turn = Math.floor(conversation.received / requestsPerTurn);
    conversation.received += 1;
    this.#owe(conversation, { name, purpose, order, key, sums, messages, turn });
  }

  #owe({ owed, turn }: Conversation, asked: Omit<Asked, 'held' | 'left'>): void {
    const held =
      asked.turn > turn ||
      owed.length >= begunAtOnce ||
      owed.some((earlier) => earlier.held || meets(earlier, asked));
    owed.push({ ...asked, left: asked.messages.replies, held });
    for (const [name, amount] of asked.sums) this.#sums.add(held ? `held.${name}` : name, amount);
  }

  /** The command, and so every earlier one, has started. */
  #release(asked: Asked): void {
    if (!asked.held) return;
    asked.held = false;
    for (const [name, amount] of asked.sums) {
      this.#sums.add(`held.${name}`, -amount);
      this.#sums.add(name, amount);
    }
  }

  /** The command may still stand among the bytes that the node has received and not looked at. */
  #hold(asked: Asked): void {
    if (asked.held) return;
    asked.held = true;
    for (const [name, amount] of asked.sums) {
      this.#sums.add(name, -amount);
      this.#sums.add(`held.${name}`, amount);
    }
  }

  /** A denied command is counted by its name alone. */
  #turnAway({ sums }: Asked): void {
    for (const [name, amount] of sums) {
      if (name !== 'commands' && !name.startsWith('field.')) this.#sums.add(name, -amount);
    }
  }

  #answered({ watched, watching }: Conversation, asked: Asked | undefined, reply: Reply): void {
    if (asked !== undefined) this.#messages.answered(asked.messages, reply);
    const denial = reply.kind === 'error' ? denialOf(reply.text) : undefined;
    if (denial !== undefined && asked !== undefined && asked.name !== '') {
      this.#turnAway(asked);
      this.#sums.add('errors');
      this.#sums.add(denial);
      return;
    }
    // Refused before it became a request: a node in STANDBY publishes nothing, or a queued command had been refused.
    const never = asked?.name === 'exec' && reply.kind === 'error' && reply.text.startsWith('EXECABORT ');
    if (asked !== undefined && never) this.#turnAway(asked);
    else if (asked?.purpose !== undefined) this.#sums.add('answers');
    if (asked?.name === 'get' && asked.purpose !== undefined && reply.kind === 'bulk')
      this.#sums.add('values');
    if (reply.kind !== 'error') return;
    if (asked?.name === 'watch') for (const key of watching) watched.delete(key);
    const purpose = asked?.purpose ?? 'write';
    this.#sums.add('errors');
    this.#sums.add(`${purpose}.error.${wordOf(reply.text)}`);
  }
}

/** A message would reach a subscriber whose credential does not suffice any more: the node ends the connection. */
function isCutOff({ owed, messages }: Conversation, reply: Reply): boolean {
  return owed.length === 0 && messages.count > 0 && reply.kind === 'error' && turnedAway.test(reply.text);
}

function denialOf(text: string): 'turnedAway' | 'rateLimited' | undefined {
  if (turnedAway.test(text)) return 'turnedAway';
  return rateLimited.test(text) ? 'rateLimited' : undefined;
}

const commandAlone: readonly (readonly [string, number])[] = [['commands', 1]];
/** Those on several keys do not wait for all others, but for more than this can tell. */
const alone: readonly string[] = [
  ...['exec', 'watch', 'unwatch', 'mget', 'mset'],
  ...['dbsize', 'scan', 'flushdb', 'flushall', 'select'],
];
const manyKeys: Readonly<Record<string, number>> = { mget: 1, exists: 1, mset: 2 };

/** Whether the command gives a value a time to live. */
function isMortal(name: string, request: readonly Buffer[]): boolean {
  const expires = ['expire', 'pexpire', 'pexpireat', 'psetex'].includes(name);
  return expires || ((name === 'set' || name === 'getex') && request.length > 3);
}

/** The node still reads commands from the connection. */
function listens({ broken, left, letGo }: Conversation): boolean {
  return !broken && left === undefined && !letGo;
}

/** The later command must not start while the earlier one is in progress. */
function meets(earlier: Pick<Asked, 'order' | 'key'>, later: Pick<Asked, 'order' | 'key'>): boolean {
  if (later.order === 'free' || earlier.order === 'free') return false;
  if (later.order === 'alone' || earlier.order === 'alone') return true;
  return earlier.order !== later.order && earlier.key === later.key;
}

/** The purpose under which a command is counted; between MULTI and EXEC only EXEC is a request. */
function purposeOf(conversation: Conversation, name: string): Purpose | undefined {
  const { queued } = conversation;
  if (name === 'multi') conversation.queued = [];
  if (name === 'exec') {
    conversation.queued = undefined;
    const watches = conversation.watched.size > 0;
    conversation.watched.clear();
    if (queued?.includes('write') === true) return 'write';
    return watches || queued?.includes('read') === true ? 'read' : undefined;
  }
  if (name === 'unwatch') conversation.watched.clear();
  if (queued !== undefined) {
    queued.push(purposes[name]);
    return undefined;
  }
  return purposes[name];
}

/** Number of keys that a command names, when it starts at once. */
function fragmentsOf(conversation: Conversation, name: string, request: readonly Buffer[]): number {
  const { queued, keys, watched } = conversation;
  const named = request.slice(1).map((key) => key.toString('latin1'));
  if (name === 'watch' && queued === undefined) {
    const fresh = named.filter((key) => !watched.has(key));
    conversation.watching = fresh;
    for (const key of fresh) watched.add(key);
    return fresh.length;
  }
  if (name === 'eval') {
    const scripted = named.slice(2, 2 + Number(named[1]));
    if (queued === undefined) return new Set(scripted).size;
    for (const key of scripted) keys.add(key);
    return 0;
  }
  if (name === 'multi') keys.clear();
  if (name === 'exec') return new Set([...keys, ...watched]).size;
  const step = manyKeys[name];
  if (name === 'publish' || name === 'spublish') return 0;
  const own = step === undefined ? named.slice(0, 1) : named.filter((_, index) => index % step === 0);
  if (queued === undefined) return step === undefined ? 0 : new Set(own).size;
  for (const key of own) keys.add(key);
  return 0;
}

/**
 * The error code at the start of an error reply; for an aborted transaction with its reason: `ABORTED prepare_timeout`.
 */
function wordOf(text: string): string {
  return /^(?:ABORTED )?[^ :]*/.exec(text)?.[0] ?? '';
}

/**
 * Runs arbitrary clients against an HTTP listener over real sockets: valid and invalid requests, in one piece, in two
 * or byte by byte, pipelined, with bytes changed, ended early, reset. The outcome of the valid part of a conversation
 * is known, so every answer to it is checked. Of the rest the check is that the output is HTTP, and in order.
 */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { Deferred } from '../base/deferred.ts';
import type { HttpRoute } from '../io/http.ts';
import { ok, okStream, route } from '../io/http-serving.contract.ts';
import type { Address } from '../io/network.ts';
import { hostPortOf } from './address.ts';

/** A seeded, repeatable stream of random numbers. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  oneOf<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }
}

/** One request of a conversation, and its outcome if no byte of the conversation is changed. */
interface Piece {
  readonly bytes: string;
  readonly status: number;
  /** The answer's body, if it is the handler's. */
  readonly echo?: string;
  readonly head?: boolean;
  /** Set if nothing behind this request is answered. */
  readonly closes?: boolean;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly closes: boolean;
}

/** Routes for the clients: each handler answers with the id of the request that it got. */
export function fuzzRoutes(handled: string[]): readonly HttpRoute[] {
  const hear = (id: string | undefined): string => {
    handled.push(id ?? '');
    return id ?? '';
  };
  return [
    route('GET', '/plain', () => ok('plain')),
    route('GET', '/now/:id', ({ params }) => ok(hear(params['id']))),
    route('GET', '/late/:id', async ({ params }) => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      return ok(hear(params['id']));
    }),
    route('PUT', '/k/:id', ({ params, body }) => ok(`${hear(params['id'])}:${body.length}`)),
    route('POST', '/late/:id', async ({ params, body }) => {
      await new Promise((resolve) => setImmediate(resolve));
      return ok(`${hear(params['id'])}:${body.length}`);
    }),
    route('DELETE', '/k/:id', ({ params }) => {
      hear(params['id']);
      return { status: 204, headers: {}, body: '' };
    }),
    route('GET', '/stream/:id', ({ params }) => {
      const id = hear(params['id']);
      return okStream(
        (async function* () {
          yield Promise.resolve(Buffer.from(id.slice(0, 1)));
          yield Promise.resolve(Buffer.from(id.slice(1)));
        })(),
      );
    }),
  ];
}

const host = 'Host: h\r\n';

function fillers(count: number): string {
  return 'X-Filler: v\r\n'.repeat(count);
}

/** A request that is served and whose connection stays open. */
function soundPiece(dice: Dice, id: string): Piece {
  const line = (method: string, target: string, more = '', body = ''): string =>
    `${method} ${target} HTTP/1.1\r\n${host}${more}\r\n${body}`;
  const length = dice.below(60);
  const body = 'b'.repeat(length);
  const withLength = `Content-Length: ${length}\r\n`;
  const size = length.toString(16);
  const chunks = (length === 0 ? '' : `${size};x=y\r\n${body}\r\n`) + '0\r\n\r\n';
  const echo = `${id}:${length}`;
  switch (dice.below(15)) {
    case 0:
      return { bytes: line('GET', '/plain'), status: 200, echo: 'plain' };
    case 1:
      return { bytes: line('GET', `/late/${id}`), status: 200, echo: id };
    case 2:
      return { bytes: line('GET', `/stream/${id}`), status: 200, echo: id };
    case 3:
      return { bytes: line('PUT', `/k/${id}`, withLength, body), status: 200, echo };
    case 4:
      return { bytes: line('PUT', `/k/${id}`, 'Transfer-Encoding: chunked\r\n', chunks), status: 200, echo };
    case 5:
      return { bytes: line('POST', `/late/${id}`, withLength, body), status: 200, echo };
    case 6:
      return { bytes: line('DELETE', `/k/${id}`), status: 204 };
    case 7:
      return { bytes: line('HEAD', `/now/${id}`), status: 200, head: true };
    case 8:
      return { bytes: line(dice.oneOf(['OPTIONS', 'PATCH', 'PROPFIND']), `/k/${id}`), status: 405 };
    case 9:
      return { bytes: line('GET', `/none/${id}`), status: 404 };
    case 10:
      return { bytes: line('GET', `http://there/now/${id}`), status: 200, echo: id };
    case 11:
      return {
        bytes: line('PUT', `/k/${id}`, `Expect: 100-continue\r\n${withLength}`, body),
        status: 200,
        echo,
      };
    case 12:
      return { bytes: line('GET', `/now/${id}`, 'Expect: more\r\n'), status: 417 };
    case 13:
      return { bytes: line('GET', `/now/${id}`, `Upgrade: h2c\r\n${fillers(200)}`), status: 200, echo: id };
    default:
      return { bytes: line('GET', `/now/${id}`), status: 200, echo: id };
  }
}

/** A request that is answered and whose connection is then closed. */
function closingPiece(dice: Dice, id: string): Piece {
  const closing = (bytes: string, status: number, echo?: string): Piece => ({
    bytes,
    status,
    closes: true,
    ...(echo === undefined ? {} : { echo }),
  });
  const put = `PUT /k/${id} HTTP/1.1\r\n${host}`;
  switch (dice.below(14)) {
    case 0:
      return closing(`GET /now/${id} HTTP/1.1\r\n\r\n`, 400);
    case 1:
      return closing(`${put}${host}Content-Length: 2\r\n\r\nab`, 400);
    case 2:
      return closing(`GET /now/${id} HTTP/1.1\r\n${host}${fillers(256)}\r\n`, 431);
    case 3:
      return closing(`GET /now/${id} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 200, id);
    case 4:
      return closing(`GET /late/${id} HTTP/1.0\r\n\r\n`, 200, id);
    case 5:
      return closing(`${put}Content-Length: 2\r\nContent-Length: 2\r\n\r\nab`, 400);
    case 6:
      return closing(`${put}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 501);
    case 7:
      return closing(`${put}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 400);
    case 8:
      return closing(`${put}Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n`, 400);
    case 9:
      return closing(`\u0000\u0001${dice.oneOf(['what is this', 'PRI * HTTP/2.0', '{}'])}\r\n\r\n`, 400);
    case 10:
      return closing('CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\n\r\n', 501);
    case 11:
      return closing(`GET /late/${id} HTTP/1.1\r\nExpect: 100-continue\r\n\r\n`, 400);
    case 12:
      return closing(`${put}X-Riak-Vclock: a\r\nX-Riak-Vclock: b\r\n\r\n`, 400);
    default:
      return closing(`GET /stream/${id} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`, 200, id);
  }
}

const last = `GET /now/last HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;

export interface FuzzOutcome {
  requests: number;
  answers: number;
}

/**
 * Runs one conversation on a connection of its own. Adds to `outcome`; returns what was wrong with the answers.
 * `handled` gets the ids of the requests that reached a handler.
 */
export async function converse(
  address: Address,
  dice: Dice,
  name: string,
  handled: readonly string[],
  outcome: FuzzOutcome,
): Promise<string | undefined> {
  const pieces: Piece[] = [];
  const count = 1 + dice.below(7);
  for (let at = 0; at < count; at++) {
    const id = `${name}-${at}`;
    pieces.push(dice.below(6) === 0 ? closingPiece(dice, id) : soundPiece(dice, id));
  }
  pieces.push({ bytes: last, status: 200, echo: 'last', closes: true });
  outcome.requests += pieces.length;
  const sound = pieces.map(({ bytes }) => bytes).join('');
  const before = handled.length;
  switch (dice.below(8)) {
    case 0:
      return changedConversation(address, dice, changed(dice, sound), outcome);
    case 1: {
      const ending = dice.oneOf<Ending>(['end', 'destroy', 'reset']);
      await exchangeBytes(address, dice, sound.slice(0, dice.below(sound.length)), ending);
      return undefined;
    }
    default: {
      const heard = await exchangeBytes(address, dice, sound, 'wait');
      return judge(pieces, heard, handled.slice(before), name, outcome);
    }
  }
}

/** The output must be HTTP, whatever was sent. A client that expects nothing more closes the connection. */
async function changedConversation(
  address: Address,
  dice: Dice,
  text: string,
  outcome: FuzzOutcome,
): Promise<string | undefined> {
  const heard = await exchangeBytes(address, dice, text, 'pause');
  // An answer to HEAD has no body, and a changed byte may have turned any request into HEAD.
  if (text.includes('HEAD')) return undefined;
  const answers = parseAnswers(heard.text, () => false, true);
  if (typeof answers === 'string') return `${answers}\nsaid ${JSON.stringify(text)}`;
  outcome.answers += answers.length;
  return undefined;
}

/** Changes, removes, inserts or duplicates bytes in one to four places. */
function changed(dice: Dice, text: string): string {
  let bytes = text;
  for (let changes = 1 + dice.below(4); changes > 0; changes--) {
    const at = dice.below(bytes.length);
    const until = at + 1 + dice.below(dice.oneOf([1, 4, 40]));
    const [start, middle, rest] = [bytes.slice(0, at), bytes.slice(at, until), bytes.slice(until)];
    const other = String.fromCharCode(dice.oneOf([0, 9, 10, 13, 32, 44, 58, 127, 255, dice.below(256)]));
    bytes = dice.oneOf([`${start}${other}${rest}`, start + rest, start + other + middle + rest]);
    if (dice.below(4) === 0) bytes = `${start}${middle}${middle}${rest}`;
    if (bytes === '') return last;
  }
  return bytes;
}

function judge(
  pieces: readonly Piece[],
  { text: heard, broken }: Heard,
  handled: readonly string[],
  name: string,
  outcome: FuzzOutcome,
): string | undefined {
  const said = (): string => `\nsaid ${JSON.stringify(pieces.map(({ bytes }) => bytes).join(''))}`;
  const end = pieces.findIndex(({ closes }) => closes) + 1;
  // A client that sends on behind a request whose answer closes the connection may lose that answer to a reset.
  if (broken && end === pieces.length) return `the connection broke${said()}`;
  const answered = pieces.slice(0, end);
  const answers = parseAnswers(heard, (at) => answered[at]?.head === true, broken);
  if (typeof answers === 'string') return answers + said();
  outcome.answers += answers.length;
  const expected = answered
    .slice(0, broken ? answers.length : end)
    .map(({ status, echo, closes }) => [status, echo, closes === true]);
  const got = answers.map(({ status, body, closes }, at) => {
    return [status, answered[at]?.echo === undefined ? undefined : body, closes];
  });
  if (JSON.stringify(got) !== JSON.stringify(expected)) {
    return `answers ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}${said()}`;
  }
  const behind = handled.filter((id) => id.startsWith(`${name}-`) && Number(id.split('-')[1]) >= end);
  return behind.length === 0 ? undefined : `handled behind the end: ${behind.join(', ')}${said()}`;
}

/** All answers in the output, or what is wrong with it. `cut`: the last one may be incomplete. */
function parseAnswers(
  heard: string,
  isHead: (at: number) => boolean,
  cut: boolean,
): readonly Answer[] | string {
  const answers: Answer[] = [];
  let at = 0;
  while (at < heard.length) {
    const headEnd = heard.indexOf('\r\n\r\n', at);
    if (headEnd < 0) return cut ? answers : `half a head: ${JSON.stringify(heard.slice(at))}`;
    const head = heard.slice(at, headEnd + 2);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]);
    if (Number.isNaN(status)) return `no status line: ${JSON.stringify(head)}`;
    at = headEnd + 4;
    if (status === 100) continue;
    if (answers.at(-1)?.closes === true) return `an answer behind the last one: ${JSON.stringify(heard)}`;
    const body = isHead(answers.length) || status === 204 ? { text: '', end: at } : bodyOf(heard, at, head);
    if (body === undefined) return cut ? answers : `half a body: ${JSON.stringify(heard)}`;
    at = body.end;
    answers.push({ status, body: body.text, closes: /\r\nConnection: close\r\n/i.test(head) });
  }
  return answers;
}

function bodyOf(heard: string, from: number, head: string): { text: string; end: number } | undefined {
  const length = /\r\nContent-Length: (\d+)\r\n/i.exec(head)?.[1];
  if (length !== undefined) {
    const end = from + Number(length);
    return end > heard.length ? undefined : { text: heard.slice(from, end), end };
  }
  if (!/\r\nTransfer-Encoding: chunked\r\n/i.test(head))
    return { text: heard.slice(from), end: heard.length };
  let text = '';
  for (let at = from; ;) {
    const line = /^([0-9a-f]+)\r\n/i.exec(heard.slice(at, at + 12));
    if (line === null) return undefined;
    const size = Number.parseInt(line[1] ?? '', 16);
    const start = at + line[0].length;
    text += heard.slice(start, start + size);
    at = start + size + 2;
    if (at > heard.length) return undefined;
    if (size === 0) return { text, end: at };
  }
}

/** `wait` for the listener to close; `pause` until nothing arrives for a moment. */
type Ending = 'wait' | 'pause' | 'end' | 'destroy' | 'reset';

const pauseMs = 30;

interface Heard {
  readonly text: string;
  /** Set if the connection was reset. */
  readonly broken: boolean;
}

/** Sends the bytes; resolves with everything received until the connection was closed. */
async function exchangeBytes(address: Address, dice: Dice, text: string, ending: Ending): Promise<Heard> {
  const socket = connect({ ...hostPortOf(address), noDelay: true });
  const closed = new Deferred<boolean>();
  const chunks: Buffer[] = [];
  let timer: NodeJS.Timeout | undefined;
  const rest = (): void => {
    if (ending !== 'pause') return;
    clearTimeout(timer);
    timer = setTimeout(() => socket.end(), pauseMs);
  };
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    rest();
  });
  socket.on('error', () => undefined);
  socket.on('close', (hadError) => closed.resolve(hadError));
  await saying(socket, dice, Buffer.from(text, 'latin1'));
  if (ending === 'end') socket.end();
  else if (ending === 'destroy') socket.destroy();
  else if (ending === 'reset') socket.resetAndDestroy();
  else rest();
  const broken = await closed.promise;
  clearTimeout(timer);
  return { text: Buffer.concat(chunks).toString('latin1'), broken };
}

/** Longer conversations are not sent byte by byte: a loaded machine would take seconds for each. */
const piecesMax = 300;

/** Sends in one piece, in a few, or byte by byte. */
async function saying(socket: Socket, dice: Dice, bytes: Buffer): Promise<void> {
  const way = dice.below(10);
  const wished = way === 0 ? 1 : way < 4 ? 1 + dice.below(bytes.length || 1) : bytes.length;
  const step = Math.max(wished, Math.ceil(bytes.length / piecesMax));
  for (let at = 0; at < bytes.length && !socket.destroyed; at += step) {
    socket.write(bytes.subarray(at, at + step));
    if (at + step < bytes.length) await new Promise((resolve) => setImmediate(resolve));
  }
}

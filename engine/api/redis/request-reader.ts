/**
 * Decodes requests from a byte stream: lists of arguments, as RESP arrays of bulk strings or inline. Chunks may be cut
 * anywhere and hold any number of requests. Malformed input ends the connection with Redis's own error texts.
 *
 * Arguments are views of the bytes pushed. The reader holds nothing beyond the limits: it refuses a request as soon as
 * its announced lengths exceed them.
 *
 * Sources: the Redis serialization protocol specification, and the errors of Redis 7's networking.
 */

/** Malformed input. The message is Redis's; the session sends it as an error before it closes the connection. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError';

  constructor(what: string) {
    super(`ERR Protocol error: ${what}`);
  }
}

/** The largest request. */
export interface RequestLimits {
  /** Arguments of one request, its name included. */
  readonly argumentCountMax: number;
  /** Bytes of one argument. */
  readonly argumentBytesMax: number;
  /** Bytes of all arguments of one request. */
  readonly requestBytesMax: number;
}

/** A request's name and arguments. */
export type Request = readonly Buffer[];

/** The most bytes of a line (an inline request, or a length), as in Redis. */
const lineBytesMax = 64 * 1024;
const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const star = 0x2a;
const dollar = 0x24;
/** Approximate memory of a piece of a request in addition to its bytes. */
export const pieceBytes = 128;
const noBytes = Buffer.alloc(0);

/** Splits a byte stream into requests. */
export class RequestReader {
  readonly #limits: RequestLimits;
  #buffer: Buffer = noBytes;
  #at = 0;
  /** Chunks that arrived after `#buffer`. They are joined to it once there are `#neededBytes` in all. */
  #parked: Buffer[] = [];
  #parkedBytes = 0;
  #neededBytes = 0;
  /** Arguments of the current request, how many are missing, and the length of the next one once known. */
  #arguments: Buffer[] = [];
  #missing = 0;
  #nextBytes = -1;
  #requestBytes = 0;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  /** Received bytes that belong to no complete request yet. */
  get pendingBytes(): number {
    return this.#buffer.length - this.#at + this.#parkedBytes + this.#requestBytes;
  }

  /** Whether a request has begun and is incomplete. */
  get within(): boolean {
    return this.pendingBytes > 0 || this.#missing > 0;
  }

  /** Bytes of memory that an incomplete request takes, including the overhead of its pieces. */
  get gatheredBytes(): number {
    return this.pendingBytes + (this.#parked.length + this.#arguments.length) * pieceBytes;
  }

  /** Drops everything that has not been returned. The caller must not use the reader afterwards. */
  drop(): void {
    this.#buffer = noBytes;
    this.#at = 0;
    this.#parked = [];
    this.#arguments = [];
    this.#parkedBytes = 0;
    this.#requestBytes = 0;
    this.#missing = 0;
  }

  /** Takes the next bytes of the stream, and keeps the view. */
  push(chunk: Uint8Array): void {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (this.#parked.length === 0 && this.#at === this.#buffer.length) {
      this.#buffer = bytes;
      this.#at = 0;
      return;
    }
    this.#parked.push(bytes);
    this.#parkedBytes += bytes.length;
  }

  /**
   * The next complete request; undefined until more bytes arrive. After a `ProtocolError` the reader must not be used.
   */
  next(): Request | undefined {
    if (!this.#join()) return undefined;
    for (;;) {
      if (this.#missing === 0) {
        const opening = this.#open();
        if (opening !== 'array') return opening;
      }
      if (!this.#readArguments()) return undefined;
      const request = this.#arguments;
      this.#arguments = [];
      this.#requestBytes = 0;
      return request;
    }
  }

  /** Joins the chunks that have arrived; false if they are not enough to continue. */
  #join(): boolean {
    if (this.#parked.length === 0) return this.#buffer.length - this.#at >= this.#neededBytes;
    if (this.#buffer.length - this.#at + this.#parkedBytes < this.#neededBytes) return false;
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#at), ...this.#parked]);
    this.#at = 0;
    this.#parked = [];
    this.#parkedBytes = 0;
    this.#neededBytes = 0;
    return true;
  }

  /** Begins a request. An inline one is complete at once; for an array, `#missing` is the number of its arguments. */
  #open(): Request | 'array' | undefined {
    while (this.#at < this.#buffer.length) {
      if (this.#buffer[this.#at] !== star) {
        const inline = this.#readInline();
        if (inline === undefined || inline.length > 0) return inline;
        continue;
      }
      const count = this.#readLength('mbulk count', 'multibulk length');
      if (count === undefined) return undefined;
      if (count > this.#limits.argumentCountMax) throw new ProtocolError('invalid multibulk length');
      if (count <= 0) continue;
      this.#missing = count;
      return 'array';
    }
    this.#neededBytes = 0;
    return undefined;
  }

  /** Reads missing arguments as far as their bytes have arrived; true once the request is complete. */
  #readArguments(): boolean {
    while (this.#missing > 0) {
      if (this.#nextBytes < 0 && !this.#readArgumentLength()) return false;
      const wanted = this.#nextBytes + 2;
      if (this.#buffer.length - this.#at < wanted) {
        this.#neededBytes = wanted;
        return false;
      }
      this.#arguments.push(this.#buffer.subarray(this.#at, this.#at + this.#nextBytes));
      this.#at += wanted;
      this.#requestBytes += this.#nextBytes;
      this.#nextBytes = -1;
      this.#missing -= 1;
    }
    this.#neededBytes = 0;
    return true;
  }

  #readArgumentLength(): boolean {
    if (this.#at >= this.#buffer.length) {
      this.#neededBytes = 1;
      return false;
    }
    const first = this.#buffer[this.#at] ?? 0;
    if (first !== dollar) throw new ProtocolError(`expected '$', got '${String.fromCharCode(first)}'`);
    const length = this.#readLength('bulk count', 'bulk length');
    if (length === undefined) return false;
    if (length < 0 || length > this.#limits.argumentBytesMax) throw new ProtocolError('invalid bulk length');
    if (this.#requestBytes + length > this.#limits.requestBytesMax) {
      throw new ProtocolError(`the request exceeds ${this.#limits.requestBytesMax} bytes`);
    }
    this.#nextBytes = length;
    return true;
  }

  /** The number of a line such as `*3` or `$5`; undefined while the line is incomplete. */
  #readLength(lineName: string, numberName: string): number | undefined {
    const end = this.#buffer.indexOf(carriageReturn, this.#at + 1);
    if (end < 0 || end + 1 >= this.#buffer.length) {
      const length = this.#buffer.length - this.#at;
      if (length > lineBytesMax) throw new ProtocolError(`too big ${lineName} string`);
      this.#neededBytes = length + 1;
      return undefined;
    }
    const value = parseLength(this.#buffer, this.#at + 1, end);
    if (value === undefined) throw new ProtocolError(`invalid ${numberName}`);
    this.#at = end + 2;
    return value;
  }

  /** An inline request; an empty line holds none. Undefined while the line is incomplete. */
  #readInline(): Request | undefined {
    const end = this.#buffer.indexOf(lineFeed, this.#at);
    const length = (end < 0 ? this.#buffer.length : end) - this.#at;
    if (length > lineBytesMax) throw new ProtocolError('too big inline request');
    if (end < 0) {
      this.#neededBytes = length + 1;
      return undefined;
    }
    const last = end > this.#at && this.#buffer[end - 1] === carriageReturn ? end - 1 : end;
    const words = splitWords(this.#buffer.subarray(this.#at, last));
    if (words === undefined) throw new ProtocolError('unbalanced quotes in request');
    if (isHttp(words)) throw new ProtocolError('this is the Redis protocol, not HTTP');
    this.#at = end + 1;
    return words;
  }
}

/**
 * A web page can make a browser send an HTTP request here, whose body would be commands chosen by the page. A POST
 * shows in its first line, any other request in its Host header, and both precede the body. Redis has the same check.
 */
function isHttp(words: Request): boolean {
  const name = words[0]?.toString('latin1').toLowerCase();
  return name === 'post' || name === 'host:';
}

/** Digits, optionally after a minus, without leading zeros; undefined for anything else or beyond 15 digits. */
function parseLength(bytes: Buffer, from: number, to: number): number | undefined {
  const negative = bytes[from] === 0x2d;
  const first = negative ? from + 1 : from;
  if (to <= first || to - first > 15) return undefined;
  if (bytes[first] === 0x30 && to - first > 1) return undefined;
  let value = 0;
  for (let at = first; at < to; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}

/** Splits an inline request into words, quoted where needed; undefined if a quote is not closed. */
export function splitWords(line: Buffer): Buffer[] | undefined {
  const words: Buffer[] = [];
  let at = 0;
  for (;;) {
    while (at < line.length && isSpace(line[at] ?? 0)) at += 1;
    if (at >= line.length) return words;
    const word: number[] = [];
    const end = readWord(line, at, word);
    if (end < 0) return undefined;
    words.push(Buffer.from(word));
    at = end;
  }
}

/** Appends the word at `at`; returns the offset of its end, or -1 if a quote is not closed. */
function readWord(line: Buffer, at: number, word: number[]): number {
  let next = at;
  while (next < line.length && !isSpace(line[next] ?? 0)) {
    const byte = line[next] ?? 0;
    if (byte !== 0x22 && byte !== 0x27) {
      word.push(byte);
      next += 1;
      continue;
    }
    next = byte === 0x22 ? readDoubleQuoted(line, next + 1, word) : readSingleQuoted(line, next + 1, word);
    // A closing quote must end the word.
    if (next < 0 || (next < line.length && !isSpace(line[next] ?? 0))) return -1;
  }
  return next;
}

function readDoubleQuoted(line: Buffer, at: number, word: number[]): number {
  for (let next = at; next < line.length; next++) {
    const byte = line[next] ?? 0;
    if (byte === 0x22) return next + 1;
    if (byte !== 0x5c || next + 1 >= line.length) {
      word.push(byte);
      continue;
    }
    const hex = line.toString('latin1', next + 2, next + 4);
    if (line[next + 1] === 0x78 && /^[0-9a-fA-F]{2}$/.test(hex)) {
      word.push(Number.parseInt(hex, 16));
      next += 3;
    } else {
      word.push(escapes.get(line[next + 1] ?? 0) ?? line[next + 1] ?? 0);
      next += 1;
    }
  }
  return -1;
}

function readSingleQuoted(line: Buffer, at: number, word: number[]): number {
  for (let next = at; next < line.length; next++) {
    const byte = line[next] ?? 0;
    if (byte === 0x27) return next + 1;
    if (byte === 0x5c && line[next + 1] === 0x27) next += 1;
    word.push(line[next] ?? 0);
  }
  return -1;
}

const escapes: ReadonlyMap<number, number> = new Map([
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
  [0x62, 0x08],
  [0x61, 0x07],
]);

function isSpace(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0;
}

/**
 * Parses and formats HTTP/1.1 as far as the world needs it: a head of lines, and a body by `Content-Length` or in
 * chunks. The simulated listener and the simulated client both read with it. Anything else (another transfer coding, a
 * malformed head) throws `HttpRefusal`.
 */
import type { BodyBudget } from '../../../engine/io/http.ts';
import { ByteQueue } from '../network/byte-queue.ts';
import { ChunkReader } from './http-chunks.ts';
import { HttpRefusal } from './http-refusal.ts';

/** The head of a request or an answer. */
export interface MessageHead {
  /** The request line or the status line. */
  readonly start: string;
  /** Names and values of all headers in turn, as received. */
  readonly lines: readonly string[];
  /** Names in lower case; repeated headers joined by `, `. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** A whole request or answer. */
export interface HttpMessage extends MessageHead {
  readonly body: Buffer;
}

/** As on the machine: a request line may hold a key of 32 KiB, each byte percent-encoded. */
const headBytesMax = 256 * 1024;
const headEnd = Buffer.from('\r\n\r\n');

/** Reads messages from a stream of bytes. */
export class HttpReader {
  readonly #bodyBytesMax: number;
  readonly #budget: BodyBudget | undefined;
  readonly #check: ((head: MessageHead) => void) | undefined;
  readonly #received = new ByteQueue();
  #head: Buffer = Buffer.alloc(0);
  #message: MessageHead | undefined;
  #start = '';
  #bodyBytes = 0;
  #skipBytes = 0;
  /** Set while the message's body comes in chunks. */
  #chunks: ChunkReader | undefined;

  /**
   * `budget`: must have space for a body before the reader begins it; the caller asks it for more as the body grows.
   * `check` throws `HttpRefusal` for a head whose body must not be read.
   */
  constructor(bodyBytesMax: number, budget?: BodyBudget, check?: (head: MessageHead) => void) {
    this.#bodyBytesMax = bodyBytesMax;
    this.#budget = budget;
    this.#check = check;
  }

  /** Whether part of a message has arrived. */
  get begun(): boolean {
    return this.#message !== undefined || this.#head.length > 0 || this.#received.length > 0;
  }

  /** Bytes received of a body that is not whole. */
  get bodyBytesHeld(): number {
    if (this.#message === undefined) return 0;
    return this.#received.length + (this.#chunks?.heldBytes ?? 0);
  }

  /** The first line of the newest message with a whole head; empty once the next one has begun. */
  get start(): string {
    return this.#start;
  }

  push(chunk: Uint8Array): void {
    this.#received.push(chunk);
  }

  /**
   * The next whole message; undefined if more must arrive first. `bodiless`: no body follows whatever the headers say.
   * Throws `HttpRefusal`; after a body that is too large or finds no space, the reader continues behind it.
   */
  next(bodiless = false): HttpMessage | undefined {
    this.#skip();
    if (this.#message === undefined && !this.#readHead(bodiless)) return undefined;
    if (this.#message === undefined) return undefined;
    const head = this.#message;
    if (this.#chunks !== undefined) {
      const body = this.#chunks.read();
      if (body === undefined) return undefined;
      this.#message = this.#chunks = undefined;
      return { ...head, body };
    }
    if (this.#received.length < this.#bodyBytes) return undefined;
    const bytes = this.#bodyBytes === 0 ? new Uint8Array(0) : this.#received.take(this.#bodyBytes);
    this.#message = undefined;
    return { ...head, body: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length) };
  }

  #readHead(bodiless: boolean): boolean {
    if (this.begun) this.#start = '';
    if (this.#received.length > 0) {
      this.#head = Buffer.concat([this.#head, this.#received.take(this.#received.length)]);
    }
    const end = this.#head.indexOf(headEnd);
    if (Math.max(end, end < 0 ? this.#head.length : 0) > headBytesMax) {
      throw new HttpRefusal(431, 'the head of the request is too long');
    }
    if (end < 0) return false;
    const lines = this.#head.toString('latin1', 0, end).split('\r\n');
    this.#received.push(this.#head.subarray(end + headEnd.length));
    this.#head = Buffer.alloc(0);
    const [start = '', ...rest] = lines;
    const pairs = linesOf(rest);
    const headers = headersOf(pairs);
    this.#start = start;
    this.#check?.({ start, lines: pairs, headers });
    const chunked = !bodiless && headers['transfer-encoding']?.toLowerCase() === 'chunked';
    if (chunked) this.#chunks = new ChunkReader(this.#received, this.#bodyBytesMax);
    this.#bodyBytes = bodiless || chunked ? 0 : bodyBytesOf(headers);
    if (this.#bodyBytes > this.#bodyBytesMax) {
      this.#skipBytes = this.#bodyBytes;
      throw new HttpRefusal(413, `the body is longer than ${this.#bodyBytesMax} bytes`);
    }
    if (this.#budget?.hasRoomFor(this.#bodyBytes) === false) {
      this.#skipBytes = this.#bodyBytes;
      const { status, message } = this.#budget.refuse();
      throw new HttpRefusal(status, message);
    }
    this.#message = { start, lines: pairs, headers };
    return true;
  }

  /** Drops a refused body, as far as it has arrived. */
  #skip(): void {
    const bytes = Math.min(this.#skipBytes, this.#received.length);
    if (bytes > 0) this.#received.take(bytes);
    this.#skipBytes -= bytes;
  }
}

/**
 * A message's bytes. `Content-Length` is added if `lengthOf` is given (the length of the body, even if none follows).
 */
export function formatMessage(
  start: string,
  headers: readonly (readonly [name: string, value: string])[],
  body: Uint8Array,
  lengthOf: Uint8Array | undefined,
): Buffer {
  const lines = [start, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (lengthOf !== undefined) lines.push(`Content-Length: ${lengthOf.length}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

function linesOf(texts: readonly string[]): readonly string[] {
  return texts.flatMap((line) => {
    const colon = line.indexOf(':');
    if (colon < 1 || /\s/.test(line.slice(0, colon))) throw new HttpRefusal(400, 'a header is malformed');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}

function headersOf(lines: readonly string[]): Record<string, string> {
  const headers = new Map<string, string>();
  for (let at = 0; at < lines.length; at += 2) {
    const name = (lines[at] ?? '').toLowerCase();
    const value = lines[at + 1] ?? '';
    const known = headers.get(name);
    headers.set(name, known === undefined ? value : `${known}, ${value}`);
  }
  return Object.fromEntries(headers);
}

function bodyBytesOf(headers: Readonly<Record<string, string>>): number {
  if (headers['transfer-encoding'] !== undefined)
    throw new HttpRefusal(400, 'no transfer coding but chunked is understood');
  const length = headers['content-length'] ?? '0';
  if (!/^\d{1,15}$/.test(length)) throw new HttpRefusal(400, 'the content length is malformed');
  return Number(length);
}

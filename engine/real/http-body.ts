/**
 * Collects a request's body, within the listener's limit for one and the budget for all. The buffer grows with what has
 * arrived, never with what was announced, and tiny chunks are copied into it: bytes are counted as they are held. A body
 * that comes in one piece, as most do, is handed out as it came.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyBudget } from '../io/http.ts';

export interface BodyLimits {
  /** Of one body. */
  readonly bytesMax: number;
  /** Of all bodies being received; undefined: not counted. */
  readonly budget: BodyBudget | undefined;
}

/** Why there is no body; what fastify's error handler understands. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  readonly statusCode: number;

  constructor(statusCode: number, detail: string) {
    super(detail);
    this.statusCode = statusCode;
  }
}

export type BodyDone = (error: Error | null, body?: Buffer) => void;

/** Calls `done` once. What comes of a body that is refused is read away. */
export function collectBody(payload: IncomingMessage, limits: BodyLimits, done: BodyDone): void {
  const announced = announcedBytes(payload);
  if (announced > limits.bytesMax) done(tooLarge());
  else if (limits.budget?.hasRoomFor(announced) === false) done(noRoom(limits.budget));
  else new Collecting(payload, limits, announced, done).begin();
}

/** 0 where the head does not say. */
export function announcedBytes({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

const nothing: Buffer = Buffer.alloc(0);

class Collecting {
  readonly #payload: IncomingMessage;
  readonly #limits: BodyLimits;
  readonly #announced: number;
  readonly #done: BodyDone;
  #buffer = nothing;
  #length = 0;
  /** Counted against the budget. */
  #charged = 0;

  constructor(payload: IncomingMessage, limits: BodyLimits, announced: number, done: BodyDone) {
    this.#payload = payload;
    this.#limits = limits;
    this.#announced = announced;
    this.#done = done;
  }

  begin(): void {
    this.#payload.on('data', this.#take).on('end', this.#end).on('error', this.#broken);
  }

  readonly #take = (chunk: Buffer): void => {
    const needed = this.#length + chunk.length;
    if (needed > this.#limits.bytesMax) {
      this.#settle(tooLarge());
      return;
    }
    if (this.#length === 0) this.#buffer = chunk;
    else if (needed > this.#buffer.length) this.#grow(needed);
    if (this.#length > 0) chunk.copy(this.#buffer, this.#length);
    this.#length = needed;
    // Whole: nobody waits for the rest.
    if (needed === this.#announced || this.#charge(this.#buffer.length)) return;
    const { budget } = this.#limits;
    if (budget !== undefined) this.#settle(noRoom(budget));
  };

  #grow(needed: number): void {
    const most = this.#announced > 0 ? this.#announced : this.#limits.bytesMax;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(most, this.#buffer.length * 2)));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }

  #charge(bytes: number): boolean {
    const { budget } = this.#limits;
    if (budget === undefined) return true;
    if (!budget.resize(this.#charged, bytes)) return false;
    // A request whose answer has gone out before its body was whole (it came too late) hears of no end.
    if (this.#charged === 0) this.#payload.socket.once('close', this.#gone);
    this.#charged = bytes;
    return true;
  }

  readonly #end = (): void => {
    const body = this.#buffer.subarray(0, this.#length);
    // Who did not say how much comes has had room made for more.
    this.#settle(null, body.length === this.#buffer.length ? body : Buffer.from(body));
  };

  readonly #broken = (error: Error): void => this.#settle(new BodyError(400, error.message));

  readonly #gone = (): void => this.#settle(new BodyError(400, 'the connection ended within the body'));

  #settle(error: Error | null, body?: Buffer): void {
    this.#payload.off('data', this.#take).off('end', this.#end).off('error', this.#broken);
    if (this.#charged > 0) {
      this.#payload.socket.off('close', this.#gone);
      this.#charge(0);
    }
    this.#buffer = nothing;
    if (error === null) {
      this.#done(null, body);
      return;
    }
    // An error that comes later has nobody to hear it.
    this.#payload.on('error', () => undefined).resume();
    this.#done(error);
  }
}

function tooLarge(): BodyError {
  return new BodyError(413, 'Request body is too large');
}

function noRoom(budget: BodyBudget): BodyError {
  const { status, message } = budget.refuse();
  return new BodyError(status, message);
}

/**
 * Collects a request's body, within the listener's limit for one body and the budget for all bodies. The buffer grows
 * with the bytes that have arrived, not with the announced length. Small chunks are copied into it, so the budget
 * counts the memory actually held. A body that arrives in one piece, the usual case, is returned without a copy.
 */
import type { IncomingMessage } from 'node:http';
import type { BodyBudget } from '../io/http.ts';

/** Limits of request bodies. */
export interface BodyLimits {
  /** Most bytes of one body. */
  readonly bytesMax: number;
  /** Bounds all bodies being received together; undefined: unbounded. */
  readonly budget: BodyBudget | undefined;
}

/** Why a body was refused, with the HTTP status to answer. Fastify's error handler reads `statusCode`. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  readonly statusCode: number;

  constructor(statusCode: number, detail: string) {
    super(detail);
    this.statusCode = statusCode;
  }
}

/** Called once, with the error or the whole body. */
export type BodyDone = (error: Error | null, body?: Buffer) => void;

/**
 * Collects the body and calls `done` once: with `BodyError` 413, 400 or the budget's status if it is refused. The rest
 * of a refused body is read and discarded.
 */
export function collectBody(payload: IncomingMessage, limits: BodyLimits, done: BodyDone): void {
  const announced = announcedBytes(payload);
  if (announced > limits.bytesMax) done(tooLarge());
  else if (limits.budget?.hasRoomFor(announced) === false) done(noRoom(limits.budget));
  else new Collecting(payload, limits, announced, done).begin();
}

/** The announced length in bytes; 0 if the head states none. */
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
  /** Bytes reserved in the budget. */
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
    // The body is complete, so no more is reserved for it.
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
    // If the answer went out before the whole body arrived (the client was too slow), the body emits no `end`.
    if (this.#charged === 0) this.#payload.socket.once('close', this.#gone);
    this.#charged = bytes;
    return true;
  }

  readonly #end = (): void => {
    const body = this.#buffer.subarray(0, this.#length);
    // The buffer of a body without an announced length may be larger than the body.
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
    // A later error of the discarded rest has no listener.
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

/** A client of HTTP listeners over the ports of an incarnation: one connection per request, closed afterwards. */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { HttpMethod, HttpResponse } from '../../../engine/io/http.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { Address, CloseReason, Connection, ConnectionHandler } from '../../../engine/io/network.ts';
import type { HttpMessage } from './http-text.ts';
import { HttpRefusal } from './http-refusal.ts';
import { HttpReader, formatMessage } from './http-text.ts';

/** No whole answer came. */
export class HttpClientError extends Error {
  override readonly name = 'HttpClientError';
}

/** One request. */
export interface HttpClientRequest {
  readonly method: HttpMethod | 'HEAD';
  /** With the query, percent-encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** An answer; the names of its headers are in lower case. */
export interface HttpClientResponse extends HttpResponse {
  readonly body: Buffer;
}

/** A request as it goes over the wire: any method, headers in order and repeated. */
export interface HttpCall {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array | undefined;
}

const answerBytesMax = 256 * 1024 * 1024;
const statusLine = /^HTTP\/1\.1 (\d{3})\b/;

/** The HTTP client of a simulated client or operator. */
export class HttpClient {
  readonly #io: Pick<Io, 'network' | 'clock'>;
  readonly #authorization: Readonly<Record<string, string>>;

  /** `token`: the credentials of requests that carry no `Authorization` header themselves. */
  constructor(io: Pick<Io, 'network' | 'clock'>, token?: string) {
    this.#io = io;
    this.#authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  }

  /** Rejects with `ConnectError`, or with `HttpClientError` if the connection ends early or `timeoutUs` pass. */
  request(address: Address, request: HttpClientRequest, timeoutUs: number): Promise<HttpClientResponse> {
    const { method, path, headers, body } = request;
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const call = {
      method,
      target: path,
      headers: Object.entries({ ...this.#authorization, ...headers }),
      body: bytes,
    };
    return this.exchange(address, call, timeoutUs);
  }

  /** As `request`, for requests that only a test would send. */
  async exchange(address: Address, call: HttpCall, timeoutUs: number): Promise<HttpClientResponse> {
    const { clock, network } = this.#io;
    const startedUs = clock.nowUs();
    const connection = await network.connect(address, timeoutUs);
    const exchange = new Exchange(connection, call.method === 'HEAD');
    const leftUs = startedUs + timeoutUs - clock.nowUs();
    const timer = clock.after(leftUs, () => exchange.fail('no answer in time'));
    connection.start(exchange);
    connection.write(format(call, address));
    try {
      return await exchange.answer;
    } finally {
      timer.cancel();
    }
  }
}

class Exchange implements ConnectionHandler {
  readonly #connection: Connection;
  readonly #headOnly: boolean;
  readonly #reader = new HttpReader(answerBytesMax);
  readonly #outcome = new Deferred<HttpClientResponse>();

  constructor(connection: Connection, headOnly: boolean) {
    this.#connection = connection;
    this.#headOnly = headOnly;
  }

  get answer(): Promise<HttpClientResponse> {
    return this.#outcome.promise;
  }

  fail(reason: string): void {
    if (!this.#outcome.settled) this.#outcome.reject(new HttpClientError(reason));
    this.#connection.destroy();
  }

  onData(chunk: Uint8Array): void {
    this.#reader.push(chunk);
    try {
      const message = this.#reader.next(this.#headOnly);
      if (message !== undefined) this.#hear(message);
    } catch (error) {
      if (!(error instanceof HttpRefusal)) throw error;
      this.fail(error.message);
    }
  }

  onDrain(): void {
    // The request is one write; the client waits for no write buffer space.
  }

  onEnd(): void {
    this.#connection.end();
    if (!this.#outcome.settled) this.fail('the connection ended before the answer');
  }

  onClose(reason: CloseReason): void {
    if (!this.#outcome.settled) this.#outcome.reject(new HttpClientError(`the connection broke: ${reason}`));
  }

  #hear({ start, headers, body }: HttpMessage): void {
    const [, status] = statusLine.exec(start) ?? [];
    if (status === undefined) this.fail('the status line is malformed');
    else this.#outcome.resolve({ status: Number(status), headers: definedOf(headers), body });
  }
}

function format({ method, target, headers, body }: HttpCall, address: Address): Buffer {
  const all: [string, string][] = [
    ['Host', address],
    ['Connection', 'close'],
  ];
  for (const [name, value] of headers) all.push([name, value]);
  return formatMessage(`${method} ${target} HTTP/1.1`, all, body ?? Buffer.alloc(0), body);
}

function definedOf(headers: HttpMessage['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value ?? '']));
}

/**
 * Presents a request of node:http as the HTTP port's `HttpRequest`. Parts that not every handler needs (query, headers)
 * are computed on first access.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { authorityOf, originOf } from '../io/http-head.ts';
import type { HttpRequest } from '../io/http.ts';
import type { Address } from '../io/network.ts';
import { addressOf } from './address.ts';

type Params = HttpRequest['params'];
type Headers = HttpRequest['headers'];

const emptyBody = Buffer.alloc(0);
const noParams: Params = {};
/** Shared by all requests without a query; nothing changes it. */
const noQuery = new URLSearchParams();

/** The request; one per call of a handler. */
export class RealHttpRequest implements HttpRequest {
  readonly params: Params;
  readonly path: string;
  readonly body: Uint8Array;
  readonly remote: Address;
  readonly #raw: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #search: string;
  /** The host of an absolute target. */
  readonly #authority: string | undefined;
  #query: URLSearchParams | undefined;
  #headers: Headers | undefined;

  /** `target` is the request's target as the client wrote it. */
  constructor(
    raw: IncomingMessage,
    response: ServerResponse,
    target: string,
    params: Params = noParams,
    body: Uint8Array = emptyBody,
  ) {
    const origin = originOf(target);
    const queryAt = origin.indexOf('?');
    this.params = params;
    this.path = queryAt < 0 ? origin : origin.slice(0, queryAt);
    this.body = body;
    this.remote = addressOf(raw.socket.remoteAddress, raw.socket.remotePort);
    this.#raw = raw;
    this.#response = response;
    this.#search = queryAt < 0 ? '' : origin.slice(queryAt);
    this.#authority = authorityOf(target);
  }

  get method(): string {
    return this.#raw.method ?? '';
  }

  get query(): URLSearchParams {
    return (this.#query ??= this.#search === '' ? noQuery : new URLSearchParams(this.#search));
  }

  get headers(): Headers {
    return (this.#headers ??= headersOf(this.#raw, this.#authority));
  }

  /** A response that closes before it was ended has lost its client. */
  onGone(listener: () => void): void {
    const response = this.#response;
    if (response.destroyed) listener();
    else response.once('close', () => void (response.writableEnded || listener()));
  }
}

function headersOf({ headers: raw }: IncomingMessage, authority: string | undefined): Headers {
  if (authority === undefined && hasTextsOnly(raw)) return raw;
  const headers: Record<string, string | undefined> = {};
  for (const name in raw) {
    const value = raw[name];
    headers[name] = typeof value === 'object' ? value.join(', ') : value;
  }
  if (authority !== undefined) headers['host'] = authority;
  return headers;
}

/** Whether every value is one text. node:http joins repeated headers, except this one, which no client should send. */
function hasTextsOnly(raw: IncomingMessage['headers']): raw is Record<string, string | undefined> {
  return raw['set-cookie'] === undefined;
}

/** What the laws of the HTTP edge stand on: a harness per implementation, and services of a few routes. */
import { LockstepError } from '../base/errors.ts';
import type {
  BodyBudget,
  Http,
  HttpListener,
  HttpResponse,
  HttpRoute,
  HttpService,
  HttpStream,
} from './http.ts';
import type { Harness } from './law.contract.ts';
import type { Address } from './network.ts';

export interface HttpHarness extends Harness {
  readonly http: Http;
  /** An address of the host with port 0. */
  readonly listenAddress: Address;
  /** A client's exchange on a connection of its own, closed afterwards. Rejects when no whole answer comes. */
  exchange(address: Address, call: HttpCall): Promise<HttpReply>;
  /** A client that asks and goes away after a while. Resolves when it has. */
  abandon(address: Address, call: HttpCall): Promise<void>;
  /** A client that asks, stays and reads nothing. Resolves when it has asked. */
  ignore(address: Address, call: HttpCall): Promise<void>;
  /** A client that says this in one piece: what it hears until the connection is closed. */
  say(address: Address, text: string): Promise<string>;
}

export interface HttpCall {
  readonly method: string;
  /** Path and query as they go over the wire. */
  readonly target: string;
  /** In this order; a name may be repeated. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: Uint8Array;
}

export interface HttpReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

export const bodyBytesMax = 100_000;

/** Serves these routes; `counted` gets what happens to connections. */
export function serve(
  harness: HttpHarness,
  routes: readonly HttpRoute[],
  counted: string[] = [],
): Promise<HttpListener> {
  return harness.http.serve(harness.listenAddress, serviceOf(routes, counted));
}

/** A service over these routes whose refusals tell what the door said. */
export function serviceOf(routes: readonly HttpRoute[], counted: string[]): HttpService {
  return {
    serverName: 'Testing/1',
    routes,
    bodyBytesMax,
    connectionCountMax: 100,
    headerLinesMax: 256,
    requestTimeoutMs: 10_000,
    answerTimeoutMs: 10_000,
    notFound: (request) => ({ status: 404, headers: { 'X-Path': request.path }, body: 'not found' }),
    methodNotAllowed: (_request, allow) => ({
      status: 405,
      headers: { Allow: allow.join(', ') },
      body: 'not allowed',
    }),
    refused: (status, reason, path = 'unknown') => ({
      status,
      headers: { 'X-Refused': String(status), 'X-Refused-Path': path },
      body: reason,
    }),
    observer: {
      opened: () => void counted.push('opened'),
      closed: (cause) => void counted.push(cause),
    },
  };
}

/** A budget of so many bytes that tells what was asked of it. */
export class TestingBudget implements BodyBudget {
  heldBytes = 0;
  refusedCount = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  hasRoomFor(bytes: number): boolean {
    return this.heldBytes + bytes <= this.#bytesMax;
  }

  resize(held: number, wanted: number): boolean {
    if (wanted > held && !this.hasRoomFor(wanted - held)) return false;
    this.heldBytes += wanted - held;
    return true;
  }

  refuse(): LockstepError {
    this.refusedCount += 1;
    return new LockstepError('Overloaded', 'no room for it');
  }
}

/** A route whose handler is `handle`. */
export function route(method: HttpRoute['method'], path: string, handle: HttpRoute['handle']): HttpRoute {
  return { method, path, handle };
}

/** 200 with this body. */
export function ok(body: Uint8Array | string): HttpResponse {
  return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body };
}

/** 200 with a body that is made while it is sent. */
export function okStream(body: HttpStream): HttpResponse {
  return { status: 200, headers: {}, body };
}

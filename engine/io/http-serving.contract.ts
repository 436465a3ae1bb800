/** The harness and the services that the laws of the HTTP port use. */
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

/** What an implementation of the HTTP port provides to its laws. */
export interface HttpHarness extends Harness {
  readonly http: Http;
  /** An address of the host with port 0. */
  readonly listenAddress: Address;
  /** One exchange of a client on a connection of its own, closed afterwards. Rejects if no whole answer comes. */
  exchange(address: Address, call: HttpCall): Promise<HttpReply>;
  /** A client sends a request and disconnects after a while. Resolves when it has disconnected. */
  abandon(address: Address, call: HttpCall): Promise<void>;
  /** A client sends a request, stays connected and reads nothing. Resolves when the request is sent. */
  ignore(address: Address, call: HttpCall): Promise<void>;
  /** A client sends `text` in one piece. Resolves with everything it receives until the connection is closed. */
  say(address: Address, text: string): Promise<string>;
}

/** A request of a client. */
export interface HttpCall {
  readonly method: string;
  /** Path and query as on the wire. */
  readonly target: string;
  /** Sent in this order; a name may repeat. */
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: Uint8Array;
}

/** The answer as a client receives it. */
export interface HttpReply {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** Body limit of `serviceOf`, in bytes. */
export const bodyBytesMax = 100_000;

/** Serves these routes; connection events are appended to `counted`. */
export function serve(
  harness: HttpHarness,
  routes: readonly HttpRoute[],
  counted: string[] = [],
): Promise<HttpListener> {
  return harness.http.serve(harness.listenAddress, serviceOf(routes, counted));
}

/** A service of these routes. Its refusals carry the port's status, reason and path. */
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

/** A budget of `bytesMax` bytes that records its use. */
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

/** A route with handler `handle`. */
export function route(method: HttpRoute['method'], path: string, handle: HttpRoute['handle']): HttpRoute {
  return { method, path, handle };
}

/** Status 200 with this body. */
export function ok(body: Uint8Array | string): HttpResponse {
  return { status: 200, headers: { 'Content-Type': 'application/octet-stream' }, body };
}

/** Status 200 with a body that is produced while it is sent. */
export function okStream(body: HttpStream): HttpResponse {
  return { status: 200, headers: {}, body };
}

/**
 * The edge door for HTTP: routes as data, handlers as plain functions over bytes. On the machine fastify serves them;
 * in the world simulated clients reach the same handlers over the simulated network. Nothing behind this door sees
 * sockets, streams or a framework.
 *
 * Promised: a handler is called once per request, with the whole body, at most `bodyBytesMax` long (more is answered
 * 413 by the door); a path with a slash at its end leads where the path without leads; HEAD is served by the GET route, without the body; a path that has routes but not for the method
 * is answered 405 with `Allow`. Requests that follow each other on one connection are handled one after another, each
 * once the answer before it has left; behind an answer that closes the connection none is handled. No header is dropped
 * or joined with another that it must stand apart from: such a request is refused (http-head.ts).
 *
 * A body may be made while it is sent (`HttpStream`). It is asked for its next chunk once the client has taken the ones
 * before, so a slow client holds back who makes it, and its iteration is ended (`return`) as soon as the client has gone
 * or the listener closes for good; it is never iterated for HEAD, and may wait for as long as it likes.
 */
import type { LockstepError } from '../base/errors.ts';
import type { Address } from './network.ts';

export type HttpMethod = 'GET' | 'PUT' | 'POST' | 'DELETE';

export interface HttpRequest {
  /** In upper case: the route's, or HEAD for a GET route; anything at all in `notFound` and `methodNotAllowed`. */
  readonly method: string;
  /** The route's parameters as they stand in the path, still percent-encoded (a key need not be UTF-8). */
  readonly params: Readonly<Record<string, string>>;
  /** The path without the query, still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; repeated headers joined by `, `. `host` is the target's where that names one. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** The client's address, for logs. */
  readonly remote: Address;
  /** Calls `listener` once if the client goes away before its whole answer has been handed to the connection. */
  onGone(listener: () => void): void;
}

export interface HttpResponse {
  readonly status: number;
  /** Names as they should appear. `Content-Length` and `Transfer-Encoding` are the door's business. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
}

export type HttpBody = Uint8Array | string | HttpStream;

/**
 * A body in chunks, of which none is empty. When it fails, the head has gone out with its status: the connection is cut,
 * so that the client does not take what it has for the whole; a failure that is no `LockstepError` is told as that of a
 * handler. `return` may come while a `next` waits: an async generator ends after it, other iterators may give up at once.
 */
export type HttpStream = AsyncIterable<Uint8Array, unknown>;

export interface HttpRoute {
  readonly method: HttpMethod;
  /** find-my-way's syntax: `/buckets/:bucket/keys/:key`. */
  readonly path: string;
  handle(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
}

/** What a listener offers. */
export interface HttpService {
  /** What the header `Server` of every answer of a handler says. */
  readonly serverName: string;
  readonly routes: readonly HttpRoute[];
  readonly bodyBytesMax: number;
  /** For the bodies of all requests being received; undefined: only each for itself is bounded. */
  readonly bodyBudget?: BodyBudget;
  /**
   * Connections open at most. One more takes the place of the client that is waited for longest (its request is not
   * whole, or it asks nothing), or that leaves an answer unread; where there is none such it is closed at once.
   */
  readonly connectionCountMax: number;
  /** Header lines of a request at most; more are answered 431. */
  readonly headerLinesMax: number;
  /** Milliseconds that a client may take to send its request. */
  readonly requestTimeoutMs: number;
  /**
   * Milliseconds in which a client has to take some of an answer that is larger than what leaves at once; one that takes
   * nothing for that long is cut off, for what waits for it is memory. How long an answer takes as a whole is not bounded.
   */
  readonly answerTimeoutMs: number;
  /** The answer when no route matches. */
  notFound(request: HttpRequest): HttpResponse;
  /** The answer when a path has no route for the method; `allow` lists those it has (HEAD with GET), sorted. */
  methodNotAllowed(request: HttpRequest, allow: readonly string[]): HttpResponse;
  /**
   * The answer when the door itself refuses a request: 413 body too large, 400 malformed, 408 too slow, 417 an
   * expectation that is not known, 431 header too large or in too many lines, 501 a transfer coding or a tunnel, 503 no
   * room for the body now; 500 when a handler failed, which is logged as `http.handler.failed`. `path` is that of the request, as in `HttpRequest`, once so much of it is known.
   */
  refused(status: number, reason: string, path?: string): HttpResponse;
  readonly observer: ConnectionObserver;
}

/** Bytes of requests that are being received and are not whole, over all connections of all listeners that share it. */
export interface BodyBudget {
  /** Whether a request that long is worth beginning. Nothing is held by asking. */
  hasRoomFor(bytes: number): boolean;
  /** One request held `held` bytes and wants `wanted`; false: it may not, and holds what it held. Less always may. */
  resize(held: number, wanted: number): boolean;
  /** Counts a request that is refused; the error to answer. */
  refuse(): LockstepError;
}

/** Told about a client listener's connections; feeds the pool's counters. */
export interface ConnectionObserver {
  opened(): void;
  /** `eof`: the client closed in order. `error`: the connection broke or was closed for cause. `closedHere`: we stopped. */
  closed(cause: 'eof' | 'error' | 'closedHere'): void;
}

export interface HttpListener {
  readonly address: Address;
  /** Accepts no more, lets requests under way finish for at most `drainMs`, then closes. */
  close(drainMs: number): Promise<void>;
}

export interface Http {
  /** Serves. Rejects with `ListenError` when the address is taken or not this host's. */
  serve(address: Address, service: HttpService): Promise<HttpListener>;
}

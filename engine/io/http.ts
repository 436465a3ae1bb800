/**
 * The HTTP port: routes as data, handlers as plain functions over bytes. On a machine fastify serves them; in the
 * simulated world simulated clients reach the same handlers over the simulated network. Handlers see no socket, stream
 * or framework.
 *
 * Promised:
 * - The port calls a handler once per request, with the whole body of at most `bodyBytesMax` bytes. It answers a longer
 *   body with 413 itself.
 * - A path with a trailing slash takes the route of the path without one. The GET route serves HEAD, without the body.
 *   A path that has routes, but none for the method, is answered 405 with `Allow`.
 * - Requests on one connection are handled one after another, each once the preceding answer has left. No request is
 *   handled behind an answer that closes the connection.
 * - The port neither drops a header nor joins two headers that must stay apart: it refuses such a request
 *   (`http-head.ts`).
 *
 * A body may be produced while it is sent (`HttpStream`). The port asks for the next chunk once the client has taken
 * the preceding ones, so a slow client slows the producer. It ends the iteration (`return`) as soon as the client has
 * gone or the listener closes for good. It never iterates a body for HEAD. A chunk may take arbitrarily long.
 */
import type { LockstepError } from '../base/errors.ts';
import type { Address } from './network.ts';

/** The methods that routes may have. */
export type HttpMethod = 'GET' | 'PUT' | 'POST' | 'DELETE';

/** A request as a handler gets it. */
export interface HttpRequest {
  /** In upper case: the route's method, or HEAD on a GET route. Any text in `notFound` and `methodNotAllowed`. */
  readonly method: string;
  /** The route's parameters as in the path, still percent-encoded (a key need not be UTF-8). */
  readonly params: Readonly<Record<string, string>>;
  /** The path without the query, still percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Names in lower case; repeated headers joined by `, `. `host` is the target's if an absolute target names one. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Uint8Array;
  /** The client's address, for logs. */
  readonly remote: Address;
  /** Calls `listener` once if the client disconnects before its whole answer has been handed to the connection. */
  onGone(listener: () => void): void;
}

/** A handler's answer. */
export interface HttpResponse {
  readonly status: number;
  /**
   * Names as they go out. The port itself sets `Transfer-Encoding`, and the `Content-Length` of a whole body. Beside a
   * stream the handler may state `Content-Length`, which must be the length of all chunks: they then go out as they
   * are.
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: HttpBody;
  /**
   * The port calls it once it holds a whole body's bytes no more, so that the handler may use their memory again. It
   * does not call it for a stream, nor if the connection ends before.
   */
  readonly taken?: () => void;
  /** Whether the answer reports a failure to the client. The port itself ignores it. */
  readonly failure?: AnsweredFailure;
}

/** How an error answer is counted. */
export interface AnsweredFailure extends Pick<LockstepError, 'code' | 'definite'> {
  /** Whether the request reads or writes; by default its method decides. */
  readonly purpose?: 'read' | 'write';
}

/** An answer's body: whole, or produced while it is sent. */
export type HttpBody = Uint8Array | string | HttpStream;

/**
 * A body in chunks, none of them empty. If it fails, status and head have already gone out: the port cuts the
 * connection, so that the client does not mistake a part for the whole. A failure other than a `LockstepError` is
 * logged as a handler's. `return` may be called while a `next` is pending: an async generator ends after it, other
 * iterators may give up at once.
 */
export type HttpStream = AsyncIterable<Uint8Array, unknown>;

/** One method of one path, and its handler. */
export interface HttpRoute {
  readonly method: HttpMethod;
  /** In find-my-way's syntax: `/buckets/:bucket/keys/:key`. */
  readonly path: string;
  handle(request: HttpRequest): HttpResponse | Promise<HttpResponse>;
}

/** What a listener serves, and its limits. */
export interface HttpService {
  /** Value of the `Server` header of every answer of a handler. */
  readonly serverName: string;
  readonly routes: readonly HttpRoute[];
  readonly bodyBytesMax: number;
  /** Bounds the bodies of all requests being received together; undefined: only each body by itself is bounded. */
  readonly bodyBudget?: BodyBudget;
  /**
   * Most open connections. A further one replaces the client that has kept the listener waiting longest: its request is
   * incomplete, it is idle, or it leaves an answer unread. Without such a client the new connection is closed at once.
   */
  readonly connectionCountMax: number;
  /** Most header lines of a request; more are answered 431. */
  readonly headerLinesMax: number;
  /** Milliseconds within which a client must have sent its whole request. */
  readonly requestTimeoutMs: number;
  /**
   * Milliseconds within which a client must take some of an answer that does not leave at once. A client that takes
   * nothing for that long is disconnected, because its answer occupies memory. The total time of an answer is not
   * bounded.
   */
  readonly answerTimeoutMs: number;
  /** Makes the answer if no route matches. */
  notFound(request: HttpRequest): HttpResponse;
  /**
   * Makes the answer if a path has no route for the method; `allow` lists the methods it has (HEAD with GET), sorted.
   */
  methodNotAllowed(request: HttpRequest, allow: readonly string[]): HttpResponse;
  /**
   * Makes the answer if the port itself refuses a request: 400 malformed, 408 too slow, 413 body too large, 417 unknown
   * expectation, 431 header too large or too many lines, 500 a failed handler (logged as `http.handler.failed`), 501 a
   * transfer coding or a tunnel, 503 no memory for the body now. `path` is as in `HttpRequest`; undefined if not yet
   * read.
   */
  refused(status: number, reason: string, path?: string): HttpResponse;
  readonly observer: ConnectionObserver;
}

/** Bounds the bytes of incomplete requests, over all connections of all listeners that share it. */
export interface BodyBudget {
  /** Whether a request of this length may begin. Reserves nothing. */
  hasRoomFor(bytes: number): boolean;
  /**
   * Changes one request's reservation from `held` to `wanted` bytes. Returns false if the budget does not allow it; the
   * reservation then stays. Shrinking always succeeds.
   */
  resize(held: number, wanted: number): boolean;
  /** Counts a refused request and returns the error to answer. */
  refuse(): LockstepError;
}

/** Observes the connections of a client listener; feeds the pool's counters. */
export interface ConnectionObserver {
  opened(): void;
  /**
   * `eof`: the client closed in order. `error`: the connection broke, or was closed for cause. `closedHere`: this node
   * stopped.
   */
  closed(cause: 'eof' | 'error' | 'closedHere'): void;
}

/** A listener that is serving. */
export interface HttpListener {
  readonly address: Address;
  /** Accepts no more connections, gives requests under way `drainMs` milliseconds to finish, then closes. */
  close(drainMs: number): Promise<void>;
}

/** The port. */
export interface Http {
  /** Serves. Rejects with `ListenError` if the address is in use or not this host's. */
  serve(address: Address, service: HttpService): Promise<HttpListener>;
}

/**
 * The HTTP port on a machine: fastify over node:http serves the routes of a service.
 *
 * Fastify routes; `http-body.ts` collects bodies within their limits. Paths reach fastify's router with every `%`
 * escaped once more, so parameters arrive as on the wire (a key need not be UTF-8). Bodies arrive as bytes, whatever
 * their content type. Answers are written with `writeHead`, which keeps the spelling of header names.
 *
 * A GET without a body on a path without parameters bypasses fastify: a map finds its route. Metric scrapes and health
 * checks are such requests; the bypass halves their cost. Routes with parameters gain nothing by such a bypass.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { fastify } from 'fastify';
import findMyWay from 'find-my-way';
import { present } from '../base/assert.ts';
import type {
  Http,
  HttpListener,
  HttpMethod,
  HttpRequest,
  HttpResponse,
  HttpRoute,
  HttpService,
} from '../io/http.ts';
import type { RequestHead } from '../io/http-head.ts';
import { originOf, pathOf, refusalOfHead } from '../io/http-head.ts';
import type { Log } from '../io/log.ts';
import type { Address } from '../io/network.ts';
import { AnswerTurn } from './answer-turn.ts';
import { BodyError, announcedBytes, collectBody } from './http-body.ts';
import { HttpConnections } from './http-connections.ts';
import { RealHttpRequest } from './http-request.ts';
import { sendParts, sendStream, tlsBytesAtOnce } from './http-stream.ts';
import type { Arrival } from './http-turns.ts';
import { HttpTurns } from './http-turns.ts';
import { lengthLines, sendWhole } from './http-whole.ts';
import { listenOn } from './network.ts';
import type { TlsIdentity } from './tls.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/**
 * A request line may hold a key of 32 KiB and a bucket of 4 KiB, each byte percent-encoded, and metadata beside them.
 */
const headerBytesMax = 256 * 1024;
const keepAliveMs = 72_000;
const methods: readonly HttpMethod[] = ['GET', 'PUT', 'POST', 'DELETE'];
const noQuery = {};
/** Options of both routers: a trailing slash has no meaning. */
const routing = { maxParamLength: headerBytesMax * 2, ignoreTrailingSlash: true };

function noSchema(): never {
  throw new Error('a route has a schema, and its compilers are not loaded; see withoutSchemas');
}

/** No route has a schema: fastify would load two compilers of schemas, a quarter of a node's code. */
const withoutSchemas = {
  compilersFactory: { buildValidator: () => noSchema, buildSerializer: () => noSchema },
};

/**
 * Makes the port. Serves over TLS if `tls` is given; logs failures of handlers to `log`; counts unread answers in
 * `unread`.
 */
export function createRealHttp(log: Log, tls?: TlsIdentity, unread?: UnreadAnswers): Http {
  return {
    serve: async (address, service) => {
      const edge = new HttpEdge(service, log, tls, unread);
      return edge.listen(address);
    },
  };
}

class HttpEdge {
  readonly #service: HttpService;
  readonly #log: Log;
  readonly #connections: HttpConnections;
  readonly #turns = new HttpTurns((request, response, arrival) => this.#begin(request, response, arrival));
  readonly #turn = new AnswerTurn<ServerResponse, HttpResponse>((response, answer) => {
    try {
      this.#send(response, answer);
    } catch (error) {
      this.#fail(response, error);
    }
  });
  readonly #app: FastifyInstance;
  /** Fastify's request listener. */
  #handler: RequestListener | undefined;
  readonly #server: Server | SecureServer;
  readonly #allowed: (path: string) => readonly string[];
  /** GET routes whose paths have no parameters, by path. */
  readonly #plain: ReadonlyMap<string, HttpRoute>;

  constructor(
    service: HttpService,
    log: Log,
    tls: TlsIdentity | undefined,
    unread: UnreadAnswers | undefined,
  ) {
    this.#service = service;
    this.#log = log;
    this.#connections = new HttpConnections(service, tls, unread);
    this.#allowed = allowedMethods(service);
    this.#plain = plainRoutes(service);
    let server: Server | SecureServer | undefined;
    this.#app = fastify({
      logger: false,
      serverFactory: (handler) => {
        this.#handler = handler;
        return (server = serverFor(service, tls, (request, response) =>
          this.#turns.take(request, response, 'plain'),
        ));
      },
      clientErrorHandler: (error, socket) => this.#connections.refuse(error, socket, this.#turns),
      rewriteUrl: (request) => escapedTarget(request.url ?? '/'),
      routerOptions: { ...routing, querystringParser: () => noQuery },
      bodyLimit: service.bodyBytesMax,
      schemaController: withoutSchemas,
    });
    this.#server = present(server, 'the server');
    this.#subscribe(tls !== undefined);
    this.#route();
  }

  #subscribe(secure: boolean): void {
    const server: EventEmitter = this.#server;
    const take = (arrival: Arrival) => (request: IncomingMessage, response: ServerResponse) =>
      this.#turns.take(request, response, arrival);
    server.on('checkContinue', take('expectsContinue'));
    server.on('checkExpectation', take('expectsMore'));
    server.on('connect', (request: IncomingMessage) => this.#connections.refuseTunnel(request, this.#turns));
    server.on('timeout', (socket: Socket) => this.#connections.silent(socket));
    if (!secure) server.on('connection', (socket: Socket) => this.#connections.addPlain(socket));
    else {
      server.on('connection', (socket: Socket) => this.#connections.greet(socket));
      server.on('secureConnection', (socket: Socket) => this.#connections.addSecure(socket));
    }
  }

  async listen(address: Address): Promise<HttpListener> {
    await this.#app.ready();
    const listening = await listenOn(this.#server, address);
    return { address: listening, close: (drainMs) => this.#close(drainMs) };
  }

  async #close(drainMs: number): Promise<void> {
    this.#server.close();
    const empty = this.#connections.stop();
    const timer = setTimeout(() => this.#connections.destroyAll(), drainMs);
    await empty;
    clearTimeout(timer);
    await this.#app.close();
  }

  #route(): void {
    const app = this.#app;
    app.removeAllContentTypeParsers();
    const { bodyBytesMax: bytesMax, bodyBudget: budget } = this.#service;
    const bodyLimits = { bytesMax, budget };
    app.addContentTypeParser('*', (_request, payload, done) => collectBody(payload, bodyLimits, done));
    app.addHook('onRequest', (request, _reply, done) => {
      // Fastify refuses content types that it cannot parse, so it sees a generic one; the service reads the original
      // headers.
      const type = request.raw.headers['content-type'];
      if (type !== undefined) request.headers = { 'content-type': 'application/octet-stream' };
      done();
    });
    for (const route of this.#service.routes) {
      const { method, path } = route;
      const handler = (request: FastifyRequest, reply: FastifyReply): void => {
        this.#serve(request, reply, route);
      };
      app.route({ method, url: path, handler });
    }
    const unknown: Pick<HttpRoute, 'handle'> = { handle: (asked) => this.#notFound(asked) };
    app.setNotFoundHandler((request, reply) => this.#serve(request, reply, unknown));
    app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
      const status = error.statusCode ?? 500;
      // A body without memory for it reached no handler; its budget counts it.
      if (status >= 500 && !(error instanceof BodyError)) this.#logFailure(error);
      // Fastify would close the connection now: the client, still sending, would see a reset instead of the answer. Its
      // headers are not sent. Node reads and discards the rest of the body, at most for the time a request may take.
      if (!reply.sent) reply.hijack();
      // A body that is not valid HTTP may have been answered by `HttpConnections.refuse` already.
      if (!reply.raw.headersSent) this.#refuse(reply.raw, status, error.message);
    });
  }

  /** Handles a request whose turn has come. An error ends at most its connection. */
  #begin(request: IncomingMessage, response: ServerResponse, arrival: Arrival): void {
    try {
      const refusal = refusalOfHead(headOf(request), this.#service.headerLinesMax);
      if (refusal !== undefined) {
        this.#connections.condemn(request.socket);
        this.#refuse(response, refusal.status, refusal.reason, true);
        return;
      }
      if (arrival === 'expectsMore') {
        this.#refuse(response, 417, 'no expectation but 100-continue is known');
        return;
      }
      // A refused request gets no 100; its answer is the same as without the expectation.
      if (arrival === 'expectsContinue' && !this.#exceedsLimits(request)) response.writeContinue();
      if (!this.#servePlain(request, response)) this.#handler?.(request, response);
    } catch (error) {
      this.#fail(response, error);
    }
  }

  /** Whether the head alone shows that the body exceeds the limit or the budget. */
  #exceedsLimits(request: IncomingMessage): boolean {
    const { bodyBytesMax, bodyBudget } = this.#service;
    const bytes = announcedBytes(request);
    return bytes > bodyBytesMax || bodyBudget?.hasRoomFor(bytes) === false;
  }

  #notFound(request: HttpRequest): HttpResponse {
    const allow = this.#allowed(request.path);
    if (allow.length === 0) return this.#service.notFound(request);
    return this.#service.methodNotAllowed(request, allow);
  }

  /** Serves a GET or HEAD of a path without parameters; false if the request is no such request. */
  #servePlain(raw: IncomingMessage, response: ServerResponse): boolean {
    const { method, url = '/', headers } = raw;
    if (method !== 'GET' && method !== 'HEAD') return false;
    if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return false;
    const queryAt = url.indexOf('?');
    const path = queryAt < 0 ? url : url.slice(0, queryAt);
    const route = this.#plain.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
    if (route === undefined) return false;
    this.#answer(new RealHttpRequest(raw, response, url), response, route);
    return true;
  }

  #serve(request: FastifyRequest, reply: FastifyReply, route: Pick<HttpRoute, 'handle'>): void {
    // Takes the answer over from fastify, whenever it comes.
    reply.hijack();
    // Fastify's router gives every route's parameters as text by name.
    const params = request.params as Readonly<Record<string, string>>;
    const body = request.body instanceof Uint8Array ? request.body : undefined;
    const asked = new RealHttpRequest(request.raw, reply.raw, request.originalUrl, params, body);
    this.#answer(asked, reply.raw, route);
  }

  #answer(request: HttpRequest, response: ServerResponse, route: Pick<HttpRoute, 'handle'>): void {
    const turn = this.#turn.now();
    try {
      const answer = route.handle(request);
      if (!(answer instanceof Promise)) this.#turn.give(turn, response, answer);
      else {
        // Neither `give` nor `#fail` throws.
        void answer.then(
          (late) => this.#turn.give(turn, response, late),
          (error: unknown) => this.#fail(response, error),
        );
      }
    } catch (error) {
      this.#fail(response, error);
    }
  }

  /** Logs the error and answers 500, or cuts the connection if the head is out. Does not throw. */
  #fail(response: ServerResponse, error: unknown): void {
    this.#logFailure(error);
    try {
      if (response.headersSent) response.destroy();
      else this.#refuse(response, 500, 'the request failed');
    } catch (again) {
      this.#logFailure(again);
      response.destroy();
    }
  }

  #logFailure(error: unknown): void {
    const description = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#log.event('error', 'http.handler.failed', { error: description });
  }

  /** Sends the service's answer to a request that the port refuses. */
  #refuse(response: ServerResponse, status: number, reason: string, last?: boolean): void {
    this.#send(response, this.#service.refused(status, reason, pathOf(response.req.url ?? '/')), last);
  }

  /** Sends an answer. `last`: it closes the connection. */
  #send(response: ServerResponse, answer: HttpResponse, last = this.#connections.stopping): void {
    // The rest of the request was not HTTP, and `HttpConnections.refuse` answered it while this answer was made.
    if (response.headersSent) return;
    const { status, body } = answer;
    const headers = linesOf(answer.headers);
    headers.push('Server', this.#service.serverName);
    const whole = typeof body === 'string' || body instanceof Uint8Array;
    const closes = last || closesBehind(response, status, whole);
    if (closes) headers.push('Connection', 'close');
    const { socket } = response.req;
    if (whole && answer.taken !== undefined) response.once('finish', answer.taken);
    if (!whole) {
      response.writeHead(status, headers);
      sendStream(response, body, {
        pending: () => this.#connections.expectReading(socket),
        failed: (error) => this.#logFailure(error),
      });
    } else if (body.length > tlsBytesAtOnce && socket instanceof TLSSocket) {
      const bytes = typeof body === 'string' ? Buffer.from(body) : body;
      response.writeHead(status, [...headers, ...lengthLines(status, bytes.length)]);
      const pending = (restBytes: number): void => this.#connections.expectReading(socket, restBytes);
      sendParts(response, bytes, pending).catch((error: unknown) => this.#fail(response, error));
    } else sendWhole(response, status, headers, body);
    this.#turns.answered(response, closes);
    this.#connections.answered(socket);
  }
}

/** Names and values in turn: node:http writes these without looking names up. */
function linesOf(headers: Readonly<Record<string, string>>): string[] {
  const lines: string[] = [];
  for (const name in headers) lines.push(name, headers[name] ?? '');
  return lines;
}

/**
 * Whether node:http closes the connection after the answer: the client asked for it, or the body's end is otherwise
 * unknown.
 */
function closesBehind(response: ServerResponse, status: number, whole: boolean): boolean {
  if (!response.shouldKeepAlive) return true;
  // HTTP/1.0 has no chunked coding.
  return !response.useChunkedEncodingByDefault && (!whole || status === 204 || status === 304);
}

function headOf(request: IncomingMessage): RequestHead {
  const { httpVersion, url = '/', rawHeaders: lines, headers } = request;
  return { httpVersion, target: url, lines, headers };
}

function serverFor(
  service: HttpService,
  tls: TlsIdentity | undefined,
  handler: RequestListener,
): Server | SecureServer {
  const options = serverOptions(service);
  if (tls === undefined) return bounded(createServer(options, handler), service);
  const server = bounded(createSecureServer({ ...options, ...tls.serverOptions() }, handler), service);
  const forget = tls.follow(server);
  server.once('close', forget);
  return server;
}

/**
 * node:http silently drops header lines beyond its limit. Allowing one line more than the service does shows whether
 * there are too many.
 */
function bounded<S extends Server | SecureServer>(server: S, { headerLinesMax }: HttpService): S {
  server.maxHeadersCount = headerLinesMax + 1;
  return server;
}

function serverOptions(service: HttpService): Parameters<typeof createServer>[0] & object {
  return {
    maxHeaderSize: headerBytesMax,
    joinDuplicateHeaders: true,
    requireHostHeader: false,
    requestTimeout: service.requestTimeoutMs,
    headersTimeout: service.requestTimeoutMs,
    connectionsCheckingInterval: Math.max(50, Math.min(1000, Math.floor(service.requestTimeoutMs / 4))),
    keepAliveTimeout: keepAliveMs,
    noDelay: true,
  };
}

/**
 * GET routes without parameters. In find-my-way's syntax a parameter begins with a colon, a wildcard is a star, and
 * both may have patterns in parentheses.
 */
function plainRoutes({ routes }: HttpService): ReadonlyMap<string, HttpRoute> {
  const plain = routes.filter(({ method, path }) => method === 'GET' && !/[:*(]/.test(path));
  return new Map(plain.map((route) => [route.path, route]));
}

/** Finds the methods with a route for a path; called only if the request's own method has none. */
function allowedMethods(service: HttpService): (path: string) => readonly string[] {
  const router = findMyWay(routing);
  for (const { method, path } of service.routes) router.on(method, path, () => undefined);
  return (path) => {
    const found: string[] = methods.filter((method) => router.find(method, escaped(path)) !== null);
    if (found.includes('GET')) found.push('HEAD');
    return found.sort();
  };
}

/** The target with its path escaped once more; the router unescapes it once. */
function escapedTarget(target: string): string {
  const origin = originOf(target);
  if (!origin.includes('%')) return origin;
  const queryAt = origin.indexOf('?');
  return queryAt < 0 ? escaped(origin) : escaped(origin.slice(0, queryAt)) + origin.slice(queryAt);
}

function escaped(path: string): string {
  return path.replaceAll('%', '%25');
}

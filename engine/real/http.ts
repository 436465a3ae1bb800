/**
 * The HTTP edge on the machine: fastify over node:http serves the routes of a service.
 *
 * Fastify routes; bodies are collected within their limits (http-body.ts). Paths reach its router with every `%` escaped once more, so that
 * parameters arrive as they stand on the wire (a key need not be UTF-8), and bodies arrive as bytes whatever their
 * content type says. Answers are written by `writeHead`, which keeps the names of headers as the service writes them.
 *
 * A GET of a path without parameters and without a body has nothing that fastify would have to do: its route is looked
 * up and asked at once. That is what scrapes are (and what asks whether a node is there); it halves what they cost.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import { createServer as createSecureServer } from 'node:https';
import type { Socket } from 'node:net';
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
import { sendStream } from './http-stream.ts';
import type { Arrival } from './http-turns.ts';
import { HttpTurns } from './http-turns.ts';
import { sendWhole } from './http-whole.ts';
import { listenOn } from './network.ts';
import type { TlsIdentity } from './tls.ts';
import type { UnreadAnswers } from './unread-answers.ts';

/** A request line may hold a key of 32 KiB and a bucket of 4 KiB, each byte percent-encoded; and metadata beside it. */
const headerBytesMax = 256 * 1024;
const keepAliveMs = 72_000;
const methods: readonly HttpMethod[] = ['GET', 'PUT', 'POST', 'DELETE'];
const noQuery = {};
/** How both routers find a route: a slash at a path's end means nothing. */
const routing = { maxParamLength: headerBytesMax * 2, ignoreTrailingSlash: true };

/**
 * Serves HTTP, over TLS where there is a certificate; what goes wrong in a handler is told to `log`. What clients leave
 * unread counts in `unread`.
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
  /** Fastify's. */
  #handler: RequestListener | undefined;
  readonly #server: Server | SecureServer;
  readonly #allowed: (path: string) => readonly string[];
  /** The routes of GET whose paths have no parameters, by path. */
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
    app.addContentTypeParser('*', (_request, payload, done) =>
      collectBody(payload, { bytesMax, budget }, done),
    );
    app.addHook('onRequest', (request, _reply, done) => {
      // Fastify refuses a content type that it cannot parse; the service sees what the client wrote all the same.
      const type = request.raw.headers['content-type'];
      if (type !== undefined) request.headers = { 'content-type': 'application/octet-stream' };
      done();
    });
    for (const route of this.#service.routes) {
      const { method, path } = route;
      const handler = (request: FastifyRequest, reply: FastifyReply): void => {
        this.#serve(request, reply, (asked) => route.handle(asked));
      };
      app.route({ method, url: path, handler });
    }
    app.setNotFoundHandler((request, reply) => this.#serve(request, reply, (asked) => this.#notFound(asked)));
    app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) => {
      const status = error.statusCode ?? 500;
      // What there is no room for has reached no handler; it is counted where the room is.
      if (status >= 500 && !(error instanceof BodyError)) this.#tellFailure(error);
      // Fastify would close now, and the client, still sending, would see a broken connection and not the answer. Its
      // headers are not sent: node reads the rest of the body away, for no longer than a request may take.
      if (!reply.sent) reply.hijack();
      // What broke off a body that is no HTTP has been answered by then.
      if (!reply.raw.headersSent) this.#refuse(reply.raw, status, error.message);
    });
  }

  /** A request whose turn has come. Whatever goes wrong ends its connection at most. */
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
      // What is refused anyway is not asked for; the answer is the one that it gets without being expected.
      if (arrival === 'expectsContinue' && !this.#tellsTooMuch(request)) response.writeContinue();
      if (!this.#servePlain(request, response)) this.#handler?.(request, response);
    } catch (error) {
      this.#fail(response, error);
    }
  }

  /** The head alone says that the body is over the limit, or that there is no room for it now. */
  #tellsTooMuch(request: IncomingMessage): boolean {
    const { bodyBytesMax, bodyBudget } = this.#service;
    const bytes = announcedBytes(request);
    return bytes > bodyBytesMax || bodyBudget?.hasRoomFor(bytes) === false;
  }

  #notFound(request: HttpRequest): HttpResponse {
    const allow = this.#allowed(request.path);
    if (allow.length === 0) return this.#service.notFound(request);
    return this.#service.methodNotAllowed(request, allow);
  }

  /** Whether the request was one for a path without parameters, and has been taken. */
  #servePlain(raw: IncomingMessage, response: ServerResponse): boolean {
    const { method, url = '/', headers } = raw;
    if (method !== 'GET' && method !== 'HEAD') return false;
    if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return false;
    const queryAt = url.indexOf('?');
    const path = queryAt < 0 ? url : url.slice(0, queryAt);
    const route = this.#plain.get(path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);
    if (route === undefined) return false;
    this.#answer(new RealHttpRequest(raw, response, url), response, (asked) => route.handle(asked));
    return true;
  }

  #serve(
    request: FastifyRequest,
    reply: FastifyReply,
    handle: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>,
  ): void {
    // Taken out of fastify's hands: from here on the answer is ours, whenever it comes.
    reply.hijack();
    // Fastify's router gives every route's parameters as text by name.
    const params = request.params as Readonly<Record<string, string>>;
    const body = request.body instanceof Uint8Array ? request.body : undefined;
    const asked = new RealHttpRequest(request.raw, reply.raw, request.originalUrl, params, body);
    this.#answer(asked, reply.raw, handle);
  }

  #answer(
    request: HttpRequest,
    response: ServerResponse,
    handle: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>,
  ): void {
    const turn = this.#turn.now();
    try {
      const answer = handle(request);
      if (!(answer instanceof Promise)) this.#turn.give(turn, response, answer);
      else {
        answer
          .then((late) => this.#turn.give(turn, response, late))
          .catch((error: unknown) => this.#fail(response, error));
      }
    } catch (error) {
      this.#fail(response, error);
    }
  }

  /** Does not throw. */
  #fail(response: ServerResponse, error: unknown): void {
    this.#tellFailure(error);
    try {
      if (response.headersSent) response.destroy();
      else this.#refuse(response, 500, 'the request failed');
    } catch (again) {
      this.#tellFailure(again);
      response.destroy();
    }
  }

  #tellFailure(error: unknown): void {
    const story = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#log.event('error', 'http.handler.failed', { error: story });
  }

  /** The service's word for what the door refuses. */
  #refuse(response: ServerResponse, status: number, reason: string, last?: boolean): void {
    this.#send(response, this.#service.refused(status, reason, pathOf(response.req.url ?? '/')), last);
  }

  /** `last`: the connection closes after it. */
  #send(response: ServerResponse, answer: HttpResponse, last = this.#connections.stopping): void {
    // The rest of its request was no HTTP, and was answered (`HttpConnections.refuse`) while this answer was made.
    if (response.headersSent) return;
    const headers: Record<string, string | number> = { ...answer.headers };
    headers['Server'] = this.#service.serverName;
    const { status, body } = answer;
    const whole = typeof body === 'string' || body instanceof Uint8Array;
    const closes = last || closesBehind(response, status, whole);
    if (closes) headers['Connection'] = 'close';
    const { socket } = response.req;
    if (whole) sendWhole(response, status, headers, body);
    else {
      response.writeHead(status, headers);
      sendStream(response, body, {
        pending: () => this.#connections.expectReading(socket),
        failed: (error) => this.#tellFailure(error),
      });
    }
    this.#turns.answered(response, closes);
    this.#connections.answered(socket);
  }
}

/** Whether node:http closes the connection behind the answer: its client asked for it, or its end is not known otherwise. */
function closesBehind(response: ServerResponse, status: number, whole: boolean): boolean {
  if (!response.shouldKeepAlive) return true;
  // HTTP/1.0 knows no chunks.
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
 * Beyond its limit node:http drops header lines in silence. One line more than are allowed is enough to see that there
 * are too many.
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

/** In the router's syntax, parameters begin with a colon, wildcards are stars, and both may have patterns in parentheses. */
function plainRoutes({ routes }: HttpService): ReadonlyMap<string, HttpRoute> {
  const plain = routes.filter(({ method, path }) => method === 'GET' && !/[:*(]/.test(path));
  return new Map(plain.map((route) => [route.path, route]));
}

/** Which methods have a route for a path: asked only when the request's own has none. */
function allowedMethods(service: HttpService): (path: string) => readonly string[] {
  const router = findMyWay(routing);
  for (const { method, path } of service.routes) router.on(method, path, () => undefined);
  return (path) => {
    const found: string[] = methods.filter((method) => router.find(method, escaped(path)) !== null);
    if (found.includes('GET')) found.push('HEAD');
    return found.sort();
  };
}

/** The target with its path escaped once more; the router takes one layer off again. */
function escapedTarget(target: string): string {
  const origin = originOf(target);
  if (!origin.includes('%')) return origin;
  const queryAt = origin.indexOf('?');
  return queryAt < 0 ? escaped(origin) : escaped(origin.slice(0, queryAt)) + origin.slice(queryAt);
}

function escaped(path: string): string {
  return path.replaceAll('%', '%25');
}

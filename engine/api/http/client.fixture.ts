/**
 * Calls the HTTP service as the HTTP port would: find-my-way routes one plain request, and the caller gets one answer.
 */
import findMyWay from 'find-my-way';
import type { HTTPMethod } from 'find-my-way';
import type { Credential } from '../../auth/credentials.ts';
import { Gate } from '../../auth/gate.ts';
import type { HttpRequest, HttpResponse, HttpRoute, HttpService } from '../../io/http.ts';
import { MapLister } from '../testing/map-lister.fixture.ts';
import { MapBuckets } from '../testing/map-buckets.fixture.ts';
import { AnsweredHosts } from '../answered-hosts.ts';
import { defaultContentLimits } from '../content-limits.ts';
import { MapDispatcher, replicaCount } from '../testing/map-dispatcher.fixture.ts';
import { TallyingObserver } from '../testing/tallying-observer.fixture.ts';
import { CountingRandom, TestClock, TestLog } from '../testing/test-io.fixture.ts';
import { RequestBudget } from '../session/request-budget.ts';
import type { HttpDependencies } from './http-dependencies.ts';
import { httpService } from './http-service.ts';

/** One request of a test. */
export interface Call {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** The HTTP service over maps, with a client that calls it. */
export class TestingClient {
  readonly dispatcher = new MapDispatcher();
  readonly buckets = new MapBuckets(['default', 'maps']);
  readonly lister = new MapLister();
  readonly observer = new TallyingObserver();
  readonly clock = new TestClock();
  readonly log = new TestLog();
  readonly gate: Gate;
  /** What the service's handlers work with. */
  readonly parts: HttpDependencies;
  readonly service: HttpService;
  readonly #router = findMyWay({ maxParamLength: 100_000 });

  constructor(credentials?: readonly Credential[]) {
    this.gate = new Gate(this, credentials);
    const { dispatcher, observer } = this;
    this.parts = {
      dispatcher,
      observer,
      io: { clock: this.clock, log: this.log, random: new CountingRandom() },
      gate: this.gate,
      hosts: new AnsweredHosts('auto', true, this.gate),
      terms: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', replicaCount: () => replicaCount },
      limits: { ...defaultContentLimits, valueBytesMax: 1000, linkCountMax: 3, metaCountMax: 3 },
      knowsType: (type) => type === 'maps',
      buckets: this.buckets,
      lister: this.lister,
      connectionCountMax: 10,
      requests: new RequestBudget(100_000),
      requestTimeoutMs: 1000,
      headerLinesMax: 256,
      answerTimeoutMs: 1000,
    };
    this.service = httpService(dispatcher, observer, this.parts);
    for (const route of this.service.routes) this.#router.on(route.method, route.path, noHandler, route);
  }

  /** Sends one request through the routes and returns the answer. */
  async call({ method, target, headers = {}, body = '' }: Call): Promise<HttpResponse> {
    const [path = '', query = ''] = target.split('?', 2);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const request: HttpRequest = {
      method,
      path,
      params: {},
      query: new URLSearchParams(query),
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      body: bytes,
      remote: 'client:1',
      onGone: () => undefined,
    };
    const routed: HTTPMethod = method === 'HEAD' ? 'GET' : (method as HTTPMethod);
    // Percent signs are hidden from the router, which would decode them.
    const found = this.#router.find(routed, path.replaceAll('%', '!'));
    if (found !== null) {
      const params = Object.entries(found.params).map(([name, value]) => [name, value?.replaceAll('!', '%')]);
      const route = found.store as HttpRoute;
      return route.handle({ ...request, params: Object.fromEntries(params) });
    }
    const allow = this.service.routes.filter((one) => this.#router.find(one.method, path)?.store === one);
    if (allow.length === 0) return this.service.notFound(request);
    return this.service.methodNotAllowed(
      request,
      allow.map((one) => one.method),
    );
  }
}

/** The bytes of an answer that is not a stream. */
export function bytesOfAnswer({ body }: HttpResponse): Buffer {
  if (typeof body === 'string') return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  throw new Error('the answer is a stream');
}

/** The text of an answer that is not a stream. */
export function textOfAnswer(answer: HttpResponse): string {
  return bytesOfAnswer(answer).toString();
}

function noHandler(): void {
  // The route is in the store; find-my-way requires a handler.
}

/**
 * Routes of a service, by the router that fastify uses on the machine. Paths reach it with every `%` escaped once more,
 * so that parameters come out as they stand on the wire.
 */
import findMyWay from 'find-my-way';
import type { HttpMethod, HttpRequest, HttpResponse, HttpService } from '../../../engine/io/http.ts';

const methods: readonly HttpMethod[] = ['GET', 'PUT', 'POST', 'DELETE'];
const paramBytesMax = 512 * 1024;

export type Answer = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

export interface Found {
  readonly answer: Answer;
  readonly params: HttpRequest['params'];
}

/** Where the paths of a service lead: methods and paths alone, nothing of the service. */
interface Ways {
  readonly router: ReturnType<typeof findMyWay>;
  /** By what the router finds: which of the service's routes it is. */
  readonly places: ReadonlyMap<unknown, number>;
}

/**
 * The ways of all services of a world, by their routes. All its nodes, in all their lives, serve the same few lists, and
 * the ways of fifty routes take milliseconds to make: find-my-way compiles code for each.
 */
export class HttpWays {
  readonly #known = new Map<string, Ways>();

  of(routes: HttpService['routes']): Ways {
    const name = routes.map(({ method, path }) => `${method} ${path}`).join('\n');
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const ways = makeWays(routes);
    this.#known.set(name, ways);
    return ways;
  }
}

function makeWays(routes: HttpService['routes']): Ways {
  const router = findMyWay({ maxParamLength: paramBytesMax, ignoreTrailingSlash: true });
  const places = new Map<unknown, number>();
  for (const [place, { method, path }] of routes.entries()) {
    // The router finds a function, not a route: one of its own for each leads back to the route's place.
    const key = (): undefined => undefined;
    places.set(key, place);
    router.on(method, path, key);
  }
  return { router, places };
}

export class HttpRouter {
  readonly #service: HttpService;
  readonly #ways: Ways;

  constructor(service: HttpService, ways: HttpWays) {
    this.#service = service;
    this.#ways = ways.of(service.routes);
  }

  /** Who answers a request: a route's handler, or the service's own refusal. */
  find(method: string, path: string): Found {
    const routed = methods.find((known) => known === (method === 'HEAD' ? 'GET' : method));
    const found = routed === undefined ? null : this.#ways.router.find(routed, escaped(path));
    const route =
      found === null ? undefined : this.#service.routes[this.#ways.places.get(found.handler) ?? -1];
    if (found !== null && route !== undefined)
      return { answer: (request) => route.handle(request), params: paramsOf(found.params) };
    const allow = this.#allowed(path);
    if (allow.length === 0) return { answer: (request) => this.#service.notFound(request), params: {} };
    return { answer: (request) => this.#service.methodNotAllowed(request, allow), params: {} };
  }

  #allowed(path: string): readonly string[] {
    const found: string[] = methods.filter(
      (method) => this.#ways.router.find(method, escaped(path)) !== null,
    );
    if (found.includes('GET')) found.push('HEAD');
    return found.sort();
  }
}

function paramsOf(found: Readonly<Record<string, string | undefined>>): HttpRequest['params'] {
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, value ?? '']));
}

function escaped(path: string): string {
  return path.replaceAll('%', '%25');
}

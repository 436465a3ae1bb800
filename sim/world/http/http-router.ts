/**
 * Routes the requests of a service, with the router that fastify uses on the machine. Every `%` of a path is escaped
 * once more before routing, so that parameters keep the form that they have on the wire.
 */
import findMyWay from 'find-my-way';
import type { HttpMethod, HttpRequest, HttpResponse, HttpService } from '../../../engine/io/http.ts';

const methods: readonly HttpMethod[] = ['GET', 'PUT', 'POST', 'DELETE'];
const paramBytesMax = 512 * 1024;

/** A handler: a route's, or the service's refusal. */
export type Answer = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

/** The handler of a request and the parameters in its path. */
export interface Found {
  readonly answer: Answer;
  readonly params: HttpRequest['params'];
}

/** The router of one list of methods and paths, independent of the service. */
interface Ways {
  readonly router: ReturnType<typeof findMyWay>;
  /** By the function that the router finds: the index of the route. */
  readonly places: ReadonlyMap<unknown, number>;
}

/**
 * The routers of all services of a world, by their lists of routes. All nodes, in all their incarnations, serve the
 * same few lists. A router of fifty routes takes milliseconds to build, because find-my-way compiles code for each.
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
    // The router finds a function, not a route: a separate function for each route leads back to the route's index.
    const key = (): undefined => undefined;
    places.set(key, place);
    router.on(method, path, key);
  }
  return { router, places };
}

/** Finds the handler of a service's requests. */
export class HttpRouter {
  readonly #service: HttpService;
  readonly #ways: Ways;

  constructor(service: HttpService, ways: HttpWays) {
    this.#service = service;
    this.#ways = ways.of(service.routes);
  }

  /** The handler of a request: a route's, or the service's own refusal (not found, method not allowed). */
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

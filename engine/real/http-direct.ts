/**
 * Finds the routes that the HTTP port serves without fastify: GET routes whose paths have no parameters (metric scrapes
 * and health checks), and the routes that a service marks `isHot`. The router is fastify's own, so a path has the same
 * parameters on both ways. What fastify would add for a request (its request and reply objects, hooks, the choice of a
 * body parser) has no use here.
 */
import findMyWay from 'find-my-way';
import type { HTTPVersion, Instance } from 'find-my-way';
import { originOf } from '../io/http-head.ts';
import type { HttpRoute } from '../io/http.ts';

type Params = Readonly<Record<string, string>>;

/** A route, and the parameters of the path that took it. */
export interface FoundRoute {
  readonly route: HttpRoute;
  readonly params: Params | undefined;
}

/** Options of every router: a parameter's longest text, and that a trailing slash has no meaning. */
export interface Routing {
  readonly maxParamLength: number;
  readonly ignoreTrailingSlash: true;
}

const noQuery = {};

/** The routes of one listener that bypass fastify. */
export class DirectRoutes {
  /** GET routes whose paths have no parameters, by path. */
  readonly #plain: ReadonlyMap<string, FoundRoute>;
  readonly #hot: Instance<HTTPVersion.V1>;

  constructor(routes: readonly HttpRoute[], routing: Routing) {
    this.#plain = plainRoutes(routes);
    this.#hot = findMyWay({ ...routing, querystringParser: () => noQuery });
    for (const route of routes) {
      if (route.isHot === true) this.#hot.on(route.method, route.path, () => undefined, route);
    }
  }

  /** The route of a request; undefined if fastify serves it. HEAD takes the GET route. */
  find(method: string, target: string): FoundRoute | undefined {
    const asked = method === 'HEAD' ? 'GET' : method;
    if (asked === 'GET') {
      const plain = this.#plain.get(pathBeforeQuery(target));
      if (plain !== undefined) return plain;
    }
    // No text but a method of HTTP has routes.
    const found = this.#hot.find(asked as 'GET', escapedTarget(target));
    if (found === null) return undefined;
    // The router keeps with each route what was given to `on`, and gives parameters as text by name.
    return { route: found.store as HttpRoute, params: found.params as Params };
  }
}

/** The target with its path escaped once more; the router unescapes it once. */
export function escapedTarget(target: string): string {
  const origin = originOf(target);
  if (!origin.includes('%')) return origin;
  const queryAt = origin.indexOf('?');
  return queryAt < 0 ? escapedPath(origin) : escapedPath(origin.slice(0, queryAt)) + origin.slice(queryAt);
}

/** A path with every `%` escaped once more. */
export function escapedPath(path: string): string {
  return path.replaceAll('%', '%25');
}

/**
 * In find-my-way's syntax a parameter begins with a colon, a wildcard is a star, and both may have patterns in
 * parentheses.
 */
function plainRoutes(routes: readonly HttpRoute[]): ReadonlyMap<string, FoundRoute> {
  const plain = routes.filter(({ method, path }) => method === 'GET' && !/[:*(]/.test(path));
  return new Map(plain.map((route) => [route.path, { route, params: undefined }]));
}

function pathBeforeQuery(target: string): string {
  const queryAt = target.indexOf('?');
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

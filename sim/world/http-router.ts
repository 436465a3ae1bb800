/**
 * Routes of a service, by the router that fastify uses on the machine. Paths reach it with every `%` escaped once more,
 * so that parameters come out as they stand on the wire.
 */
import findMyWay from 'find-my-way';
import type { HttpMethod, HttpRequest, HttpResponse, HttpService } from '../../engine/io/http.ts';

const methods: readonly HttpMethod[] = ['GET', 'PUT', 'POST', 'DELETE'];
const paramBytesMax = 512 * 1024;

export type Answer = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>;

export interface Found {
  readonly answer: Answer;
  readonly params: HttpRequest['params'];
}

export class HttpRouter {
  readonly #service: HttpService;
  readonly #router = findMyWay({ maxParamLength: paramBytesMax });
  readonly #answers = new Map<unknown, Answer>();

  constructor(service: HttpService) {
    this.#service = service;
    for (const route of service.routes) {
      // The router finds a function, not a route: one of its own for each route leads back to the handler.
      const key = (): undefined => undefined;
      this.#answers.set(key, (request) => route.handle(request));
      this.#router.on(route.method, route.path, key);
    }
  }

  /** Who answers a request: a route's handler, or the service's own refusal. */
  find(method: string, path: string): Found {
    const routed = methods.find((known) => known === (method === 'HEAD' ? 'GET' : method));
    const found = routed === undefined ? null : this.#router.find(routed, escaped(path));
    const answer = found === null ? undefined : this.#answers.get(found.handler);
    if (found !== null && answer !== undefined) return { answer, params: paramsOf(found.params) };
    const allow = this.#allowed(path);
    if (allow.length === 0) return { answer: (request) => this.#service.notFound(request), params: {} };
    return { answer: (request) => this.#service.methodNotAllowed(request, allow), params: {} };
  }

  #allowed(path: string): readonly string[] {
    const found: string[] = methods.filter((method) => this.#router.find(method, escaped(path)) !== null);
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

/**
 * `GET /openapi.json`: describes the HTTP interface as an OpenAPI 3.1 document. The document is built from the table of
 * served routes, so it has exactly those routes. `api-descriptions.ts` has the texts.
 */
import type { HttpRoute } from '../../io/http.ts';
import type { BodyDescription, RouteDescription } from './api-descriptions.ts';
import { routeDescriptions } from './api-descriptions.ts';
import { jsonAnswer } from './problems.ts';
import { routeAccess } from './route-access.ts';

type Plain = Readonly<Record<string, unknown>>;

/** The path of the description. */
export const openApiPath = '/openapi.json';

/** The route that describes `routes` and itself; the document is built at the first request. */
export function openApiRoute(
  routes: readonly Pick<HttpRoute, 'method' | 'path'>[],
  version: string,
): HttpRoute {
  let document: Plain | undefined;
  const route: HttpRoute = {
    method: 'GET',
    path: openApiPath,
    handle: () => jsonAnswer(200, (document ??= openApiOf([...routes, route], version))),
  };
  return route;
}

const securitySchemes: Plain = {
  bearer: { type: 'http', scheme: 'bearer', description: 'The token of a credential.' },
  basic: { type: 'http', scheme: 'basic', description: 'A credential’s name, and its token for a password.' },
};

/** The OpenAPI document of these routes. */
export function openApiOf(routes: readonly Pick<HttpRoute, 'method' | 'path'>[], version: string): Plain {
  const paths = new Map<string, Record<string, unknown>>();
  for (const { method, path } of routes) {
    const name = path.replaceAll(/:([a-z]+)/g, '{$1}');
    const item = paths.get(name) ?? {};
    paths.set(name, { ...item, [method.toLowerCase()]: operationOf(method, path) });
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Lockstep',
      version,
      description:
        'Riak’s HTTP interface, and transactions, Wasm modules and the operator’s endpoints beside it.',
    },
    paths: Object.fromEntries(paths),
    components: { securitySchemes },
  };
}

function operationOf(method: string, path: string): Plain {
  const described = routeDescriptions.get(`${method} ${path}`) ?? { summary: '', responses: {} };
  const names = [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => name ?? '');
  const parameters = names.map((name) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const body = described.request;
  const access = routeAccess.get(`${method} ${path}`) ?? 'admin';
  return {
    summary: described.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body) } }),
    security: access === 'open' ? [] : [{ bearer: [] }, { basic: [] }],
    'x-lockstep-role': access,
    responses: { ...responsesOf(described), ...(access === 'open' ? {} : turnedAway) },
  };
}

const turnedAway: Plain = {
  '401': { description: 'the credentials are missing or wrong, where the node asks for them' },
  '403': { description: 'their role does not suffice' },
};

function responsesOf({ responses }: RouteDescription): Plain {
  const all = Object.entries(responses).map(([status, { description, body }]) => {
    return [status, { description, ...(body === undefined ? {} : { content: contentOf(body) }) }];
  });
  return Object.fromEntries(all) as Plain;
}

function contentOf({ type, schema, example }: BodyDescription): Plain {
  return {
    [type]: { ...(schema === undefined ? {} : { schema }), ...(example === undefined ? {} : { example }) },
  };
}

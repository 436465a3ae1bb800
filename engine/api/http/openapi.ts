/**
 * `GET /openapi.json`: the HTTP interface as an OpenAPI 3.1 document, made from the very table of routes that is served,
 * so no route is missing and none is told that is not there. What a route is for stands in api-descriptions.ts.
 */
import type { HttpRoute } from '../../io/http.ts';
import type { BodyDescription, RouteDescription } from './api-descriptions.ts';
import { routeDescriptions } from './api-descriptions.ts';
import { jsonAnswer } from './problems.ts';

type Plain = Readonly<Record<string, unknown>>;

/** The route that describes `routes`, and itself. */
export function openApiRoute(routes: readonly HttpRoute[], version: string): HttpRoute {
  let document: Plain | undefined;
  const route: HttpRoute = {
    method: 'GET',
    path: '/openapi.json',
    handle: () => jsonAnswer(200, (document ??= openApiOf([...routes, route], version))),
  };
  return route;
}

/** The document. */
export function openApiOf(routes: readonly HttpRoute[], version: string): Plain {
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
  };
}

function operationOf(method: string, path: string): Plain {
  const described = routeDescriptions.get(`${method} ${path}`) ?? { summary: '', responses: {} };
  const names = [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => name ?? '');
  const parameters = names.map((name) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } };
  });
  const body = described.request;
  return {
    summary: described.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body) } }),
    responses: responsesOf(described),
  };
}

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

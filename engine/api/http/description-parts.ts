/** What descriptions of routes are made of: types, schemas and frequent responses (`api-descriptions.ts`). */

/** A body: its media type, and its schema and an example if it is JSON. */
export interface BodyDescription {
  readonly type: string;
  readonly schema?: Readonly<Record<string, unknown>>;
  readonly example?: unknown;
}

/** What `GET /openapi.json` says of one route. */
export interface RouteDescription {
  readonly summary: string;
  readonly request?: BodyDescription;
  /** Responses by status. */
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly body?: BodyDescription }>
  >;
}

/** The media type of JSON. */
export const json = 'application/json';
/** Any media type. */
export const anything = '*/*';

/** Schema of a text. */
export const text = { type: 'string' } as const;
/** Schema of a whole number. */
export const whole = { type: 'integer' } as const;
/** Schema of a truth value. */
export const flag = { type: 'boolean' } as const;
/** Schema of any object. */
export const anyObject = { type: 'object' } as const;

/** Schema of an object; all properties are required unless `required` names them. */
export function objectOf(
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = Object.keys(properties),
): Readonly<Record<string, unknown>> {
  return { type: 'object', properties, required };
}

/** Schema of a list. */
export function listOf(items: unknown): Readonly<Record<string, unknown>> {
  return { type: 'array', items };
}

/** The answer to what was done. */
export const done = { description: 'done; no body' };
/** The answer to a request that cannot be served as it is. */
export const refused = {
  description: 'the request is malformed, or asks for what is impossible; the text says what is allowed',
};
/** The answer where there is nothing. */
export const absent = { description: 'there is no such thing, or the bucket type is unknown' };
/** The answer to what cannot be done now. */
export const conflict = { description: 'it cannot be done now; the text says why' };
/** The answer to what may be tried again. */
export const later = { description: 'too few replicas, or an overload: try again after Retry-After' };

/** The answers that most routes have. */
export const errors = { '400': refused, '503': later };

/** The answer 200 with an object. */
export function shown(description: string): RouteDescription['responses'] {
  return { '200': { description, body: { type: json, schema: anyObject, example: {} } } };
}

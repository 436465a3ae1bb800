/**
 * The fields of the binary protocol's requests: which there are, by the engine's own schema, and which a message has.
 * A field of a message within a message has a path: `content.links.tag`. Bucket properties are apart, since two
 * requests have them.
 */
import protobuf from 'protobufjs';

import { messages } from '../../../engine/api/pbc/schema.ts';
import { itself } from './entry.ts';

/** Messages within others that have an entry of their own. */
const apart: readonly string[] = ['RpbBucketProps'];

/** A request's name in the protocol, and its message. */
interface RequestKind {
  readonly name: string;
  readonly codec: protobuf.Type | undefined;
}

const requests: readonly (RequestKind & { readonly code: number })[] = Object.entries(messages).flatMap(
  ([key, { code, name, codec }]) => (key.endsWith('Req') ? [{ code, name, codec }] : []),
);
const byCode: ReadonlyMap<number, RequestKind> = new Map(requests.map((one) => [one.code, one]));

/** Called with the request or the part that has the field, and the field. */
export type FoundField = (request: string, field: string) => void;

/** Every field of every request. */
export function acceptedInMessages(): readonly (readonly [request: string, field: string])[] {
  const accepted: (readonly [string, string])[] = [];
  const add = (request: string, codec: protobuf.Type | undefined, prefix: string): void => {
    for (const { name, resolvedType } of codec?.fieldsArray ?? []) {
      accepted.push([request, `${prefix}${name}`]);
      if (!(resolvedType instanceof protobuf.Type)) continue;
      if (apart.includes(resolvedType.name)) continue;
      add(request, resolvedType, `${prefix}${name}.`);
    }
  };
  for (const { name, codec } of requests) {
    accepted.push([name, itself]);
    add(name, codec, '');
  }
  for (const name of apart) {
    const within = requests.flatMap(({ codec }) => codec?.fieldsArray ?? []);
    const found = within.find(({ resolvedType }) => resolvedType?.name === name)?.resolvedType;
    if (found instanceof protobuf.Type) add(name, found, '');
  }
  return accepted;
}

/** Calls `found` for each field of a frame's body. Throws if the body is malformed. */
export function fieldsInFrame(code: number, body: Uint8Array, found: FoundField): void {
  const kind = byCode.get(code);
  if (kind === undefined) return;
  found(kind.name, itself);
  if (kind.codec !== undefined) walk(kind.name, kind.codec, body, '', found);
}

function walk(
  request: string,
  codec: protobuf.Type,
  body: Uint8Array,
  prefix: string,
  found: FoundField,
): void {
  const reader = protobuf.Reader.create(body);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const field = codec.fieldsById[tag >>> 3];
    if (field === undefined) {
      reader.skipType(tag & 7);
      continue;
    }
    found(request, `${prefix}${field.name}`);
    if (field.resolvedType instanceof protobuf.Type) {
      const inner = field.resolvedType;
      const isApart = apart.includes(inner.name);
      walk(
        isApart ? inner.name : request,
        inner,
        reader.bytes(),
        isApart ? '' : `${prefix}${field.name}.`,
        found,
      );
    } else reader.skipType(tag & 7);
  }
}

/**
 * Declares messages of the binary protocol. One table of fields, by the names and numbers of Riak's protocol, gives
 * both the type of a message's value and its codec. An absent optional field is undefined, never a type's default.
 */
import protobuf from 'protobufjs';

/** The types of Protocol Buffers in use, and their values here. */
export interface Scalars {
  readonly bytes: Uint8Array;
  readonly bool: boolean;
  readonly uint32: number;
  readonly int64: number;
  readonly double: number;
}

/** Whether a message must have a field, may have it, or has a list of it. */
export type Rule = 'required' | 'optional' | 'repeated';

/** One field. */
export interface Field<R extends Rule, Value> {
  readonly rule: R;
  readonly type: string;
  readonly id: number;
  /** Never set: it carries the type of the field's value. */
  readonly value?: Value;
}

/** A message's fields by name. */
export type Fields = Readonly<Record<string, Field<Rule, unknown>>>;

/** A message: its table of fields, and the codec that follows from it. */
export interface Message<Table extends Fields> {
  readonly fields: Table;
  readonly codec: protobuf.Type;
}

/** The value of a declared message. */
export type MessageOf<M> = M extends Message<infer Table> ? Plain<ValueOf<Table>> : never;

type NamesOf<Table, R extends Rule> = {
  [Name in keyof Table]: Table[Name] extends Field<R, unknown> ? Name : never;
}[keyof Table];

type ValueIn<F> = F extends Field<Rule, infer Value> ? Value : never;

type ValueOf<Table> = { readonly [Name in NamesOf<Table, 'required'>]: ValueIn<Table[Name]> } & {
  readonly [Name in NamesOf<Table, 'optional'>]?: ValueIn<Table[Name]> | undefined;
} & { readonly [Name in NamesOf<Table, 'repeated'>]?: readonly ValueIn<Table[Name]>[] };

/** One object type instead of an intersection. */
type Plain<T> = { [Name in keyof T]: T[Name] };

/** All messages: a field finds the message that it holds by its name. */
const root = new protobuf.Root();

/** Declares a message under its name in the protocol. */
export function message<const Table extends Fields>(name: string, fields: Table): Message<Table> {
  const codec = new protobuf.Type(name);
  for (const [field, { id, type, rule }] of Object.entries(fields)) {
    codec.add(new protobuf.Field(field, id, type, rule));
  }
  root.add(codec);
  root.resolveAll();
  forgetDefaults(codec);
  return { fields, codec };
}

/** Declares a field that every message has. */
export const required = fieldsOf('required');
/** Declares a field that may be absent. */
export const optional = fieldsOf('optional');
/** Declares a list. */
export const repeated = fieldsOf('repeated');

/** Makes fields of a rule from their numbers. */
function fieldsOf<R extends Rule>(rule: R) {
  const scalar =
    <Type extends keyof Scalars>(type: Type) =>
    (id: number): Field<R, Scalars[Type]> => ({ rule, type, id });
  return {
    bytes: scalar('bytes'),
    bool: scalar('bool'),
    uint32: scalar('uint32'),
    int64: scalar('int64'),
    double: scalar('double'),
    message: <M extends Message<Fields>>({ codec }: M, id: number): Field<R, MessageOf<M>> => {
      return { rule, type: codec.name, id };
    },
  };
}

/**
 * protobufjs returns the type's default for an absent field, from the prototype. Absent must stay absent: an `r` of 0
 * and no `r` are different requests.
 */
function forgetDefaults({ ctor, fieldsArray }: protobuf.Type): void {
  const prototype = ctor.prototype as object;
  for (const { name, repeated: isList } of fieldsArray) {
    if (!isList) Reflect.set(prototype, name, undefined);
  }
}

/**
 * Encodes and decodes bodies by reflection: a schema type applied to bytes, and checked access to the decoded fields.
 * protobufjs gives absent optional fields their default from the prototype, so presence is checked on the message
 * itself. It reports a missing required field by name, and every other malformation by a `RangeError` or `Error`; all
 * become `FrameError`s here.
 */
import type { Type } from 'protobufjs';
import type { ByteString, Token } from '../../base/ids.ts';
import { parseToken } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { unpackKey } from '../../base/object-key.ts';
import { FrameError } from './frames.ts';

const noBytes = Buffer.alloc(0);

/** A decoded body. Getters throw `FrameError` if the field is absent (without a fallback) or has another type. */
export class Fields {
  readonly #name: string;
  readonly #message: object;

  constructor(name: string, message: object) {
    this.#name = name;
    this.#message = message;
  }

  /** True if the field is present. */
  has(field: string): boolean {
    return Object.hasOwn(this.#message, field);
  }

  /** A view of the body (see frames.ts). */
  bytes(field: string): Uint8Array {
    const value = this.#own(field);
    return value instanceof Uint8Array ? value : this.#wrong(field);
  }

  /** The same, or no bytes if the field is absent. */
  bytesOrNone(field: string): Uint8Array {
    return this.has(field) ? this.bytes(field) : noBytes;
  }

  /** A string. */
  text(field: string): string {
    const value = this.#own(field);
    return typeof value === 'string' ? value : this.#wrong(field);
  }

  /** A number. */
  number(field: string): number {
    const value = this.#own(field);
    return typeof value === 'number' ? value : this.#wrong(field);
  }

  /** False if the field is absent. */
  flag(field: string): boolean {
    return this.has(field) && this.#own(field) === true;
  }

  /** A token, 0 to 2^32 - 1. */
  token(field: string): Token {
    return parseToken(this.number(field)) ?? this.#wrong(field);
  }

  /** Tokens; none if the field is absent. */
  tokens(field: string): readonly Token[] {
    if (!this.has(field)) return [];
    const values = this.#own(field);
    if (!Array.isArray(values)) return this.#wrong(field);
    return values.map((value: unknown) => {
      return (typeof value === 'number' ? parseToken(value) : undefined) ?? this.#wrong(field);
    });
  }

  /** A packed key. */
  key(field: string): PackedKey {
    return packedKey(latin1(this.bytes(field)));
  }

  #own(field: string): unknown {
    return this.has(field) ? Reflect.get(this.#message, field) : this.#wrong(field);
  }

  #wrong(field: string): never {
    throw new FrameError('type', `${this.#name}.${field} is missing or malformed`);
  }
}

/** Encodes a body. `fields`: by the schema's names in camel case. */
export function encodeBody(type: Type, fields: Record<string, unknown>): Uint8Array {
  return type.encode(fields).finish();
}

/** Decodes a body. Throws `FrameError` if the bytes are no message of this type. */
export function decodeBody(type: Type, body: Buffer): Fields {
  try {
    return new Fields(type.name, type.decode(body));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new FrameError('type', `a malformed ${type.name}: ${why}`, { cause: error });
  }
}

/** `value` as a packed key. Throws `FrameError` if it is none. */
export function packedKey(value: ByteString): PackedKey {
  const key = value as PackedKey;
  if (unpackKey(key) === undefined) throw new FrameError('type', 'a key is not in its packed form');
  return key;
}

function latin1(bytes: Uint8Array): ByteString {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1') as ByteString;
}

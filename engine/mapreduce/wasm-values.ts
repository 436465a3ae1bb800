/**
 * Converts values for Wasm phases: CBOR arrays (RFC 8949). A module's output is not trusted: it must be an array of
 * JSON values, nested no deeper than a request may be. Byte strings become text.
 *
 * If a phase has an argument, the array's first element is `{"arg": ...}`.
 */
import { decode, encode } from 'cborg';
import { LockstepError } from '../base/errors.ts';
import { jsonDepthMax } from '../base/json-text.ts';
import type { Json } from './job.ts';
import type { PhaseModule } from '../wasm/phase-modules.ts';
import { FunctionError } from './phase-error.ts';

/** Applies a module to some values. Rejects with `FunctionError`, or with the module's own errors. */
export async function applyModule(
  module: PhaseModule,
  values: readonly unknown[],
  arg: Json | undefined,
): Promise<readonly Json[]> {
  const input = encode(arg === undefined ? values : [{ arg }, ...values]);
  return valuesOf(await module.apply(input));
}

/** A module's output as values. Throws `FunctionError`. */
export function valuesOf(output: Uint8Array): readonly Json[] {
  const value = decoded(output);
  if (!Array.isArray(value)) throw new FunctionError("the module's output is no CBOR array");
  return value.map((element) => jsonFrom(element, 1));
}

function decoded(output: Uint8Array): unknown {
  try {
    return decode(output, { strict: false, allowBigInt: false, allowNaN: false, allowInfinity: false });
  } catch (error) {
    if (error instanceof RangeError && !(error instanceof LockstepError))
      throw new FunctionError(`the module's output nests too deeply`);
    const why = error instanceof Error ? error.message : String(error);
    throw new FunctionError(`the module's output is no CBOR: ${why}`);
  }
}

function jsonFrom(value: unknown, depth: number): Json {
  if (depth > jsonDepthMax)
    throw new FunctionError(`the module's output nests deeper than ${jsonDepthMax} levels`);
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('utf8');
  if (Array.isArray(value)) return value.map((element) => jsonFrom(element, depth + 1));
  if (typeof value !== 'object') throw new FunctionError(`the module gave a ${typeof value}`);
  const fields = Object.entries(value).map(([name, field]) => [name, jsonFrom(field, depth + 1)] as const);
  return Object.fromEntries(fields);
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtinMaps } from './builtin-maps.ts';
import { builtinReduces } from './builtin-reduces.ts';
import type { Json } from './job.ts';
import { canonicalText, compareJson } from './json-order.ts';
import { decodeWork, decodeWorkDone, encodeWork, encodeWorkDone } from './peer-messages.ts';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import { jsonDepthMax } from '../base/json-text.ts';
import type { Actor } from '../replica/object/dots.ts';
import { emptyVector } from '../replica/object/dots.ts';
import type { Sibling } from '../replica/object/object.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import { valuesOf } from './wasm-values.ts';
import { FunctionError } from './phase-error.ts';
import { encode } from 'cborg';

const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false }) as fc.Arbitrary<Json>;
const numbers = fc.array(fc.integer({ min: -1000, max: 1000 }), { maxLength: 30 });

/** A function's results if its inputs arrive in batches of these sizes. */
function inBatches(
  name: string,
  values: readonly Json[],
  sizes: readonly number[],
  arg?: Json,
): readonly Json[] {
  const { reduce, merge } = builtinReduces.get(name) ?? { reduce: () => [], merge: undefined };
  let sofar: readonly Json[] | undefined;
  let at = 0;
  for (const size of [...sizes, values.length]) {
    const results = reduce(values.slice(at, at + size), arg);
    sofar = sofar === undefined || merge === undefined ? results : merge([...sofar, ...results], arg);
    at += size;
  }
  return sofar ?? [];
}

describe('built-in reduce functions', () => {
  test('give the same results however their inputs are cut into batches', () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 10 }), { maxLength: 5 });
    fc.assert(
      fc.property(numbers, sizes, (values, cuts) => {
        for (const [name, { reduce, merge, argRule }] of builtinReduces) {
          if (merge === undefined) continue;
          const arg = argRule?.(3) === undefined ? 3 : undefined;
          expect([name, inBatches(name, values, cuts, arg)]).toEqual([name, reduce(values, arg)]);
        }
      }),
    );
  });

  test('refuse a number beyond a double', () => {
    const run = (name: string, values: Json[]): unknown =>
      builtinReduces.get(name)?.reduce(values, undefined);
    const most = Number.MAX_VALUE;
    expect(run('reduce_sum', [most, -most, most])).toEqual([most]);
    for (const name of ['reduce_sum', 'Riak.reduceSum'])
      expect(() => run(name, [most, most])).toThrow(FunctionError);
    const digits = '9'.repeat(400);
    for (const text of [digits, `-${digits}`])
      expect(() => run('reduce_string_to_integer', ['1', text])).toThrow(FunctionError);
  });

  test('do what their names say', () => {
    const run = (name: string, values: Json[], arg?: Json): unknown =>
      builtinReduces.get(name)?.reduce(values, arg);
    const missing = { not_found: { bucket: 'b', key: 'k', keydata: null } };
    expect(run('Riak.reduceSum', [1, missing, 2])).toEqual([3]);
    expect(run('Riak.reduceSum', [])).toEqual([0]);
    expect(run('Riak.reduceMin', [3, 1, 2])).toEqual([1]);
    expect(run('Riak.reduceMax', ['a', 'c', 'b'])).toEqual(['c']);
    expect(run('Riak.reduceSort', [2, 'a', null, [1], 1, { a: 1 }, false])).toEqual([
      null,
      false,
      1,
      2,
      'a',
      [1],
      { a: 1 },
    ]);
    expect(run('Riak.reduceNumericSort', ['10', 9, '1'])).toEqual(['1', 9, '10']);
    expect(run('Riak.reduceLimit', [1, 2, 3], 2)).toEqual([1, 2]);
    expect(run('Riak.reduceSlice', [1, 2, 3, 4], [1, 3])).toEqual([2, 3]);
    expect(run('Riak.filterNotFound', [1, missing])).toEqual([1]);
    expect(run('reduce_set_union', [1, 'a', 1, { b: 1, a: 2 }, { a: 2, b: 1 }])).toEqual([
      1,
      'a',
      { b: 1, a: 2 },
    ]);
    expect(run('reduce_count_inputs', [5, 5, 5])).toEqual([3]);
    expect(run('reduce_string_to_integer', ['7', 8])).toEqual([7, 8]);
    expect(() => run('reduce_sum', ['a'])).toThrow('a sum is of numbers, not "a"');
  });

  test('order values totally, and give equal ones the same text', () => {
    fc.assert(
      fc.property(json, json, (left, right) => {
        expect(Math.sign(compareJson(left, right))).toBe(-Math.sign(compareJson(right, left)) + 0);
        expect(compareJson(left, left)).toBe(0);
        expect(compareJson(left, right) === 0).toBe(canonicalText(left) === canonicalText(right));
      }),
    );
  });
});

describe('the messages between coordinator and replica', () => {
  test('round-trip', () => {
    const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('ü'));
    fc.assert(
      fc.property(json, json, fc.boolean(), fc.nat(), (arg, keydata, last, count) => {
        const items = [
          { key, keydata, last, silent: !last },
          { key, keydata: undefined, last: false, silent: last },
        ];
        const tasks = [
          { kind: 'builtin', name: 'map_identity', arg },
          { kind: 'wasm', module: 'm', version: 'v', arg: undefined },
          { kind: 'link', bucket: byteStringOf('ü'), tag: undefined },
        ] as const;
        for (const task of tasks) {
          const work = { task, reduce: last ? { name: 'reduce_sum', arg } : undefined, leftUs: count, items };
          expect(JSON.stringify(decodeWork(encodeWork(work)))).toBe(JSON.stringify(work));
        }
        const failure = last ? undefined : ({ code: 'PhaseFailed', detail: 'ü' } as const);
        const done = { count, missing: [0, 3], results: [[arg], []], resultBytes: 9, failure };
        const again = decodeWorkDone(encodeWorkDone(done));
        expect(JSON.stringify({ ...again, resultBytes: 9 })).toBe(JSON.stringify(done));
      }),
    );
  });

  test('malformed bytes are refused with BadRequest', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        for (const decode of [decodeWork, decodeWorkDone]) {
          try {
            decode(bytes);
          } catch (error) {
            expect(error).toBeInstanceOf(LockstepError);
          }
        }
      }),
    );
  });
});

describe('a module’s output', () => {
  test('is accepted if it is an array of JSON values', () => {
    const values = [1, 'a', null, [true], { a: { b: 2.5 } }];
    expect(valuesOf(encode([...values, new Uint8Array([0x68, 0x69])]))).toEqual([...values, 'hi']);
  });

  test('is refused if it is anything else', () => {
    expect(() => valuesOf(encode({ a: 1 }))).toThrow('no CBOR array');
    expect(() => valuesOf(encode([NaN]))).toThrow(FunctionError);
    expect(() => valuesOf(encode([2n ** 60n]))).toThrow(FunctionError);
    expect(() => valuesOf(Buffer.alloc(100_000, 0x81))).toThrow(FunctionError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          JSON.stringify(valuesOf(bytes));
        } catch (error) {
          expect(error).toBeInstanceOf(FunctionError);
        }
      }),
    );
  });
});

describe('values that nest', () => {
  function mapped(name: string, text: string): readonly Json[] | undefined {
    const none = byteStringOf('');
    const input = {
      type: defaultType,
      bucket: byteStringOf('b'),
      key: byteStringOf('k'),
      keydata: undefined,
    };
    const sibling: Sibling = {
      value: Buffer.from(text),
      contentType: none,
      charset: none,
      contentEncoding: none,
      meta: [],
      links: [],
      tombstone: false,
      dot: { actor: 'a' as string as Actor, counter: 1 },
      lastModifiedMs: 0,
      basis: 0,
    };
    const found = { input, siblings: [sibling], context: emptyVector };
    return builtinMaps.get(name)?.apply(found, undefined);
  }
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

  test('fail the phase if they nest deeper than a request may, with no other error', () => {
    for (const depth of [jsonDepthMax + 1, 10_000, 1_000_000]) {
      for (const name of ['Riak.mapValuesJson', 'map_object_value_list']) {
        const run = (): unknown => mapped(name, nested(depth));
        expect(run).toThrow(FunctionError);
        expect(run).toThrow('JSON nests deeper than 64 levels');
      }
      expect(mapped('map_object_value', nested(depth))).toEqual([nested(depth)]);
    }
  });

  test('round-trip between peers at the maximal depth', () => {
    const results = [mapped('Riak.mapValuesJson', nested(jsonDepthMax)) ?? []];
    const done = { count: 1, missing: [], results, resultBytes: 200, failure: undefined };
    expect(decodeWorkDone(encodeWorkDone(done)).results).toEqual(results);
  });
});

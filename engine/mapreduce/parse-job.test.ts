import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import { builtinMaps } from './builtin-maps.ts';
import { builtinReduces } from './builtin-reduces.ts';
import type { Job, Json } from './job.ts';
import { defaultJobLimits } from './job.ts';
import { compileKeyFilters } from './key-filters.ts';
import { parseJob } from './parse-job.ts';

const limits = { ...defaultJobLimits, inputCountMax: 5, phaseCountMax: 4, filterCountMax: 20 };

function parse(body: unknown): Job {
  return parseJob(Buffer.from(JSON.stringify(body)), limits);
}

/** The refusal's text, its lines joined. */
function refusalOf(body: unknown): string {
  try {
    parse(body);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    expect(error.code).toBe('BadRequest');
    return error.message.trim().replaceAll('\n', ' | ');
  }
  throw new Error('the job was taken');
}

const name = byteStringOf;
const value = { map: { name: 'Riak.mapValues' } };

describe('the body of a job', () => {
  test('reads an escape unknown to JSON as the character, and others as JSON does', () => {
    const text = String.raw`{"inputs":[["b","\\w\w\u00e9\"\é"]],"query":[{"map":{"name":"Riak.mapValues"}}]}`;
    expect(parseJob(Buffer.from(text), limits).inputs).toMatchObject({
      items: [{ key: name('\\ww\u00e9"é') }],
    });
    expect(() => parseJob(Buffer.from('{"inputs":"\\w"'), limits)).toThrow(
      'The POST body was not valid JSON.',
    );
  });

  test('names inputs in all of Riak’s forms', () => {
    const inputs = (given: unknown): Job['inputs'] => parse({ inputs: given, query: [] }).inputs;
    const bucket = { kind: 'bucket', type: defaultType, bucket: name('b'), filter: undefined };
    expect(inputs('b')).toEqual(bucket);
    expect(inputs(['t', 'b'])).toEqual({ ...bucket, type: name('t') });
    expect(inputs({ bucket: 'b' })).toEqual(bucket);
    expect(inputs({ bucket: ['t', 'b'], key_filters: [['eq', 'k']] })).toMatchObject({ type: 't' });
    const one = { type: defaultType, bucket: name('b'), key: name('k'), keydata: undefined };
    const items = [
      ['b', 'k'],
      ['b', 'k', { x: 1 }],
      ['b', 'k', null, 't'],
      { bucket: 'b', key: 'k', data: 7 },
      [['t', 'b'], 'ü'],
    ];
    expect(inputs(items)).toEqual({
      kind: 'list',
      items: [
        one,
        { ...one, keydata: { x: 1 } },
        { ...one, keydata: null, type: name('t') },
        { ...one, keydata: 7 },
        { ...one, type: name('t'), key: name('ü') },
      ],
    });
  });

  test('the last phase’s results are kept by default, those of others only on request', () => {
    const keptOf = (...keeps: (boolean | undefined)[]): unknown => {
      const query = keeps.map((keep) => ({
        map: { name: 'map_identity', ...(keep === undefined ? {} : { keep }) },
      }));
      return parse({ inputs: 'b', query }).phases.map((phase) => phase.keep);
    };
    expect(keptOf(undefined)).toEqual([true]);
    expect(keptOf(false)).toEqual([false]);
    expect(keptOf(undefined, undefined)).toEqual([false, true]);
    expect(keptOf(true, false)).toEqual([true, false]);
    expect(keptOf(false, false)).toEqual([false, false]);
  });

  test('names phases in both spellings', () => {
    const query = [
      { map: { language: 'javascript', name: 'Riak.mapValuesJson', keep: true } },
      { map: { fn_name: 'map_identity', arg: null } },
      { link: { bucket: '_', tag: 't' } },
      { wasmmodule: { module_id: 'm', fn_name: 'f', arg: 1 } },
    ];
    expect(parse({ inputs: 'b', query, timeout: 5 })).toMatchObject({
      timeoutMs: 5,
      phases: [
        { kind: 'map', run: { kind: 'builtin', name: 'Riak.mapValuesJson' }, keep: true },
        { kind: 'map', run: { kind: 'builtin', name: 'map_identity' }, arg: null, keep: false },
        { kind: 'link', bucket: undefined, tag: 't', keep: false },
        { kind: 'map', run: { kind: 'wasm', module: 'm' }, arg: 1, keep: true },
      ],
    });
    const more = [
      { wasm_module: { id: 'm', kind: 'reduce' } },
      { reduce: { language: 'wasm', module: 'm', arg: [1] } },
      { reduce: { language: 'erlang', module: 'riak_kv_mapreduce', function: 'reduce_sort' } },
    ];
    expect(parse({ inputs: 'b', query: more }).phases).toMatchObject([
      { kind: 'reduce', run: { kind: 'wasm', module: 'm' } },
      { kind: 'reduce', run: { kind: 'wasm', module: 'm' }, arg: [1] },
      { kind: 'reduce', run: { kind: 'builtin', name: 'reduce_sort' } },
    ]);
  });

  test('is refused with the place and the rule', () => {
    const inputs = (given: unknown): string => refusalOf({ inputs: given, query: [] });
    const query = (...phases: unknown[]): string => refusalOf({ inputs: 'b', query: phases });
    const inField = (field: string): string => `An error occurred parsing the "${field}" field. | `;
    expect(refusalOf([])).toBe('The post body was not a JSON object.');
    expect(refusalOf({ inputs: 'b' })).toContain('missing the "inputs" or "query" field');
    expect(inputs([])).toBe(`${inField('inputs')}inputs: No inputs were given.`);
    expect(inputs([['b', '']])).toContain('inputs[0]: the key must be a text that is not empty, not ""');
    expect(inputs(Array(6).fill(['b', 'k']))).toContain('6 inputs; at most 5 are allowed');
    expect(inputs({ bucket: 'b', index: 'x' })).toContain('there are no secondary indexes');
    expect(inputs({ module: 'm', function: 'f' })).toContain('no input function');
    expect(query(value, { link: { tug: 't' } })).toBe(
      `${inField('query')}phase 1: the field "tug" is not known; the fields are bucket, tag, keep`,
    );
    expect(query({ map: { name: 'nope' } })).toContain(
      'phase 0: "nope" is no built-in map function; there are Riak.',
    );
    expect(query({ map: { language: 'javascript', source: 'x' } })).toContain('register a Wasm module');
    expect(query({ map: { language: 'erlang', bucket: 'b', key: 'k' } })).toContain('kept in an object');
    expect(query({ map: { language: 'python', name: 'x' } })).toContain('"python" is not run here');
    expect(query({ map: {}, reduce: {} })).toContain('phase 0: must have one field');
    expect(query({ walk: {} })).toContain('"walk" is not a kind of phase');
    expect(query(value, value, value, value, value)).toContain('5 phases; at most 4 are allowed');
    expect(query({ reduce: { name: 'Riak.reduceLimit', arg: -1 } })).toContain('how many values to keep');
    expect(query({ map: { name: 'Riak.mapValues', keep: 1 } })).toContain('keep must be true or false');
    expect(refusalOf({ inputs: 'b', query: [], timeout: 0 })).toContain('must be 1 to 3600000 ms, not 0');
    expect(() => parseJob(Buffer.from('{"inputs":'), limits)).toThrow('The POST body was not valid JSON.');
    expect(() => parseJob(Buffer.from([0xff]), limits)).toThrow('The POST body was not valid JSON.');
    expect(() => parseJob(Buffer.from('['.repeat(100_000)), limits)).toThrow('nests deeper than 64');
  });

  test('any JSON and any bytes give a job or BadRequest', () => {
    const word = fc.constantFrom<string>(
      'inputs',
      'query',
      'timeout',
      'map',
      'reduce',
      'link',
      'wasm_module',
      'wasmmodule',
      'name',
      'fn_name',
      'arg',
      'keep',
      'language',
      'javascript',
      'erlang',
      'wasm',
      'module',
      'function',
      'source',
      'bucket',
      'key',
      'tag',
      'id',
      'key_filters',
      'and',
      'or',
      'not',
      'tokenize',
      'matches',
      'between',
      '_',
      'riak_kv_mapreduce',
      ...builtinMaps.keys(),
      ...builtinReduces.keys(),
    );
    const { json } = fc.letrec<{ json: Json }>((tie) => ({
      json: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null), fc.string({ maxLength: 4 })),
        fc.array(tie('json'), { maxLength: 4 }),
        fc.dictionary(word, tie('json'), { maxKeys: 4 }),
      ),
    }));
    const near = fc
      .record({ inputs: json, query: fc.array(fc.dictionary(word, json, { maxKeys: 1 }), { maxLength: 3 }) })
      .map((body) => Buffer.from(JSON.stringify(body)));
    const bodies = fc.oneof(
      near,
      json.map((body) => Buffer.from(JSON.stringify(body))),
      fc.uint8Array(),
    );
    fc.assert(
      fc.property(bodies, (body) => {
        try {
          const job = parseJob(body, limits);
          expect(job.phases.every(({ keep }) => typeof keep === 'boolean')).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(LockstepError);
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('key filters', () => {
  const passes = (filters: Json, key: string): boolean => compileKeyFilters(filters, 100)(key);

  test.each<[Json, string[], string[]]>([
    [[['eq', 'a']], ['a'], ['b', '']],
    [[['neq', 'a']], ['b'], ['a']],
    [[['to_upper'], ['eq', 'AB']], ['ab', 'aB'], ['b']],
    [
      [
        ['tokenize', '-_', 2],
        ['eq', 'x'],
      ],
      ['a-x', 'a_x', '--a-_x'],
      ['x', 'a'],
    ],
    [
      [
        ['tokenize', '\u{1f600}', 2],
        ['eq', 'x'],
      ],
      ['a\u{1f600}x', 'a\u{1f600}x\u{1f600}b'],
      ['x', 'a\u{1f601}x'],
    ],
    [
      [['string_to_int'], ['greater_than', 9]],
      ['10', '+11'],
      ['9', 'x', '1.5'],
    ],
    [
      [['string_to_float'], ['less_than_eq', 1.5]],
      ['1.5', '0.25'],
      ['2.5', '1', 'x'],
    ],
    [[['string_to_int'], ['int_to_string'], ['eq', '7']], ['7', '007'], ['8']],
    [
      [['string_to_int'], ['int_to_string'], ['eq', '1234567890123456789']],
      ['1234567890123456789', '+1234567890123456789'],
      ['1234567890123456788', '1234567890123456800'],
    ],
    [
      [['string_to_int'], ['greater_than', Number.MAX_SAFE_INTEGER]],
      ['9007199254740992', '9007199254740993'],
      ['9007199254740991', '-9007199254740993', 'x'],
    ],
    [
      [['string_to_int'], ['between', 2 ** 60, 2 ** 61]],
      ['1152921504606846976', '2305843009213693952'],
      ['1152921504606846975', '2305843009213693953'],
    ],
    [[['string_to_float'], ['less_than', 1e18]], ['1.5'], ['1.0e18']],
    [[['string_to_int'], ['less_than', 'a']], ['9007199254740993'], ['x']],
    [[['string_to_int'], ['set_member', 1, 'x']], ['1', '01'], ['9007199254740993']],
    [[['between', 'b', 'd']], ['b', 'c', 'd'], ['a', 'e']],
    [[['between', 'b', 'd', false]], ['c'], ['b', 'd']],
    [[['matches', '^a+b?$']], ['a', 'aab'], ['b', 'abb']],
    [[['set_member', 'a', 'b']], ['a', 'b'], ['c']],
    [[['similar_to', 'kitten', 3]], ['sitting', 'kitten'], ['knitwear']],
    [[['starts_with', 'ab']], ['abc'], ['b']],
    [[['ends_with', 'bc']], ['abc'], ['b']],
    [[['urldecode'], ['eq', 'a b']], ['a%20b', 'a+b'], ['%zz']],
    [[['and', [['starts_with', 'a']], [['ends_with', 'z']]]], ['az', 'a-z'], ['a', 'z']],
    [[['or', [['eq', 'a']], [['eq', 'b']]]], ['a', 'b'], ['c']],
    [[['not', [['eq', 'a']]]], ['b'], ['a']],
  ])('%j', (filters, wanted, unwanted) => {
    expect(wanted.filter((key) => !passes(filters, key))).toEqual([]);
    expect(unwanted.filter((key) => passes(filters, key))).toEqual([]);
  });

  test('are refused with their place', () => {
    const refusal = (filters: Json): string => {
      try {
        compileKeyFilters(filters, 3);
      } catch (error) {
        return error instanceof Error ? error.message : '';
      }
      return 'taken';
    };
    expect(refusal('eq')).toContain('key_filters: must be a list of filters');
    expect(refusal([['nope']])).toContain('key_filters[0]: "nope" is not a filter; there are int_to_string');
    expect(
      refusal([
        ['eq', 'a'],
        ['tokenize', '', 1],
      ]),
    ).toContain('key_filters[1]: tokenize takes');
    expect(refusal([['string_to_int'], ['eq', 2 ** 53 + 2]])).toContain(
      'key_filters[1]: a whole number beyond 2^53 is not exact in JSON, such as 9007199254740994',
    );
    expect(refusal([['neq', 1e18]])).toContain('not exact in JSON');
    expect(refusal([['set_member', 1, 1e18]])).toContain('not exact in JSON');
    expect(refusal([['less_than', 1e300]])).toBe('taken');
    expect(refusal([['matches', '(?=a)']])).toContain("the pattern is none of RE2's");
    expect(refusal(Array(4).fill(['to_upper']))).toContain('at most 3 filters');
    let deep: Json = [['eq', 'a']];
    for (let level = 0; level < 20; level++) deep = [['not', deep]];
    expect(() => compileKeyFilters(deep, 100)).toThrow('at most 16 levels');
  });

  test('a distance that every text keeps is not computed', () => {
    const near: Json = [['similar_to', 'a'.repeat(1024), 1e6]];
    const startMs = performance.now();
    for (let count = 0; count < 1000; count++) expect(passes(near, 'b'.repeat(30_000))).toBe(true);
    expect(performance.now() - startMs).toBeLessThan(10_000);
  });

  test('a pattern that backtracks in other engines matches in linear time', () => {
    expect(passes([['matches', '^(a+)+$']], `${'a'.repeat(30_000)}b`)).toBe(false);
  });
});

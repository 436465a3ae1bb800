/** The examples do what their README says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decode, encode } from 'cborg';
import { expect, test } from 'vitest';

import { byteStringOf } from '../base/ids.ts';
import { CallError, Caller } from './instance.ts';
import { wasmLimitDefaults } from './module-limits.ts';
import { routeInput } from './modules.ts';
import { prepareModule } from './prepare.ts';
import type { Role } from './roles.ts';
import { wasmOf } from './wat.fixture.ts';

function example(file: string, role: Role): Caller {
  const bytes = readFileSync(join(import.meta.dirname, 'examples', file));
  const binary = file.endsWith('.wat') ? wasmOf(bytes.toString('utf8')) : bytes;
  const { bytes: rewritten, resettable } = prepareModule(binary, wasmLimitDefaults);
  const module = new WebAssembly.Module(Buffer.from(rewritten));
  return new Caller(module, role, resettable, wasmLimitDefaults.fuelMax);
}

test('user-keyfun keeps a user’s keys together, whatever their length', () => {
  const caller = example('user-keyfun.wat', 'keyfun');
  const route = (bucket: string, key: string): string =>
    Buffer.from(caller.call(routeInput(byteStringOf(bucket), byteStringOf(key)))).toString('latin1');
  expect(route('profiles', 'anna:profile')).toBe('anna');
  expect(route('orders', 'anna:orders:7')).toBe('anna');
  expect(route('orders', 'nobody')).toBe('nobody');
  expect(route('o', ':x')).toBe('');
  const long = 'x'.repeat(32_768);
  expect(route('b'.repeat(4096), long)).toBe(long);
});

test('word-count counts words of objects, and sums its own counts', () => {
  const caller = example('word-count.wasm', 'phase');
  const apply = (values: readonly unknown[]): unknown => decode(caller.call(encode(values)));
  const object = (value: string): object => ({
    type: 'default',
    bucket: 'b',
    key: 'k',
    data: null,
    value,
    size: 7,
  });
  const [first] = apply([object('The cat, the hat; THE end.')]) as readonly object[];
  expect(first).toEqual({ the: 3, cat: 1, hat: 1, end: 1 });
  const [second] = apply([object('a cat')]) as readonly object[];
  expect(apply([first, second, { cat: 300 }])).toEqual([{ the: 3, cat: 302, hat: 1, end: 1, a: 1 }]);
  expect(apply([])).toEqual([{}]);
  expect(apply([['x'], 'y', { not_found: {} }, object('')])).toEqual([{}]);
  const many = Array.from({ length: 10_000 }, (_, index) => `w${index % 3000}`).join(' ');
  const [counts] = apply([object(many)]) as readonly Record<string, number>[];
  expect(Object.keys(counts ?? {})).toHaveLength(3000);
  expect(counts?.['w7']).toBe(4);
});

test('endless runs out of fuel in both roles', () => {
  for (const role of ['keyfun', 'phase'] as const) {
    expect(() => example('endless.wat', role).call(Buffer.alloc(4))).toThrow(CallError);
    expect(() => example('endless.wat', role).call(Buffer.alloc(4))).toThrow(
      'more than 60000000 units of fuel',
    );
  }
});

/** The modules of scenarios equal their texts, and do what the load expects of them. */
import { decode, encode } from 'cborg';
import { expect, test } from 'vitest';
import wabt from 'wabt';

import { byteStringOf } from '../../engine/base/ids.ts';
import { CallError, Caller } from '../../engine/wasm/instance.ts';
import { wasmLimitDefaults } from '../../engine/wasm/module-limits.ts';
import { routeInput } from '../../engine/wasm/modules.ts';
import { prepareModule } from '../../engine/wasm/prepare.ts';
import type { Role } from '../../engine/wasm/roles.ts';
import { marksBytes, routeBytesOf, routesFile, waywardFile, workFiles } from './work-modules.ts';
import { marksText, routesText, versionCount, waywardText } from './work-texts.ts';

const toolkit = await wabt();

function wasmOf(text: string): string {
  const parsed = toolkit.parseWat('module.wat', text);
  const { buffer } = parsed.toBinary({});
  parsed.destroy();
  return Buffer.from(buffer).toString('base64');
}

function callerOf(bytes: Uint8Array, role: Role): Caller {
  const { bytes: rewritten, resettable } = prepareModule(bytes, wasmLimitDefaults);
  return new Caller(new WebAssembly.Module(Buffer.from(rewritten)), role, resettable, 100_000);
}

const routes = workFiles.get(routesFile) ?? Buffer.alloc(0);
const wayward = workFiles.get(waywardFile) ?? Buffer.alloc(0);

test('the bytes are compiled from the texts', () => {
  expect(Buffer.from(routes).toString('base64')).toBe(wasmOf(routesText));
  expect(Buffer.from(wayward).toString('base64')).toBe(wasmOf(waywardText));
  for (let version = 1; version <= versionCount; version++) {
    expect(Buffer.from(marksBytes(version)).toString('base64')).toBe(wasmOf(marksText(version)));
  }
});

test('routes derives routes from keys, fails as the key demands, and keeps no state between calls', () => {
  const caller = callerOf(routes, 'keyfun');
  const route = (key: string): string => {
    try {
      return Buffer.from(caller.call(routeInput(byteStringOf('newest'), byteStringOf(key)))).toString();
    } catch (error) {
      if (error instanceof CallError) return error.failure;
      throw error;
    }
  };
  for (let time = 0; time < 2; time++) {
    for (const key of ['k', 'k7', 'k71', 'k712'])
      expect(route(key)).toBe(Buffer.from(routeBytesOf(Buffer.from(key))).toString());
    expect(['t1', 'l1', 'g1', 'p1', 'r1'].map(route)).toEqual([
      'trap',
      'fuel',
      'memory',
      'result',
      'refused',
    ]);
  }
});

test('wayward fails as its argument demands, for every input', () => {
  const caller = callerOf(wayward, 'phase');
  const apply = (values: readonly unknown[]): unknown => {
    try {
      return decode(caller.call(encode(values)));
    } catch (error) {
      if (error instanceof CallError) return error.failure;
      throw error;
    }
  };
  for (const rest of [[], [{ bucket: 'b' }], Array.from({ length: 40 }, () => 'a')]) {
    expect(apply(rest)).toEqual([]);
    const letters = ['t', 'l', 'g', 'p', 'r'].map((arg) => apply([{ arg }, ...rest]));
    expect(letters).toEqual(['trap', 'fuel', 'memory', 'result', 'refused']);
  }
});

test('marks returns its version for every value', () => {
  for (const count of [0, 1, 23, 24, 200]) {
    const input = encode(Array.from({ length: count }, (_, index) => index));
    expect(decode(callerOf(marksBytes(2), 'phase').call(input))).toEqual(
      Array.from({ length: count }, () => 2),
    );
  }
});

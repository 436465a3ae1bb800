/** The Wasm tools on a machine: the operator's files, and a compiler that can be terminated. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { asLockstepError } from '../base/errors.ts';
import { createRealWasmTools } from './wasm-tools.ts';

let directory = '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'wasm-tools-'));
  await writeFile(join(directory, 'a.wat'), '(module)');
});

afterAll(() => rm(directory, { recursive: true }));

async function failure(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'none';
  } catch (error) {
    const { code, message } = asLockstepError(error);
    return `${code}: ${message}`;
  }
}

test('files are read up to their limit, relative to the configuration’s directory', async () => {
  const tools = createRealWasmTools(directory);
  expect(Buffer.from(await tools.readFile('a.wat', 100)).toString()).toBe('(module)');
  expect(await failure(tools.readFile('a.wat', 3))).toBe(
    'TooLarge: the file has 8 bytes; allowed: at most 3',
  );
  expect(await failure(tools.readFile('none.wat', 3))).toBe('NotFound: there is no such file');
  expect(await failure(tools.readFile('.', 10_000))).toContain('StorageFailed: it cannot be read');
});

test('a text is compiled in a separate thread; one that never returns is terminated, and the next is compiled', async () => {
  const tools = createRealWasmTools(directory);
  const compiled = await tools.compileText(
    '(module (func (export "f") (result i32) (i32.const 7)))',
    600_000_000,
  );
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(compiled)));
  expect((exports['f'] as () => number)()).toBe(7);
  expect(await failure(tools.compileText('(module (func (result i32)))', 600_000_000))).toContain(
    'BadRequest: the text does not compile: ',
  );
  // Above the nesting that engine/wasm admits, the compiler loops.
  const deep = `(module (func ${'block '.repeat(400)}${'end '.repeat(400)}))`;
  const [spinning, next] = await Promise.all([
    failure(tools.compileText(deep, 700_000)),
    tools.compileText('(module)', 600_000_000),
  ]);
  expect(spinning).toBe('Timeout: compiling the text took longer than 700 ms');
  expect(next.length).toBe(8);
});

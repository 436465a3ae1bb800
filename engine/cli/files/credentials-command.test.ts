/** `lockstep credentials`, as an operator uses it, on temporary files. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { digestOf } from '../../auth/credentials.ts';
import type { NodeId } from '../../base/ids.ts';
import { defaultConfig } from '../../config/config.ts';
import { credentialsOf, readCredentials } from './credentials-file.ts';
import { tokenFrom } from './node-token.ts';
import { runLockstep } from '../program.ts';

let directory = '';
const said: string[] = [];
const grumbled: string[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-credentials-'));
  said.length = 0;
  grumbled.length = 0;
  vi.spyOn(console, 'log').mockImplementation((line: string) => void said.push(line));
  vi.spyOn(console, 'error').mockImplementation((line: string) => void grumbled.push(line));
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true, force: true });
});

function credentials(...words: readonly string[]): Promise<number> {
  return runLockstep(['node', 'lockstep', 'credentials', ...words]);
}

test('add stores the digest of the printed token, and not the token', async () => {
  const file = join(directory, 'credentials');
  expect(await credentials('add', file, 'shop', '--role', 'write')).toBe(0);
  expect(await credentials('add', file, 'ops', '--role', 'admin')).toBe(0);
  const [token = ''] = said;
  expect(said).toHaveLength(2);
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  const [shop, ops] = readCredentials(file);
  expect(shop).toEqual({ name: 'shop', role: 'write', digest: Buffer.from(digestOf(token)) });
  expect(ops).toMatchObject({ name: 'ops', role: 'admin' });
  for (const shown of said) expect(readFileSync(file, 'utf8')).not.toContain(shown);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('a change keeps the mode of the file, which a node of another user may read by its group', async () => {
  const file = join(directory, 'credentials');
  await credentials('add', file, 'a', '--role', 'read');
  chmodSync(file, 0o640);
  await credentials('add', file, 'b', '--role', 'read');
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(await credentials('remove', file, 'a')).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test('list shows names and roles; remove keeps the other credentials and the comments', async () => {
  const file = join(directory, 'credentials');
  await credentials('add', file, 'a', '--role', 'read');
  await credentials('add', file, 'b', '--role', 'read');
  writeFileSync(file, `${readFileSync(file, 'utf8')}# b is for the backup\n`);
  expect(await credentials('remove', file, 'a')).toBe(0);
  said.length = 0;
  expect(await credentials('list', file, '--json')).toBe(0);
  expect(said).toEqual(['[{"name":"b","role":"read"}]']);
  expect(readFileSync(file, 'utf8')).toContain('# b is for the backup');
});

test('add takes a token from a file if it is long enough', async () => {
  const file = join(directory, 'credentials');
  const tokenFile = join(directory, 'token');
  writeFileSync(tokenFile, 'too-short\n', { mode: 0o600 });
  expect(await credentials('add', file, 'a', '--role', 'read', '--token-file', tokenFile)).toBe(2);
  writeFileSync(tokenFile, 'long-enough-to-be-a-token\n', { mode: 0o600 });
  expect(await credentials('add', file, 'a', '--role', 'read', '--token-file', tokenFile)).toBe(0);
  expect(readCredentials(file)[0]?.digest).toEqual(Buffer.from(digestOf('long-enough-to-be-a-token')));
  expect(said).toEqual([]);
  expect(tokenFrom(tokenFile, {})).toBe('long-enough-to-be-a-token');
  expect(tokenFrom(undefined, { LOCKSTEP_TOKEN: ' abc ' })).toBe('abc');
  expect(tokenFrom(undefined, {})).toBeUndefined();
});

test.each([
  [['add', 'F', 'a', '--role', 'root'], 2, 'the role root: allowed: read, write, admin'],
  [['add', 'F', 'a b', '--role', 'read'], 2, 'the name a b: allowed: 1 to 64 of A-Z a-z 0-9 _ . -'],
  [['add', 'F', 'known', '--role', 'read'], 2, 'has a credential known already'],
  [['remove', 'F', 'b'], 2, 'has no credential b; it has: known'],
  [['list', 'nowhere'], 2, 'there is no such file'],
])('%j is refused: %s', async (words, code, problem) => {
  const file = join(directory, 'credentials');
  await credentials('add', file, 'known', '--role', 'read');
  grumbled.length = 0;
  expect(await credentials(...words.map((word) => (word === 'F' ? file : word)))).toBe(code);
  expect(grumbled.join('\n')).toContain(problem);
});

test('a file that other users may use is refused, with the command that mends it', async () => {
  const file = join(directory, 'credentials');
  await credentials('add', file, 'a', '--role', 'read');
  for (const mode of [0o644, 0o604, 0o620]) {
    chmodSync(file, mode);
    grumbled.length = 0;
    expect(await credentials('list', file)).toBe(2);
    expect(grumbled.join()).toContain(`its mode is ${mode.toString(8)}); say: chmod 600 ${file}`);
  }
  chmodSync(file, 0o640);
  expect(await credentials('list', file)).toBe(0);
});

test('check-config checks the credentials file that the configuration names', async () => {
  const config = join(directory, 'lockstep.yaml');
  writeFileSync(config, 'shop:\n  name: n1\n  credentials: secret\n');
  expect(await runLockstep(['node', 'lockstep', 'check-config', config])).toBe(2);
  expect(grumbled.join()).toContain('there is no such file');
  expect(await runLockstep(['node', 'lockstep', 'check-config', config, '--json'])).toBe(2);
  expect(JSON.parse(said.at(-1) ?? '')).toMatchObject({
    valid: false,
    faults: [{ source: config, problem: expect.stringContaining('there is no such file') as string }],
  });
  await credentials('add', join(directory, 'secret'), 'a', '--role', 'read');
  expect(await runLockstep(['node', 'lockstep', 'check-config', config])).toBe(0);
  writeFileSync(config, 'shop:\n  name: n1\n  store_wasm_modules: [{ id: words, path: words.wasm }]\n');
  expect(await runLockstep(['node', 'lockstep', 'check-config', config])).toBe(2);
  expect(grumbled.join()).toContain('words.wasm (the Wasm module words): there is no such file');
});

test('a node refuses a file without a credential, because no client could authenticate', async () => {
  const file = join(directory, 'credentials');
  const config = { ...defaultConfig('shop', { name: 'n1' as NodeId }), credentials: 'credentials' };
  const known = (): unknown => credentialsOf(join(directory, 'node.yaml'), config);
  expect(await credentials('add', file, 'shop', '--role', 'write')).toBe(0);
  expect(known()).toMatchObject([{ name: 'shop' }]);
  for (const empty of ['', '\n', '# nobody\n']) {
    writeFileSync(file, empty);
    expect(known).toThrow('it holds no credential, so nobody could come in');
  }
});

/** A wrong command line ends with exit code 2 and names the help. Errors of files name the file. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { NodeId } from '../base/ids.ts';
import { Identity } from '../cluster/membership/identity.ts';
import { realClock } from '../real/clock.ts';
import { createRealDisk } from '../real/disk.ts';
import { createRealLog } from '../real/log.ts';
import { runLockstep } from './program.ts';

let directory = '';
let said = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-usage-'));
  said = '';
  const keep = (words: unknown): boolean => {
    said += `${String(words)}\n`;
    return true;
  };
  vi.spyOn(process.stdout, 'write').mockImplementation(keep);
  vi.spyOn(process.stderr, 'write').mockImplementation(keep);
  vi.spyOn(console, 'error').mockImplementation(keep);
  vi.spyOn(console, 'log').mockImplementation(keep);
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true, force: true });
});

function lockstep(...words: readonly string[]): Promise<number> {
  return runLockstep(['node', 'lockstep', ...words]);
}

const wrong = [
  'start',
  'start --config',
  'strat',
  'cluster --nodes none',
  'cluster --unknown',
  'status',
  'leave',
  'standby',
  'standby --return',
  'check-config',
  'certificates',
  'credentials',
  'credentials add',
  'credentials list',
  'credentials remove file',
  'store',
  'store verify',
  'store rebuild .',
  'transactions',
  'transactions list',
  'transactions resolve n1-0-1 perhaps --node 127.0.0.1:1',
  'doctor',
  'backup',
  'backup dir',
  'backup expire dir',
  'restore dir',
  'wasm',
  'wasm check',
];

test.each(wrong)('the wrong command line `%s` ends with 2', async (line) => {
  expect(await lockstep(...line.split(' '))).toBe(2);
  expect(said).toMatch(/--help|Usage|wants a FILE|name the nodes?/);
});

test('an error of a file names the path as it was given', async () => {
  expect(await lockstep('store', 'verify', directory)).toBe(1);
  expect(said).toContain(`lockstep: ${directory}: `);
  expect(said).toContain('below its data_dir');
  const file = join(directory, 'none.wat');
  expect(await lockstep('wasm', 'check', file)).toBe(1);
  expect(said).toContain(`lockstep: ${file}: there is no such file`);
});

test('a store is rebuilt only for the node that its directory belongs to', async () => {
  const io = {
    clock: realClock,
    disk: createRealDisk(directory),
    log: createRealLog({ level: 'error', node: '' }),
  };
  const owner = { node: 'n1' as NodeId, clusterId: 'lockstep' };
  await Identity.open(io, 'identity', owner, { had: false, generation: 0, saved: () => undefined });
  await io.disk.makeDirectory('store');
  const store = join(directory, 'store');
  expect(await lockstep('store', 'rebuild', store, '--node', 'n2')).toBe(1);
  expect(said).toContain("--node n2: the file identity beside store says that it is n1's");
  expect(await lockstep('store', 'rebuild', store, '--node', 'n1')).toBe(1);
  expect(said).toContain('store holds no segment with a sound head');
});

test('check-config reports all missing files of a configuration at once', async () => {
  const file = join(directory, 'lockstep.yaml');
  const tls = 'tls: {cert: a.pem, key: a.key}\n  peer_tls: {cert: p.pem, key: p.key, ca: ca.pem}';
  const wasm = 'store_wasm_modules: [{id: m, path: m.wasm}]';
  writeFileSync(file, `pool:\n  name: n1\n  credentials: secrets\n  ${tls}\n  ${wasm}\n`);
  expect(await lockstep('check-config', file)).toBe(2);
  for (const name of ['secrets', 'a.pem', 'a.key', 'p.pem', 'p.key', 'ca.pem', 'm.wasm']) {
    expect(said).toMatch(new RegExp(`${join(directory, name)} \\(.*\\): there is no such file`));
  }
  said = '';
  expect(await lockstep('check-config', file, '--json')).toBe(2);
  expect((JSON.parse(said) as { faults: unknown[] }).faults).toHaveLength(7);
});

test('credentials add makes the file and its directory', async () => {
  const file = join(directory, 'secrets', 'credentials');
  expect(await lockstep('credentials', 'add', file, 'shop', '--role', 'write')).toBe(0);
  expect(await lockstep('credentials', 'list', file)).toBe(0);
  expect(said).toContain('shop  write');
});

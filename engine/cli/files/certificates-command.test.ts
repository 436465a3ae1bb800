/** `lockstep certificates` writes files that a configuration can name. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { runLockstep } from '../program.ts';

let directory = '';

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'lockstep-certificates-'));
  vi.spyOn(console, 'log').mockImplementation(() => undefined);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
});

afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true, force: true });
});

function lockstep(...words: readonly string[]): Promise<number> {
  return runLockstep(['node', 'lockstep', ...words]);
}

test('the certificates are signed by the CA beside them, and a configuration accepts them', async () => {
  const secrets = join(directory, 'secrets');
  expect(await lockstep('certificates', secrets, 'n1', 'n2')).toBe(0);
  const ca = new X509Certificate(readFileSync(join(secrets, 'ca.pem')));
  for (const name of ['n1', 'n2']) {
    const certificate = new X509Certificate(readFileSync(join(secrets, `${name}.pem`)));
    expect(certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1');
    expect(statSync(join(secrets, `${name}.key`)).mode & 0o777).toBe(0o600);
  }
  const config = join(directory, 'lockstep.yaml');
  const tls = 'tls: {cert: secrets/n1.pem, key: secrets/n1.key}';
  const peerTls = 'peer_tls: {cert: secrets/n1.pem, key: secrets/n1.key, ca: secrets/ca.pem}';
  writeFileSync(config, `shop:\n  name: n1\n  ${tls}\n  ${peerTls}\n`);
  expect(await lockstep('check-config', config)).toBe(0);
  writeFileSync(config, `shop:\n  name: n1\n  ${tls.replace('n1.key', 'n2.key')}\n`);
  expect(await lockstep('check-config', config)).toBe(2);
});

test('existing files are not overwritten, and an invalid node name is refused', async () => {
  expect(await lockstep('certificates', directory, 'n/1')).toBe(2);
  expect(existsSync(join(directory, 'ca.pem'))).toBe(false);
  expect(await lockstep('certificates', directory, 'n1')).toBe(0);
  const before = readFileSync(join(directory, 'n1.pem'), 'utf8');
  expect(await lockstep('certificates', directory, 'n1')).toBe(2);
  expect(readFileSync(join(directory, 'n1.pem'), 'utf8')).toBe(before);
});

/** Tests of reading certificates and credentials again. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { threeCredentials } from '../../auth/credentials.fixture.ts';
import { credentialLine } from '../../auth/credentials.ts';
import { readConfigFile } from '../files/config-file.ts';
import { ThrowAwayAuthority } from '../files/throw-away-certificates.ts';
import { tlsOf } from '../files/tls-files.ts';
import { reloadSecrets } from './reload.ts';

const home = mkdtempSync(join(tmpdir(), 'lockstep-reload-'));

afterEach(() => rmSync(home, { recursive: true, force: true }));

test('each identity and the credentials are replaced, whatever is wrong with the others', async () => {
  const authority = await ThrowAwayAuthority.make();
  const { cert, key } = await authority.issue('n1');
  const write = (name: string, text: string): void => writeFileSync(join(home, name), text, { mode: 0o600 });
  for (const whose of ['clients', 'peers']) {
    write(`${whose}.pem`, cert);
    write(`${whose}.key`, key);
  }
  write('ca.pem', authority.pem);
  write('credentials', threeCredentials.map(credentialLine).join('\n'));
  const file = join(home, 'lockstep.yaml');
  const tls = { cert: 'clients.pem', key: 'clients.key' };
  const peerTls = { cert: 'peers.pem', key: 'peers.key', ca: 'ca.pem' };
  write(
    'lockstep.yaml',
    stringify({ own: { name: 'n1', tls, peer_tls: peerTls, credentials: 'credentials' } }),
  );
  const config = readConfigFile(file, {});
  const identities = tlsOf(file, config);

  const replaced: string[] = [];
  const reload = (): readonly string[] => {
    replaced.length = 0;
    const replace = (given: typeof threeCredentials): void =>
      void replaced.push(...given.map(({ name }) => name));
    return reloadSecrets(identities, file, config, replace).map(({ message }) => message);
  };
  const certNow = (): string => String(identities.peers?.serverOptions().cert);
  expect(reload()).toEqual([]);

  const renewed = await authority.issue('n1');
  write('clients.pem', 'half a certificate');
  write('peers.pem', renewed.cert);
  write('peers.key', renewed.key);
  write('credentials', threeCredentials.slice(1).map(credentialLine).join('\n'));
  expect(reload()).toEqual([expect.stringContaining('clients.pem')]);
  expect(certNow()).toBe(renewed.cert);
  expect(replaced).toEqual(threeCredentials.slice(1).map(({ name }) => name));

  write('clients.pem', cert);
  write('credentials', '');
  expect(reload()).toEqual([expect.stringContaining('it holds no credential')]);
  expect(replaced).toEqual([]);
});

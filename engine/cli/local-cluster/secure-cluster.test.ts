/**
 * Three nodes on real sockets, as an operator would secure them: configuration files, certificates of one CA between
 * nodes, TLS and tokens toward third-party clients.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { credentialLine } from '../../auth/credentials.ts';
import { threeCredentials, tokens } from '../../auth/credentials.fixture.ts';
import { present } from '../../base/assert.ts';
import { splitAddress } from '../../config/addresses.ts';
import { Node } from '../../node/node.ts';
import { createRealIo } from '../../real/io.ts';
import { readConfigFile } from '../files/config-file.ts';
import { credentialsOf } from '../files/credentials-file.ts';
import { NodeClient } from '../operate/node-client.ts';
import { runLockstep } from '../program.ts';
import { ThrowAwayAuthority } from '../files/throw-away-certificates.ts';
import type { NodeTls } from '../files/tls-files.ts';
import { faultsAmong } from '../files/secret-files.ts';
import { renewals, tlsOf } from '../files/tls-files.ts';

const peerPorts = [23_401, 23_411, 23_421];
const directory = mkdtempSync(join(tmpdir(), 'lockstep-secure-'));
const nodes: { readonly node: Node; readonly tls: NodeTls; readonly file: string }[] = [];
const ca = join(directory, 'ca.pem');

beforeAll(async () => {
  const authority = await ThrowAwayAuthority.make();
  writeFileSync(ca, authority.pem);
  for (const index of peerPorts.keys()) nodes.push(await startNode(index, authority));
});

afterAll(async () => {
  await Promise.all(nodes.map(({ node }) => node.stop()));
  rmSync(directory, { recursive: true, force: true });
});

async function startNode(index: number, authority: ThrowAwayAuthority): Promise<(typeof nodes)[number]> {
  const home = join(directory, `n${index + 1}`);
  mkdirSync(home);
  const file = join(home, 'lockstep.yaml');
  await writeFiles(home, `n${index + 1}`, authority);
  const seeds = peerPorts.map((port, at) => {
    return { name: `n${at + 1}`, address: `127.0.0.1:${port}`, datacenter: 'dc1', rack: `r${at + 1}` };
  });
  const keys = {
    ...{
      name: `n${index + 1}`,
      rack: `r${index + 1}`,
      seeds,
      credentials: 'credentials',
      log_level: 'error',
    },
    // Other machines can reach this listener. With TLS and credentials that is no reason for a warning.
    ...{ listen: '0.0.0.0:0', redis_listen: '127.0.0.1:0', pb_listen: 'off', stats_listen: '127.0.0.1:0' },
    ...{ peer_listen: `127.0.0.1:${peerPorts[index] ?? 0}` },
    tls: { cert: 'cert.pem', key: 'key.pem' },
    peer_tls: { cert: 'cert.pem', key: 'key.pem', ca: '../ca.pem' },
  };
  writeFileSync(file, stringify({ secure: keys }));
  const config = readConfigFile(file, {});
  const tls = tlsOf(file, config);
  const io = createRealIo({ dataDirectory: join(home, 'data'), logLevel: 'error', node: config.name, tls });
  const node = await Node.start(io, config, { credentials: credentialsOf(file, config) ?? [] });
  return { node, tls, file };
}

async function writeFiles(home: string, name: string, authority: ThrowAwayAuthority): Promise<void> {
  const { cert, key } = await authority.issue(name);
  writeFileSync(join(home, 'cert.pem'), cert);
  writeFileSync(join(home, 'key.pem'), key, { mode: 0o600 });
  writeFileSync(join(home, 'credentials'), threeCredentials.map(credentialLine).join('\n'), { mode: 0o600 });
}

function first(): (typeof nodes)[number] {
  return present(nodes[0], 'a node');
}

function httpsOf(index: number): string {
  const { port } = present(splitAddress(nodes[index]?.node.addresses.http ?? ''), 'an address');
  return `https://localhost:${port}`;
}

/** Runs `program`, which calls fetch, in a process that trusts the CA; resolves with its output. */
async function fetching(program: string): Promise<string> {
  const environment = { ...process.env, NODE_EXTRA_CA_CERTS: ca };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
    env: environment,
  });
  return stdout.trim();
}

function failures(index: number): Record<string, number> {
  const { families } = present(nodes[index], 'a node').node.statistics();
  const found = families.find(({ family }) => family.name === 'svc_tls_handshake_failures_total');
  return Object.fromEntries(
    (found?.samples ?? []).map(({ labels, value }) => [String(labels['with']), value]),
  );
}

test('a put through fetch, with a token, is durable at all three nodes, and read at another one', async () => {
  const told = await fetching(`
    const headers = { Authorization: 'Bearer ${tokens.write}', 'Content-Type': 'text/plain' };
    const put = await fetch('${httpsOf(0)}/buckets/fruit/keys/apple?w=all', { method: 'PUT', headers, body: 'red' });
    const got = await fetch('${httpsOf(1)}/buckets/fruit/keys/apple', { headers });
    const none = await fetch('${httpsOf(2)}/buckets/fruit/keys/apple');
    console.log(put.status, await got.text(), none.status);
  `);
  expect(told).toBe('204 red 401');
});

test('ioredis authenticates over TLS with a token alone, and with a name and a token', async () => {
  const { host, port } = present(splitAddress(first().node.addresses.redis ?? ''), 'an address');
  const options = {
    host,
    port,
    tls: { rejectUnauthorized: false },
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  };
  const known = new Redis({ ...options, username: 'will', password: tokens.write });
  await known.connect();
  expect(await known.set('visits', '1')).toBe('OK');
  expect(await known.incr('visits')).toBe(2);
  known.disconnect();
  const reader = new Redis({ ...options, password: tokens.read });
  await reader.connect();
  expect(await reader.get('visits')).toBe('2');
  await expect(reader.set('visits', '3')).rejects.toThrow('NOPERM');
  reader.disconnect();
});

test('plain text on a TLS port, and a peer without a certificate, are counted and change nothing', async () => {
  const before = failures(0);
  for (const address of [first().node.addresses.redis, first().node.addresses.peer]) {
    const { host, port } = present(splitAddress(address ?? ''), 'an address');
    const plain = connect({ host, port });
    plain.on('error', () => undefined);
    plain.resume();
    plain.write('PING\r\n');
    await once(plain, 'close');
  }
  expect(failures(0)).toEqual({ clients: (before['clients'] ?? 0) + 1, peers: (before['peers'] ?? 0) + 1 });
  const { status } = await new NodeClient(httpsOf(0), { ca }, {}).ask('GET', '/ping');
  expect(status).toBe(200);
});

test('commands send a token and trust the CA, and report which of them is missing', async () => {
  const environment = { LOCKSTEP_TOKEN: tokens.read };
  const client = new NodeClient(httpsOf(0), { ca }, environment);
  expect(await client.ask('GET', '/cluster')).toMatchObject({ status: 200 });
  expect(await client.ask('POST', '/cluster/leave')).toMatchObject({ status: 403 });
  const doubting = new NodeClient(httpsOf(0), {}, environment);
  await expect(doubting.ask('GET', '/cluster')).rejects.toThrow('--ca FILE');
  const plain = new NodeClient(httpsOf(0).replace('https://', ''), {}, environment);
  await expect(plain.ask('GET', '/cluster')).rejects.toThrow('does it speak TLS?');
  const nameless = httpsOf(0).replace('https://', '');
  expect(await runLockstep(['node', 'lockstep', 'leave', '--node', nameless, '--ca', ca])).toBe(1);
});

test('a node that was not given the TLS identity or credentials of its configuration does not start', async () => {
  const config = readConfigFile(first().file, {});
  const dataDirectory = join(directory, 'never');
  const plain = createRealIo({ dataDirectory, logLevel: 'error', node: config.name });
  await expect(Node.start(plain, config, { credentials: threeCredentials })).rejects.toThrow(
    'tls and peer_tls: the configuration asks for TLS',
  );
  const secure = createRealIo({ dataDirectory, logLevel: 'error', node: config.name, tls: first().tls });
  await expect(Node.start(secure, config)).rejects.toThrow('the node was started without them');
});

test('certificates and credentials are replaced while the nodes run, and a faulty file changes nothing', async () => {
  const { node, tls, file } = first();
  const config = readConfigFile(file, {});
  const home = join(directory, 'n1');
  writeFileSync(join(home, 'cert.pem'), 'half a certificate');
  // The same file serves clients and peers.
  const faults = faultsAmong(renewals(tls, file, config)).map(({ message }) => message);
  expect(faults).toEqual([expect.stringContaining('cert.pem'), expect.stringContaining('cert.pem')]);
  const other = await ThrowAwayAuthority.make();
  await writeFiles(home, 'n1', other);
  // The CA between nodes stays. Only the certificates for clients come from another CA.
  const onlyClients = { clients: present(tls.clients, 'TLS to clients') };
  expect(faultsAmong(renewals(onlyClients, file, config))).toEqual([]);
  await expect(new NodeClient(httpsOf(0), { ca }, {}).ask('GET', '/ping')).rejects.toThrow('cannot be asked');
  const otherCa = join(directory, 'other.pem');
  writeFileSync(otherCa, other.pem);
  const client = new NodeClient(httpsOf(0), { ca: otherCa }, { LOCKSTEP_TOKEN: tokens.write });
  expect(await client.ask('GET', '/buckets/fruit/keys/apple')).toEqual({ status: 200, text: 'red' });
  node.replaceCredentials(threeCredentials.filter(({ role }) => role !== 'write'));
  expect(await client.ask('GET', '/buckets/fruit/keys/apple')).toMatchObject({ status: 401 });
});

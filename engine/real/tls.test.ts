/** The network port over TLS: the same laws, and which connections are accepted. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { connect as secureConnect } from 'node:tls';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { Deferred } from '../base/deferred.ts';
import { sleep } from '../io/clock.ts';
import { ConnectionRecorder } from '../io/connection-recorder.fixture.ts';
import type { Address, Connection } from '../io/network.ts';
import { ConnectError } from '../io/network.ts';
import { networkContract } from '../io/network.contract.ts';
import { hostPortOf } from './address.ts';
import { realClock } from './clock.ts';
import { machineNetworkHarness } from './network-harness.fixture.ts';
import { RealNetwork } from './network.ts';
import { materialOf, peersOf, tlsSetting } from './tls.fixture.ts';
import { TlsIdentity, checkMaterial } from './tls.ts';

const setting = await tlsSetting();
const noCut = 'the loopback interface cannot be cut without privileges; sim/world runs this law';

const endInstead =
  'TLS of node tells a reset before the first read as an end in order, and the reset when something is written';

networkContract('machine with TLS', () => machineNetworkHarness(peersOf(setting)), {
  'a cut connection is silent: nothing arrives and nobody is told': noCut,
  'after a cut is healed, bytes arrive in order or the connection breaks': noCut,
  'a reset before start is told after start': endInstead,
});

describe('an end over TLS', () => {
  it('that comes before start is reported after start', async () => {
    const network = new RealNetwork(peersOf(setting));
    const accepted = new Deferred<Connection>();
    const listener = await network.listen('127.0.0.1:0', (connection) => accepted.resolve(connection));
    const client = await network.connect(listener.address, 5_000_000);
    ConnectionRecorder.start(client);
    client.end();
    const server = await accepted.promise;
    await sleep(realClock, 50_000);
    const atServer = ConnectionRecorder.start(server);
    await atServer.until(() => atServer.ended);
    server.end();
    await atServer.until(() => atServer.closed !== undefined);
    expect(atServer.story).toEqual(['end', 'ended']);
    await listener.close();
  });
});

describe('which peers are accepted', () => {
  it('a certificate of the CA is accepted; another CA’s, an expired one and none are refused and counted', async () => {
    const other = await tlsSetting();
    const [plainly, foreign, late, bare] = await Promise.all([
      attempt(peersOf(setting)),
      attempt(new TlsIdentity('peers', materialOf(other.node, setting.authority.pem))),
      attempt(
        new TlsIdentity('peers', materialOf(await setting.authority.issue('n9', -2), setting.authority.pem)),
      ),
      attempt(undefined),
    ]);
    expect(plainly).toEqual({ heard: 'welcome', failed: 0 });
    expect(foreign).toEqual({ heard: '', failed: 1 });
    expect(late).toEqual({ heard: '', failed: 1 });
    expect(bare).toEqual({ heard: '', failed: 1 });
  });

  it('a client refuses a server with a certificate of another CA, and counts it', async () => {
    const other = await tlsSetting();
    const listener = await new RealNetwork(peersOf(other)).listen('127.0.0.1:0', () => undefined);
    const identity = peersOf(setting);
    const outcome = new RealNetwork(identity).connect(listener.address, 5_000_000);
    await expect(outcome).rejects.toThrow(ConnectError);
    await expect(outcome).rejects.toMatchObject({
      failure: 'unreachable',
      handshake: expect.stringContaining('certificate') as string,
    });
    expect(identity.failedHandshakes).toBe(1);
    await listener.close();
  });

  it('silent connections and plain text do not disturb others', async () => {
    const identity = peersOf(setting);
    const network = new RealNetwork(identity);
    const greeted = new Deferred<void>();
    const listener = await network.listen('127.0.0.1:0', () => greeted.resolve());
    const silent = connect(hostPortOf(listener.address));
    const plain = connect(hostPortOf(listener.address), () => plain.write('GET / HTTP/1.1\r\n\r\n'));
    plain.on('error', () => undefined);
    plain.resume();
    await once(plain, 'close');
    expect(identity.failedHandshakes).toBe(1);
    const client = await network.connect(listener.address, 5_000_000);
    await greeted.promise;
    client.destroy();
    silent.destroy();
    await listener.close();
  });

  it('a new certificate is shown to later connections, and open ones stay', async () => {
    const other = await tlsSetting();
    const identity = peersOf(setting);
    const accepted: Connection[] = [];
    const listener = await new RealNetwork(identity).listen('127.0.0.1:0', (one) => accepted.push(one));
    const before = await new RealNetwork(peersOf(setting)).connect(listener.address, 5_000_000);
    const atBefore = ConnectionRecorder.start(before);
    identity.replace(materialOf(other.node, other.authority.pem));
    const after = await new RealNetwork(peersOf(other)).connect(listener.address, 5_000_000);
    ConnectionRecorder.start(after);
    for (const one of accepted) one.write(Buffer.from('still here'));
    await atBefore.until(() => atBefore.bytesReceived === 10);
    expect(() => identity.replace(materialOf({ ...other.node, key: 'no key' }))).toThrow('key.pem');
    before.destroy();
    after.destroy();
    await listener.close();
  });
});

/** Connects with that certificate (or with none, or in plain text) to a listener that sends `welcome`. */
async function attempt(caller: TlsIdentity | undefined): Promise<{ heard: string; failed: number }> {
  const identity = peersOf(setting);
  const listener = await new RealNetwork(identity).listen('127.0.0.1:0', (connection) => {
    ConnectionRecorder.start(connection);
    connection.write(Buffer.from('welcome'));
    connection.end();
  });
  const heard =
    caller === undefined ? await heardWithout(listener.address) : await heardBy(caller, listener.address);
  await listener.close();
  return { heard, failed: identity.failedHandshakes };
}

async function heardBy(caller: TlsIdentity, address: Address): Promise<string> {
  const recorder = ConnectionRecorder.start(await new RealNetwork(caller).connect(address, 5_000_000));
  await recorder.until(() => recorder.ended || recorder.closed !== undefined);
  return recorder.received().toString();
}

/** TLS without a client certificate. */
async function heardWithout(address: Address): Promise<string> {
  const socket = secureConnect({ ...hostPortOf(address), ca: setting.authority.pem });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.on('error', () => undefined);
  const closed = new Deferred<void>();
  socket.on('close', () => closed.resolve());
  await closed.promise;
  return Buffer.concat(chunks).toString();
}

describe('invalid TLS material', () => {
  it.each([
    ['a certificate that is none', { cert: 'hello' }, 'cert.pem: it is no certificate in PEM form'],
    ['a damaged certificate', { cert: damaged('CERTIFICATE') }, 'cert.pem: it is a damaged certificate'],
    ['a key that is none', { key: 'hello' }, 'key.pem: it is not a private key in PEM form'],
    ['a damaged key', { key: damaged('PRIVATE KEY') }, 'key.pem: it is a damaged private key'],
    ['an encrypted key', { key: damaged('ENCRYPTED PRIVATE KEY') }, 'key.pem: the key is encrypted'],
  ])('%s is refused by name', (_, change, problem) => {
    expect(() => new TlsIdentity('clients', materialOf({ ...setting.node, ...change }))).toThrow(problem);
  });

  it('a key of another certificate, and an invalid CA are refused by name', async () => {
    const { key } = await setting.authority.issue('other');
    expect(() => new TlsIdentity('clients', materialOf({ ...setting.node, key }))).toThrow(
      'key.pem: the key does not fit the certificate cert.pem',
    );
    expect(() => new TlsIdentity('peers', materialOf(setting.node, 'hello'))).toThrow(
      'ca.pem: it is no CA certificate in PEM form',
    );
  });

  it('a CA file of several certificates is refused if any of them is damaged', async () => {
    const { pem } = (await tlsSetting()).authority;
    const [own, junk] = [setting.authority.pem, damaged('CERTIFICATE')];
    const ca = (...parts: readonly string[]) => materialOf(setting.node, parts.join('\n'));
    expect(() => checkMaterial(ca(own, pem))).not.toThrow();
    expect(() => checkMaterial(ca(`# ours\n${own}`, '# theirs', pem))).not.toThrow();
    expect(() => checkMaterial(ca(own, junk))).toThrow('ca.pem, part 2: it is a damaged CA certificate');
    expect(() => checkMaterial(ca(own, pem.slice(0, 100)))).toThrow('ca.pem, part 2');
  });

  it('whatever the files hold, they are accepted or refused by name', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.constantFrom('CERTIFICATE', 'PRIVATE KEY', 'EC PRIVATE KEY'),
        (junk, label) => {
          const pem = `-----BEGIN ${label}-----\n${Buffer.from(junk).toString('base64')}\n-----END ${label}-----\n`;
          for (const change of [{ cert: pem }, { key: pem }, { cert: junk }, { key: junk }]) {
            expect(() => checkMaterial(materialOf({ ...setting.node, ...change }))).toThrow(
              /^(cert|key)\.pem: /,
            );
          }
        },
      ),
    );
  });
});

describe('clients that speak TLS 1.2', () => {
  async function greet(options: { readonly ciphers?: string }): Promise<TLSSocket | string> {
    const network = new RealNetwork(new TlsIdentity('clients', materialOf(setting.node)));
    const listener = await network.listen('127.0.0.1:0', (connection) =>
      ConnectionRecorder.start(connection),
    );
    const ca = setting.authority.pem;
    const socket = secureConnect({ ...hostPortOf(listener.address), ca, maxVersion: 'TLSv1.2', ...options });
    const outcome = new Deferred<TLSSocket | string>();
    socket.on('error', (error: NodeJS.ErrnoException) => outcome.resolve(error.code ?? error.message));
    socket.on('secureConnect', () => outcome.resolve(socket));
    const greeted = await outcome.promise;
    await listener.close();
    return greeted;
  }

  it('are served with suites of authenticated encryption, and no others', async () => {
    const usual = await greet({});
    expect(typeof usual === 'string' ? usual : usual.getCipher().name).toMatch(/^ECDHE-.*(GCM|POLY1305)/);
    if (typeof usual !== 'string') usual.destroy();
    const refused = [
      'ECDHE-ECDSA-AES256-SHA384:ECDHE-RSA-AES256-SHA384:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA',
      'AES256-GCM-SHA384:AES128-GCM-SHA256:AES256-SHA:AES128-SHA',
    ];
    for (const ciphers of refused) expect(await greet({ ciphers })).toContain('HANDSHAKE_FAILURE');
  });

  it('cannot renegotiate a connection', async () => {
    const socket = await greet({});
    if (typeof socket === 'string') throw new Error(socket);
    const outcome = new Deferred<string>();
    socket.on('error', (error: Error) => outcome.resolve(error.message));
    socket.on('close', () => outcome.resolve('closed'));
    socket.renegotiate({ rejectUnauthorized: true }, (error: Error | null) =>
      outcome.resolve(error === null ? 'negotiated again' : error.message),
    );
    expect(await outcome.promise).not.toBe('negotiated again');
    socket.destroy();
  });
});

function damaged(label: string): string {
  return `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`;
}

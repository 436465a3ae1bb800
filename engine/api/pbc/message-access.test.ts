/** Tests of the access that each message of the binary protocol needs. */
import { expect, test } from 'vitest';

import { names, threeCredentials, tokens } from '../../auth/credentials.fixture.ts';
import type { Role } from '../../auth/role.ts';
import { mayUse, roles } from '../../auth/role.ts';
import { beginFrame, finishFrame } from './frames.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import { isAdmins, messageAccess } from './message-access.ts';
import { messages } from './schema.ts';
import type { PbcPeer } from './peer.fixture.ts';
import { TestingServer } from './server.fixture.ts';

const place = { bucket: Buffer.from('b'), key: Buffer.from('k') };
const get: ClientRequest = { kind: 'get', message: place };
const put: ClientRequest = { kind: 'put', message: { ...place, content: { value: Buffer.from('v') } } };
const setBucket: ClientRequest = {
  kind: 'setBucket',
  message: { bucket: Buffer.from('b'), props: { allow_mult: true } },
};

function auth(user: string, password: string): ClientRequest {
  return { kind: 'auth', message: { user: Buffer.from(user), password: Buffer.from(password) } };
}

function logIn(role: Role): ClientRequest {
  return auth(names[role], tokens[role]);
}

function story(peer: PbcPeer): readonly string[] {
  return peer.replies().map((reply: ClientReply) => {
    return reply.kind === 'failed' ? `${reply.code ?? ''}: ${reply.text}` : reply.kind;
  });
}

const required = 'Unauthorized: Unauthorized: credentials are required';

test('what is an admin’s is known by the message’s name and by the kind of its call', () => {
  for (const [name, access] of Object.entries(messageAccess)) {
    expect([name, isAdmins(name)]).toEqual([name, access === 'admin']);
    expect([name, isAdmins(name.replace(/Req$/, ''))]).toEqual([name, access === 'admin']);
  }
});

test('every request of the schema has a row', () => {
  const requests = Object.keys(messages).filter((name) => name.endsWith('Req'));
  expect(Object.keys(messageAccess).sort()).toEqual(requests.sort());
});

test('without credentials only a ping is answered', async () => {
  const testing = await TestingServer.start({}, threeCredentials);
  const peer = testing.join();
  await peer.request({ kind: 'ping' }, get, put, { kind: 'getServerInfo' }, setBucket);
  await peer.turn();
  expect(story(peer)).toEqual(['pong', required, required, required, required]);
  expect(testing.dispatcher.puts).toEqual([]);
});

test('credentials are checked before the body is decoded', async () => {
  const testing = await TestingServer.start({}, threeCredentials);
  const peer = testing.join();
  const broken = finishFrame(beginFrame().uint32(0x0fff), messages.getReq.code);
  await peer.send(broken, finishFrame(beginFrame(), 251));
  expect(story(peer)).toEqual([required, required]);
});

test('after the right password the client has the access of its role, in the order sent', async () => {
  const wanted: Readonly<Record<Role, readonly string[]>> = {
    read: ['authenticated', 'got', 'Forbidden', 'Forbidden'],
    write: ['authenticated', 'got', 'stored', 'Forbidden'],
    admin: ['authenticated', 'got', 'stored', 'bucketSet'],
  };
  for (const role of roles) {
    const testing = await TestingServer.start({}, threeCredentials);
    const peer = testing.join();
    await peer.request(logIn(role), get, put, setBucket);
    await peer.turn();
    expect(story(peer).map((line) => line.split(':')[0])).toEqual(wanted[role]);
    expect(testing.dispatcher.puts.length).toBe(mayUse(role, 'write') ? 1 : 0);
  }
});

test('a wrong password is answered as in Riak, and ends the connection', async () => {
  for (const request of [auth('anna', 'guess'), auth('anna', tokens.read), auth('nobody', tokens.admin)]) {
    const testing = await TestingServer.start({}, threeCredentials);
    const peer = testing.join();
    await peer.request({ kind: 'ping' }, request, put);
    await peer.turn();
    expect(story(peer)).toEqual(['pong', 'Unauthorized: Authentication failed']);
    expect(testing.dispatcher.puts).toEqual([]);
    expect(peer.serverEnded).toBe(true);
    expect(JSON.stringify(testing.log)).not.toContain('token-of');
  }
});

test('a revoked credential no longer holds, on open connections too', async () => {
  const testing = await TestingServer.start({}, threeCredentials);
  const peer = testing.join();
  await peer.request(logIn('write'), get);
  await peer.turn();
  testing.gate.replace(threeCredentials.filter(({ name }) => name !== names.write));
  await peer.request(get);
  await peer.turn();
  expect(story(peer)).toEqual(['authenticated', 'got', required]);
});

test('without configured credentials a password is refused, and STARTTLS is never offered', async () => {
  const testing = await TestingServer.start();
  const peer = testing.join();
  await peer.request(logIn('read'), get);
  await peer.send(messages.startTlsReq.encode({}));
  await peer.turn();
  expect(story(peer)).toEqual([
    'BadRequest: Security not enabled',
    'got',
    'BadRequest: STARTTLS is not offered; a listener with TLS speaks it at once',
  ]);
});

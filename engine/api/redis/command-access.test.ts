/** Tests of the access that each command needs, with the error texts of redis-server 7.0.15. */
import { expect, test } from 'vitest';

import { names, threeCredentials, tokens } from '../../auth/credentials.fixture.ts';
import { commandAccess } from './command-access.ts';
import { commands } from './commands.ts';
import { TestingRedis } from './redis.fixture.ts';

const noAuth = '-NOAUTH Authentication required.\r\n';
const wrong = '-WRONGPASS invalid username-password pair or user is disabled.\r\n';
const notFor = (command: string) =>
  `-NOPERM this user has no permissions to run the '${command}' command\r\n`;

test('every row names a served command, and every command has a row', () => {
  expect([...commandAccess.keys()].sort()).toEqual([...commands.keys()].sort());
  expect(commands.size).toBeGreaterThan(50);
});

const flushes = ['flushdb', 'flushall'];

test('a command that writes needs write access, and one that reads needs at most read access', () => {
  for (const { name, kind, access } of commands.values()) {
    if (kind === 'write' || kind === 'publish' || flushes.includes(name))
      expect([name, access]).toEqual([name, 'write']);
    else expect([name, ['read', 'open'].includes(access)]).toEqual([name, true]);
  }
});

test('without a password every command is refused and has no effect', async () => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const peer = redis.join();
  expect(await peer.send('GET a\r\nSET a 1\r\nPING\r\nMULTI\r\nKEYS *\r\n')).toBe(noAuth.repeat(5));
  expect(await peer.ask('HELLO', '3')).toContain('-NOAUTH HELLO must be called');
  expect(await peer.ask('EXEC')).toBe(
    '-EXECABORT Transaction discarded because of: NOAUTH Authentication required.\r\n',
  );
  expect(await peer.ask('NOSUCH')).toContain('-ERR unknown command');
  expect(await peer.ask('QUIT')).toBe('+OK\r\n');
  expect(redis.dispatcher.puts).toEqual([]);
});

test.each([
  [['AUTH', tokens.write]],
  [['AUTH', 'will', tokens.write]],
  [['AUTH', 'default', tokens.write]],
  [['HELLO', '2', 'AUTH', 'default', tokens.write]],
])('a client can write after %j', async (words) => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const peer = redis.join();
  await peer.ask(...words);
  expect(await peer.send('SET a 1\r\nGET a\r\n')).toBe('+OK\r\n$1\r\n1\r\n');
});

test('a wrong password leaves the identity of the client unchanged', async () => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const peer = redis.join();
  for (const words of [['guess'], ['anna', tokens.read], ['nobody', tokens.admin], ['default', '']]) {
    expect(await peer.ask('AUTH', ...words)).toBe(wrong);
  }
  expect(await peer.ask('GET', 'a')).toBe(noAuth);
  await peer.ask('AUTH', tokens.read);
  expect(await peer.ask('HELLO', '3', 'AUTH', 'default', 'guess')).toBe(wrong);
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
});

test('ten wrong passwords in a row end the connection', async () => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const peer = redis.join();
  expect(await peer.send('AUTH guess\r\n'.repeat(20))).toBe(wrong.repeat(10));
  expect(peer.serverEnded).toBe(true);
});

test('a command beyond the role is refused, and so is a transaction with it', async () => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const peer = redis.join();
  await peer.ask('AUTH', names.read, tokens.read);
  expect(await peer.ask('SET', 'a', '1')).toBe(notFor('set'));
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
  expect(await peer.send('MULTI\r\nSET a 1\r\nEXEC\r\n')).toBe(
    `+OK\r\n${notFor('set')}-EXECABORT Transaction discarded because of previous errors.\r\n`,
  );
  expect(redis.dispatcher.puts).toEqual([]);
  expect(redis.transactions.requests).toEqual([]);
});

test('RESET and a revoked credential end the identity of the client', async () => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const peer = redis.join();
  await peer.ask('AUTH', tokens.read);
  expect(await peer.send('RESET\r\nGET a\r\n')).toBe(`+RESET\r\n${noAuth}`);
  await peer.ask('AUTH', tokens.read);
  redis.gate.replace([]);
  expect(await peer.send('GET a\r\nHELLO\r\n')).toContain(noAuth);
});

test('every refused command is counted', async () => {
  const redis = await TestingRedis.start({}, threeCredentials);
  const peer = redis.join();
  await peer.send('GET a\r\nAUTH guess\r\nAUTH guess\r\n');
  await peer.ask('AUTH', tokens.read);
  await peer.send('SET a 1\r\nHELLO\r\nGET a\r\nINCR a\r\n');
  expect(redis.gate.family.collect().filter(({ value }) => value > 0)).toEqual([
    { labels: { listener: 'redis', reason: 'missing' }, value: 1 },
    { labels: { listener: 'redis', reason: 'wrong' }, value: 2 },
    { labels: { listener: 'redis', reason: 'forbidden' }, value: 2 },
  ]);
});

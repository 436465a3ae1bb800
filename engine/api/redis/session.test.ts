/** Tests of a Redis client's conversation, over a dispatcher and transactions with maps. */
import { expect, test } from 'vitest';
import { LockstepError } from '../../base/errors.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Token } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { plainContent } from '../../replica/object/content.ts';
import { expiryName, expiryOf, metaWithExpiry, newestValue } from '../../replica/object/expiry.ts';
import { requestsPerTurn } from '../session/fair-turns.ts';
import type { RedisPeer } from './redis.fixture.ts';
import { TestingRedis, encodeRequest, noQuorum } from './redis.fixture.ts';

const keyOf = (name: string) => objectKey(defaultType, byteStringOf('redis'), byteStringOf(name));

/** Sends bytes, and advances the clock until a reply arrives. */
async function askPatiently(redis: TestingRedis, peer: RedisPeer, line: string): Promise<string> {
  let reply = await peer.send(line);
  for (let turn = 0; turn < 150 && reply === ''; turn++) {
    redis.clock.advance(60_000);
    reply = await peer.turn();
  }
  return reply;
}

test('pipelined commands are answered in order, and see the effects of earlier ones', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const wire = ['SET a 1', 'GET a', 'INCR a', 'GET a', 'SET b 2', 'DEL a b', 'GET a', 'MGET a b', 'PING'];
  const whole = Buffer.from(wire.map((line) => `${line}\r\n`).join(''));
  const wanted = '+OK\r\n$1\r\n1\r\n:2\r\n$1\r\n2\r\n+OK\r\n:2\r\n$-1\r\n*2\r\n$-1\r\n$-1\r\n+PONG\r\n';
  expect(await peer.send(whole)).toBe(wanted);
  const pieces = Array.from(whole, (byte) => Buffer.from([byte]));
  expect(await redis.join().send(...pieces)).toBe(wanted);
});

test('increments of one key cost one commit per turn', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 10 });
  const peers = Array.from({ length: 10 }, () => redis.join());
  const replies = await Promise.all(peers.map((peer) => peer.send('INCR n\r\nINCR n\r\n')));
  const numbers = replies.flatMap((reply) => reply.match(/\d+/g) ?? []).map(Number);
  expect(numbers.sort((left, right) => left - right)).toEqual(
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
  expect(redis.transactions.requests.length).toBeLessThanOrEqual(4);
});

test('plain writes of one key that wait together become one put', async () => {
  const redis = await TestingRedis.start();
  redis.dispatcher.holding = true;
  const peer = redis.join();
  await peer.send('SET a 1\r\nSET a 2\r\nSET a 3\r\nSET a 4\r\n');
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release());
  expect(await peer.turn()).toBe('+OK\r\n+OK\r\n+OK\r\n+OK\r\n');
  expect(redis.dispatcher.puts.length).toBe(2);
  expect(await peer.ask('GET', 'a')).toBe('$1\r\n4\r\n');
});

test('reads behind writes of their key take part in the turn, which costs one put', async () => {
  const redis = await TestingRedis.start();
  redis.dispatcher.holding = true;
  const peer = redis.join();
  await peer.send('SET a 0\r\nSET a 1\r\nGET a\r\nSET a 2\r\n');
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release());
  expect(await peer.turn()).toBe('+OK\r\n+OK\r\n$1\r\n1\r\n+OK\r\n');
  expect(redis.dispatcher.puts.length).toBe(2);
  expect(await peer.send('SET a 3 EX 0\r\nGET a\r\nINCR a\r\nGET a\r\n')).toBe(
    "-ERR invalid expire time in 'set' command\r\n$1\r\n2\r\n:3\r\n$1\r\n3\r\n",
  );
});

test('a command waits for earlier ones on its own keys alone', async () => {
  const redis = await TestingRedis.start();
  await redis.join().ask('MSET', 'a', '1', 'b', '2');
  const peer = redis.join();
  redis.dispatcher.holding = true;
  redis.dispatcher.gets.length = 0;
  const wire = ['GET a', 'MSET a 3 c 4', 'MGET a b', 'GET b'];
  expect(await peer.send(...wire.map((line) => Buffer.from(`${line}\r\n`)))).toBe('');
  expect(redis.dispatcher.gets.map(({ key }) => key.key)).toEqual(['a', 'b']);
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release());
  expect(await peer.turn()).toBe('$1\r\n1\r\n+OK\r\n*2\r\n$1\r\n3\r\n$1\r\n2\r\n$1\r\n2\r\n');
});

test('a read behind a write that failed is done without it', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'a', '1');
  redis.dispatcher.holding = true;
  await peer.send('GET a\r\nINCR a\r\nGET a\r\n');
  redis.dispatcher.holding = false;
  redis.transactions.outcomes.push('disk_full');
  while (redis.dispatcher.release());
  expect(await peer.turn()).toBe('$1\r\n1\r\n-DISKFULL n1: told so\r\n$1\r\n1\r\n');
});

test('a command reads and writes in one step, and retries after a conflict', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'n', '5');
  redis.transactions.outcomes.push('conflict', 'precondition_failed');
  expect(await askPatiently(redis, peer, 'INCR n\r\n')).toBe(':6\r\n');
  const [first] = redis.transactions.requests.at(-1)?.operations ?? [];
  expect(first?.ifMatch?.length).toBe(1);
});

test('a command that always conflicts is answered TRYAGAIN', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  redis.transactions.outcomes.push(...Array.from({ length: 200 }, () => 'conflict' as const));
  expect(await askPatiently(redis, peer, 'INCR n\r\n')).toMatch(/^-TRYAGAIN /);
});

test('an error shows whether the command may have been applied', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  redis.transactions.outcomes.push('inDoubt', 'no_targets', 'prepare_failed');
  expect(await peer.ask('INCR', 'n')).toMatch(/^-INDOUBT /);
  expect(await peer.ask('INCR', 'n')).toMatch(/^-NOTARGETS /);
  expect(await peer.ask('INCR', 'n')).toMatch(/^-ABORTED prepare_failed/);
  redis.dispatcher.failure = noQuorum();
  expect(await peer.ask('GET', 'n')).toBe('-NOQUORUM too few\r\n');
  redis.dispatcher.failure = new LockstepError('Overloaded', 'full');
  expect(await peer.ask('GET', 'n')).toBe('-OVERLOADED full\r\n');
});

test('a SET that may not count as the newest is written again, on top of a read and of its first attempt', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  expect(await peer.ask('SET', 'k', '1')).toBe('+OK\r\n');
  expect(redis.dispatcher.gets.length).toBe(0);
  redis.dispatcher.besideCount = 1;
  expect(await peer.ask('SET', 'k', '2')).toBe('+OK\r\n');
  expect(redis.dispatcher.gets.length).toBe(1);
  expect(redis.dispatcher.puts.at(-1)?.context).toEqual([{ actor: 'n1.00', counter: 2 }]);
  // The first attempt may be found later, so the outcome is open if the read fails.
  redis.dispatcher.besideCount = 1;
  redis.dispatcher.get = () => Promise.reject(new LockstepError('Overloaded', 'full', { definite: true }));
  expect(await peer.ask('SET', 'k', '3')).toBe('-NOQUORUM the write is not known to be the newest: full\r\n');
});

test('whatever ends a SET whose first attempt was written leaves its outcome open', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const { dispatcher, transactions } = redis;
  dispatcher.besideCount = 1;
  dispatcher.put = () => Promise.reject(new LockstepError('Overloaded', 'full', { definite: true }));
  expect(await peer.ask('SET', 'k', '1')).toBe('-NOQUORUM the write is not known to be the newest: full\r\n');
  // The read finds a value that expires, and the transaction that then replaces it is aborted.
  dispatcher.besideCount = 1;
  const get = dispatcher.get.bind(dispatcher);
  dispatcher.get = async (request) => {
    const { object } = await get(request);
    const siblings = (object?.siblings ?? []).map((one) => ({
      ...one,
      meta: metaWithExpiry(one, 900_000_000_000),
    }));
    return { object: { context: object?.context ?? [], siblings } };
  };
  transactions.outcomes.push('prepare_failed');
  expect(await peer.ask('SET', 'k', '2')).toMatch(
    /^-NOQUORUM the write is not known to be the newest: ABORTED prepare_failed/,
  );
});

test('a SET over a value that expires and that its first attempt met is one transaction that includes the attempt', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const { dispatcher } = redis;
  dispatcher.besideCount = 1;
  const get = dispatcher.get.bind(dispatcher);
  // Another replica holds a value that expires, and not the attempt.
  dispatcher.get = async (request) => {
    dispatcher.get = get;
    const { object } = await dispatcher.get(request);
    const [only] = object?.siblings ?? [];
    if (only === undefined) throw new Error('nothing was written');
    const meta = metaWithExpiry(only, 900_000_000_000);
    return { object: { context: [], siblings: [{ ...only, meta }] } };
  };
  expect(await peer.ask('SET', 'k', '1')).toBe('+OK\r\n');
  const [operation] = redis.transactions.requests.at(-1)?.operations ?? [];
  expect(operation?.context).toEqual([{ actor: 'n1.00', counter: 1 }]);
});

test.each([
  ['INCR', 'n'],
  ['MSET', 'n', '1', 'm', '2'],
  ['DEL', 'n', 'm'],
])('%s whose own read fails says that nothing was done', async (...command) => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  redis.dispatcher.failure = noQuorum();
  expect(await peer.ask(...command)).toBe('-ABORTED read_no_quorum: too few\r\n');
  redis.dispatcher.failure = new LockstepError('Timeout', 'silence');
  expect(await peer.ask(...command)).toBe('-ABORTED read_timeout: silence\r\n');
  redis.dispatcher.failure = new LockstepError('PeerGone', 'cut');
  expect(await peer.ask(...command)).toBe('-ABORTED read_peer_gone: cut\r\n');
  expect(redis.transactions.requests).toEqual([]);
  // Replicas were asked: no cause but the read's own, and no refusal.
  expect(redis.observer.causes).toEqual(['NoQuorum write', 'Timeout write', 'BadRequest write']);
  expect(redis.observer.counts.get('dropped')).toBeUndefined();
  // What was refused before any replica was asked keeps its own word.
  redis.dispatcher.failure = new LockstepError('NoQuorum', 'refused', { definite: true });
  expect(await peer.ask(...command)).toBe('-ABORTED no_quorum: refused\r\n');
  redis.dispatcher.failure = new LockstepError('Overloaded', 'full');
  expect(await peer.ask(...command)).toBe('-OVERLOADED full\r\n');
  expect(redis.observer.counts.get('dropped')).toBe(2);
});

test('commands about the connection wait for EXEC, and do nothing if it does not succeed', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const name = (): Promise<string> => peer.ask('CLIENT', 'GETNAME');
  await peer.send('MULTI\r\nCLIENT SETNAME one\r\nDISCARD\r\n');
  expect(await name()).toBe('$-1\r\n');
  await peer.send('WATCH n\r\nMULTI\r\nCLIENT SETNAME two\r\nGET n\r\n');
  await redis.join().ask('SET', 'n', '1');
  expect(await peer.send('EXEC\r\n')).toBe('*-1\r\n');
  expect(await name()).toBe('$-1\r\n');
  await peer.send('MULTI\r\nCLIENT SETNAME three\r\nCLIENT GETNAME\r\nSELECT 50\r\nPING\r\n');
  expect(await peer.send('EXEC\r\n')).toBe(
    '*4\r\n+OK\r\n$5\r\nthree\r\n-ERR DB index is out of range\r\n+PONG\r\n',
  );
  expect(await name()).toBe('$5\r\nthree\r\n');
});

test('replies of commands about the connection count as those of an EXEC', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send(`MULTI\r\nSET a 1\r\n${'COMMAND DOCS\r\n'.repeat(20)}`);
  expect(await peer.send('EXEC\r\n')).toMatch(
    /^-ERR the values and the answer of one step hold at most 30000 bytes/,
  );
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
});

test('EXEC whose own read fails says that nothing was done', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('MULTI');
  await peer.ask('SET', 'n', '1');
  redis.dispatcher.failure = noQuorum();
  expect(await peer.ask('EXEC')).toBe('-ABORTED read_no_quorum: too few\r\n');
});

test('MULTI and WATCH inside a transaction spoil it only by a wrong number of arguments', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send('MULTI\r\nSET a 1\r\n');
  expect(await peer.send('MULTI\r\nWATCH a\r\nEXEC\r\n')).toBe(
    '-ERR MULTI calls can not be nested\r\n-ERR WATCH inside MULTI is not allowed\r\n*1\r\n+OK\r\n',
  );
  for (const wrong of ['MULTI now', 'WATCH']) {
    await peer.send('MULTI\r\nSET a 2\r\n');
    const name = wrong.split(' ')[0]?.toLowerCase() ?? '';
    expect(await peer.send(`${wrong}\r\nEXEC\r\n`)).toBe(
      `-ERR wrong number of arguments for '${name}' command\r\n-EXECABORT Transaction discarded because of previous errors.\r\n`,
    );
  }
  expect(await peer.ask('GET', 'a')).toBe('$1\r\n1\r\n');
});

test('an unknown subcommand and a wrong one spoil a transaction', async () => {
  const peer = (await TestingRedis.start()).join();
  const refusals = [
    ['CLIENT NAME x', "unknown subcommand 'NAME'. Try CLIENT HELP."],
    ['CLIENT SETNAME', "wrong number of arguments for 'client|setname' command"],
    ['CONFIG GET', "wrong number of arguments for 'config|get' command"],
    ['COMMAND FOO', "unknown subcommand 'FOO'. Try COMMAND HELP."],
    ['SCRIPT EXISTS', "wrong number of arguments for 'script|exists' command"],
  ];
  for (const [wrong, text] of refusals) {
    expect(await peer.send(`MULTI\r\nSET a 1\r\n${wrong}\r\nEXEC\r\n`)).toBe(
      `+OK\r\n+QUEUED\r\n-ERR ${text}\r\n-EXECABORT Transaction discarded because of previous errors.\r\n`,
    );
  }
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
});

test('a name of a connection has a bounded length', async () => {
  const peer = (await TestingRedis.start()).join();
  const refusal = '-ERR Client names have at most 4096 bytes.\r\n';
  for (const command of ['CLIENT SETNAME', 'CLIENT SETINFO LIB-NAME', 'HELLO 2 SETNAME']) {
    expect(await peer.ask(...command.split(' '), 'x'.repeat(4097))).toBe(refusal);
  }
  expect(await peer.ask('CLIENT', 'SETNAME', 'x'.repeat(4096))).toBe('+OK\r\n');
});

test('COMMAND says which commands write, and which have keys at no fixed place', async () => {
  const peer = (await TestingRedis.start()).join();
  const rest = '*0\r\n'.repeat(4);
  const info = (name: string, ...flags: readonly string[]): string =>
    `*1\r\n*10\r\n$${name.length}\r\n${name}\r\n:${name === 'eval' ? -3 : -1}\r\n*${flags.length}\r\n${flags.map((flag) => `+${flag}\r\n`).join('')}:0\r\n:0\r\n:0\r\n${rest}`;
  expect(await peer.ask('COMMAND', 'INFO', 'flushall')).toBe(info('flushall', 'write'));
  expect(await peer.ask('COMMAND', 'INFO', 'eval')).toBe(info('eval', 'write', 'movablekeys'));
});

test('an error shows the characters that the client sent', async () => {
  const peer = (await TestingRedis.start()).join();
  for (const [request, text] of [
    [['ä', 'ö'], "unknown command 'ä', with args beginning with: 'ö' "],
    [['EXPIRE', 'k', '1', 'ü'], 'Unsupported option ü'],
    [['CLIENT', 'é'], "unknown subcommand 'é'. Try CLIENT HELP."],
    [['EVAL', "error('ß')", '0'], 'user_script:1: ß'],
    [['EVAL', "return redis.pcall('expire', 'k', 1, 'ü')", '0'], 'Unsupported option ü'],
  ] as const) {
    const reply = Buffer.from(await peer.ask(...request), 'latin1').toString();
    expect(reply.slice(0, text.length + 5)).toBe(`-ERR ${text}`);
  }
});

test('a value expires by the clock of the node that the client asked', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'a', '1', 'PX', '1500');
  const object = redis.dispatcher.stored(keyOf('a').packed);
  const newest = object === undefined ? undefined : newestValue(object);
  expect(newest === undefined ? 0 : expiryOf(newest)).toBe(redis.clock.wallMs() + 1500);
  redis.clock.aheadMs = 1499;
  expect(await peer.ask('PTTL', 'a')).toBe(':1\r\n');
  redis.clock.aheadMs = 1500;
  expect(await peer.ask('GET', 'a')).toBe('$-1\r\n');
  expect(await peer.ask('SETNX', 'a', '2')).toBe(':1\r\n');
  expect(await peer.ask('TTL', 'a')).toBe(':-1\r\n');
});

test('siblings are read as the newest value, and replaced by the next write', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  for (const value of ['left', 'right']) {
    await redis.dispatcher.put({
      key: keyOf('s'),
      need: 'default',
      context: [],
      content: {
        ...plainContent(Buffer.from(value), 'text/plain'),
        meta: [[byteStringOf('kept'), byteStringOf('yes')]],
      },
    });
  }
  expect(await peer.ask('GET', 's')).toBe('$5\r\nright\r\n');
  expect(await peer.ask('APPEND', 's', '!')).toBe(':6\r\n');
  const object = redis.dispatcher.stored(keyOf('s').packed);
  expect(object?.siblings.length).toBe(1);
  expect(object?.siblings[0]?.contentType).toBe('text/plain');
  await peer.ask('EXPIRE', 's', '100');
  const meta = redis.dispatcher.stored(keyOf('s').packed)?.siblings[0]?.meta.map(([name]) => name);
  expect(meta).toEqual(['kept', expiryName]);
});

test('a transaction checks its watched and read keys, and writes nothing if one has changed', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const other = redis.join();
  await peer.send('SET a 1\r\nSET b 2\r\n');
  await peer.send('WATCH a\r\nMULTI\r\nGET b\r\nSET c 3\r\n');
  expect(await peer.send('EXEC\r\n')).toBe('*2\r\n$1\r\n2\r\n+OK\r\n');
  const operations = redis.transactions.requests.at(-1)?.operations ?? [];
  expect(operations.map(({ key, check = false }) => [key.key, check])).toEqual([
    ['b', true],
    ['c', false],
    ['a', true],
  ]);
  await peer.send('WATCH a\r\nMULTI\r\nSET c 4\r\n');
  await other.ask('SET', 'a', 'other');
  expect(await peer.send('EXEC\r\n')).toBe('*-1\r\n');
  expect(await peer.ask('GET', 'c')).toBe('$1\r\n3\r\n');
});

test('a transaction that only reads commits checks; a command that only reads commits nothing', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send('SET a 1\r\nSET b 1\r\n');
  expect(await peer.send('MGET a b\r\n')).toBe('*2\r\n$1\r\n1\r\n$1\r\n1\r\n');
  await peer.send('MULTI\r\nGET a\r\nEXEC\r\n');
  expect(redis.transactions.requests.length).toBe(0);
  await peer.send('MULTI\r\nGET a\r\nGET b\r\nEXEC\r\n');
  const [request] = redis.transactions.requests;
  expect(request?.operations.map(({ check }) => check)).toEqual([true, true]);
});

test('RESP3 encodes nil, maps and texts in its own way', async () => {
  const peer = (await TestingRedis.start()).join();
  expect(await peer.ask('HELLO', '3')).toMatch(/^%7\r\n\$6\r\nserver\r\n/);
  expect(await peer.ask('GET', 'none')).toBe('_\r\n');
  expect(await peer.ask('INFO', 'clients')).toMatch(/^=\d+\r\ntxt:# Clients/);
  expect(await peer.send('WATCH a\r\nMULTI\r\nEXEC\r\n')).toBe('+OK\r\n+OK\r\n*0\r\n');
});

test('a client that does not read is not read from', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'a', 'x'.repeat(9000));
  await peer.reads(false);
  await peer.send(...Array.from({ length: 100 }, () => encodeRequest(['GET', 'a'])));
  expect(peer.paused).toBe(true);
  expect(peer.undelivered).toBeGreaterThan(50);
  await peer.reads(true);
  await peer.turn();
  expect(peer.undelivered).toBe(0);
  expect(peer.paused).toBe(false);
});

test('at most inFlightMax commands are under way', async () => {
  const redis = await TestingRedis.start({ inFlightMax: 4 });
  const peer = redis.join();
  redis.dispatcher.holding = true;
  await peer.send(...Array.from({ length: 10 }, (_, index) => encodeRequest(['GET', `k${index}`])));
  expect(redis.dispatcher.underWay).toBe(4);
  redis.dispatcher.holding = false;
  while (redis.dispatcher.release()) await peer.turn();
  expect(redis.dispatcher.underWayMax).toBe(4);
});

test('a pipelining client begins few commands per turn, and others are answered in between', async () => {
  const redis = await TestingRedis.start({ inFlightMax: 1000 });
  redis.clock.holdsTurns = true;
  const [greedy, modest] = [redis.join(), redis.join()];
  const sent = 3 * requestsPerTurn - 10;
  const first = await greedy.send(Buffer.from('GET a\r\n'.repeat(sent)));
  expect(redis.dispatcher.gets).toHaveLength(requestsPerTurn);
  expect(first).toBe('$-1\r\n'.repeat(requestsPerTurn));
  expect(greedy.paused).toBe(true);
  expect(await modest.send('GET b\r\n')).toBe('$-1\r\n');
  redis.clock.advance(0);
  expect(await greedy.turn()).toBe('$-1\r\n'.repeat(requestsPerTurn));
  redis.clock.advance(0);
  expect(await greedy.turn()).toBe('$-1\r\n'.repeat(requestsPerTurn - 10));
  expect(greedy.paused).toBe(false);
  // The server handles the end of the client's input only after the client's last turn.
  await greedy.send(Buffer.from('PING\r\n'.repeat(20)));
  await greedy.endClient();
  expect(greedy.serverEnded).toBe(false);
  redis.clock.advance(0);
  await greedy.turn();
  expect(greedy.serverEnded).toBe(true);
});

test('malformed input ends the connection after the earlier replies', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const reply = await peer.send('PING\r\n*1\r\n+no\r\nPING\r\n');
  expect(reply).toBe("+PONG\r\n-ERR Protocol error: expected '$', got '+'\r\n");
  expect(peer.serverEnded).toBe(true);
  await peer.endClient();
  expect(redis.server.connections).toBe(0);
});

test('QUIT is answered, then the connection ends', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  expect(await peer.send('PING\r\nQUIT\r\nPING\r\n')).toBe('+PONG\r\n+OK\r\n');
  expect(peer.serverEnded).toBe(true);
});

test('a connection beyond the limit gets an error', async () => {
  const redis = await TestingRedis.start({ connectionCountMax: 1 });
  const first = redis.join();
  const second = redis.join();
  expect(await second.turn()).toBe('-ERR max number of clients reached\r\n');
  expect(second.serverEnded).toBe(true);
  expect(await first.ask('PING')).toBe('+PONG\r\n');
});

test('a stopping server answers commands under way and takes no more', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  redis.dispatcher.holding = true;
  await peer.ask('GET', 'a');
  const stopped = redis.server.stop(1000);
  await peer.send('PING\r\n');
  expect(peer.patienceUs).toBe(30_000_000);
  redis.dispatcher.release();
  expect(await peer.turn()).toBe('$-1\r\n');
  // A client that takes nothing of the last replies delays a stop by a second.
  expect(peer.patienceUs).toBe(1_000_000);
  await peer.endClient();
  await stopped;
  expect(redis.server.connections).toBe(0);
});

test('every command counts once, also if it is refused', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send(
    'PING\r\nGET a\r\nSET a 1\r\nMULTI\r\nINCR a\r\nEXEC\r\nLPUSH l 1\r\nLREM l 1 x\r\nHSET h a b\r\n',
  );
  await peer.send(
    'ZADD z 1 a\r\nSADD s a\r\nSUNION a b\r\nSORT l\r\nFOO\r\nGET\r\nDEL a\r\nMGET a\r\nSCAN 0\r\nKEYS *\r\n',
  );
  expect(Object.fromEntries(redis.counts)).toEqual({
    ...{ ping: 1, get: 2, set: 1, incr_decr: 1, other: 3, lists: 1, lreqm: 1, hashes: 1, sortedsets: 1 },
    ...{ sets: 1, sunion: 1, sort: 1, del: 1, mget: 1, scan: 1, keys: 1 },
  });
});

test('SCAN goes through all keys, token by token', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const tokens = [0, 0, 5, 9, 9, 9, 12, 4_294_967_295];
  redis.listed = tokens.map((token, index) => ({ name: byteStringOf(`k${index}`), token: token as Token }));
  const seen: string[] = [];
  let cursor = '0';
  let calls = 0;
  do {
    const reply = await peer.ask('SCAN', cursor, 'COUNT', '2');
    const [head = '', ...names] = [...reply.matchAll(/\$\d+\r\n([^\r]*)\r\n/g)].map(([, text = '']) => text);
    cursor = head;
    seen.push(...names);
    calls += 1;
  } while (cursor !== '0');
  expect(seen).toEqual(redis.listed.map(({ name }) => name));
  expect(calls).toBe(3);
  expect(await peer.ask('SCAN', '0', 'MATCH', 'k[12]', 'COUNT', '100')).toBe(
    '*2\r\n$1\r\n0\r\n*2\r\n$2\r\nk1\r\n$2\r\nk2\r\n',
  );
  expect(await peer.ask('DBSIZE')).toBe(':8\r\n');
  expect(await peer.ask('KEYS', 'k7')).toBe('*1\r\n$2\r\nk7\r\n');
  expect(await peer.ask('RANDOMKEY')).toMatch(/^\$2\r\nk\d\r\n$/);
  expect(await peer.ask('SCAN', 'x')).toBe('-ERR invalid cursor\r\n');
});

test('FLUSHDB and FLUSHALL begin new epochs of their buckets in one step', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  expect(await peer.send('FLUSHDB SYNC\r\nSELECT 3\r\nFLUSHDB\r\nFLUSHALL\r\n')).toBe(
    '+OK\r\n+OK\r\n+OK\r\n+OK\r\n',
  );
  expect(redis.flushed.slice(0, 3)).toEqual(['redis', 'redis:3', 'redis']);
  expect(redis.flushed.length).toBe(2 + 16);
  expect(redis.dispatcher.puts).toEqual([]);
});

test('before every member knows epochs, FLUSHDB deletes every key with a tombstone that includes what was read', async () => {
  const redis = await TestingRedis.start();
  redis.hasEpochs = false;
  const peer = redis.join();
  await peer.ask('MSET', 'a', '1', 'b', '2');
  redis.listed = ['a', 'b', 'c'].map((name, index) => ({ name: byteStringOf(name), token: index as Token }));
  redis.dispatcher.puts.length = 0;
  expect(await peer.send('FLUSHDB ASYNC\r\nMGET a b\r\n')).toBe('+OK\r\n*2\r\n$-1\r\n$-1\r\n');
  expect(redis.dispatcher.puts.map(({ key, content }) => [key.key, content.tombstone])).toEqual([
    ['a', true],
    ['b', true],
  ]);
  expect(redis.dispatcher.puts.every(({ context }) => context.length > 0)).toBe(true);
});

test('a FLUSHDB key by key that fails half-way leaves its outcome open, and deletes nothing more', async () => {
  for (const [deleted, answer] of [
    [1, '-NOQUORUM a part of it is done, and may not be the whole: 1 of 2 replicas\r\n'],
    [0, '-ABORTED no_quorum: 1 of 2 replicas\r\n'],
  ] as const) {
    const redis = await TestingRedis.start();
    redis.hasEpochs = false;
    const peer = redis.join();
    await peer.ask('MSET', 'a', '1', 'b', '2', 'c', '3');
    redis.listed = ['a', 'b', 'c'].map((name, index) => ({
      name: byteStringOf(name),
      token: index as Token,
    }));
    const { dispatcher } = redis;
    dispatcher.puts.length = 0;
    const put = dispatcher.put.bind(dispatcher);
    dispatcher.put = async (request) => {
      if (dispatcher.puts.length >= deleted)
        throw new LockstepError('NoQuorum', '1 of 2 replicas', { definite: true });
      return put(request);
    };
    expect(await peer.ask('FLUSHDB')).toBe(answer);
    expect(dispatcher.puts.length).toBe(deleted);
  }
});

test('each database has its own keys, and a transaction or a watch stays in one', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  expect(await peer.send('SET a 0\r\nSELECT 15\r\nGET a\r\nSET a 15\r\nSELECT 0\r\nGET a\r\n')).toBe(
    '+OK\r\n+OK\r\n$-1\r\n+OK\r\n+OK\r\n$1\r\n0\r\n',
  );
  const other = objectKey(defaultType, byteStringOf('redis:15'), byteStringOf('a'));
  expect(redis.dispatcher.stored(other.packed)).toBeDefined();
  expect(await peer.send('MULTI\r\nSELECT 0\r\nSELECT 15\r\nDISCARD\r\n')).toBe(
    '+OK\r\n+QUEUED\r\n-ERR SELECT of another database is not supported inside a transaction\r\n+OK\r\n',
  );
  expect(await peer.send('WATCH a\r\nSELECT 0\r\nSELECT 99\r\nSELECT x\r\nUNWATCH\r\n')).toBe(
    '+OK\r\n+OK\r\n-ERR DB index is out of range\r\n-ERR value is not an integer or out of range\r\n+OK\r\n',
  );
  expect(await peer.send('WATCH a\r\nSELECT 1\r\n')).toBe(
    '+OK\r\n-ERR SELECT is not supported while keys are watched; send UNWATCH first\r\n',
  );
});

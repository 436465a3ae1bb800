/** Tests of scripts in a client's conversation: bounds, atomicity, keys. `words.test.ts` compares with redis-server. */
import luaparse from 'luaparse';
import { expect, test, vi } from 'vitest';
import { TestLog } from '../../testing/test-io.fixture.ts';
import { TestingRedis } from '../redis.fixture.ts';
import { present } from '../../../base/assert.ts';
import { CompileError, parseScript } from './parse.ts';
import { Scripts } from './scripts.ts';

const bounded = (script: string) => ({
  script,
  wanted: /^-ERR the script took more than 100000 steps script: /,
});

test.each([
  bounded('while true do end'),
  bounded('while true do pcall(function() while true do end end) end'),
  bounded("redis.call('set', KEYS[1], 'x') for i = 1, 1e9 do end"),
  bounded("return string.find(string.rep('a', 5000), string.rep('a*', 40) .. 'b')"),
  bounded('local function f() return pcall(f) end while true do f() end'),
  {
    script: "return string.rep('x', 1e9)",
    wanted: /^-ERR the script took more than 1000000 bytes of memory/,
  },
  {
    script: "local s = 'x' while true do s = s .. s end",
    wanted: /^-ERR the script took more than 1000000 bytes/,
  },
  {
    script: 'local t = {} for i = 1, 1e6 do t[i] = {} end',
    wanted: /^-ERR the script took more than 1000000 bytes/,
  },
  { script: 'local function f() return 1 + f() end return f()', wanted: /stack overflow/ },
  { script: `return ${'('.repeat(5000)}1${')'.repeat(5000)}`, wanted: /nests too deeply/ },
  { script: `return ${'-'.repeat(5000).replaceAll('-', '- ')}1`, wanted: /nests too deeply/ },
])('a script that would not end is an error and leaves nothing: $script', async ({ script, wanted }) => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  expect(await peer.ask('EVAL', script.slice(0, 9000), '1', 'k')).toMatch(wanted);
  expect(await peer.ask('EXISTS', 'k')).toBe(':0\r\n');
  expect(
    redis.transactions.requests.flatMap(({ operations }) => operations.filter(({ check }) => check !== true)),
  ).toEqual([]);
});

test('a script that fails leaves nothing of what it wrote, and those beside it in EXEC stay', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const failing = "redis.call('set', KEYS[1], 'x') redis.call('del', KEYS[2]) error('no')";
  expect(await peer.send('SET b 1\r\nMULTI\r\nSET c 2\r\n')).toBe('+OK\r\n+OK\r\n+QUEUED\r\n');
  await peer.ask('EVAL', failing, '2', 'a', 'b');
  expect(await peer.ask('EXEC')).toMatch(/^\*2\r\n\+OK\r\n-ERR user_script:1: no script: /);
  expect(await peer.ask('MGET', 'a', 'b', 'c')).toBe('*3\r\n$-1\r\n$1\r\n1\r\n$1\r\n2\r\n');
});

test('a script sees its own writes, commits once, and runs again after a conflict', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  redis.transactions.outcomes.push('conflict');
  const script = "for i = 1, 3 do redis.call('incr', KEYS[1]) end return redis.call('get', KEYS[1])";
  const asked = peer.ask('EVAL', script, '1', 'n');
  let reply = await asked;
  for (let turn = 0; turn < 5; turn++) {
    redis.clock.advance(60_000);
    reply += await peer.turn();
  }
  expect(reply).toBe('$1\r\n3\r\n');
  expect(redis.transactions.requests).toHaveLength(2);
});

test('a key that a script names only by a command is loaded, and the script runs again', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send('SET list:1 a\r\nSET next list:1\r\n');
  const script = "return redis.call('get', redis.call('get', KEYS[1]))";
  expect((await peer.ask('EVAL', script, '1', 'next')) + (await peer.turn())).toBe('$1\r\na\r\n');
});

test.each([
  ['a command that needs no value', 'MULTI\r\nEXISTS k', ':1\r\n'],
  ['WATCH', 'WATCH k\r\nMULTI', ''],
])('a script reads the whole value of a key that %s has named already', async (_, before, reply) => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.send('SET k long PX 60000\r\n');
  await peer.send(`${before}\r\n`);
  const wire = [
    `EVAL "return redis.call('get', 'k')" 0`,
    `EVAL "return redis.call('append', 'k', 'er')" 0`,
    `EVAL "return redis.call('persist', 'k')" 0`,
  ];
  await peer.send(wire.map((line) => `${line}\r\n`).join(''));
  const answer = await peer.ask('EXEC');
  expect(answer).toBe(`*${reply === '' ? 3 : 4}\r\n${reply}$4\r\nlong\r\n:6\r\n:1\r\n`);
  expect(await peer.ask('GET', 'k')).toBe('$6\r\nlonger\r\n');
});

test('scripts behind writes of a pipeline see them', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const wire = ['SET n 1', 'EVAL "return redis.call(\'incr\', KEYS[1])" 1 n', 'GET n', 'EVAL "return 7" 0'];
  const reply = await peer.send(wire.map((line) => `${line}\r\n`).join(''));
  expect(reply + (await peer.turn())).toBe('+OK\r\n:2\r\n$1\r\n2\r\n:7\r\n');
});

test('pairs, cjson and cmsgpack see every element of a list, in whatever order it was filled', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const fill = "local t = {} t[2] = 'b' t[1] = 'a' t[4] = 'd' t[3] = 'c' t[5] = 'e' ";
  const joined = "local s = '' for _, v in pairs(t) do s = s .. v end return s";
  expect(await peer.ask('EVAL', fill + joined, '0')).toBe('$5\r\nabcde\r\n');
  expect(await peer.ask('EVAL', `${fill}return cjson.encode(t)`, '0')).toBe(
    '$21\r\n["a","b","c","d","e"]\r\n',
  );
  expect(await peer.ask('EVAL', `${fill}return #cmsgpack.unpack(cmsgpack.pack(t))`, '0')).toBe(':5\r\n');
});

test('only what nests counts as nesting', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const cases = Array.from({ length: 300 }, (_, at) => `elseif n==${at + 1} then return ${at + 1} `).join('');
  const branches = `local n = tonumber(ARGV[1]) if n==0 then return 0 ${cases}end`;
  expect(await peer.ask('EVAL', branches, '0', '250')).toBe(':250\r\n');
  const told = `${'-- do this, then the function (\n'.repeat(150)}--[[ ${'do '.repeat(300)}]] return #'${'('.repeat(300)}'`;
  expect(await peer.ask('EVAL', told, '0')).toBe(':300\r\n');
});

const brackets = '('.repeat(5000);

test.each([
  ['a comment that ends at CR', `--\r${brackets}`],
  ['an escaped CR LF in a text', `local s = "\\\r\n" ${brackets} "`],
  ['an escaped LF CR in a text', `local s = '\\\n\r' ${brackets} '`],
  ['a text that CR ends', `local s = "\r${brackets} "`],
  ['a chain of operators over lines', `return ${'a..\n'.repeat(30_000)}a`],
])('nesting that is hidden by %s is refused', (_, script) => {
  expect(() => parseScript(script)).toThrow(CompileError);
  expect(() => parseScript(script)).toThrow(/nests too deeply$/);
});

test('a script that exhausts the stack of the parser does not disturb its group', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const parse = vi.spyOn(luaparse, 'parse').mockImplementationOnce(() => {
    throw new RangeError('Maximum call stack size exceeded');
  });
  await peer.send('MULTI\r\nSET a 1\r\n');
  await peer.ask('EVAL', 'return 1', '0');
  await peer.ask('GET', 'a');
  expect(await peer.ask('EXEC')).toMatch(/^\*3\r\n\+OK\r\n-ERR .*nests too deeply\r\n\$1\r\n1\r\n$/);
  parse.mockRestore();
});

test('a comment that ends at CR hides no parenthesis behind it', async () => {
  expect(
    await (
      await TestingRedis.start()
    )
      .join()
      .ask('EVAL', "return select('#', --\r(string.find('a', 'a')))", '0'),
  ).toBe(':1\r\n');
});

test('SCRIPT LOAD of a known script does not parse it again, and counts as its use', () => {
  const scripts = new Scripts(new TestLog());
  const texts = Array.from({ length: 11 }, (_, at) =>
    Buffer.from(`return ${at} --${'x'.repeat(100 * 1024)}`),
  );
  const [first, second] = texts.slice(0, 10).map((text) => scripts.load(text));
  const parse = vi.spyOn(luaparse, 'parse');
  expect(scripts.load(present(texts[0], 'a text'))).toBe(first);
  expect(parse).not.toHaveBeenCalled();
  parse.mockRestore();
  scripts.load(present(texts[10], 'a text'));
  expect([first, second].map((hash) => scripts.has(hash ?? ''))).toEqual([true, false]);
});

test('a script has a bounded length, and the cache a bounded number of bytes', () => {
  const scripts = new Scripts(new TestLog());
  expect(() => scripts.load(Buffer.from(`return 1 --${'x'.repeat(128 * 1024)}`))).toThrow(
    'ERR a script has at most 131072 bytes',
  );
  const hashes = Array.from({ length: 12 }, (_, at) =>
    scripts.load(Buffer.from(`return ${at} --${'x'.repeat(100 * 1024)}`)),
  );
  expect(hashes.map((hash) => scripts.has(hash))).toEqual([false, false, ...Array<boolean>(10).fill(true)]);
  scripts.flush();
  expect(hashes.some((hash) => scripts.has(hash))).toBe(false);
});

/** Tests of what the steps and bytes of a script count: no function, command or reply costs more than the meter knows. */
import { expect, test } from 'vitest';
import { TestingRedis } from '../redis.fixture.ts';

const tooLong = /^-ERR the script took more than 100000 steps script: /;
const tooLarge = /^-ERR the script took more than 1000000 bytes of memory/;
const long = "local s = string.rep('a', 200000) ";
const endless = (body: string): string => `${long}while true do ${body} end`;

async function answerOf(script: string, ...keys: string[]): Promise<string> {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  return peer.ask('EVAL', script, String(keys.length), ...keys);
}

test.each([
  ['position beyond every table', "local t = {1} table.insert(t, math.huge, 'x') return #t", ':1\r\n'],
  ['position beyond exact numbers', "local t = {1} table.insert(t, 2^60, 'x') return t[2^60]", '$1\r\nx\r\n'],
])('inserting at a %s ends', async (_, script, reply) => {
  expect(await answerOf(script)).toBe(reply);
});

test('a reply that names one table many times ends', async () => {
  expect(await answerOf('local t = {1} for i = 1, 60 do t = {t, t} end return t')).toMatch(
    /^-ERR the values and the answer of one step hold at most 30000 bytes/,
  );
});

test('a reply has at most redis_answer_bytes_max bytes, also if it names one text many times', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const script = (count: number): string =>
    `${long.replace('200000', '1000')}local t = {} for i = 1, ${count} do t[i] = s end return t`;
  expect(await peer.ask('EVAL', script(20), '0')).toMatch(/^\*20\r\n\$1000\r\n/);
  expect(await peer.ask('EVAL', script(40), '0')).toMatch(
    /^-ERR the values and the answer of one step hold at most 30000 bytes/,
  );
});

test('what the commands of a script write is bounded while it runs', async () => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  const script = "for i = 1, 10 do redis.call('setbit', KEYS[1], 79999, i % 2) end while true do end";
  expect(await peer.ask('EVAL', script, '1', 'k')).toMatch(
    /^-ERR the values and the answer of one step hold at most 30000 bytes/,
  );
});

test.each([
  ['redis.sha1hex', endless('redis.sha1hex(s)'), tooLarge],
  ['redis.log', endless('redis.log(redis.LOG_NOTICE, s)'), tooLong],
  ['string.find of a text', endless("string.find(s, 'b', 1, true)"), tooLong],
  ['string.find of a long text', `${long}string.find(s, s:sub(1, 90000) .. 'b' .. s:sub(1, 9000))`, tooLong],
  ['a pattern without magic', endless("string.find('', s)"), tooLong],
  ['a long set', `${long}string.find(s, '[b' .. s:gsub('a', 'c') .. ']')`, tooLong],
  [
    'many arguments',
    'local function f(...) while true do select(1, ...) end end f(unpack({}, 1, 8000))',
    tooLong,
  ],
  [
    'many values',
    'local function f(...) while true do local a, b = 1, ... end end f(unpack({}, 1, 8000))',
    tooLong,
  ],
  ['tonumber', endless('tonumber(s, 16)'), tooLarge],
  ['equality', `${long}local r = string.rep('a', 200000) while true do local e = s == r end`, tooLong],
  ['order', `${long}local r = string.rep('a', 200000) while true do local e = s < r end`, tooLong],
  [
    'next after a long key',
    `${long}local t = {[s] = 1} s = string.rep('a', 200000) for i = 1, 500 do next(t, s) end return 1`,
    tooLong,
  ],
  [
    'string.find where a long text nearly stands everywhere',
    `${long}return string.find(s, s:sub(1, 300) .. 'b', 1, true)`,
    tooLong,
  ],
  ['a long key of a table', `${long}local t = {} while true do t[s] = 1 end`, tooLong],
  [
    'next over removed entries',
    "local t = {} for i = 1, 9000 do t['k' .. i] = 1 end for i = 1, 9000 do t['k' .. i] = nil end while true do next(t) end",
    tooLong,
  ],
  [
    'a replacement that repeats the match',
    "return string.rep('a', 5000):gsub('.+', string.rep('%0', 300))",
    tooLarge,
  ],
])('work of %s is counted', async (_, script, wanted) => {
  const startMs = performance.now();
  expect(await answerOf(script)).toMatch(wanted);
  // The machine may be busy; without the count most of these would take minutes.
  expect(performance.now() - startMs).toBeLessThan(10_000);
});

test.each([
  ['bitcount', "redis.call('bitcount', KEYS[1])"],
  ['lcs', "redis.call('lcs', KEYS[1], KEYS[1])"],
])('a command on a long value costs steps by its bytes: %s', async (_, command) => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'k', 'x'.repeat(1500));
  const count = command.includes('lcs') ? 20 : 900;
  const script = `for i = 1, ${count} do ${command} end return 1`;
  expect(await peer.ask('EVAL', script, '1', 'k')).toMatch(tooLong);
});

test.each([
  ['getrange', "redis.call('getrange', KEYS[1], 0, 0)"],
  ['substr', "redis.call('substr', KEYS[1], -1, -1)"],
  ['getbit', "redis.call('getbit', KEYS[1], 70)"],
  ['strlen', "redis.call('strlen', KEYS[1])"],
  ['persist', "redis.call('persist', KEYS[1])"],
  ['object', "redis.call('object', 'refcount', KEYS[1])"],
  ['exists', "redis.call('exists', KEYS[1])"],
])('a command that takes the same time for every value costs the same steps: %s', async (_, command) => {
  const redis = await TestingRedis.start();
  const peer = redis.join();
  await peer.ask('SET', 'k', 'x'.repeat(9000));
  const script = `for i = 1, 800 do ${command} end return 1`;
  expect(await peer.ask('EVAL', script, '1', 'k')).toBe(':1\r\n');
});

// The place of a text of 306 bytes, which is longer than what the engine finds in linear time.
const [dashes, needle] = ["local s = string.rep('-', 200000) ", "string.rep('ab', 153)"];
test.each([
  ['absent', `${dashes}return string.find(s, ${needle}, 1, true)`, '$-1\r\n'],
  ['at the end', `${dashes}return string.find(s .. ${needle}, ${needle})`, ':200001\r\n'],
  ['at the start', `return {string.find(${needle} .. '-', ${needle}, 1, true)}`, '*2\r\n:1\r\n:306\r\n'],
  [
    'behind one that differs late',
    `local w = ${needle} return string.find('-' .. w:sub(1, 305) .. '-' .. w, w)`,
    ':308\r\n',
  ],
  [
    'overlapping one that differs late',
    `return string.find(string.rep('a', 350) .. 'b', string.rep('a', 305) .. 'b')`,
    ':46\r\n',
  ],
  ['cut off by the end', `return string.find('-' .. ${needle}:sub(1, 305), ${needle})`, '$-1\r\n'],
  ['longer than the rest', `${dashes}for i = 1, 1000 do string.find(s, s, 2, true) end return 1`, ':1\r\n'],
  [
    'near the end, often',
    `${dashes}for i = 1, 1000 do string.find(s, 'b', 199990, true) end return 1`,
    ':1\r\n',
  ],
])('string.find counts what it looks at: a text that is %s', async (_, script, reply) => {
  expect(await answerOf(script)).toBe(reply);
});

test('string.byte returns at most as many values as unpack', async () => {
  expect(await answerOf("return #{string.rep('a', 7999):byte(1, -1)}")).toBe(':7999\r\n');
  expect(await answerOf("return #{string.rep('a', 9000):byte(1, -1)}")).toMatch(/string slice too long/);
});

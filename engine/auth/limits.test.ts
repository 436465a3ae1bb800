/** The limits of credentials: to buckets, and to a rate of requests. */
import { expect, test } from 'vitest';

import type { ByteString } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { parseBucketRule, reaches } from './bucket-rules.ts';
import { limitedCredential, limitedToken } from './credentials.fixture.ts';
import { credentialLine, parseCredentials, parseLimits } from './credentials.ts';
import { Gate } from './gate.ts';
import { RequestTokens } from './request-rate.ts';

const type = 'default' as ByteString;

function mayReach(rule: string, name: string, inType = 'default'): boolean {
  const parsed = parseBucketRule(rule);
  return parsed !== undefined && reaches([parsed], byteStringOf(inType), byteStringOf(name));
}

test('a rule is about one name, or about all that begin as it does before its star', () => {
  expect(mayReach('shop', 'shop')).toBe(true);
  expect(mayReach('shop', 'shop:1')).toBe(false);
  expect(mayReach('shop:*', 'shop:1')).toBe(true);
  expect(mayReach('shop:*', 'shop:')).toBe(true);
  expect(mayReach('shop:*', 'shop')).toBe(false);
  expect(mayReach('*', 'anything at all')).toBe(true);
});

test('a rule without a type is about the default type alone', () => {
  expect(mayReach('*', 'b', 'sessions')).toBe(false);
  expect(mayReach('sessions/*', 'b', 'sessions')).toBe(true);
  expect(mayReach('sessions/*', 'b')).toBe(false);
  expect(mayReach('*/b', 'b', 'sessions')).toBe(true);
});

test('any byte of a name can be written, and a star inside a name is no rule', () => {
  expect(mayReach('a%2Fb', 'a/b')).toBe(true);
  expect(mayReach('a%2A', 'a*')).toBe(true);
  expect(mayReach('a%2A', 'ab')).toBe(false);
  expect(mayReach('%C3%BC', 'ü')).toBe(true);
  for (const text of ['', 'a*b', 'a/b/c', '/b', 'a/', '**', 'ü', 'a b', '%zz', '%2'])
    expect([text, parseBucketRule(text)]).toEqual([text, undefined]);
});

test('limits round-trip through the line of a credential', () => {
  const credential = limitedCredential('write', 'bucket=shop:*', 'bucket=sessions/*', 'rate=20', 'burst=50');
  const line = credentialLine(credential);
  expect(line).toMatch(/ bucket=shop:\* bucket=sessions\/\* rate=20 burst=50$/);
  expect(parseCredentials(line, 'f').map(credentialLine)).toEqual([line]);
});

test('a limit that cannot be meant is refused', () => {
  for (const fields of [
    ['rate=0'],
    ['rate=x'],
    ['burst=5'],
    ['rate=1', 'rate=2'],
    ['bucket='],
    ['role=x'],
    ['rate=9999999'],
  ])
    expect(typeof parseLimits(fields)).toBe('string');
  expect(typeof parseLimits(Array.from({ length: 65 }, (_, index) => `bucket=b${index}`))).toBe('string');
});

test('a rate allows its burst at once, and then its share of every second', () => {
  const tokens = new RequestTokens({ perSecond: 4, burst: 2 }, 0);
  expect([tokens.take(0), tokens.take(0), tokens.take(0)]).toEqual([true, true, false]);
  expect(tokens.take(249_999)).toBe(false);
  expect([tokens.take(250_000), tokens.take(250_000)]).toEqual([true, false]);
  expect([1, 2, 3].map(() => tokens.take(60_000_000))).toEqual([true, true, false]);
});

test('the gate refuses beyond the rate, counts each refusal, and takes nothing for a request that waited', () => {
  const clock = { nowUs: () => 0 };
  const log = { enabled: () => false, event: () => undefined };
  const gate = new Gate({ log, clock }, [limitedCredential('read', 'rate=1')]);
  const lena = gate.identify(limitedToken);
  gate.admit('redis', 'h:1', lena, 'read');
  gate.admit('redis', 'h:1', lena, 'read', true);
  gate.admit('redis', 'h:1', lena, 'open');
  expect(() => gate.admit('redis', 'h:1', lena, 'read')).toThrow('lena may send 1 requests a second');
  expect(gate.rateFamily.collect().filter(({ value }) => value > 0)).toEqual([
    { labels: { listener: 'redis' }, value: 1 },
  ]);
});

test('new limits hold at once for clients that are connected, and a full one has no permit to ask', () => {
  const clock = { nowUs: () => 0 };
  const log = { enabled: () => false, event: () => undefined };
  const gate = new Gate({ log, clock }, [limitedCredential('write')]);
  const lena = gate.identify(limitedToken);
  expect(gate.permitOf('pb', 'h:1', lena).isLimited).toBe(false);
  gate.replace([limitedCredential('write', 'bucket=shop:*', 'rate=1')]);
  expect(lena?.revoked).toBe(false);
  const permit = gate.permitOf('pb', 'h:1', lena);
  expect(permit.mayReach(type, 'shop:1' as ByteString)).toBe(true);
  expect(() => permit.mustReach([{ type, bucket: 'other' as ByteString }])).toThrow(
    'lena is limited to the buckets shop:*; this asks for the bucket "other" of the type default',
  );
  expect(gate.family.collect().filter(({ value }) => value > 0)).toHaveLength(1);
});

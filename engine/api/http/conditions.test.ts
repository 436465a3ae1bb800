import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ByteString } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { HttpRequest } from '../../io/http.ts';
import { clockSkewMsMax } from '../../replica/object/dates.ts';
import { contentOf } from '../../replica/object/replicas.contract.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { judge, shownDateMs } from './conditions.ts';
import { formatHttpDate } from './http-date.ts';
import { TestingClient } from './client.fixture.ts';

const nowMs = Date.UTC(2026, 0);
const year = 365 * 86_400_000;
const offsetMs = fc.oneof(fc.integer({ min: -year, max: year }), fc.integer({ min: -90_000, max: 90_000 }));

function verdictOf(method: string, header: string, dateMs: number, lastModifiedMs: number): string {
  const request: HttpRequest = {
    method,
    path: '/',
    params: {},
    query: new URLSearchParams(),
    headers: { [header]: formatHttpDate(dateMs) },
    body: new Uint8Array(0),
    remote: 'client:1',
    onGone: () => undefined,
  };
  return judge(request, { tag: 't', tags: ['t'], lastModifiedMs }, nowMs).kind;
}

describe('dates as validators', () => {
  it('a date shown with one version validates neither a version dated later nor one of the future', () => {
    fc.assert(
      fc.property(offsetMs, offsetMs, (storedOffset, sentOffset) => {
        const storedMs = nowMs + storedOffset;
        const sentMs = nowMs + sentOffset;
        const isNewer = Math.floor(storedMs / 1000) > Math.floor(sentMs / 1000);
        const isFuture = Math.floor(sentMs / 1000) * 1000 > nowMs + clockSkewMsMax;
        const speaks = !isNewer && !isFuture;
        const verdicts = [
          verdictOf('GET', 'if-modified-since', sentMs, storedMs),
          verdictOf('PUT', 'if-unmodified-since', sentMs, storedMs),
          verdictOf('GET', 'if-unmodified-since', sentMs, storedMs),
        ];
        expect(verdicts).toEqual(
          speaks ? ['notModified', 'proceed', 'proceed'] : ['proceed', 'failed', 'failed'],
        );
      }),
    );
  });

  it('are shown as no later than now', () => {
    fc.assert(
      fc.property(offsetMs, (offset) => {
        const shown = shownDateMs(nowMs + offset, nowMs);
        expect(shown).toBe(nowMs + Math.min(0, offset));
      }),
    );
  });
});

describe('entity tags', () => {
  function tagged(method: string, name: string, value: string): string {
    const request: HttpRequest = {
      method,
      path: '/',
      params: {},
      query: new URLSearchParams(),
      headers: { [name]: value },
      body: new Uint8Array(0),
      remote: 'client:1',
      onGone: () => undefined,
    };
    return judge(
      request,
      { tag: 'list', tags: ['list', 'parts'], valueTags: ['one', 'two'], lastModifiedMs: nowMs },
      nowMs,
    ).kind;
  }

  it('compare strongly for If-Match and weakly for If-None-Match', () => {
    expect(tagged('PUT', 'if-match', '"list"')).toBe('proceed');
    expect(tagged('PUT', 'if-match', 'W/"list"')).toBe('failed');
    expect(tagged('PUT', 'if-match', '"x", W/"list", "list"')).toBe('proceed');
    expect(tagged('PUT', 'if-none-match', 'W/"list"')).toBe('failed');
    expect(tagged('GET', 'if-none-match', 'W/"list"')).toBe('notModified');
  });

  it('match the shown representation on a read, and any representation on a write', () => {
    expect(tagged('GET', 'if-none-match', '"parts"')).toBe('proceed');
    expect(tagged('GET', 'if-match', '"parts"')).toBe('failed');
    expect(tagged('PUT', 'if-match', '"parts"')).toBe('proceed');
    expect(tagged('DELETE', 'if-none-match', '"parts"')).toBe('failed');
  });

  it('name one of several values, which a write may say is not there, and which no write may take for the whole', () => {
    expect(tagged('PUT', 'if-none-match', '"two"')).toBe('failed');
    expect(tagged('PUT', 'if-match', '"two"')).toBe('failed');
    expect(tagged('GET', 'if-none-match', '"two"')).toBe('proceed');
  });

  it('form one list: a star anywhere in it counts, and a malformed list lets no write through', () => {
    for (const any of ['*', '*, *', '"a", *', '*,"a"', ' * ', ',*']) {
      expect([any, tagged('PUT', 'if-none-match', any)]).toEqual([any, 'failed']);
      expect([any, tagged('PUT', 'if-match', any)]).toEqual([any, 'proceed']);
    }
    for (const none of ['', ' ', ',', '"a', '"a", "', '"']) {
      expect([none, tagged('PUT', 'if-none-match', none)]).toEqual([none, 'failed']);
      expect([none, tagged('PUT', 'if-match', none)]).toEqual([none, 'failed']);
      expect([none, tagged('GET', 'if-none-match', none)]).toEqual([none, 'proceed']);
    }
    // Some clients of Riak send a tag without its quotes.
    expect(tagged('PUT', 'if-match', 'list')).toBe('proceed');
    const blanks = `"a",${' '.repeat(200_000)}"`;
    expect(tagged('PUT', 'if-none-match', blanks)).toBe('failed');
  });
});

describe('an object dated a year ahead by an earlier version of the engine', () => {
  /** The status of a GET with those headers when the dates of all versions are shifted. */
  async function getMoved(byMs: number, headers: Readonly<Record<string, string>>): Promise<unknown> {
    const client = new TestingClient();
    const key = objectKey(defaultType, 'b' as ByteString, 'k' as ByteString);
    await client.dispatcher.put({ key, need: 'one', context: [], content: contentOf('v') });
    const { dispatcher } = client;
    const get = dispatcher.get.bind(dispatcher);
    dispatcher.get = async (request) => {
      const read = await get(request);
      return { ...read, object: read.object === undefined ? undefined : moved(read.object, byMs) };
    };
    const answer = await client.call({ method: 'GET', target: '/buckets/b/keys/k', headers });
    return [answer.status, answer.headers['Last-Modified']];
  }

  function moved(object: StoredObject, byMs: number): StoredObject {
    const siblings = object.siblings.map((one) => ({ ...one, lastModifiedMs: one.lastModifiedMs + byMs }));
    return { context: object.context, siblings };
  }

  it('is shown with the time of the answer, and sent in full to a client that sends its date', async () => {
    const wallMs = new TestingClient().clock.wallMs();
    const now = formatHttpDate(wallMs);
    expect(await getMoved(year, {})).toEqual([200, now]);
    for (const since of [now, formatHttpDate(wallMs + year)])
      expect(await getMoved(year, { 'If-Modified-Since': since })).toEqual([200, now]);
    expect(await getMoved(0, { 'If-Modified-Since': now })).toEqual([304, now]);
  });
});

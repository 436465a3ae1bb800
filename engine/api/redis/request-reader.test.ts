import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RequestLimits } from './request-reader.ts';
import { ProtocolError, RequestReader, splitWords } from './request-reader.ts';
import { encodeRequest } from './redis.fixture.ts';

const limits: RequestLimits = { argumentCountMax: 10, argumentBytesMax: 50, requestBytesMax: 120 };
const bytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array));
const request = fc.array(bytes, { minLength: 1, maxLength: 5 });
const inline = fc.constant(Buffer.from('PING "a b"\r\n'));
const cuts = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 6 });

function readAll(reader: RequestReader): string[][] {
  const found: string[][] = [];
  for (let next = reader.next(); next !== undefined; next = reader.next()) {
    found.push(next.map((one) => one.toString('latin1')));
  }
  return found;
}

function cut(whole: Buffer, lengths: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    pieces.push(whole.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

function failureOf(text: string | Buffer): string {
  const reader = new RequestReader(limits);
  reader.push(Buffer.from(text));
  try {
    return JSON.stringify(readAll(reader));
  } catch (error) {
    return error instanceof ProtocolError ? error.message : 'another error';
  }
}

test('requests arrive whole and in order however their bytes are cut', () => {
  const item = fc.oneof(
    request.map((words) => ({ words, wire: encodeRequest(words) })),
    inline.map((wire) => ({ words: [Buffer.from('PING'), Buffer.from('a b')], wire })),
  );
  fc.assert(
    fc.property(fc.array(item, { maxLength: 8 }), cuts, fc.boolean(), (items, lengths, eager) => {
      const reader = new RequestReader(limits);
      const seen: string[][] = [];
      for (const piece of cut(Buffer.concat(items.map(({ wire }) => wire)), lengths)) {
        reader.push(piece);
        if (eager) seen.push(...readAll(reader));
      }
      seen.push(...readAll(reader));
      expect(seen).toEqual(items.map(({ words }) => words.map((word) => word.toString('latin1'))));
      expect(reader.within).toBe(false);
    }),
    { numRuns: 300 },
  );
});

test('arbitrary bytes yield requests, undefined for more, or a protocol error', () => {
  const almost = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.string({ unit: fc.constantFrom('*', '$', '1', '2', '-', '\r', '\n', '"', 'x', ' '), maxLength: 30 }),
  );
  fc.assert(
    fc.property(fc.array(almost, { maxLength: 5 }), (pieces) => {
      const reader = new RequestReader(limits);
      let given = 0;
      try {
        for (const piece of pieces) {
          const chunk = Buffer.from(piece);
          given += chunk.length;
          reader.push(chunk);
          readAll(reader);
          expect(reader.pendingBytes).toBeLessThanOrEqual(given);
        }
      } catch (error) {
        expect(error).toBeInstanceOf(ProtocolError);
      }
    }),
    { numRuns: 1000 },
  );
});

test('a too large or malformed request is refused with the texts of Redis', () => {
  expect(failureOf('*11\r\n')).toBe('ERR Protocol error: invalid multibulk length');
  expect(failureOf('*x\r\n')).toBe('ERR Protocol error: invalid multibulk length');
  expect(failureOf('*1\r\n$51\r\n')).toBe('ERR Protocol error: invalid bulk length');
  expect(failureOf('*1\r\n$-1\r\n')).toBe('ERR Protocol error: invalid bulk length');
  expect(failureOf('*1\r\n+OK\r\n')).toBe("ERR Protocol error: expected '$', got '+'");
  expect(failureOf('"open\r\n')).toBe('ERR Protocol error: unbalanced quotes in request');
  expect(failureOf(`*${'1'.repeat(70_000)}`)).toBe('ERR Protocol error: too big mbulk count string');
  expect(failureOf('x'.repeat(70_000))).toBe('ERR Protocol error: too big inline request');
  const fifty = `$50\r\n${'x'.repeat(50)}\r\n`;
  expect(failureOf(`*3\r\n${fifty}${fifty}${fifty}`)).toBe(
    'ERR Protocol error: the request exceeds 120 bytes',
  );
  expect(failureOf('*0\r\n*-1\r\n\r\nPING\r\n')).toBe('[["PING"]]');
});

test('inline words are split and unquoted', () => {
  const words = (line: string): string[] | undefined =>
    splitWords(Buffer.from(line))?.map((word) => word.toString('latin1'));
  expect(words(String.raw`SET "a\x41\n" 'it\'s'  plain`)).toEqual(['SET', 'aA\n', "it's", 'plain']);
  expect(words('"a"b')).toBeUndefined();
  expect(words('')).toEqual([]);
});

test('an HTTP request ends the connection before its body is read as commands', () => {
  const body = 'SET stolen 1\r\n';
  const reader = new RequestReader(limits);
  reader.push(Buffer.from(`PUT /x HTTP/1.1\r\nhOst: 127.0.0.1:8099\r\n\r\n${body}`));
  expect(reader.next()?.length).toBe(3);
  expect(() => reader.next()).toThrow('this is the Redis protocol, not HTTP');
  expect(failureOf(`POST / HTTP/1.1\r\n\r\n${body}`)).toContain('not HTTP');
  // As arguments of a client's own request these words have no meaning.
  expect(failureOf(encodeRequest([Buffer.from('POST')]))).toBe('[["POST"]]');
});

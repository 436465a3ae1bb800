import fc from 'fast-check';
import { expect, test } from 'vitest';

import { BytesError } from '../base/bytes.ts';
import { byteStringOf } from '../base/ids.ts';
import { defaultType, objectKey } from '../base/object-key.ts';
import type { Answer, Question } from './messages.ts';
import { decodeAnswer, decodeQuestion, encodeAnswer, encodeQuestion } from './messages.ts';

const token = fc.integer({ min: 0, max: 0xffffffff });
const hash = fc.record({ high: token, low: token });
const range = fc
  .tuple(token, token)
  .map(([left, right]) => ({ first: Math.min(left, right), last: Math.max(left, right) }));
const key = fc
  .string({ minLength: 1, maxLength: 20 })
  .map((name) => objectKey(defaultType, byteStringOf('b'), byteStringOf(name)).packed);
const entries = fc
  .uniqueArray(fc.record({ key, token, hash }), { selector: (entry) => entry.key, maxLength: 8 })
  .map((list) => list.toSorted((left, right) => (left.key < right.key ? -1 : 1)));
const segmentBits = fc.integer({ min: 4, max: 20 });

const question: fc.Arbitrary<Question> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('hashes' as const, 'parts' as const),
    segmentBits,
    ranges: fc.array(range),
  }),
  fc.record({
    kind: fc.constant('list' as const),
    segmentBits,
    ranges: fc.array(fc.tuple(range, key).map(([one, after]) => ({ ...one, after }))),
  }),
  fc.constant({ kind: 'close' as const }),
);
const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.record({ kind: fc.constant('hashes' as const), hashes: fc.array(hash) }),
  fc.record({
    kind: fc.constant('lists' as const),
    lists: fc.array(entries.map((list) => ({ complete: list.length % 2 === 0, entries: list }))),
  }),
  fc.constantFrom({ kind: 'closed' as const }, { kind: 'busy' as const }),
);

test('messages round-trip through their codec', () => {
  fc.assert(
    fc.property(question, answer, (asked, answered) => {
      expect(decodeQuestion(encodeQuestion(asked))).toEqual(asked);
      expect(decodeAnswer(encodeAnswer(answered))).toEqual(answered);
    }),
  );
});

test('truncated messages and malformed input throw BytesError', () => {
  fc.assert(
    fc.property(question, fc.uint8Array({ maxLength: 60 }), (asked, noise) => {
      const words = encodeQuestion(asked);
      if (words.length > 1) expect(() => decodeQuestion(words.subarray(0, -1))).toThrow(BytesError);
      for (const decode of [decodeQuestion, decodeAnswer]) {
        try {
          decode(noise);
        } catch (error) {
          expect(error).toBeInstanceOf(BytesError);
        }
      }
    }),
  );
});

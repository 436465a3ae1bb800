/** The laws of merging entries, and of the messages that carry them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { BytesError } from '../base/bytes.ts';
import type { ModuleEntry } from './entry.ts';
import { merge, stampOf } from './entry.ts';
import { digestOf } from './module-cache.ts';
import { decodeAnswer, decodeSpreadMessage, encodeAnswer, encodeSpreadMessage } from './spread-messages.ts';

const content = fc.record({ byte: fc.nat(3), routes: fc.boolean() }).map(({ byte, routes }) => {
  const bytes = Uint8Array.of(byte);
  return { bytes, digest: digestOf(bytes), routes: routes && byte > 1 };
});

/** Contents with one digest have the same roles, as modules do. */
const entry: fc.Arbitrary<ModuleEntry> = fc
  .record({ version: fc.integer({ min: 1, max: 3 }), content: fc.option(content, { nil: undefined }) })
  .map(({ version, content: given }) => {
    const whole = given === undefined ? undefined : { ...given, routes: (given.bytes[0] ?? 0) > 1 };
    return { id: 'one', version, content: whole, disputed: false };
  });

function merged(entries: readonly ModuleEntry[]): ModuleEntry | undefined {
  return entries.reduce<ModuleEntry | undefined>((known, other) => merge(known, other), undefined);
}

test('nodes that have merged the same entries have equal knowledge, whatever the order', () => {
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 6 }), fc.array(fc.nat(5)), (entries, picks) => {
      const straight = merged(entries);
      const shuffled = merged([
        ...picks.map((pick) => entries[pick % entries.length]).filter((one) => one !== undefined),
        ...entries.toReversed(),
        ...entries,
      ]);
      expect(shuffled === undefined ? undefined : stampOf(shuffled)).toEqual(
        straight === undefined ? undefined : stampOf(straight),
      );
      // Two halves merged separately, as at two peers.
      const half = Math.floor(entries.length / 2);
      const left = merged(entries.slice(0, half));
      const right = merged(entries.slice(half));
      const both = right === undefined ? left : merge(left, right);
      expect(both === undefined ? undefined : stampOf(both)).toEqual(
        straight === undefined ? undefined : stampOf(straight),
      );
    }),
  );
});

test('two contents of a routing module with one version are disputed, and a higher version ends the dispute', () => {
  const of = (version: number, byte: number, routes: boolean): ModuleEntry => {
    const bytes = Uint8Array.of(byte);
    return { id: 'one', version, content: { bytes, digest: digestOf(bytes), routes }, disputed: false };
  };
  expect(merge(of(1, 1, true), of(1, 2, true)).disputed).toBe(true);
  expect(merge(of(1, 1, false), of(1, 2, false)).disputed).toBe(false);
  expect(merge(merge(of(1, 1, true), of(1, 2, true)), of(2, 3, true)).disputed).toBe(false);
  const gone: ModuleEntry = { id: 'one', version: 1, content: undefined, disputed: false };
  expect(merge(gone, of(1, 1, true)).content).toBeDefined();
});

test('messages round-trip, and malformed bytes are refused', () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), (entries) => {
      const words = { kind: 'give', entries, wanted: ['a', 'b.c'] } as const;
      expect(decodeSpreadMessage(encodeSpreadMessage(words))).toEqual(words);
      const answer = { kind: 'stamps', stamps: entries.map(stampOf) } as const;
      expect(decodeAnswer(encodeAnswer(answer))).toEqual(answer);
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
      for (const decode of [decodeSpreadMessage, decodeAnswer]) {
        try {
          decode(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(BytesError);
        }
      }
    }),
  );
});

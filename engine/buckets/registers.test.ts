import fc from 'fast-check';
import { expect, test } from 'vitest';

import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import type { NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import type { PropertyValue } from './properties.ts';
import { readRecord, recordName, writeRecord } from './property-codec.ts';
import { decodeAnswer, decodeQuestion, encodeAnswer, encodeQuestion } from './property-messages.ts';
import type { PropertyRecord, Stamp } from './registers.ts';
import { emptyRecord, isNewerStamp, mergeRecords, resetAt, settingOf, valuesOf } from './registers.ts';

const names = ['allow_mult', 'last_write_wins', 'r', 'chash_keyfun'];
const stamps: fc.Arbitrary<Stamp> = fc.record({
  counter: fc.integer({ min: 1, max: 6 }),
  node: fc.constantFrom('n1' as NodeId, 'n2' as NodeId, 'n3' as NodeId),
});
const values = fc.oneof(fc.boolean(), fc.nat(9), fc.constantFrom('quorum', 'STD'));

/** One setting or reset, with its stamp. */
type Word =
  | { readonly kind: 'set'; readonly stamp: Stamp; readonly set: Map<string, PropertyValue> }
  | { readonly kind: 'reset'; readonly stamp: Stamp };

const words: fc.Arbitrary<readonly Word[]> = fc.uniqueArray(
  fc.oneof(
    fc.record({
      kind: fc.constant('set' as const),
      stamp: stamps,
      set: fc.array(fc.tuple(fc.constantFrom(...names), values), { maxLength: 3 }).map((all) => new Map(all)),
    }),
    fc.record({ kind: fc.constant('reset' as const), stamp: stamps }),
  ),
  { selector: ({ stamp }) => `${stamp.counter} ${stamp.node}`, maxLength: 8 },
);

function recordOf(word: Word): PropertyRecord {
  return word.kind === 'set' ? settingOf(word.set, word.stamp) : resetAt(word.stamp);
}

function mergeAll(records: readonly PropertyRecord[]): PropertyRecord {
  return records.reduce(mergeRecords, emptyRecord);
}

test('records merge to the same in any order, grouping and number of times', () => {
  fc.assert(
    fc.property(words, fc.nat(7), fc.nat(7), (said, turn, cut) => {
      const records = said.map(recordOf);
      const turned = [...records.slice(turn), ...records.slice(0, turn)].reverse();
      const grouped = mergeRecords(mergeAll(records.slice(0, cut)), mergeAll(records.slice(cut)));
      expect(mergeAll(turned)).toEqual(mergeAll(records));
      expect(grouped).toEqual(mergeAll(records));
      expect(mergeAll([...records, ...records])).toEqual(mergeAll(records));
    }),
    { numRuns: 300 },
  );
});

test('merging has the result of applying settings and resets in the order of their stamps', () => {
  fc.assert(
    fc.property(words, (said) => {
      const inOrder = said.toSorted((left, right) => (isNewerStamp(left.stamp, right.stamp) ? 1 : -1));
      const twin = new Map<string, PropertyValue>();
      for (const word of inOrder) {
        if (word.kind === 'reset') twin.clear();
        else for (const [name, value] of word.set) twin.set(name, value);
      }
      const held = valuesOf(mergeAll(said.map(recordOf)));
      expect(new Map([...held].sort())).toEqual(new Map([...twin].sort()));
    }),
    { numRuns: 300 },
  );
});

test('records round-trip through their codec', () => {
  const name = recordName(byteStringOf('maps'), byteStringOf('b/ü'));
  fc.assert(
    fc.property(words, (said) => {
      const record = mergeAll(said.map(recordOf));
      const writer = new ByteWriter();
      writeRecord(writer, { name, record });
      expect(readRecord(new ByteReader(writer.finish()))).toEqual({ name, record });
      const offer = { kind: 'offer', records: [{ name, record }] } as const;
      expect(decodeQuestion(encodeQuestion(offer))).toEqual(offer);
      const page = { kind: 'page', records: [{ name, record }], complete: false } as const;
      expect(decodeAnswer(encodeAnswer(page))).toEqual(page);
    }),
  );
});

test('any bytes decode to a message or throw BytesError', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
      for (const decode of [decodeQuestion, decodeAnswer]) {
        try {
          decode(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(BytesError);
        }
      }
    }),
    { numRuns: 1000 },
  );
});

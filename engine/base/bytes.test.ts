import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter, BytesError } from './bytes.ts';
import { byteStringFrom } from './ids.ts';

type NumberKind = 'u8' | 'u16' | 'u32' | 'u64' | 'varint';
type Item =
  | { readonly kind: NumberKind; readonly value: number }
  | { readonly kind: 'raw' | 'bytes' | 'string'; readonly value: Uint8Array };

const runs = fc.uint8Array({ maxLength: 300 });
const numbers = (kind: NumberKind, max: number): fc.Arbitrary<Item> =>
  fc.record({ kind: fc.constant(kind), value: fc.oneof(fc.nat({ max }), fc.constantFrom(0, max)) });
const items: fc.Arbitrary<Item> = fc.oneof(
  numbers('u8', 0xff),
  numbers('u16', 0xffff),
  numbers('u32', 0xffffffff),
  numbers('u64', Number.MAX_SAFE_INTEGER),
  numbers('varint', Number.MAX_SAFE_INTEGER),
  fc.record({ kind: fc.constantFrom('raw' as const, 'bytes' as const, 'string' as const), value: runs }),
);

function write(writer: ByteWriter, item: Item): void {
  if (item.kind === 'string') writer.string(byteStringFrom(item.value));
  else if (typeof item.value === 'number') writer[item.kind as NumberKind](item.value);
  else writer[item.kind as 'raw' | 'bytes'](item.value);
}

function read(reader: ByteReader, item: Item): number | Uint8Array {
  if (item.kind === 'string') return Uint8Array.from(Buffer.from(reader.string(), 'latin1'));
  if (item.kind === 'raw') return Uint8Array.from(reader.raw(item.value.length));
  return item.kind === 'bytes' ? Uint8Array.from(reader.bytes()) : reader[item.kind]();
}

describe('bytes', () => {
  it('written values read back, whatever the initial capacity', () => {
    fc.assert(
      fc.property(fc.array(items, { maxLength: 20 }), fc.nat(64), (list, capacityBytes) => {
        const writer = new ByteWriter(capacityBytes);
        for (const item of list) write(writer, item);
        const bytes = writer.finish();
        expect(bytes.length).toBe(writer.length);
        const reader = new ByteReader(bytes);
        for (const item of list) expect(read(reader, item)).toEqual(item.value);
        expect(reader.left).toBe(0);
        reader.end();
      }),
      { numRuns: 500 },
    );
  });

  it('truncated input is refused with BytesError, and no byte beyond it is read', () => {
    fc.assert(
      fc.property(fc.array(items, { minLength: 1, maxLength: 8 }), fc.nat(), (list, cut) => {
        const writer = new ByteWriter();
        for (const item of list) write(writer, item);
        const whole = writer.finish();
        fc.pre(whole.length > 0);
        const reader = new ByteReader(whole.subarray(0, cut % whole.length));
        const readAll = (): void => {
          for (const item of list) read(reader, item);
        };
        expect(readAll).toThrow(BytesError);
        expect(reader.left).toBeGreaterThanOrEqual(0);
      }),
      { numRuns: 500 },
    );
  });

  it('a varint has one form: arbitrary bytes are refused unless the writer would write them', () => {
    const ends = fc.constantFrom([], [0x7f], [0x80, 0x00], [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 9 }), ends, (start, end) => {
        const bytes = Buffer.from([...start, ...end]);
        const reader = new ByteReader(bytes);
        let value: number;
        try {
          value = reader.varint();
        } catch (error) {
          expect(error).toBeInstanceOf(BytesError);
          return;
        }
        expect(Number.isSafeInteger(value)).toBe(true);
        expect(new ByteWriter().varint(value).finish()).toEqual(
          bytes.subarray(0, bytes.length - reader.left),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it('varints of the powers of two and their neighbours round-trip', () => {
    for (let power = 0; power <= 53; power++) {
      for (const value of [2 ** power - 1, 2 ** power, 2 ** power + 1]) {
        if (!Number.isSafeInteger(value)) continue;
        const bytes = new ByteWriter().varint(value).u64(value).finish();
        const reader = new ByteReader(bytes);
        expect([reader.varint(), reader.u64()]).toEqual([value, value]);
      }
    }
  });

  it('a whole number beyond 2^53-1 is refused', () => {
    expect(() => new ByteReader(Buffer.from('0020000000000000', 'hex')).u64()).toThrow(BytesError);
    expect(new ByteReader(Buffer.from('001fffffffffffff', 'hex')).u64()).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => new ByteReader(Buffer.from('8080808080808010', 'hex')).varint()).toThrow(BytesError);
    expect(new ByteReader(Buffer.from('ffffffffffffff0f', 'hex')).varint()).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('end refuses unread bytes', () => {
    expect(() => new ByteReader(Buffer.from('x')).end()).toThrow(BytesError);
  });

  it('runs are views of the bytes, not copies', () => {
    const bytes = Buffer.from([1, 7, 8]);
    const run = new ByteReader(bytes).bytes();
    bytes[1] = 9;
    expect([...run]).toEqual([9]);
  });
});

/**
 * The library `cmsgpack`: values to MessagePack and back.
 *
 * Source: the MessagePack specification; its choice of forms is that of lua-cmsgpack.
 */
import { libraryOf } from './arguments.ts';
import type { LuaValue, Meter } from './values.ts';
import { LibraryError, LuaTable } from './values.ts';

/** Tables within tables; deeper ones become nil. */
const depthMax = 16;

/** The library `cmsgpack`. */
export function packLibrary(meter: Meter): LuaTable {
  return libraryOf(meter, {
    pack: (args) => {
      if (args.count === 0) throw args.bad(0, 'MessagePack pack needs input.');
      return [
        args
          .from(1)
          .map((value) => pack(meter, value, 0))
          .join(''),
      ];
    },
    unpack: (args) => {
      const reader = new PackReader(meter, Buffer.from(args.text(1), 'latin1'));
      const values: LuaValue[] = [];
      while (!reader.isOver) values.push(reader.value(0));
      return values;
    },
  });
}

function bytes(meter: Meter, size: number, write: (buffer: Buffer) => void): string {
  meter.allocate(size);
  const buffer = Buffer.alloc(size);
  write(buffer);
  return buffer.toString('latin1');
}

interface IntegerForm {
  readonly size: number;
  readonly tag: number;
  readonly least: number;
  readonly most: number;
}

const unsignedForms: readonly IntegerForm[] = [
  { size: 1, tag: 0xcc, least: 0, most: 0xff },
  { size: 2, tag: 0xcd, least: 0, most: 0xffff },
  { size: 4, tag: 0xce, least: 0, most: 0xffffffff },
];
const signedForms: readonly IntegerForm[] = [
  { size: 1, tag: 0xd0, least: -0x80, most: 0 },
  { size: 2, tag: 0xd1, least: -0x8000, most: 0 },
  { size: 4, tag: 0xd2, least: -0x80000000, most: 0 },
];

function packNumber(meter: Meter, value: number): string {
  if (!Number.isInteger(value) || Math.abs(value) > 0x8000000000000000) {
    const isSingle = Math.fround(value) === value;
    return bytes(meter, isSingle ? 5 : 9, (buffer) => {
      buffer[0] = isSingle ? 0xca : 0xcb;
      if (isSingle) buffer.writeFloatBE(value, 1);
      else buffer.writeDoubleBE(value, 1);
    });
  }
  if (value >= 0 && value <= 0x7f) return String.fromCharCode(value);
  if (value < 0 && value >= -32) return String.fromCharCode(value + 256);
  const form = (value >= 0 ? unsignedForms : signedForms).find(
    ({ least, most }) => least <= value && value <= most,
  );
  if (form !== undefined) {
    return bytes(meter, form.size + 1, (buffer) => {
      buffer[0] = form.tag;
      if (value >= 0) buffer.writeUIntBE(value, 1, form.size);
      else buffer.writeIntBE(value, 1, form.size);
    });
  }
  return bytes(meter, 9, (buffer) => {
    buffer[0] = value >= 0 ? 0xcf : 0xd3;
    buffer.writeBigInt64BE(BigInt.asIntN(64, BigInt(value)), 1);
  });
}

/** The head of a text, an array or a map: small lengths are within the first byte. */
function head(
  meter: Meter,
  length: number,
  small: readonly [number, number],
  tags: readonly (number | undefined)[],
): string {
  const [smallMax, smallTag] = small;
  if (length <= smallMax) return String.fromCharCode(smallTag | length);
  const [one, two, four] = tags;
  const size = one !== undefined && length <= 0xff ? 1 : length <= 0xffff ? 2 : 4;
  return bytes(meter, size + 1, (buffer) => {
    buffer[0] = (size === 1 ? one : size === 2 ? two : four) ?? 0;
    buffer.writeUIntBE(length, 1, size);
  });
}

function pack(meter: Meter, value: LuaValue, depth: number): string {
  meter.step();
  if (typeof value === 'number') return packNumber(meter, value);
  if (typeof value === 'boolean') return value ? '\xc3' : '\xc2';
  if (typeof value === 'string') {
    meter.allocate(value.length);
    return head(meter, value.length, [31, 0xa0], [0xd9, 0xda, 0xdb]) + value;
  }
  if (!(value instanceof LuaTable) || depth >= depthMax) return '\xc0';
  const entries: (readonly [LuaValue, LuaValue])[] = [];
  for (let entry = value.next(undefined); entry !== undefined; entry = value.next(entry[0]))
    entries.push(entry);
  if (value.length > 0 && value.length === entries.length) {
    const items = value.list().map((one) => pack(meter, one, depth + 1));
    return head(meter, items.length, [15, 0x90], [undefined, 0xdc, 0xdd]) + items.join('');
  }
  const pairs = entries.map(([key, one]) => pack(meter, key, depth + 1) + pack(meter, one, depth + 1));
  return head(meter, pairs.length, [15, 0x80], [undefined, 0xde, 0xdf]) + pairs.join('');
}

class PackReader {
  readonly #meter: Meter;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(meter: Meter, given: Buffer) {
    this.#meter = meter;
    this.#bytes = given;
  }

  get isOver(): boolean {
    return this.#at >= this.#bytes.length;
  }

  value(depth: number): LuaValue {
    this.#meter.step();
    if (depth > depthMax * 2) throw new LibraryError('Bad data format in input.');
    const tag = this.#unsigned(1);
    if (tag <= 0x7f) return tag;
    if (tag >= 0xe0) return tag - 256;
    if (tag <= 0x8f) return this.#map(tag & 0x0f, depth);
    if (tag <= 0x9f) return this.#array(tag & 0x0f, depth);
    if (tag <= 0xbf) return this.#text(tag & 0x1f);
    return this.#tagged(tag, depth);
  }

  #tagged(tag: number, depth: number): LuaValue {
    switch (tag) {
      case 0xc0:
        return undefined;
      case 0xc2:
      case 0xc3:
        return tag === 0xc3;
      case 0xca:
        return this.#take(4).readFloatBE();
      case 0xcb:
        return this.#take(8).readDoubleBE();
      case 0xcc:
      case 0xcd:
      case 0xce:
        return this.#unsigned(1 << (tag - 0xcc));
      case 0xcf:
        return Number(this.#take(8).readBigUInt64BE());
      case 0xd0:
      case 0xd1:
      case 0xd2: {
        const size = 1 << (tag - 0xd0);
        return this.#take(size).readIntBE(0, size);
      }
      case 0xd3:
        return Number(this.#take(8).readBigInt64BE());
      case 0xc4:
      case 0xc5:
      case 0xc6:
        return this.#text(this.#unsigned(1 << (tag - 0xc4)));
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#unsigned(1 << (tag - 0xd9)));
      case 0xdc:
      case 0xdd:
        return this.#array(this.#unsigned(tag === 0xdc ? 2 : 4), depth);
      case 0xde:
      case 0xdf:
        return this.#map(this.#unsigned(tag === 0xde ? 2 : 4), depth);
      default:
        throw new LibraryError('Bad data format in input.');
    }
  }

  #array(length: number, depth: number): LuaTable {
    const table = new LuaTable(this.#meter);
    for (let at = 1; at <= length; at++) table.set(at, this.value(depth + 1));
    return table;
  }

  #map(length: number, depth: number): LuaTable {
    const table = new LuaTable(this.#meter);
    for (let count = 0; count < length; count++) table.set(this.value(depth + 1), this.value(depth + 1));
    return table;
  }

  #text(length: number): string {
    this.#meter.allocate(length);
    return this.#take(length).toString('latin1');
  }

  #unsigned(size: number): number {
    return this.#take(size).readUIntBE(0, size);
  }

  #take(size: number): Buffer {
    if (this.#at + size > this.#bytes.length) throw new LibraryError('Missing bytes in input.');
    this.#at += size;
    return this.#bytes.subarray(this.#at - size, this.#at);
  }
}

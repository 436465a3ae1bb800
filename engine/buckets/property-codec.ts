/**
 * Encodes property records for the store and for peer messages.
 *
 *     record     string name | u8 has reset [stamp] | varint count | (string property | stamp | value)*
 *     stamp      varint counter | string node
 *     value      u8 0 false, 1 true, 2 a whole number (u64), 3 text (string)
 *
 * A record's name is the prefix of its bucket's packed keys (`bucketPrefix`). A type's own record has the prefix of the
 * type's empty bucket name.
 */
import type { ByteReader, ByteWriter } from '../base/bytes.ts';
import { BytesError } from '../base/bytes.ts';
import type { ByteString } from '../base/ids.ts';
import { byteStringOf, parseNodeId, textOf } from '../base/ids.ts';
import { bucketBytesMax, bucketPrefix, typeBytesMax } from '../base/object-key.ts';
import type { PropertyValue } from './properties.ts';
import type { PropertyRecord, Register, Stamp } from './registers.ts';

/** A record with its name: the prefix of a bucket's packed keys. */
export interface NamedRecord {
  readonly name: string;
  readonly record: PropertyRecord;
}

const registersMax = 64;
const nameBytesMax = 64;
const textBytesMax = 256;

/** The name of a bucket's record; of the type's own record if `bucket` is empty. */
export function recordName(type: ByteString, bucket: ByteString): string {
  return bucketPrefix(type, bucket);
}

/** The type and bucket of a record name; `bucket` is empty for a type's own record. Undefined for a malformed name. */
export function splitRecordName(
  name: string,
): { readonly type: ByteString; readonly bucket: ByteString } | undefined {
  const typeLength = name.charCodeAt(0);
  const bucketAt = 1 + typeLength + 2;
  if (!(name.length >= bucketAt) || typeLength === 0 || typeLength > typeBytesMax) return undefined;
  const bucketLength = (name.charCodeAt(bucketAt - 2) << 8) | name.charCodeAt(bucketAt - 1);
  if (name.length !== bucketAt + bucketLength || bucketLength > bucketBytesMax) return undefined;
  return {
    type: name.slice(1, 1 + typeLength) as ByteString,
    bucket: name.slice(bucketAt) as ByteString,
  };
}

/** Appends a record in the format of the header. Equal records have equal bytes. */
export function writeRecord(writer: ByteWriter, { name, record }: NamedRecord): void {
  writer.string(name as ByteString).u8(record.reset === undefined ? 0 : 1);
  if (record.reset !== undefined) writeStamp(writer, record.reset);
  writer.varint(record.registers.size);
  for (const [property, { stamp, value }] of record.registers) {
    writer.string(byteStringOf(property));
    writeStamp(writer, stamp);
    writeValue(writer, value);
  }
}

/** Reads one record. Throws `BytesError` on anything that `writeRecord` does not write. */
export function readRecord(reader: ByteReader): NamedRecord {
  const name: string = reader.string();
  if (splitRecordName(name) === undefined) throw new BytesError('a record of no bucket and no type');
  const marked = reader.u8();
  if (marked > 1) throw new BytesError(`unknown mark ${marked} of a record of properties`);
  const reset = marked === 1 ? readStamp(reader) : undefined;
  const count = reader.varint();
  if (count > registersMax) throw new BytesError(`${count} properties; at most ${registersMax} are allowed`);
  const registers = new Map<string, Register>();
  let last = '';
  for (let index = 0; index < count; index++) {
    const property = textOf(reader.string());
    if (property.length > nameBytesMax || property <= last) throw new BytesError('properties out of order');
    last = property;
    registers.set(property, { stamp: readStamp(reader), value: readValue(reader) });
  }
  return { name, record: { reset, registers } };
}

function writeStamp(writer: ByteWriter, { counter, node }: Stamp): void {
  writer.varint(counter).string(byteStringOf(node));
}

function readStamp(reader: ByteReader): Stamp {
  const counter = reader.varint();
  const node = parseNodeId(textOf(reader.string()));
  if (node === undefined) throw new BytesError('a stamp of no node');
  return { counter, node };
}

function writeValue(writer: ByteWriter, value: PropertyValue): void {
  if (typeof value === 'boolean') writer.u8(value ? 1 : 0);
  else if (typeof value === 'number') writer.u8(2).u64(value);
  else writer.u8(3).string(byteStringOf(value));
}

function readValue(reader: ByteReader): PropertyValue {
  const kind = reader.u8();
  switch (kind) {
    case 0:
    case 1:
      return kind === 1;
    case 2:
      return reader.u64();
    case 3: {
      const text = reader.string();
      if (text.length > textBytesMax) throw new BytesError(`a property's text of ${text.length} bytes`);
      return textOf(text);
    }
    default:
      throw new BytesError(`unknown kind ${kind} of a property's value`);
  }
}

/**
 * The records of properties, durably. Every change replaces the file whole: changes are rare and records small.
 *
 *     properties    "LKPROPS1" | u32 crc of the body | body
 *     body          varint count | records (property-codec.ts)
 *
 * A damaged file is set aside and counts as none: the other nodes tell this one again what it lost.
 */
import { ByteReader, BytesError } from '../base/bytes.ts';
import { crc32 } from '../base/checksum.ts';
import { LockstepError } from '../base/errors.ts';
import { DiskError, readFile, replaceFile } from '../io/disk.ts';
import type { Io } from '../io/io.ts';
import type { NamedRecord } from './property-codec.ts';
import { readRecord } from './property-codec.ts';
import { PropertyTable } from './property-table.ts';

const magic = Buffer.from('LKPROPS1', 'latin1');
const headBytes = magic.length + 4;
const fileBytesMax = 256 * 1024 * 1024;

export class PropertyFile {
  readonly #io: Pick<Io, 'disk'>;
  readonly #path: string;
  /** What the last life knew; empty in the first. */
  readonly remembered: PropertyTable;

  private constructor(io: Pick<Io, 'disk'>, path: string, remembered: PropertyTable) {
    this.#io = io;
    this.#path = path;
    this.remembered = remembered;
  }

  /** Rejects with `StorageFailed` when the disk does not read. */
  static async open(io: Pick<Io, 'disk' | 'log'>, path: string): Promise<PropertyFile> {
    const bytes = await mapped(readFile(io.disk, path, fileBytesMax));
    const table = bytes === undefined ? new PropertyTable() : decode(bytes);
    if (table === undefined) {
      io.log.event('error', 'props.file.rejected', { path });
      await mapped(io.disk.rename(path, `${path}.damaged`));
    }
    return new PropertyFile(io, path, table ?? new PropertyTable());
  }

  /** Durable when this resolves. Rejects with `StorageFailed`. */
  async save(table: PropertyTable): Promise<void> {
    const body = table.encode();
    const file = Buffer.alloc(headBytes + body.length);
    magic.copy(file);
    file.writeUInt32BE(crc32(body), magic.length);
    file.set(body, headBytes);
    await mapped(replaceFile(this.#io.disk, this.#path, file));
  }
}

/** Undefined for bytes that are not as `save` wrote them. */
function decode(bytes: Buffer): PropertyTable | undefined {
  const body = bytes.subarray(headBytes);
  const whole = bytes.length > headBytes && bytes.subarray(0, magic.length).equals(magic);
  if (!whole || bytes.readUInt32BE(magic.length) !== crc32(body)) return undefined;
  try {
    const reader = new ByteReader(body);
    const count = reader.varint();
    const records: NamedRecord[] = [];
    for (let index = 0; index < count; index++) records.push(readRecord(reader));
    reader.end();
    return new PropertyTable().merged(records);
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

async function mapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    throw new LockstepError('StorageFailed', `the file of bucket properties: ${error.message}`, {
      cause: error,
    });
  }
}

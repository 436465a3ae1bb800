/**
 * The messages of a listing: the requested names and tokens, and one node's names.
 *
 * A span of tokens begins after `from` and ends with `to`, possibly across zero. With `skip`, keys at the span's first
 * token are listed only behind `skip` (a packed key). Names come in the order of (distance from `from`, packed key), so
 * one node can continue where another one stopped.
 */
import type { ByteReader } from '../../base/bytes.ts';
import { ByteWriter, BytesError } from '../../base/bytes.ts';
import { mustDecodeWhole } from '../../base/decoding.ts';
import type { ByteString, Token } from '../../base/ids.ts';

/** The position at which a listing continues. */
export interface ListingCursor {
  /** Everything up to and including this token has been listed. */
  readonly from: Token;
  /** Of the keys at the next token, those up to this one have been listed. */
  readonly skip: ByteString | undefined;
}

/** What is listed: the keys of a bucket, or the buckets of a type. */
export interface Listing {
  readonly type: ByteString;
  /** Undefined: the buckets of the type. */
  readonly bucket: ByteString | undefined;
  /**
   * Leaves out deleted keys, which costs a read of each object. False lists deleted keys until they are reaped, for
   * callers that read the objects anyway. For keys, an answer still includes deleted ones, marked, because another
   * replica may not know of the deletion.
   */
  readonly live: boolean;
  /** The most names that the caller needs in a page; undefined: as many as fit. */
  readonly namesMax?: number;
  /** The bucket's epoch, whose keys are listed; undefined for a bucket that was never flushed. */
  readonly epoch?: number;
}

/** A request for one page of a span. */
export interface ListingRequest extends Listing, ListingCursor {
  readonly to: Token;
}

/** A key without its bucket, and its token. In a listing of buckets: a bucket, and the token of one of its keys. */
export interface ListedName {
  readonly name: ByteString;
  readonly token: Token;
  /** In a listing of live keys: this replica's knowledge of the key. */
  readonly known?: Known;
}

/** A replica's knowledge of a key. */
export interface Known {
  /** Counter of the newest write; of two replicas' knowledge the higher one wins. */
  readonly counter: number;
  readonly deleted: boolean;
}

/** One page of one replica. */
export interface ListingAnswer {
  readonly names: readonly ListedName[];
  /** Undefined at the end of the span. */
  readonly next: ListingCursor | undefined;
}

const nameBytesMin = 5;

/** Encodes a request. */
export function encodeListingRequest(request: ListingRequest): Buffer {
  const { type, bucket, live, from, to, skip, namesMax, epoch } = request;
  const writer = new ByteWriter(64 + type.length + (bucket?.length ?? 0) + (skip?.length ?? 0));
  writer.string(type);
  writeOptional(writer, bucket);
  writer
    .u8(live ? 1 : 0)
    .u32(from)
    .u32(to);
  writeOptional(writer, skip).varint(namesMax ?? 0);
  // A node that speaks no epochs gets none, since no bucket was flushed yet.
  return epoch === undefined ? writer.finish() : writer.varint(epoch).finish();
}

/** Decodes a request. Throws `BadRequest` for malformed bytes. */
export function decodeListingRequest(payload: Uint8Array): ListingRequest {
  return mustDecodeWhole('a listing request', payload, (reader) => {
    const type = reader.string();
    const bucket = readOptional(reader);
    const live = reader.u8() === 1;
    const from = reader.u32() as Token;
    const to = reader.u32() as Token;
    const skip = readOptional(reader);
    const namesMax = reader.varint();
    const request: ListingRequest = { type, bucket, live, from, to, skip };
    const bounded = namesMax === 0 ? request : { ...request, namesMax };
    return reader.left === 0 ? bounded : { ...bounded, epoch: reader.varint() };
  });
}

/** Encodes an answer. */
export function encodeListingAnswer({ names, next }: ListingAnswer): Buffer {
  const writer = new ByteWriter(names.reduce((sum, { name }) => sum + name.length + 8, 64));
  writer.varint(names.length);
  const told = names.length > 0 && names[0]?.known !== undefined;
  writer.u8(told ? 1 : 0);
  for (const { name, token, known } of names) {
    writer.u32(token).string(name);
    if (told) writer.u64(known?.counter ?? 0).u8(known?.deleted === true ? 1 : 0);
  }
  writer.u8(next === undefined ? 0 : 1);
  if (next !== undefined) writeOptional(writer.u32(next.from), next.skip);
  return writer.finish();
}

/** Decodes an answer. Throws `BadRequest` for malformed bytes. */
export function decodeListingAnswer(payload: Uint8Array): ListingAnswer {
  return mustDecodeWhole('a listing', payload, (reader) => {
    const count = reader.varint();
    if (count > reader.left / nameBytesMin) throw new BytesError(`a listing of ${count} names`);
    const told = reader.u8() === 1;
    const names = Array.from({ length: count }, (): ListedName => {
      const token = reader.u32() as Token;
      const name = reader.string();
      return told
        ? { token, name, known: { counter: reader.u64(), deleted: reader.u8() === 1 } }
        : { token, name };
    });
    if (reader.u8() === 0) return { names, next: undefined };
    const from = reader.u32() as Token;
    return { names, next: { from, skip: readOptional(reader) } };
  });
}

function writeOptional(writer: ByteWriter, value: ByteString | undefined): ByteWriter {
  writer.u8(value === undefined ? 0 : 1);
  return value === undefined ? writer : writer.string(value);
}

function readOptional(reader: ByteReader): ByteString | undefined {
  return reader.u8() === 0 ? undefined : reader.string();
}

/**
 * The payloads of `mergeMany` and of its answer: the objects of independent writes, and how each merge ended.
 *
 *     request   varint count, then per object its key, token (u32) and bytes: as a batch (batch-codec.ts)
 *     answer    one byte a write: 0 failed, 1 written, 2 written and sole
 *               then, per failure in their order, varint code and text
 */
import { ByteReader, ByteWriter, BytesError } from '../base/bytes.ts';
import { errorCodes } from '../base/errors.ts';
import type { PeerReply } from '../peer/wire/messages.ts';

/** Most writes of one message, and most bytes of their keys and objects. A receiver writes them as one batch. */
export const manyCountMax = 512;
/** Most bytes of their contents, and of one of them. */
export const manyBytesMax = 64 * 1024;

/** How one write of a message ended, as the answer to a `mergeObject` would state it. */
export type Merged = Extract<PeerReply, { kind: 'written' | 'failed' }>;

const failedMark = 0;
const writtenMark = 1;
const soleMark = 2;
/** A write that was merged. */
export const writtenEnd: Merged = { kind: 'written' };
/** A write that was merged, and is the only value of its key. */
export const soleEnd: Merged = { kind: 'written', sole: true };
/** The most characters of a failure's text that are sent. */
const detailCharsMax = 256;

/** Collects the ends of the merges of one message. */
export class MergeEnds {
  readonly #marks: Buffer;
  readonly #failures: (Extract<Merged, { kind: 'failed' }> | undefined)[] = [];
  #left: number;

  constructor(count: number) {
    this.#marks = Buffer.alloc(count);
    this.#left = count;
  }

  /** Notes the end of a merge, once for each. Returns whether it was the last one. */
  note(index: number, end: Merged): boolean {
    if (end.kind === 'failed') this.#failures[index] = end;
    else this.#marks[index] = end.sole === true ? soleMark : writtenMark;
    this.#left -= 1;
    return this.#left === 0;
  }

  /** The payload of the answer. */
  encode(): Uint8Array {
    if (this.#failures.length === 0) return this.#marks;
    const writer = new ByteWriter(this.#marks.length + 256);
    for (const mark of this.#marks) writer.u8(mark);
    for (const failure of this.#failures) {
      if (failure === undefined) continue;
      writer
        .varint(errorCodes.indexOf(failure.code))
        .bytes(Buffer.from(failure.detail.slice(0, detailCharsMax)));
    }
    return writer.finish();
  }
}

/** Whether all `count` writes were merged, and each is the only value of its key at the receiver, as nearly always. */
export function areAllSole(words: Uint8Array, count: number): boolean {
  if (words.length !== count) return false;
  for (const mark of words) if (mark !== soleMark) return false;
  return true;
}

/** Decodes the answer to a message of `count` writes. Throws `BytesError`. */
export function decodeEnds(words: Uint8Array, count: number): readonly Merged[] {
  const reader = new ByteReader(words);
  const marks: number[] = [];
  for (let index = 0; index < count; index++) marks.push(reader.u8());
  const ends = marks.map((mark): Merged => {
    if (mark === writtenMark) return writtenEnd;
    if (mark === soleMark) return soleEnd;
    if (mark !== failedMark) throw new BytesError(`an unknown end of a merge: ${mark}`);
    // A newer peer may send more codes, as in `failed` (peer/wire/codec.ts).
    const code = errorCodes[reader.varint()] ?? 'Internal';
    return { kind: 'failed', code, detail: reader.bytes().toString() };
  });
  reader.end();
  return ends;
}

/**
 * Reads and writes the binary protocol's framing: `u32 length | u8 code | body`, big-endian, where the length counts
 * code and body.
 *
 * The reader accepts chunks cut anywhere. A frame within one chunk is returned as a view of it. A frame over several
 * chunks is collected in a buffer that grows with the bytes that have arrived, never with the announced length. So a
 * length field alone costs no memory. `schema.ts` decodes the bodies.
 */
import { putU32, u32At } from '../../base/big-endian.ts';
import protobuf from 'protobufjs';
import type { Writer } from 'protobufjs';
import { LockstepError } from '../../base/errors.ts';
import { bufferOf } from '../../base/ids.ts';

const lengthBytes = 4;

/** One frame of the stream. */
export interface Frame {
  readonly code: number;
  /** A view of the received bytes. */
  readonly body: Buffer;
}

/** Splits a byte stream into frames. */
export class FrameReader {
  readonly #frameBytesMax: number;
  /** Chunks that are not parsed yet; the first one from `#at` on. */
  readonly #chunks: Buffer[] = [];
  #at = 0;
  /** The beginning of a frame that did not end in its chunk. */
  #partial: Buffer | undefined;
  #partialBytes = 0;
  #unparsedBytes = 0;

  /** `frameBytesMax` bounds code and body of one frame, in bytes. */
  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax;
  }

  /** Received bytes that have not been returned as frames. */
  get pendingBytes(): number {
    return this.#partialBytes + this.#unparsedBytes;
  }

  /** Whether a frame has begun and is incomplete. */
  get within(): boolean {
    return this.pendingBytes > 0;
  }

  /** Bytes of memory that an incomplete frame over several chunks takes. */
  get gatheredBytes(): number {
    return this.#partial?.length ?? 0;
  }

  /** Drops everything that has not been returned. The caller must not use the reader afterwards. */
  drop(): void {
    this.#chunks.length = 0;
    this.#partial = undefined;
    this.#partialBytes = 0;
    this.#unparsedBytes = 0;
  }

  /** Takes the next bytes of the stream, and keeps the view. */
  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#chunks.push(bufferOf(chunk));
    this.#unparsedBytes += chunk.length;
  }

  /**
   * The next complete frame; undefined until more bytes arrive. Throws `FrameInvalid` for a length of 0 or beyond the
   * limit. The stream has then lost its frame boundaries, and the caller must not use the reader any more.
   */
  next(): Frame | undefined {
    for (;;) {
      const chunk = this.#chunks[0];
      if (chunk === undefined) return undefined;
      const frame =
        this.#partial === undefined ? this.#fromChunk(chunk) : this.#fromParts(chunk, this.#partial);
      if (frame !== undefined) return frame;
    }
  }

  /** The frame at the chunk's position. Without a complete one, the rest of the chunk becomes the partial frame. */
  #fromChunk(chunk: Buffer): Frame | undefined {
    const left = chunk.length - this.#at;
    const frameBytes = left >= lengthBytes ? this.#frameBytes(chunk, this.#at) : lengthBytes;
    if (left >= lengthBytes && left >= frameBytes) {
      const at = this.#at;
      this.#consume(chunk, frameBytes);
      return frameAt(chunk, at, frameBytes);
    }
    this.#partialBytes = 0;
    this.#gather(chunk, left, frameBytes);
    return undefined;
  }

  /** Continues the partial frame from the chunk by at most the missing bytes: first its length, then the rest. */
  #fromParts(chunk: Buffer, partial: Buffer): Frame | undefined {
    const wanted = this.#partialBytes < lengthBytes ? lengthBytes : this.#frameBytes(partial, 0);
    const gathered = this.#gather(
      chunk,
      Math.min(wanted - this.#partialBytes, chunk.length - this.#at),
      wanted,
    );
    if (this.#partialBytes < lengthBytes) return undefined;
    const frameBytes = this.#frameBytes(gathered, 0);
    if (this.#partialBytes < frameBytes) return undefined;
    this.#partial = undefined;
    this.#partialBytes = 0;
    return frameAt(gathered, 0, frameBytes);
  }

  /** Moves bytes into the partial frame. Its buffer doubles as it fills, but never beyond `frameBytes`, if known. */
  #gather(chunk: Buffer, count: number, frameBytes: number): Buffer {
    const needed = this.#partialBytes + count;
    let partial = this.#partial ?? Buffer.allocUnsafe(needed);
    if (needed > partial.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, Math.min(frameBytes, partial.length * 2)));
      partial.copy(grown, 0, 0, this.#partialBytes);
      partial = grown;
    }
    chunk.copy(partial, this.#partialBytes, this.#at, this.#at + count);
    this.#partial = partial;
    this.#partialBytes = needed;
    this.#consume(chunk, count);
    return partial;
  }

  #consume(chunk: Buffer, count: number): void {
    this.#at += count;
    this.#unparsedBytes -= count;
    if (this.#at < chunk.length) return;
    this.#chunks.shift();
    this.#at = 0;
  }

  /** Bytes of the whole frame whose length field is at `at`. */
  #frameBytes(bytes: Buffer, at: number): number {
    const length = u32At(bytes, at);
    if (length === 0) throw new LockstepError('FrameInvalid', 'a frame of length 0 has no message code');
    if (length > this.#frameBytesMax) {
      const detail = `a frame of ${length} bytes exceeds the limit of ${this.#frameBytesMax} bytes`;
      throw new LockstepError('FrameInvalid', detail);
    }
    return lengthBytes + length;
  }
}

/** A writer with space for the frame's head before the body. */
export function beginFrame(): Writer {
  return protobuf.Writer.create().fixed32(0).uint32(0);
}

/** The frame of what the caller wrote after `beginFrame`. */
export function finishFrame(writer: Writer, code: number): Buffer {
  const bytes = writer.finish();
  const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  putU32(frame, 0, frame.length - lengthBytes);
  frame.writeUInt8(code, lengthBytes);
  return frame;
}

function frameAt(bytes: Buffer, at: number, frameBytes: number): Frame {
  const code = bytes.readUInt8(at + lengthBytes);
  return { code, body: bytes.subarray(at + lengthBytes + 1, at + frameBytes) };
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameArena, mergeRuns } from './frame-arena.ts';
import type { Frame } from './frames.ts';
import { FrameDecoder, FrameError, headerBytes } from './frames.ts';
import { greetingKinds, isKnownKind, replyKinds, requestKinds } from './kinds.ts';

const limits = { frameBytesMax: 4096, chunkBytes: 1024 };
const kinds = [greetingKinds, requestKinds, replyKinds].flatMap((table) => Object.values(table));

interface Plain {
  readonly kind: number;
  readonly id: number;
  readonly body: Uint8Array;
}

const plainFrame = fc.record({
  kind: fc.constantFrom(...kinds),
  id: fc.integer({ min: 0, max: 0xffffffff }),
  body: fc.uint8Array({ maxLength: 600 }),
});

function encodeAll(frames: readonly Plain[]): Buffer {
  const arena = new FrameArena(limits);
  return Buffer.concat(frames.map(({ kind, id, body }) => arena.frame(kind, id, body)));
}

/** Splits `bytes` at the given offsets. */
function chunked(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort(
    (left, right) => left - right,
  );
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

/** All frames that `chunks` decode to, and the error that ended them, if any. */
function decodeAll(chunks: readonly Uint8Array[], decoder = new FrameDecoder(limits)) {
  const frames: Frame[] = [];
  try {
    for (const chunk of chunks) {
      decoder.push(chunk);
      for (let frame = decoder.next(); frame !== undefined; frame = decoder.next()) frames.push(frame);
    }
    decoder.end();
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    return { frames, fault: error.fault, detail: error.message };
  }
  return { frames, fault: undefined, detail: '' };
}

function plain(frames: readonly Plain[]): unknown[] {
  return frames.map(({ kind, id, body }) => [kind, id, Buffer.from(body).toString('hex')]);
}

describe('the frame decoder', () => {
  test('returns the frames that were written, however the stream is split', () => {
    fc.assert(
      fc.property(
        fc.array(plainFrame, { maxLength: 12 }),
        fc.array(fc.nat(20_000), { maxLength: 40 }),
        (frames, cuts) => {
          const decoded = decodeAll(chunked(encodeAll(frames), cuts));
          expect(decoded.fault).toBeUndefined();
          expect(plain(decoded.frames)).toEqual(plain(frames));
        },
      ),
    );
  });

  test('decodes a stream byte by byte', () => {
    const frames = [
      { kind: requestKinds.ping, id: 1, body: Buffer.alloc(0) },
      { kind: replyKinds.object, id: 0xffffffff, body: Buffer.alloc(3000, 7) },
    ];
    const bytes = encodeAll(frames);
    const decoded = decodeAll(Array.from(bytes, (_, at) => bytes.subarray(at, at + 1)));
    expect(plain(decoded.frames)).toEqual(plain(frames));
  });

  test('returns every whole frame of a truncated stream and then reports the truncation', () => {
    fc.assert(
      fc.property(fc.array(plainFrame, { minLength: 1, maxLength: 5 }), fc.nat(), (frames, place) => {
        const bytes = encodeAll(frames);
        const cut = place % bytes.length;
        const ends = frames.map((_, index) => encodeAll(frames.slice(0, index + 1)).length);
        const decoded = decodeAll([bytes.subarray(0, cut)]);
        const whole = ends.filter((end) => end <= cut).length;
        expect(plain(decoded.frames)).toEqual(plain(frames.slice(0, whole)));
        expect(decoded.fault).toBe(cut === 0 || ends.includes(cut) ? undefined : 'length');
      }),
    );
  });

  test('detects every flipped bit: as crc, or as version in magic and version', () => {
    fc.assert(
      fc.property(plainFrame, fc.nat(), fc.array(fc.nat(5000), { maxLength: 5 }), (frame, place, cuts) => {
        const bytes = encodeAll([frame]);
        const bit = place % (bytes.length * 8);
        const at = bit >>> 3;
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit & 7));
        const decoded = decodeAll(chunked(bytes, cuts));
        expect(decoded.frames).toEqual([]);
        expect(decoded.fault).toBe(at < 4 ? 'version' : 'crc');
      }),
      { numRuns: 500 },
    );
  });

  test('ends arbitrary bytes with a typed error or waits for more, and repeats the error', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 8 }), (chunks) => {
        const decoder = new FrameDecoder(limits);
        const decoded = decodeAll(chunks, decoder);
        const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
        expect(decoded.frames).toEqual([]);
        expect(decoded.fault).toBe(length === 0 ? undefined : length >= headerBytes ? 'version' : 'length');
        if (decoded.fault === undefined) return;
        decoder.push(encodeAll([{ kind: requestKinds.ping, id: 1, body: Buffer.alloc(0) }]));
        expect(() => decoder.next()).toThrow(decoded.detail);
      }),
    );
  });

  test('reports the limit that an oversized frame exceeds before its body has arrived', () => {
    const wide = new FrameArena({ frameBytesMax: 10_000, chunkBytes: 1024 });
    const bytes = wide.frame(requestKinds.mergeObject, 1, Buffer.alloc(4096 - headerBytes + 1));
    const decoded = decodeAll([bytes.subarray(0, headerBytes)]);
    expect(decoded.fault).toBe('length');
    expect(decoded.detail).toBe('a frame of 4097 bytes; at most 4096 are allowed');
    const fitting = wide.frame(requestKinds.mergeObject, 1, Buffer.alloc(4096 - headerBytes));
    expect(decodeAll([fitting]).frames).toHaveLength(1);
  });

  test('reports an unknown kind and another wire version', () => {
    const unknown = encodeAll([{ kind: 200, id: 1, body: Buffer.alloc(0) }]);
    expect(isKnownKind(200)).toBe(false);
    expect(decodeAll([unknown])).toMatchObject({ fault: 'type', detail: 'frames of kind 200 are not known' });
    const newer = encodeAll([{ kind: requestKinds.ping, id: 1, body: Buffer.alloc(0) }]);
    newer[3] = 9;
    expect(decodeAll([newer])).toMatchObject({ fault: 'version' });
    expect(decodeAll([newer]).detail).toBe('frames of wire version 9; this node speaks version 3');
    expect(decodeAll([Buffer.from('GET / HTTP/1.1\r\nHost: n1\r\n')]).detail).toContain(
      '47455420, not with LSP',
    );
  });

  test('returns views of the chunk, not copies, for a frame within one chunk', () => {
    const bytes = encodeAll([{ kind: replyKinds.object, id: 1, body: Buffer.alloc(100, 1) }]);
    const [frame] = decodeAll([bytes]).frames;
    expect(frame?.body.buffer).toBe(bytes.buffer);
  });
});

describe('the frame arena', () => {
  test('refuses a frame beyond the limit and reports both sizes', () => {
    const arena = new FrameArena(limits);
    expect(() => arena.frame(requestKinds.ping, 1, Buffer.alloc(4073))).toThrow(
      'a frame of 4097 bytes; at most 4096',
    );
  });

  test('merges the frames of one chunk into one run, and loses none across chunks', () => {
    fc.assert(
      fc.property(fc.array(plainFrame, { maxLength: 40 }), (frames) => {
        const arena = new FrameArena(limits);
        const written = frames.map(({ kind, id, body }) => arena.frame(kind, id, body));
        const runs = mergeRuns(written);
        expect(Buffer.concat(runs).equals(Buffer.concat(written))).toBe(true);
        expect(runs.length).toBeLessThanOrEqual(frames.length);
      }),
    );
    const arena = new FrameArena(limits);
    const small = [1, 2, 3].map((id) => arena.frame(requestKinds.ping, id, Buffer.alloc(8)));
    expect(mergeRuns(small)).toHaveLength(1);
  });
});

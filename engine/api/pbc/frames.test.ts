import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LockstepError } from '../../base/errors.ts';
import { FrameReader } from './frames.ts';

const frameBytesMax = 64;
const frame = fc.record({ code: fc.nat(255), body: fc.uint8Array({ maxLength: frameBytesMax - 1 }) });

function encode(code: number, body: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length + 1, 0);
  head.writeUInt8(code, 4);
  return Buffer.concat([head, body]);
}

/** Cuts `bytes` into runs of the given lengths, over and over. */
function cut(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1;
    chunks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return chunks;
}

function readAll(reader: FrameReader): { code: number; body: number[] }[] {
  const frames: { code: number; body: number[] }[] = [];
  for (let next = reader.next(); next !== undefined; next = reader.next()) {
    frames.push({ code: next.code, body: [...next.body] });
  }
  return frames;
}

const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });

test('frames arrive whole and in order however their bytes are cut', () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), lengths, fc.boolean(), (frames, cuts, eager) => {
      const reader = new FrameReader(frameBytesMax);
      const seen: { code: number; body: number[] }[] = [];
      for (const chunk of cut(Buffer.concat(frames.map(({ code, body }) => encode(code, body))), cuts)) {
        reader.push(chunk);
        if (eager) seen.push(...readAll(reader));
      }
      seen.push(...readAll(reader));
      expect(seen).toEqual(frames.map(({ code, body }) => ({ code, body: [...body] })));
      expect(reader.pendingBytes).toBe(0);
    }),
    { numRuns: 500 },
  );
});

test('arbitrary bytes yield frames, undefined for more, or FrameInvalid', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), lengths, (bytes, cuts) => {
      const reader = new FrameReader(frameBytesMax);
      let taken = 0;
      try {
        for (const chunk of cut(Buffer.from(bytes), cuts)) {
          reader.push(chunk);
          for (const { body } of readAll(reader)) taken += 5 + body.length;
        }
        expect(taken + reader.pendingBytes).toBe(bytes.length);
      } catch (error) {
        expect(error).toBeInstanceOf(LockstepError);
        expect(error).toMatchObject({ code: 'FrameInvalid' });
      }
    }),
    { numRuns: 1000 },
  );
});

test('a frame of length 0 and one beyond the limit are refused, naming the limit', () => {
  const empty = new FrameReader(frameBytesMax);
  empty.push(Buffer.of(0, 0, 0, 0));
  expect(() => empty.next()).toThrow(/length 0/);
  const large = new FrameReader(frameBytesMax);
  for (const byte of [0, 0, 0, 65]) large.push(Buffer.of(byte));
  expect(() => large.next()).toThrow(/65 bytes exceeds the limit of 64/);
});

test('an announced length costs no memory until its bytes arrive', () => {
  const reader = new FrameReader(1 << 30);
  const before = process.memoryUsage().arrayBuffers;
  reader.push(Buffer.of(0x3f, 0xff, 0xff, 0xff, 9));
  expect(reader.next()).toBeUndefined();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
});

/** Laws of the frame memory: a pool of chunks, and the arenas that borrow from it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { present } from '../../base/assert.ts';
import { ChunkPool } from './chunk-pool.ts';
import { FrameArena, mergeRuns } from './frame-arena.ts';
import { headerBytes } from './frames.ts';

const limits = { frameBytesMax: 4096, chunkBytes: 1024 };

function frameOf(arena: FrameArena, bytes: number, fill: number): Buffer {
  return arena.frame(16, 1, Buffer.alloc(bytes - headerBytes, fill));
}

describe('a frame arena', () => {
  it('holds no chunk once everything in it has been released', () => {
    const pool = new ChunkPool(limits.chunkBytes);
    const arena = new FrameArena(limits, pool);
    const frames = Array.from({ length: 20 }, (_, index) => frameOf(arena, 100, index));
    expect([pool.allocated, pool.free]).toEqual([2, 0]);
    for (const run of mergeRuns(frames)) arena.released(run);
    expect([pool.allocated, pool.free]).toEqual([2, 2]);
    frameOf(arena, 100, 0);
    expect([pool.allocated, pool.free]).toEqual([2, 1]);
  });

  it('gives a large frame memory of its own, outside of the pool', () => {
    const pool = new ChunkPool(limits.chunkBytes);
    const arena = new FrameArena(limits, pool);
    arena.released(frameOf(arena, 600, 1));
    expect([pool.allocated, pool.free]).toEqual([0, 0]);
  });

  it('gives everything back when it is closed, and ignores releases after that', () => {
    const pool = new ChunkPool(limits.chunkBytes);
    const arena = new FrameArena(limits, pool);
    const frames = Array.from({ length: 25 }, () => frameOf(arena, 100, 1));
    arena.close();
    expect([pool.allocated, pool.free]).toEqual([3, 3]);
    frames.forEach((frame) => arena.released(frame));
    expect([pool.allocated, pool.free]).toEqual([3, 3]);
  });

  it('refuses a second release of the same bytes', () => {
    const arena = new FrameArena(limits);
    frameOf(arena, 100, 1);
    const frame = frameOf(arena, 200, 2);
    arena.released(frame);
    expect(() => arena.released(frame)).toThrow('bytes are released once');
  });

  it('never overwrites a frame that is in use, whatever is released in whatever order', () => {
    const steps = fc.array(
      fc.record({ arena: fc.nat(2), bytes: fc.integer({ min: 24, max: 700 }), drop: fc.nat(30) }),
      {
        maxLength: 200,
      },
    );
    fc.assert(
      fc.property(steps, (script) => {
        const pool = new ChunkPool(limits.chunkBytes);
        const arenas = [0, 1, 2].map(() => new FrameArena(limits, pool));
        const held: { frame: Buffer; copy: Buffer; arena: FrameArena }[] = [];
        for (const [fill, { arena: number, bytes, drop }] of script.entries()) {
          const arena = present(arenas[number], 'an arena');
          const frame = frameOf(arena, bytes, fill & 0xff);
          held.push({ frame, copy: Buffer.from(frame), arena });
          for (const { frame: released, arena: owner } of held.splice(drop, 2)) owner.released(released);
          expect(held.every(({ frame: now, copy }) => now.equals(copy))).toBe(true);
        }
        for (const { frame, arena } of held) arena.released(frame);
        expect(pool.free).toBe(pool.allocated);
      }),
    );
  });
});

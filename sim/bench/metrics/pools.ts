/**
 * The gain of the frame path's pools (`npm run bench stats`): reused request records and chunks beside new ones. Each
 * lives while `underWay` others are taken, as during a round trip: long enough that the young generation copies it
 * before it dies. Nanoseconds, garbage collection included.
 */
import { performance } from 'node:perf_hooks';

import { Pending, PendingPool } from '../../../engine/peer/pending.ts';
import { ChunkPool } from '../../../engine/peer/wire/chunk-pool.ts';
import type { Chunk } from '../../../engine/peer/wire/chunk-pool.ts';
import { FrameArena } from '../../../engine/peer/wire/frame-arena.ts';
import { median } from '../figures.ts';

/** Nanoseconds per use, with and without the pool. */
export interface PoolCost {
  readonly name: string;
  readonly pooledNs: number;
  readonly anewNs: number;
}

const repetitions = 400_000;
const underWay = 4_096;
const chunkBytes = 16 * 1024;
const bodyBytes = 200;
const limits = { frameBytesMax: 1024 * 1024 };

/** Medians of `rounds`, with and without the pool in turns. */
export function poolCosts(rounds: number): readonly PoolCost[] {
  return [
    compare('a request record (msgs)', rounds, pooledRecords(), newRecords()),
    compare(
      `a frame of ${bodyBytes} bytes (mbufs); anew: its chunk`,
      rounds,
      frames(new ChunkPool(chunkBytes)),
      frames(new Spendthrift(chunkBytes)),
    ),
    compare('the same; anew: a buffer of its own', rounds, frames(new ChunkPool(chunkBytes)), ownBuffers()),
  ];
}

type Step = (index: number) => void;

function compare(name: string, rounds: number, pooled: Step, anew: Step): PoolCost {
  const costs: { readonly pooled: number[]; readonly anew: number[] } = { pooled: [], anew: [] };
  for (let round = 0; round <= rounds; round++) {
    const [first, second] = [time(pooled), time(anew)];
    // Round 0 warms up.
    if (round === 0) continue;
    costs.pooled.push(first);
    costs.anew.push(second);
  }
  return { name, pooledNs: median(costs.pooled), anewNs: median(costs.anew) };
}

function time(step: Step): number {
  const start = performance.now();
  for (let index = 0; index < repetitions; index++) step(index);
  return ((performance.now() - start) * 1e6) / repetitions;
}

function pooledRecords(): Step {
  const pool = new PendingPool();
  const held: (Pending | undefined)[] = Array.from({ length: underWay }, () => undefined);
  return (index) => {
    const at = index % underWay;
    const old = held[at];
    if (old !== undefined) pool.give(old);
    const pending = pool.take();
    pending.id = index;
    held[at] = pending;
  };
}

function newRecords(): Step {
  const held: (Pending | undefined)[] = Array.from({ length: underWay }, () => undefined);
  return (index) => {
    const pending = new Pending();
    pending.state = 'queued';
    pending.id = index;
    held[index % underWay] = pending;
  };
}

/** A pool that creates every chunk anew and keeps none. */
class Spendthrift extends ChunkPool {
  override give(chunk: Chunk): void {
    chunk.free = true;
  }
}

function frames(pool: ChunkPool): Step {
  const arena = new FrameArena({ ...limits, chunkBytes }, pool);
  const held: (Buffer | undefined)[] = Array.from({ length: underWay }, () => undefined);
  const body = Buffer.alloc(bodyBytes, 7);
  return (index) => {
    const at = index % underWay;
    const old = held[at];
    if (old !== undefined) arena.released(old);
    held[at] = arena.frame(1, index, body);
  };
}

function ownBuffers(): Step {
  // A chunk as long as a frame: every frame is too large for it.
  const arena = new FrameArena({ ...limits, chunkBytes: bodyBytes });
  const held: (Buffer | undefined)[] = Array.from({ length: underWay }, () => undefined);
  const body = Buffer.alloc(bodyBytes, 7);
  return (index) => {
    held[index % underWay] = arena.frame(1, index, body);
  };
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { constantLatency, drawExponential, drawLatency } from './latency.ts';
import { WorldRandom, drawBetween } from './random.ts';

const knownWords = [2_259_355_072, 526_750_310, 2_051_790_815, 2_669_053_944];
const knownSum = 1_031_757;

describe('streams of the world', () => {
  it('are the same for the same seed and name, whatever other streams did', () => {
    const first = WorldRandom.root(7).fork('net').fork('n1>n2');
    const root = WorldRandom.root('7');
    for (let count = 0; count < 10; count++) root.fork('disk').u32();
    root.fork('net').u32();
    const second = root.fork('net').fork('n1>n2');
    expect(words(second)).toEqual(words(first));
  });

  it('differ by seed and by name', () => {
    const streams = [1, 2, '1/a', '1/b'].map((seed) => words(WorldRandom.root(seed)).join());
    expect(new Set(streams).size).toBe(4);
  });

  it('are what they were: a recorded digest holds only as long as this does', () => {
    expect(words(WorldRandom.root(1))).toEqual(knownWords);
  });

  it('draw below any bound, every value about equally often', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 32 }), fc.nat(), (bound, seed) => {
        const value = WorldRandom.root(seed).below(bound);
        expect(Number.isInteger(value) && value >= 0 && value < bound).toBe(true);
      }),
    );
    const random = WorldRandom.root('below');
    const drawn = Array.from({ length: 70_000 }, () => random.below(7));
    const counts = [0, 1, 2, 3, 4, 5, 6].map((value) => drawn.filter((one) => one === value).length);
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(500);
  });

  it('draw bytes, and whole ranges with both ends', () => {
    const random = WorldRandom.root('bytes');
    expect(random.bytes(0)).toHaveLength(0);
    expect(random.bytes(1021)).toHaveLength(1021);
    expect(new Set(random.bytes(20_000)).size).toBe(256);
    const drawn = new Set(Array.from({ length: 200 }, () => drawBetween(random, [3, 6])));
    expect([...drawn].toSorted()).toEqual([3, 4, 5, 6]);
  });
});

describe('latencies', () => {
  it('have the mean and the floor that they say', () => {
    const random = WorldRandom.root('latency');
    const drawn = Array.from({ length: 50_000 }, () =>
      drawLatency(random, { minUs: 100, meanUs: 400, tailOneIn: 0, tailUs: 0 }),
    );
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(100);
    expect(Math.abs(drawn.reduce((sum, us) => sum + us, 0) / drawn.length - 500)).toBeLessThan(10);
  });

  it('have a rare tail', () => {
    const random = WorldRandom.root('tail');
    const latency = { minUs: 1, meanUs: 0, tailOneIn: 100, tailUs: 1_000_000 };
    const long = Array.from({ length: 50_000 }, () => drawLatency(random, latency)).filter((us) => us > 1);
    expect(Math.abs(long.length - 500)).toBeLessThan(120);
    expect(Math.max(...long)).toBeGreaterThan(900_000);
  });

  it('are whole numbers from a table that is the same everywhere', () => {
    const random = WorldRandom.root('table');
    const drawn = Array.from({ length: 1000 }, () => drawExponential(random, 1000));
    expect(drawn.every((us) => Number.isInteger(us) && us >= 0)).toBe(true);
    expect(drawn.reduce((sum, us) => sum + us, 0)).toBe(knownSum);
    expect(drawLatency(random, constantLatency(5))).toBe(5);
  });
});

function words(random: WorldRandom): readonly number[] {
  return Array.from({ length: 4 }, () => random.u32());
}

import { describe, expect, it } from 'vitest';

import { describeStoreBatch, enumerateStoreBatch } from '../../explore/store-batch.ts';

describe('a history of atomic batches', () => {
  it('keeps a prefix with every answered batch, whatever a crash at any disk operation leaves', async () => {
    const report = await enumerateStoreBatch({ seed: 1, operations: 60, statesMax: 1500 });
    expect(report.failures, describeStoreBatch(report)).toEqual([]);
    // The history contains merges, and the visit really visited states.
    expect(report.merges).toBeGreaterThan(0);
    expect(report.crashPoints).toBeGreaterThan(300);
    expect(report.statesVisited).toBeGreaterThan(1400);
    expect(report.startStatesVisited).toBeGreaterThan(500);
  });
});

/** The model of machines of more cores. */
import { expect, test } from 'vitest';

import { modelOf } from './cores.ts';

test('cost grows with the share of requests that meet another node; threads bound few nodes, and cores many', () => {
  const of = (nodesPerMachine: number, processorMsPer1000: number) => ({
    ...{ request: 'put', nodesPerMachine, processorMsPer1000, mainShare: 0.8 },
  });
  const model = modelOf([of(1, 100), of(2, 999), of(4, 250)], 16);
  expect(model.map(({ nodesPerMachine }) => nodesPerMachine)).toEqual([1, 2, 4, 8, 16]);
  expect(model.map(({ requestsPerSecond }) => Math.round(requestsPerSecond))).toEqual([
    ...[37_500, 37_500, 60_000, 109_091, 166_957],
  ]);
  expect(model.map(({ boundByThreads }) => boundByThreads)).toEqual([true, true, true, true, false]);
});

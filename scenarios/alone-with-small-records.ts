import type { Scenario } from '../sim/plan/scenario.ts';
import { aloneWithLostRecords } from './alone-with-lost-records.ts';

export const aloneWithSmallRecords: Scenario = {
  ...aloneWithLostRecords,
  name: 'alone-with-small-records',
  description:
    'bits rot in the keys of a cluster of one node, which crashes: once it has given up what is lost, it serves the older copies that its disk still holds',
  // Half of every record is its key: of many lost records it is known which keys they may have had.
  load: { ...aloneWithLostRecords.load, valueBytes: [1, 12] },
  // All rot precedes the only start that scans the log: its disk tells what the node knows.
  faults: [
    {
      kind: 'bit-rot',
      count: [12, 24],
      choices: { role: ['log'] },
      atUs: [1_200_000, 2_200_000],
      always: true,
    },
    {
      kind: 'process-crash',
      count: [1, 1],
      atUs: [2_300_000, 2_500_000],
      forUs: [50_000, 300_000],
      always: true,
    },
  ],
  settings: { ...aloneWithLostRecords.settings, store_segment_bytes_max: 24_576 },
};

import type { Scenario } from '../sim/plan/scenario.ts';
import { hintsOnly } from './hints-only.ts';
import { everyday } from './shared.ts';

const hour = 3_600_000;

export const hintsOverClockJumps: Scenario = {
  ...hintsOnly,
  name: 'hints-over-clock-jumps',
  description:
    'wall clocks jump by hours while nodes keep hints for a replica that is cut off: no jump drops a hint before its time, also not over a restart',
  load: {
    ...everyday,
    kinds: { get: 15, put: 80, delete: 5 },
    needs: { one: 50, quorum: 50 },
    thinkUs: [0, 60_000],
  },
  faults: [
    {
      kind: 'network-partition',
      targets: ['n3'],
      count: [1, 1],
      atUs: [200_000, 500_000],
      forUs: [2_500_000, 3_500_000],
      sideMax: 1,
      always: true,
    },
    // Only forward jumps make a hint look old.
    {
      kind: 'clock-jump',
      targets: ['n1', 'n2'],
      count: [1, 3],
      atUs: [1_000_000, 2_600_000],
      params: { byMs: [2 * hour, 20 * hour] },
      always: true,
    },
    { kind: 'clock-jump', count: [0, 2], params: { byMs: [-20 * hour, 20 * hour] } },
    { kind: 'process-crash', targets: ['n1', 'n2'], count: [0, 1], forUs: [100_000, 400_000] },
    { kind: 'connection-reset', count: [0, 4] },
  ],
  settings: { ...hintsOnly.settings, hint_age_seconds_max: 3_600 },
  // A coordinator that dies while n3 is cut off may have made no hint for any key that it wrote.
  invariants: { ...hintsOnly.invariants, convergence: 1 },
};

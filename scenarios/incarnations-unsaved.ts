import type { Scenario } from '../sim/plan/scenario.ts';
import { invariants, onDisks, smallStore } from './shared.ts';

export const incarnationsUnsaved: Scenario = {
  name: 'incarnations-unsaved',
  description:
    'nodes crash and cannot save their incarnation number when they start again: such a start gives up, and peers hear of no number that a crash takes back',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: onDisks,
  faults: [
    {
      kind: 'process-crash',
      count: [6, 10],
      atUs: [300_000, 5_000_000],
      forUs: [20_000, 200_000],
      always: true,
    },
    ...(['write-error', 'sync-error'] as const).map((kind) => ({
      kind,
      count: [3, 5] as const,
      atUs: [200_000, 5_000_000] as const,
      forUs: [300_000, 900_000] as const,
      params: { oneIn: [1, 2] as const },
      choices: { role: ['identity'] },
      always: true,
    })),
  ],
  stormMs: 6_000,
  calmMs: 2_000,
  settleMsMax: 40_000,
  settings: smallStore,
  invariants: { ...invariants, 'session-guarantees': 5 },
};

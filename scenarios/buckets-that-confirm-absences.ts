import type { Scenario } from '../sim/plan/scenario.ts';
import { cutOffInTurn, everyday } from './shared.ts';

/** Reads that one replica satisfies, of keys that were written once or never, while replicas are cut off. */
export const bucketsThatConfirmAbsences: Scenario = {
  name: 'buckets-that-confirm-absences',
  description:
    'replicas are cut off, and buckets ask for one replica, but that an absence is confirmed (notfound_ok=false): a read says "not found" only of what no replica has',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    ...everyday,
    operations: [200, 260],
    keys: 60,
    siblingKeys: 20,
    thinkUs: [0, 80_000],
    kinds: { get: 55, put: 45 },
  },
  ...cutOffInTurn,
  settings: { bucket_needs: 'r=one w=one notfound_ok=false' },
};

/**
 * What an entry says that clients send, nodes receive: in one run with every kind of client and no fault, and in the
 * stories of operators. Where nodes receive a field that its entry calls unsent, the entry is wrong.
 */
import { beforeAll, describe, expect, it } from 'vitest';

import { mending } from '../../scenarios/shared.ts';
import { generatePlan } from '../plan/plan-generation.ts';
import type { Plan } from '../plan/plan.ts';
import type { Scenario } from '../plan/scenario.ts';
import { runPlan } from '../runner/run.ts';
import { planOfSeed } from '../runner/task.ts';
import { requestTable } from './request-fields.ts';
import { excuseOf, idOf } from './table.ts';

const everyClient: Scenario = {
  name: 'every-client',
  description: 'every kind of client sends every kind of request, and nothing goes wrong',
  cluster: { datacenters: 1, racks: 3, nodesPerRack: 1 },
  load: {
    clients: 4,
    operations: [600, 600],
    keys: 24,
    siblingKeys: 12,
    thinkUs: [0, 10_000],
    valueBytes: [16, 200],
    kinds: { get: 40, put: 45, delete: 15 },
    needs: { level: 30, quorum: 40, one: 30 },
    numbered: { percent: 40, copiesMax: 2 },
    manners: { httpPercent: 50, conditionalPercent: 40 },
    readings: { confirmedPercent: 30, ifChangedPercent: 30 },
    malformedInput: [0, 0],
    scrapes: [1, 1],
    transactions: {
      clients: 2,
      count: [60, 60],
      thinkUs: [0, 20_000],
      kinds: { transfer: 20, append: 20, stamp: 20, erase: 10, put: 20, look: 10 },
      structures: { accounts: 3, lists: 3, twins: 1, triples: 2 },
      placesMax: 3,
      forcedPercent: 10,
      namedPercent: 50,
      onePercent: 10,
    },
  },
  redis: {
    clients: 3,
    operations: [400, 400],
    counters: 3,
    accounts: 3,
    expiring: 3,
    ttlMs: [50, 500],
    thinkUs: [0, 5_000],
    kinds: {
      ...{ incr: 5, read: 5, mortal: 120, look: 10, transfer: 10, snapshot: 5, page: 10 },
      ...{ script: 5, watched: 10, pipeline: 20, publish: 5, listen: 5, database: 40, flushall: 2 },
    },
  },
  jobs: {
    clients: 2,
    count: [12, 12],
    thinkUs: [0, 100_000],
    kinds: { objects: 50, count: 30, whole: 20 },
    keysMax: 6,
  },
  bucketChanges: [6, 6],
  typeChanges: [6, 6],
  faults: [],
  stormMs: 4_000,
  calmMs: 500,
  settleMsMax: 40_000,
  settings: { ...mending, features_wasm: true, credentials: 'world', sibling_contexts: '2 3 30 60' },
  invariants: {},
};

const plans: readonly Plan[] = [
  generatePlan(everyClient, 1),
  planOfSeed('upgrade-finalized', 1),
  planOfSeed('backups-amid-decisions', 1),
  planOfSeed('modules-missed', 1),
];

describe('requests that nodes received', () => {
  const reached = new Set<string>();
  beforeAll(async () => {
    for (const plan of plans) {
      for (const id of (await runPlan(plan)).reached) reached.add(id);
    }
  }, 300_000);

  const cellsWhere = (isExcused: boolean): readonly string[] =>
    requestTable.cells
      .filter((cell) => (excuseOf(requestTable, cell) !== undefined) === isExcused)
      .map((cell) => idOf(requestTable, cell));

  it('have every field that clients are said to send', () => {
    expect(cellsWhere(false).filter((id) => !reached.has(id))).toEqual([]);
  });

  it('have no field that clients are said not to send', () => {
    expect(cellsWhere(true).filter((id) => reached.has(id))).toEqual([]);
  });
});

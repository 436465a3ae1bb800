import { expect, it } from 'vitest';

import { swarm } from '../../../scenarios/swarm.ts';
import type { ConfigField } from '../../../engine/config/keys.ts';
import { configKeys } from '../../../engine/config/keys.ts';
import { keyOf } from '../../../engine/config/config-key.ts';
import type { FaultKind } from '../../faults/fault-table.ts';
import { faultKindNames } from '../../faults/fault-table.ts';
import { generatePlan } from '../plan-generation.ts';
import type { Plan } from '../plan.ts';
import { parsePlan } from '../plan-validation.ts';
import { formatPlan } from '../plan.ts';
import { excusesOf, faultContract, nodesExcepted } from './fault-contract.ts';

const plans = Array.from({ length: 1200 }, (_, seed) => generatePlan(swarm, seed));

it('a seed always gives the same plan, which a file can hold', () => {
  for (const plan of plans.slice(0, 20)) {
    expect(generatePlan(swarm, plan.seed)).toEqual(plan);
    expect(parsePlan(formatPlan(plan))).toEqual(JSON.parse(JSON.stringify(plan)));
  }
});

it('the kinds that the contract lets it draw are drawn, and no others', () => {
  const drawn = new Set(plans.flatMap(({ faults }) => faults.map(({ kind }) => kind)));
  expect([...drawn].toSorted()).toEqual(
    faultKindNames.filter((kind) => faultContract[kind].drawn).toSorted(),
  );
});

it('every key with a trial is drawn with each of its values', () => {
  for (const field of Object.keys(configKeys) as ConfigField[]) {
    const { trial } = configKeys[field];
    if ('untried' in trial) continue;
    const values = new Set(plans.map(({ settings }) => settings[keyOf(field)]));
    for (const value of trial) expect(values, `${keyOf(field)} ${value}`).toContain(value);
  }
});

it('clusters have one to three datacenters and one to five racks', () => {
  const counts = (of: 'datacenter' | 'rack'): Set<number> =>
    new Set(plans.map(({ nodes }) => new Set(nodes.map((node) => node[of])).size));
  expect([...counts('datacenter')].toSorted()).toEqual([1, 2, 3]);
  expect([...counts('rack')].toSorted()).toEqual([1, 2, 3, 4, 5]);
});

it('some clusters have datacenters with different numbers of racks, most have equally many', () => {
  const several = plans.filter(({ nodes }) => new Set(nodes.map(({ datacenter }) => datacenter)).size > 1);
  const unequal = several.filter(({ nodes }) => new Set(racksIn(nodes).values()).size > 1);
  expect(unequal.length).toBeGreaterThan(several.length / 6);
  expect(unequal.length).toBeLessThan(several.length / 2);
  expect(Math.max(...unequal.map(({ nodes }) => nodes.filter(({ spare }) => spare !== true).length))).toBe(9);
});

it('at most one node loses copies, with its disk or with its life, where three racks or more hold them', () => {
  const losing = plans.map((plan) => ({
    racks: racksIn(plan.nodes),
    places: new Map(plan.nodes.map(({ name, datacenter }) => [name, datacenter])),
    nodes: new Set([...nodesExcepted(plan.faults, 'hint-delivery'), ...replacedIn(plan)]),
  }));
  expect(Math.max(...losing.map(({ nodes }) => nodes.size))).toBe(1);
  const copiesOf = ({ racks, places }: (typeof losing)[number], node: string): number =>
    racks.get(places.get(node) ?? '') ?? 0;
  expect(losing.filter((one) => [...one.nodes].some((node) => copiesOf(one, node) < 3))).toEqual([]);
  expect(plans.some((plan) => replacedIn(plan).length > 0)).toBe(true);
});

/** How many racks each datacenter has. */
function racksIn(nodes: Plan['nodes']): ReadonlyMap<string, number> {
  const racks = new Map<string, Set<string>>();
  for (const { datacenter, rack } of nodes)
    racks.set(datacenter, (racks.get(datacenter) ?? new Set()).add(rack));
  return new Map([...racks].map(([datacenter, names]) => [datacenter, names.size]));
}

/** The members that a spare of the plan replaces. */
function replacedIn({ nodes, faults }: Plan): readonly string[] {
  const moving = faults.filter(({ kind }) => kind === 'membership-change').flatMap(({ targets }) => targets);
  return nodes.flatMap(({ name, replaces }) =>
    replaces !== undefined && moving.includes(name) ? [replaces] : [],
  );
}

it('what a run judges is what its shape and its faults leave judgeable', () => {
  const shape = {
    ...{
      transactions: true,
      redis: true,
      jobs: true,
      modules: true,
      credentials: true,
      antiEntropy: true,
      backups: true,
    },
    kinds: [] as readonly FaultKind[],
  };
  expect(excusesOf(shape)).toEqual({});
  expect(Object.keys(excusesOf({ ...shape, antiEntropy: false }))).toContain('convergence');
  expect(Object.keys(excusesOf({ ...shape, kinds: ['disk-rollback'] }))).toContain('atomicity');
  expect(excusesOf({ ...shape, kinds: ['membership-change'] })).toEqual({});
});

it('contexts of siblings are limited in some runs, and in half of those they are pruned', () => {
  const limits = plans.flatMap(({ settings }) => settings['sibling_contexts'] ?? []).map(String);
  const young = limits.map((given) => Number(given.split(' ')[2]));
  expect(limits.length).toBeGreaterThan(plans.length / 4);
  const pruning = young.filter((seconds) => seconds < 10).length;
  expect(pruning).toBeGreaterThan(limits.length / 3);
  expect(young.length - pruning).toBeGreaterThan(limits.length / 3);
});

it('some buckets state what requests need, each property with each of its words', () => {
  const stated = plans.flatMap(({ settings }) => settings['bucket_needs'] ?? []).map(String);
  expect(stated.length).toBeGreaterThan(plans.length / 4);
  expect([...new Set(stated.flatMap((text) => text.split(' ')))].toSorted()).toEqual([
    ...['basic_quorum=true', 'dw=all', 'dw=one', 'dw=quorum', 'node_confirms=quorum', 'notfound_ok=false'],
    ...[
      'pr=quorum',
      'pw=quorum',
      'r=all',
      'r=one',
      'r=quorum',
      'rw=all',
      'rw=one',
      'w=all',
      'w=one',
      'w=quorum',
    ],
  ]);
});

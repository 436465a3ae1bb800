/**
 * Generates a plan from a scenario and a seed: fast-check arbitraries over the scenario's ranges, sampled with a seed
 * derived from the run's.
 *
 * Swarm testing (Groce et al., "Swarm Testing", 2012): of the fault kinds that a scenario offers, each seed switches a
 * random subset on. Rare combinations, and the absence of kinds, are thus drawn too.
 */
import fc from 'fast-check';
import { createHash } from 'node:crypto';
import { assert, present } from '../../engine/base/assert.ts';
import type { ConsistencyLevel } from '../../engine/replication/requests.ts';
import type { ClusterShape, FaultDraw, LoadShape, Range, Scenario, RedisLoad } from './scenario.ts';
import type { ParameterRange } from '../faults/fault-row.ts';
import { faultKinds } from '../faults/fault-table.ts';
import type {
  Moment,
  Plan,
  PlanBackup,
  PlanBucketChange,
  PlanFault,
  PlanMalformedInput,
  PlanOperation,
  PlanScrape,
  PlanRedisOperation,
} from './plan.ts';
import {
  conditionNames,
  malformedInputForms,
  malformedInputListeners,
  planFormat,
  absenceNames,
  quorumForms,
} from './plan.ts';
import type { PlanNode } from './plan-node.ts';
import { noStructures } from './plan-transactions.ts';
import { seedNameOf } from './former-names.ts';
import { jobsOf } from './job-plans.ts';
import { transactionsOf } from './transaction-generation.ts';
import { integerIn, listOf, weighted } from './arbitraries.ts';
import { channelCount } from '../evidence/redis-messages.ts';
import { pageCount } from '../evidence/redis-pages.ts';
import type { RedisKind } from '../evidence/redis.ts';

/** The plan of a seed. For one version of the scenario it is always the same. */
export function generatePlan(scenario: Scenario, seed: number): Plan {
  const arbitrary = fc.noBias(planArbitrary(scenario, seed));
  // Stated although it is the default: an embedding project may have configured fast-check otherwise.
  const [plan] = fc.sample(arbitrary, {
    seed: sampleSeed(scenario.name, seed),
    numRuns: 1,
    randomType: 'xorshift128plus',
  });
  return present(plan, 'a sampled plan');
}

/** All plans of a scenario. `seed` becomes the plans' seed; it does not influence what is drawn. */
export function planArbitrary(scenario: Scenario, seed: number): fc.Arbitrary<Plan> {
  if (scenario.drawn !== undefined) return scenario.drawn.chain((one) => planArbitrary(one, seed));
  const nodes = nodesOf(scenario.cluster);
  const members = nodes.filter((node) => node.spare !== true);
  const stormUs = scenario.stormMs * 1000;
  const { load } = scenario;
  return fc
    .record({
      operations: operationsOf(load),
      transactions: load.transactions === undefined ? fc.constant([]) : transactionsOf(load.transactions),
      faults: faultsOf(scenario, nodes, stormUs),
      malformedInput: listOf(load.malformedInput, malformedInputOf(members, stormUs)),
      scrapes: listOf(load.scrapes, scrapeOf(members, stormUs)),
      jobs: scenario.jobs === undefined ? fc.constant(undefined) : jobsOf(scenario.jobs, load.keys),
      redis: scenario.redis === undefined ? fc.constant(undefined) : redisOperationsOf(scenario.redis),
      levels: levelsOf(scenario),
      bucketChanges: bucketChangesOf(scenario, members, stormUs),
      backups: backupsOf(scenario, stormUs),
      typeChanges: typeChangesOf(scenario, members, stormUs),
    })
    .map(({ bucketChanges, typeChanges, ...drawn }) => ({
      format: planFormat,
      scenario: scenario.name,
      seed,
      nodes,
      clients: load.clients,
      keys: load.keys,
      siblingKeys: load.siblingKeys,
      stormUs,
      calmUs: scenario.calmMs * 1000,
      settleUsMax: scenario.settleMsMax * 1000,
      ...(scenario.repairedBy === undefined ? {} : { repairedBy: scenario.repairedBy }),
      settings: { ...scenario.settings, ...drawn.levels },
      operations: drawn.operations.map((operation, index) => ({ id: `o${index}`, ...operation })),
      transactionClients: load.transactions?.clients ?? 0,
      structures: load.transactions?.structures ?? noStructures,
      transactions: drawn.transactions.map((one, index) => ({ id: `t${index}`, ...one })),
      ...(drawn.redis === undefined ? {} : { redisOperations: drawn.redis }),
      ...(drawn.jobs === undefined ? {} : { jobs: drawn.jobs }),
      faults: drawn.faults.map((fault, index) => ({ id: `f${index}`, ...fault })),
      malformedInput: drawn.malformedInput.map((burst, index) => ({ id: `g${index}`, ...burst })),
      scrapes: drawn.scrapes.map((scrape, index) => ({ id: `s${index}`, ...scrape })),
      ...(bucketChanges.length + typeChanges.length === 0
        ? {}
        : { bucketChanges: [...bucketChanges, ...typeChanges] }),
      ...(drawn.backups.length === 0 ? {} : { backups: drawn.backups }),
      floors: scenario.invariants,
    }));
}

/**
 * Nodes `n1`, `n2`, … distributed over the racks in turn, so that the first nodes are in different racks; then the
 * spares.
 */
export function nodesOf(shape: ClusterShape): readonly PlanNode[] {
  const nodes: PlanNode[] = [];
  const racks = racksOf(shape);
  for (let turn = 0; turn < shape.nodesPerRack; turn++) {
    for (let rack = 1; rack <= Math.max(...racks); rack++) {
      for (const [index, own] of racks.entries()) {
        if (rack > own) continue;
        const datacenter = index + 1;
        nodes.push({ name: `n${nodes.length + 1}`, datacenter: `dc${datacenter}`, rack: `r${rack}` });
      }
    }
  }
  assert(nodes.length > 0, 'a cluster has at least one node');
  return [...nodes, ...(shape.spares ?? []).map((spare) => ({ ...spare, spare: true as const }))];
}

/** How many racks each datacenter has, from `dc1` on. */
export function racksOf({ datacenters, racks }: ClusterShape): readonly number[] {
  return typeof racks === 'number' ? Array.from({ length: datacenters }, () => racks) : racks;
}

type Unnamed<T> = Omit<T, 'id'>;

function operationsOf(load: LoadShape): fc.Arbitrary<readonly Unnamed<PlanOperation>[]> {
  const operation = fc.record({
    client: fc.integer({ min: 0, max: load.clients - 1 }),
    thinkUs: integerIn(load.thinkUs),
    kind: weighted(load.kinds),
    key: fc.integer({ min: 0, max: load.keys - 1 }),
    valueBytes: integerIn(load.valueBytes),
    need: weighted(load.needs),
    context: fc.constantFrom('none', 'last', 'last'),
  });
  return listOf(load.operations, readings(load, mannered(load, numbered(load, operation))));
}

type Drawn = fc.Arbitrary<Unnamed<PlanOperation>>;

function numbered({ numbered: some }: LoadShape, operation: Drawn): Drawn {
  if (some === undefined) return operation;
  const quorum = fc.record({
    as: fc.constantFrom(...quorumForms),
    count: fc.integer({ min: 1, max: some.copiesMax }),
  });
  const either = fc.tuple(operation, fc.integer({ min: 0, max: 99 }), quorum);
  return either.map(([drawn, chance, more]) => (chance < some.percent ? { ...drawn, quorum: more } : drawn));
}

/** Some operations go over HTTP, and some puts and deletions have a condition. */
function mannered({ manners }: LoadShape, operation: Drawn): Drawn {
  if (manners === undefined) return operation;
  const percent = fc.integer({ min: 0, max: 99 });
  const drawn = fc.tuple(operation, percent, percent, fc.constantFrom(...conditionNames));
  return drawn.map(([one, http, chance, condition]) => ({
    ...one,
    ...(http < manners.httpPercent ? { over: 'http' as const } : {}),
    ...(one.kind !== 'get' && chance < manners.conditionalPercent ? { condition } : {}),
  }));
}

/** Some reads want an absence confirmed, and some ask only for what has changed. */
function readings({ readings: some }: LoadShape, operation: Drawn): Drawn {
  if (some === undefined) return operation;
  const percent = fc.integer({ min: 0, max: 99 });
  const drawn = fc.tuple(operation, percent, percent, fc.constantFrom(...absenceNames));
  return drawn.map(([one, confirmed, changed, absence]) => ({
    ...one,
    ...(one.kind === 'get' && confirmed < some.confirmedPercent ? { absence } : {}),
    ...(one.kind === 'get' && changed < some.ifChangedPercent ? { ifChanged: true as const } : {}),
  }));
}

/** The consistency levels that the nodes are configured with. */
function levelsOf({ levels }: Scenario): fc.Arbitrary<Readonly<Record<string, ConsistencyLevel>>> {
  if (levels === undefined) return fc.constant({});
  return fc.record({ read_consistency: weighted(levels.read), write_consistency: weighted(levels.write) });
}

/** The faults of each kind that the swarm left on, in the order of the scenario. */
function faultsOf(
  scenario: Scenario,
  nodes: readonly PlanNode[],
  stormUs: number,
): fc.Arbitrary<readonly Unnamed<PlanFault>[]> {
  const perDraw = scenario.faults.map((draw) => {
    const faults = listOf(draw.count, faultOf(draw, scenario, nodes, stormUs));
    if (draw.always === true) return faults;
    return fc.tuple(fc.boolean(), faults).map(([on, drawn]) => (on ? drawn : []));
  });
  return fc.tuple(...perDraw).map((lists) => lists.flat());
}

function faultOf(
  draw: FaultDraw,
  scenario: Scenario,
  nodes: readonly PlanNode[],
  stormUs: number,
): fc.Arbitrary<Unnamed<PlanFault>> {
  return targetsOf(draw, scenario, nodes).chain((targets) =>
    fc.record({
      kind: fc.constant(draw.kind),
      targets: fc.constant(targets),
      when: momentOf(draw, present(targets[0], 'a target'), stormUs),
      forUs: faultKinds[draw.kind].lasting ? integerIn(draw.forUs ?? [0, stormUs]) : fc.constant(0),
      params: paramsOf(draw),
    }),
  );
}

function targetsOf(
  draw: FaultDraw,
  { load, redis, jobs }: Scenario,
  nodes: readonly PlanNode[],
): fc.Arbitrary<readonly string[]> {
  const members = nodes.filter((node) => node.spare !== true);
  const names = draw.targets ?? members.map((node) => node.name);
  const clients = [
    ...Array.from({ length: load.clients }, (_, index) => `c${index}`),
    ...Array.from({ length: load.transactions?.clients ?? 0 }, (_, index) => `x${index}`),
  ];
  switch (faultKinds[draw.kind].aim) {
    case 'node':
      return fc.constantFrom(...names).map((name) => [name]);
    case 'link':
      return fc
        .tuple(fc.constantFrom(...names, ...clients), fc.nat(names.length - 1))
        .map(([first, index]) => linkFrom(first, index, names));
    case 'client': {
      const counts = {
        c: load.clients,
        x: load.transactions?.clients ?? 0,
        r: redis?.clients ?? 0,
        j: jobs?.clients ?? 0,
      };
      const sorts = faultKinds[draw.kind].clients ?? [];
      const fitting = sorts.flatMap((sort) =>
        Array.from({ length: counts[sort] }, (_, at) => `${sort}${at}`),
      );
      return fc.constantFrom(...(draw.targets ?? fitting)).map((name) => [name]);
    }
    case 'side': {
      if (draw.group !== undefined) return fc.constantFrom(...groupsOf(members, draw.group));
      // With several names, at least one stays on the other side. With one name, all other nodes are on the other side.
      const most = Math.max(1, Math.min(draw.sideMax ?? names.length - 1, names.length - 1));
      return fc.subarray([...names], { minLength: 1, maxLength: most });
    }
  }
}

/** The nodes of each rack, or of each datacenter. */
function groupsOf(members: readonly PlanNode[], by: 'rack' | 'datacenter'): readonly (readonly string[])[] {
  const groups = new Map<string, string[]>();
  for (const { name, datacenter, rack } of members) {
    const group = by === 'rack' ? `${datacenter}/${rack}` : datacenter;
    groups.set(group, [...(groups.get(group) ?? []), name]);
  }
  return [...groups.values()];
}

/** A host and another one: the `index`th node, or the node after it if that is the host itself. */
function linkFrom(first: string, index: number, names: readonly string[]): readonly string[] {
  const second = names[index] === first ? names[(index + 1) % names.length] : names[index];
  return [first, present(second, 'a second host')];
}

function momentOf(draw: FaultDraw, host: string, stormUs: number): fc.Arbitrary<Moment> {
  const [least, most] = draw.atUs ?? [0, stormUs];
  const instant: fc.Arbitrary<Moment> = fc.integer({ min: least, max: most }).map((atUs) => ({ atUs }));
  const { after } = draw;
  if (after === undefined) return instant;
  const event: fc.Arbitrary<Moment> = fc
    .tuple(integerIn(after.nth), integerIn(after.delayUs))
    .map(([nth, delayUs]) => ({ event: after.event, host: after.host ?? host, nth, delayUs }));
  return fc.oneof(instant, event);
}

function paramsOf(draw: FaultDraw): fc.Arbitrary<PlanFault['params']> {
  const ranges = Object.entries(faultKinds[draw.kind].params);
  const fields: Record<string, fc.Arbitrary<number | string>> = {};
  for (const [name, range] of ranges)
    fields[name] = parameterOf(range, draw.params?.[name], draw.choices?.[name]);
  return fc.record(fields).map((params) => ({ ...params }));
}

function parameterOf(
  range: ParameterRange,
  narrower: Range | undefined,
  words: readonly string[] | undefined,
): fc.Arbitrary<number | string> {
  if (range.kind === 'choice') return fc.constantFrom(...(words ?? range.of));
  return integerIn(narrower ?? [range.min, range.max]);
}

function malformedInputOf(
  nodes: readonly PlanNode[],
  stormUs: number,
): fc.Arbitrary<Unnamed<PlanMalformedInput>> {
  return fc.record({
    atUs: fc.integer({ min: 0, max: stormUs }),
    node: fc.constantFrom(...nodes.map((node) => node.name)),
    listener: fc.constantFrom(...malformedInputListeners),
    form: fc.constantFrom(...malformedInputForms),
    bytes: fc.integer({ min: 1, max: 4096 }),
  });
}

function scrapeOf(nodes: readonly PlanNode[], stormUs: number): fc.Arbitrary<Unnamed<PlanScrape>> {
  return fc.record({
    atUs: fc.integer({ min: 0, max: stormUs }),
    node: fc.constantFrom(...nodes.map((node) => node.name)),
  });
}

const changedBuckets = 2;

/** The changes of buckets with ids `b0`, `b1`, …, in the order of their moments; two settings to one reset. */
function bucketChangesOf(
  { bucketChanges }: Scenario,
  nodes: readonly PlanNode[],
  stormUs: number,
): fc.Arbitrary<readonly PlanBucketChange[]> {
  if (bucketChanges === undefined) return fc.constant([]);
  const change = fc.record({
    atUs: fc.integer({ min: 0, max: stormUs }),
    node: fc.constantFrom(...nodes.map((node) => node.name)),
    kind: fc.constantFrom('set' as const, 'reset' as const, 'set' as const),
    bucket: fc.nat(changedBuckets - 1),
    odd: fc.nat(1),
  });
  return listOf(bucketChanges, change).map((list) =>
    list
      .toSorted((left, right) => left.atUs - right.atUs)
      .map(({ odd, ...drawn }, index) => ({ id: `b${index}`, ...drawn, mark: 2 * index + odd })),
  );
}

/** The changes of bucket types with ids `y0`, `y1`, …, in the order of their moments. */
function typeChangesOf(
  { typeChanges }: Scenario,
  nodes: readonly PlanNode[],
  stormUs: number,
): fc.Arbitrary<readonly PlanBucketChange[]> {
  if (typeChanges === undefined) return fc.constant([]);
  const change = fc.record({
    atUs: fc.integer({ min: 0, max: stormUs }),
    node: fc.constantFrom(...nodes.map((node) => node.name)),
    bucket: fc.nat(changedBuckets - 1),
    odd: fc.nat(1),
  });
  return listOf(typeChanges, change).map((list) =>
    list
      .toSorted((left, right) => left.atUs - right.atUs)
      .map(({ odd, ...drawn }, index) => ({
        ...{ id: `y${index}`, kind: 'type' as const, ...drawn },
        mark: 2 * index + odd,
      })),
  );
}

/** The backups with ids `k0`, `k1`, …, in the order of their moments. */
function backupsOf({ backups }: Scenario, stormUs: number): fc.Arbitrary<readonly PlanBackup[]> {
  if (backups === undefined) return fc.constant([]);
  return listOf(backups, fc.integer({ min: 0, max: stormUs })).map((moments) =>
    moments.toSorted((left, right) => left - right).map((atUs, index) => ({ id: `k${index}`, atUs })),
  );
}

/** fast-check's seed, a 32-bit integer, derived from the scenario's name and the run's seed. */
function sampleSeed(scenario: string, seed: number): number {
  return createHash('sha256')
    .update(`plan/${seedNameOf(scenario)}/${seed}`)
    .digest()
    .readInt32BE(0);
}

/** Amounts from which an operation draws its commands. */
const seeds: Range = [1, 1_000_000_000];

/** The amounts of which `databaseActOf` makes a flush. */
const flushOnly: Range = [100, 105];

/** The Redis operations of a plan, with ids `q0`, `q1`, …. */
export function redisOperationsOf(load: RedisLoad): fc.Arbitrary<readonly PlanRedisOperation[]> {
  const { clients, counters, accounts, expiring } = load;
  const upTo = (count: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: count - 1 });
  const keyCounts: Readonly<Record<RedisKind, number>> = {
    ...{ incr: counters, read: counters, mortal: expiring, look: expiring, snapshot: 1, transfer: accounts },
    page: pageCount,
    script: counters,
    watched: counters,
    pipeline: 1,
    sets: 1,
    publish: channelCount,
    listen: channelCount,
    database: 1,
    flushall: 1,
  };
  const amounts: Readonly<Partial<Record<RedisKind, Range>>> = {
    mortal: load.ttlMs,
    pipeline: seeds,
    sets: seeds,
    publish: seeds,
    listen: seeds,
    database: seeds,
    flushall: flushOnly,
  };
  const operation = weighted(load.kinds).chain((kind) =>
    fc
      .record({
        client: upTo(clients),
        thinkUs: integerIn(load.thinkUs),
        key: upTo(keyCounts[kind]),
        step: fc.integer({ min: 1, max: accounts - 1 }),
        amount: integerIn(amounts[kind] ?? [1, 100]),
      })
      .map(({ step, ...drawn }) => ({ ...drawn, kind, other: (drawn.key + step) % accounts })),
  );
  return listOf(load.operations, operation).map((list) =>
    list.map((drawn, index) => ({ id: `q${index}`, ...drawn })),
  );
}

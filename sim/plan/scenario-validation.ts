/**
 * Validates scenarios that users wrote, before anything runs. Each rejection is one sentence (`PlanInvalid`) that names
 * the place and what is allowed. The module checks every field, then draws a few plans from the scenario and reads them
 * as plan files.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { consistencyLevels } from '../../engine/replication/requests.ts';
import { jobKinds } from '../evidence/jobs.ts';
import { redisKinds } from '../evidence/redis.ts';
import { findNamed } from '../check/named.ts';
import type { FaultRow } from '../faults/fault-row.ts';
import { wordsOf } from '../faults/fault-row.ts';
import { faultKinds, faultRows } from '../faults/fault-table.ts';
import type { Field } from './fields.ts';
import {
  readChoice,
  readEntries,
  readFlag,
  readInteger,
  readList,
  readNamed,
  readObject,
  readText,
  refuse,
} from './fields.ts';
import { formerFields, formerScenarioNames, withPresentKeys } from './former-names.ts';
import { generatePlan } from './plan-generation.ts';
import { readNodeName } from './node-names.ts';
import { planLimits } from './plan-limits.ts';
import { parsePlan, readFloors, readSettings } from './plan-validation.ts';
import type { Plan } from './plan.ts';
import { formatPlan, needNames, operationKinds } from './plan.ts';
import { transactionKinds } from './plan-transactions.ts';
import type { Scenario } from './scenario.ts';

/** How many seeds' plans are drawn to see whether they are valid. */
const seedsTried = 4;

/**
 * The scenario, with faults and invariants by their names where it has their old codes. One without a floor above 0 gets one
 * for `no-silent-failures`: a run that need compare nothing proves nothing. `taken`: names that the scenario must not have.
 * Throws `PlanInvalid`.
 */
export function mustBeScenario(given: Scenario, taken: readonly string[]): Scenario {
  const value: unknown = given;
  const named =
    typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
  const current = withPresentNames({ path: named ? given.name : 'scenario', value });
  const floors = readScenario(current, [...taken, ...formerScenarioNames]);
  // Its form has just been checked.
  const checked = current.value as Scenario;
  const isFloored = Object.values(floors).some((floor) => floor > 0);
  const scenario: Scenario = {
    ...checked,
    faults: checked.faults.map((draw) => ({
      ...draw,
      kind: findNamed(faultRows, draw.kind)?.name ?? draw.kind,
    })),
    invariants: isFloored ? floors : { ...floors, 'no-silent-failures': 1 },
  };
  for (let seed = 0; seed < seedsTried; seed++) tryToDraw(current, scenario, seed);
  return scenario;
}

/** The scenario with present names of its fields in place of former ones. */
function withPresentNames(field: Field): Field {
  const { path, value } = withPresentKeys(field, formerFields.scenario);
  if (typeof value !== 'object' || value === null) return { path, value };
  const parts: Record<string, unknown> = { ...value };
  for (const part of ['load', 'redis'] as const) {
    if (parts[part] === undefined) continue;
    parts[part] = withPresentKeys({ path: `${path}.${part}`, value: parts[part] }, formerFields[part]).value;
  }
  const draws: unknown = parts['faults'];
  if (Array.isArray(draws)) {
    parts['faults'] = draws.map((draw: unknown, index) => {
      return withPresentKeys({ path: `${path}.faults[${index}]`, value: draw }, formerFields.draw).value;
    });
  }
  return { path, value: parts };
}

function tryToDraw({ path }: Field, scenario: Scenario, seed: number): void {
  try {
    parsePlan(formatPlan(generatePlan(scenario, seed)));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new LockstepError('PlanInvalid', `${path}: no plan can be drawn from it: ${why}`, { cause });
  }
}

function readScenario(field: Field, taken: readonly string[]): Plan['floors'] {
  const { name, description, cluster, load, faults, stormMs, calmMs, settleMsMax, invariants, ...rest } =
    readObject(
      field,
      ['name', 'description', 'cluster', 'load', 'faults', 'stormMs', 'calmMs', 'settleMsMax', 'invariants'],
      ['redis', 'jobs', 'bucketChanges', 'typeChanges', 'backups', 'repairedBy', 'levels', 'settings'],
    );
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(readText(name, 100)))
    refuse(name, 'a name like accounts-under-partition is expected: lower case, digits, dashes');
  if (taken.some((one) => one === name.value))
    refuse(name, 'there is a scenario of that name already; give this one another');
  readText(description, 1000);
  readCluster(cluster);
  readLoad(load);
  const storm = readInteger(stormMs, 1, planLimits.durationUsMax / 1000);
  readInteger(calmMs, 0, planLimits.durationUsMax / 1000);
  readInteger(settleMsMax, 1, planLimits.durationUsMax / 1000);
  readList(faults, faultRows.length * 4, (item) => readDraw(item, storm * 1000));
  const floors = readFloors(invariants);
  if (rest.redis !== undefined) readRedis(rest.redis);
  if (rest.jobs !== undefined) readJobs(rest.jobs);
  if (rest.bucketChanges !== undefined) readRange(rest.bucketChanges, 0, planLimits.bucketChangesMax);
  if (rest.typeChanges !== undefined) readRange(rest.typeChanges, 0, planLimits.bucketChangesMax);
  if (rest.backups !== undefined) readRange(rest.backups, 0, planLimits.backupsMax);
  if (rest.repairedBy !== undefined) readChoice(rest.repairedBy, ['sweeps']);
  if (rest.levels !== undefined) readLevels(rest.levels);
  if (rest.settings !== undefined) readSettings(rest.settings);
  return floors;
}

function readCluster(field: Field): void {
  const shape = readObject(field, ['datacenters', 'racks', 'nodesPerRack'], ['spares']);
  const [datacenters, perRack] = [shape.datacenters, shape.nodesPerRack].map((one) =>
    readInteger(one, 1, planLimits.nodesMax),
  ) as [number, number];
  const nodes = readRacks(shape.racks, datacenters) * perRack;
  if (nodes > planLimits.nodesMax)
    refuse(field, `${nodes} nodes; at most ${planLimits.nodesMax} are allowed`);
  if (shape.spares === undefined) return;
  const taken = new Set(Array.from({ length: nodes }, (_, index) => `n${index + 1}`));
  readList(shape.spares, planLimits.nodesMax, (item) => {
    const spare = readObject(item, ['name', 'datacenter', 'rack'], ['replaces']);
    return readNodeName(spare.name, taken);
  });
}

/** Returns the number of racks in all datacenters. */
function readRacks(field: Field, datacenters: number): number {
  if (!Array.isArray(field.value)) return datacenters * readInteger(field, 1, planLimits.nodesMax);
  const racks = readList(field, planLimits.nodesMax, (item) => readInteger(item, 1, planLimits.nodesMax));
  if (racks.length !== datacenters) refuse(field, `${racks.length} numbers for ${datacenters} datacenters`);
  return racks.reduce((sum, one) => sum + one, 0);
}

function readLoad(field: Field): void {
  const load = readObject(
    field,
    [
      ...([
        'clients',
        'operations',
        'keys',
        'siblingKeys',
        'thinkUs',
        'valueBytes',
        'kinds',
        'needs',
      ] as const),
      ...(['malformedInput', 'scrapes'] as const),
    ],
    ['transactions', 'numbered', 'manners', 'readings'],
  );
  readClients(load.clients);
  readRange(load.operations, 0, planLimits.operationsMax);
  readInteger(load.siblingKeys, 0, readInteger(load.keys, 1, planLimits.keysMax));
  readRange(load.thinkUs, 0, planLimits.durationUsMax);
  readRange(load.valueBytes, 0, planLimits.valueBytesMax);
  readWeights(load.kinds, operationKinds);
  readWeights(load.needs, needNames);
  readRange(load.malformedInput, 0, planLimits.burstsMax);
  readRange(load.scrapes, 0, planLimits.scrapesMax);
  if (load.transactions !== undefined) readTransactions(load.transactions);
  if (load.numbered !== undefined) {
    const { percent, copiesMax } = readObject(load.numbered, ['percent', 'copiesMax']);
    readInteger(percent, 0, 100);
    readInteger(copiesMax, 1, planLimits.nodesMax);
  }
  if (load.manners !== undefined) readPercents(load.manners, ['httpPercent', 'conditionalPercent']);
  if (load.readings !== undefined) readPercents(load.readings, ['confirmedPercent', 'ifChangedPercent']);
}

function readPercents(field: Field, names: readonly string[]): void {
  for (const percent of Object.values(readObject(field, names))) readInteger(percent, 0, 100);
}

function readLevels(field: Field): void {
  const { read, write } = readObject(field, ['read', 'write']);
  readWeights(read, consistencyLevels);
  readWeights(write, consistencyLevels);
}

function readTransactions(field: Field): void {
  const load = readObject(
    field,
    [
      ...(['clients', 'count', 'thinkUs', 'kinds', 'structures', 'placesMax'] as const),
      ...(['forcedPercent', 'namedPercent', 'onePercent'] as const),
    ],
    ['eachPercent'],
  );
  readClients(load.clients);
  readRange(load.count, 0, planLimits.operationsMax);
  readRange(load.thinkUs, 0, planLimits.durationUsMax);
  readWeights(load.kinds, transactionKinds);
  const structures = readObject(load.structures, ['accounts', 'lists', 'twins', 'triples']);
  for (const count of Object.values(structures)) readInteger(count, 0, 1000);
  readInteger(load.placesMax, 1, 1000);
  for (const percent of [load.forcedPercent, load.namedPercent, load.onePercent])
    readInteger(percent, 0, 100);
  if (load.eachPercent !== undefined) readInteger(load.eachPercent, 0, 100);
}

function readRedis(field: Field): void {
  const load = readObject(field, [
    ...(['clients', 'operations', 'counters', 'accounts', 'expiring', 'ttlMs', 'thinkUs', 'kinds'] as const),
  ]);
  readClients(load.clients);
  readRange(load.operations, 0, planLimits.operationsMax);
  readInteger(load.counters, 1, planLimits.keysMax);
  readInteger(load.accounts, 2, planLimits.keysMax);
  readInteger(load.expiring, 1, planLimits.keysMax);
  readRange(load.ttlMs, 1, planLimits.durationUsMax / 1000);
  readRange(load.thinkUs, 0, planLimits.durationUsMax);
  readWeights(load.kinds, redisKinds);
}

function readJobs(field: Field): void {
  const load = readObject(field, ['clients', 'count', 'thinkUs', 'kinds', 'keysMax']);
  readClients(load.clients);
  readRange(load.count, 0, planLimits.operationsMax);
  readRange(load.thinkUs, 0, planLimits.durationUsMax);
  readWeights(load.kinds, jobKinds);
  readInteger(load.keysMax, 1, planLimits.keysMax);
}

function readDraw(field: Field, stormUs: number): void {
  const draw = readObject(
    field,
    ['kind', 'count'],
    ['forUs', 'params', 'choices', 'targets', 'atUs', 'group', 'sideMax', 'after', 'always'],
  );
  const { name: kind } = readNamed(draw.kind, faultRows, 'kind of fault');
  const { lasting, params, aim } = faultKinds[kind];
  readRange(draw.count, 0, planLimits.faultsMax);
  if (draw.forUs !== undefined) {
    if (!lasting) refuse(draw.forUs, `${kind} is over at once; leave forUs out`);
    readRange(draw.forUs, 0, planLimits.durationUsMax);
  }
  for (const [name, range] of draw.params === undefined ? [] : readEntries(draw.params, 100)) {
    const own = params[name];
    if (own?.kind !== 'integer')
      refuse(range, `${kind} has no such number; it has ${namesOf(params, 'integer')}`);
    else readRange(range, own.min, own.max);
  }
  for (const [name, choices] of draw.choices === undefined ? [] : readEntries(draw.choices, 100)) {
    const own = params[name];
    if (own?.kind !== 'choice')
      refuse(choices, `${kind} has no such choice; it has ${namesOf(params, 'choice')}`);
    else if (readList(choices, 100, (word) => readChoice(word, wordsOf(own))).length === 0)
      refuse(choices, 'at least one value is expected');
  }
  if (draw.targets !== undefined && readList(draw.targets, 1000, (item) => readText(item, 64)).length === 0)
    refuse(draw.targets, 'one at least is expected; leave it out for all members');
  if (draw.atUs !== undefined) readRange(draw.atUs, 0, stormUs);
  if (draw.group !== undefined) readChoice(draw.group, ['rack', 'datacenter']);
  if (draw.sideMax !== undefined) readInteger(draw.sideMax, 1, planLimits.nodesMax);
  if (aim !== 'side' && (draw.group ?? draw.sideMax) !== undefined)
    refuse(field, `${kind} aims at a ${aim}; group and sideMax are for kinds that aim at a side`);
  if (draw.always !== undefined) readFlag(draw.always);
  if (draw.after === undefined) return;
  const after = readObject(draw.after, ['event', 'nth', 'delayUs'], ['host']);
  readText(after.event, 100);
  if (after.host !== undefined) readText(after.host, 64);
  readRange(after.nth, 1, 1_000_000);
  readRange(after.delayUs, 0, planLimits.durationUsMax);
}

function namesOf(params: FaultRow['params'], kind: 'integer' | 'choice'): string {
  const names = Object.entries(params).flatMap(([name, range]) => (range.kind === kind ? [name] : []));
  return names.length === 0 ? 'none' : names.join(', ');
}

function readClients(field: Field): void {
  readInteger(field, 1, planLimits.clientsMax);
}

function readRange(field: Field, min: number, max: number): void {
  const bounds = readList(field, 2, (item) => readInteger(item, min, max));
  const [least, most] = bounds;
  if (least === undefined || most === undefined || least > most)
    refuse(field, `a range [least, most] is expected, not [${bounds.join(', ')}]`);
}

/** How often each word is drawn; at least one weight is above 0. */
function readWeights(field: Field, words: readonly string[]): void {
  const weights = readEntries(field, words.length).map(([word, weight]) => {
    readChoice({ path: weight.path, value: word }, words);
    return readInteger(weight, 0, 1_000_000);
  });
  if (!weights.some((weight) => weight > 0))
    refuse(field, `one of ${words.join(', ')} with a weight above 0`);
}

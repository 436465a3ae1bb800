/**
 * Reads a plan from text and checks everything that a run relies on. A damaged or foreign file ends in one sentence
 * (`PlanInvalid`) and never in a strange run.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { InvariantName } from '../check/invariants.ts';
import { invariantTable } from '../check/invariants.ts';
import { bucketChangeKinds } from '../evidence/bucket-changes.ts';
import type { ParameterRange } from '../faults/fault-row.ts';
import { wordsOf } from '../faults/fault-row.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import { faultKinds, faultRows } from '../faults/fault-table.ts';
import type { Field } from './fields.ts';
import {
  readChoice,
  readEntries,
  readInteger,
  readList,
  readNamed,
  readObject,
  readText,
  refuse,
} from './fields.ts';
import type {
  Moment,
  Plan,
  PlanBackup,
  PlanBucketChange,
  PlanFault,
  PlanMalformedInput,
  PlanJudges,
  PlanOperation,
  PlanQuorum,
  PlanScrape,
  RecordedRun,
  PlanRedisOperation,
  PlanPace,
  SteadyFrom,
} from './plan.ts';
import {
  malformedInputForms,
  malformedInputListeners,
  needNames,
  absenceNames,
  conditionNames,
  quorumForms,
  operationKinds,
  planFormat,
} from './plan.ts';
import { jsonOf } from './json-text.ts';
import type { PlanNode } from './plan-node.ts';
import { noStructures } from './plan-transactions.ts';
import { formerFields, presentNameOf, withPresentKeys } from './former-names.ts';
import { readNodeName } from './node-names.ts';
import { planLimits } from './plan-limits.ts';
import { mustLeaveMembers } from './survivors.ts';
import { readJob } from './job-plans.ts';
import { readStructures, readTransaction } from './transaction-validation.ts';
import { redisKinds } from '../evidence/redis.ts';

/** Reads a plan file. Throws `PlanInvalid` with the place, the cause and the limit. */
export function parsePlan(text: string): Plan {
  if (text.length > planLimits.fileBytesMax) {
    throw new LockstepError(
      'PlanInvalid',
      `a plan of ${text.length} bytes; at most ${planLimits.fileBytesMax} are read`,
    );
  }
  const field = { path: 'plan', value: jsonOf(text, 'plan', 'PlanInvalid') };
  mustHaveFormat(field);
  const plan = readPlan(field);
  mustLeaveMembers(plan);
  return plan;
}

/** Before any other field: a plan of another version may have other fields. */
function mustHaveFormat({ path, value }: Field): void {
  // What is no object is refused as such.
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return;
  const format = 'format' in value ? value.format : undefined;
  if (format !== undefined && 'scenarios' in value && !('scenario' in value)) {
    const detail = `${path}: this is what a campaign has written of all its runs, and no plan; the plans of its failures lie beside it`;
    throw new LockstepError('PlanInvalid', detail);
  }
  if (format === planFormat) return;
  if (format === undefined) {
    const detail = `${path}: this is not a plan of lockstep-sim: it has no "format" (this version, ${version}, reads plans of format ${planFormat})`;
    throw new LockstepError('PlanInvalid', detail);
  }
  const newer =
    typeof format === 'number' && format > planFormat
      ? '; a newer version wrote it: replay it with that one'
      : '';
  const detail = `${path}.format: this version (${version}) reads plans of format ${planFormat}, not ${JSON.stringify(format)}${newer}`;
  throw new LockstepError('PlanInvalid', detail);
}

function readNodes(field: Field): Plan['nodes'] {
  const names = new Set<string>();
  const nodes = readList(field, planLimits.nodesMax, (item) => readNode(item, names));
  if (nodes.every((node) => node.spare === true))
    refuse(field, 'at least one node is needed that is not a spare');
  const orphan = nodes.find(({ replaces }) => replaces !== undefined && !names.has(replaces));
  if (orphan !== undefined)
    refuse(field, `${orphan.name} replaces "${orphan.replaces}", which is none of the nodes`);
  return nodes;
}

const requiredFields = [
  'format',
  'scenario',
  'seed',
  'nodes',
  'clients',
  'keys',
  'siblingKeys',
  'stormUs',
  'calmUs',
  'settleUsMax',
  'settings',
  'operations',
  'faults',
  'malformedInput',
  'scrapes',
  'floors',
] as const;

/** Fields that plans have only where their scenario asks for them, or that older plans do not have. */
const optionalFields = [
  'repairedBy',
  'transactionClients',
  'structures',
  'transactions',
  'redisOperations',
  'jobs',
  'bucketChanges',
  'backups',
  'steadyHosts',
  'steadyFrom',
  'paces',
  'judgedBy',
  'recorded',
] as const;

function readPlan(field: Field): Plan {
  const current = withPresentKeys(field, formerFields.plan);
  const fields = readObject(current, requiredFields, optionalFields);
  const nodes = readNodes(fields.nodes);
  const clients = readInteger(fields.clients, 1, planLimits.clientsMax);
  const keys = readInteger(fields.keys, 1, planLimits.keysMax);
  // Plans written before transactions existed have none.
  const { transactionClients: own, structures: given, transactions = { path: '', value: [] } } = fields;
  const transactionClients = own === undefined ? 0 : readInteger(own, 0, planLimits.clientsMax);
  const structures = given === undefined ? noStructures : readStructures(given);
  const hosts = new Hosts(nodes, clients, transactionClients);
  return {
    format: planFormat,
    scenario: presentNameOf(readText(fields.scenario, 100)),
    seed: readInteger(fields.seed, 0, Number.MAX_SAFE_INTEGER),
    nodes,
    clients,
    keys,
    siblingKeys: readInteger(fields.siblingKeys, 0, keys),
    stormUs: readInteger(fields.stormUs, 1, planLimits.durationUsMax),
    calmUs: readDuration(fields.calmUs),
    settleUsMax: readDuration(fields.settleUsMax),
    ...(fields.repairedBy === undefined ? {} : { repairedBy: readChoice(fields.repairedBy, ['sweeps']) }),
    settings: readSettings(fields.settings),
    operations: distinct(
      fields.operations,
      readList(fields.operations, planLimits.operationsMax, (item) => readOperation(item, clients, keys)),
    ),
    transactionClients,
    structures,
    transactions: distinct(
      transactions,
      readList(transactions, planLimits.operationsMax, (item) =>
        readTransaction(item, transactionClients, structures),
      ),
    ),
    ...(fields.redisOperations === undefined
      ? {}
      : {
          redisOperations: distinct(
            fields.redisOperations,
            readList(fields.redisOperations, planLimits.operationsMax, readRedisOperation),
          ),
        }),
    ...(fields.jobs === undefined
      ? {}
      : {
          jobs: distinct(
            fields.jobs,
            readList(fields.jobs, planLimits.operationsMax, (item) => readJob(item, keys)),
          ),
        }),
    faults: distinct(
      fields.faults,
      readList(fields.faults, planLimits.faultsMax, (item) => readFault(item, hosts)),
    ),
    malformedInput: distinct(
      fields.malformedInput,
      readList(fields.malformedInput, planLimits.burstsMax, (item) => readMalformedInput(item, hosts)),
    ),
    scrapes: distinct(
      fields.scrapes,
      readList(fields.scrapes, planLimits.scrapesMax, (item) => readScrape(item, hosts)),
    ),
    ...(fields.bucketChanges === undefined
      ? {}
      : { bucketChanges: readBucketChanges(fields.bucketChanges, hosts) }),
    ...(fields.backups === undefined ? {} : { backups: readBackups(fields.backups) }),
    floors: readFloors(fields.floors),
    ...(fields.steadyHosts === undefined ? {} : { steadyHosts: hosts.readSome(fields.steadyHosts) }),
    ...(fields.steadyFrom === undefined ? {} : { steadyFrom: hosts.readSteadyFrom(fields.steadyFrom) }),
    ...(fields.paces === undefined ? {} : { paces: hosts.readPaces(fields.paces) }),
    ...(fields.judgedBy === undefined ? {} : { judgedBy: readJudges(fields.judgedBy) }),
    ...(fields.recorded === undefined ? {} : { recorded: readRecordedRun(fields.recorded) }),
  };
}

/** The names that faults may aim at. */
class Hosts {
  readonly #nodes: readonly string[];
  readonly #all: readonly string[];

  constructor(nodes: readonly PlanNode[], clients: number, transactionClients: number) {
    this.#nodes = nodes.map((node) => node.name);
    this.#all = [
      ...this.#nodes,
      ...Array.from({ length: clients }, (_, index) => `c${index}`),
      ...Array.from({ length: transactionClients }, (_, index) => `x${index}`),
      ...Array.from({ length: planLimits.clientsMax }, (_, index) => `r${index}`),
      ...Array.from({ length: planLimits.clientsMax }, (_, index) => `j${index}`),
    ];
  }

  readNode(field: Field): string {
    return readChoice(field, this.#nodes);
  }

  readHost(field: Field): string {
    return readChoice(field, this.#all);
  }

  readSome(field: Field): readonly string[] {
    return readList(field, planLimits.steadyHostsMax, (item) => this.readHost(item));
  }

  readSteadyFrom(field: Field): readonly SteadyFrom[] {
    return readList(field, planLimits.steadyHostsMax, (item) => {
      const { host, packet } = readObject(item, ['host', 'packet']);
      return { host: this.readHost(host), packet: readInteger(packet, 0, Number.MAX_SAFE_INTEGER) };
    });
  }

  readPaces(field: Field): readonly PlanPace[] {
    return readList(field, planLimits.pacesMax, (item) => {
      const { host, packet, delayUs } = readObject(item, ['host', 'packet', 'delayUs']);
      return {
        host: this.readHost(host),
        packet: readInteger(packet, 0, Number.MAX_SAFE_INTEGER),
        delayUs: readInteger(delayUs, 0, planLimits.paceUsMax),
      };
    });
  }

  readTargets(field: Field, kind: FaultKind): readonly string[] {
    const { aim, clients } = faultKinds[kind];
    const among = (item: Field): string => {
      if (aim === 'link') return this.readHost(item);
      if (clients === undefined) return this.readNode(item);
      const fitting = this.#all.filter((name) => clients.some((sort) => name.startsWith(sort)));
      return readChoice(item, aim === 'client' ? fitting : [...this.#nodes, ...fitting]);
    };
    const targets = readList(field, this.#all.length, among);
    if (new Set(targets).size !== targets.length) refuse(field, 'a host is named twice');
    if (aim === 'node' && targets.length !== 1) refuse(field, `${kind} aims at one node`);
    if (aim === 'client' && targets.length !== 1) refuse(field, `${kind} aims at one client`);
    if (aim === 'link' && targets.length !== 2) refuse(field, `${kind} aims at two hosts`);
    if (aim === 'side' && (targets.length === 0 || this.#nodes.every((node) => targets.includes(node)))) {
      refuse(field, `${kind} aims at some of the nodes, not none and not all`);
    }
    return targets;
  }
}

/** `taken`: the names of the nodes before it. */
function readNode(field: Field, taken: Set<string>): PlanNode {
  const fields = readObject(field, ['name', 'datacenter', 'rack'], ['spare', 'replaces']);
  const { spare, replaces } = fields;
  if (spare !== undefined && spare.value !== true) refuse(spare, 'true is expected, or nothing');
  return {
    name: readNodeName(fields.name, taken),
    datacenter: readText(fields.datacenter, 64),
    rack: readText(fields.rack, 64),
    ...(spare === undefined ? {} : { spare: true }),
    ...(replaces === undefined ? {} : { replaces: readText(replaces, 64) }),
  };
}

function readOperation(field: Field, clients: number, keys: number): PlanOperation {
  const fields = readObject(
    field,
    ['id', 'client', 'thinkUs', 'kind', 'key', 'valueBytes', 'need', 'context'],
    ['quorum', 'over', 'condition', 'absence', 'ifChanged'],
  );
  return {
    id: readText(fields.id, 32),
    client: readInteger(fields.client, 0, clients - 1),
    thinkUs: readDuration(fields.thinkUs),
    kind: readChoice(fields.kind, operationKinds),
    key: readInteger(fields.key, 0, keys - 1),
    valueBytes: readInteger(fields.valueBytes, 0, planLimits.valueBytesMax),
    need: readChoice(fields.need, needNames),
    ...(fields.quorum === undefined ? {} : { quorum: readQuorum(fields.quorum) }),
    ...(fields.over === undefined ? {} : { over: readChoice(fields.over, ['http']) }),
    ...(fields.condition === undefined ? {} : { condition: readChoice(fields.condition, conditionNames) }),
    ...(fields.absence === undefined ? {} : { absence: readChoice(fields.absence, absenceNames) }),
    ...(fields.ifChanged === undefined ? {} : { ifChanged: readTrue(fields.ifChanged) }),
    context: readChoice(fields.context, ['none', 'last']),
  };
}

function readTrue(field: Field): true {
  return field.value === true ? true : refuse(field, 'true is expected; leave the key out otherwise');
}

function readQuorum(field: Field): PlanQuorum {
  const { as, count } = readObject(field, ['as', 'count']);
  return { as: readChoice(as, quorumForms), count: readInteger(count, 1, planLimits.nodesMax) };
}

function readFault(field: Field, hosts: Hosts): PlanFault {
  const fields = readObject(field, ['id', 'kind', 'targets', 'when', 'forUs', 'params']);
  const { name: kind } = readNamed(fields.kind, faultRows, 'kind of fault');
  const forUs = readDuration(fields.forUs);
  if (!faultKinds[kind].lasting && forUs !== 0)
    refuse(fields.forUs, `${kind} is over at once; 0 is expected`);
  const id = readText(fields.id, 32);
  const refusal = faultKinds[kind].refusal?.({ id });
  if (refusal !== undefined) refuse(fields.id, refusal);
  return {
    id,
    kind,
    targets: hosts.readTargets(fields.targets, kind),
    when: readMoment(fields.when, hosts),
    forUs,
    params: readParams(fields.params, kind),
  };
}

function readMoment(field: Field, hosts: Hosts): Moment {
  const { atUs, event, host, nth, delayUs } = readObject(
    field,
    [],
    ['atUs', 'event', 'host', 'nth', 'delayUs'],
  );
  if (atUs !== undefined) {
    if (event !== undefined) refuse(field, 'a moment is either an instant (atUs) or an event, not both');
    return { atUs: readDuration(atUs) };
  }
  if (event === undefined || host === undefined || nth === undefined || delayUs === undefined) {
    return refuse(field, 'a moment is {atUs} or {event, host, nth, delayUs}');
  }
  return {
    event: readText(event, 100),
    host: hosts.readHost(host),
    nth: readInteger(nth, 1, 1_000_000),
    delayUs: readDuration(delayUs),
  };
}

function readParams(field: Field, kind: FaultKind): PlanFault['params'] {
  const ranges = faultKinds[kind].params;
  const fields: Readonly<Record<string, Field>> = readObject(field, Object.keys(ranges));
  const params: Record<string, number | string> = {};
  for (const [name, range] of Object.entries(ranges)) {
    const value = fields[name];
    if (value !== undefined) params[name] = readParameter(value, range);
  }
  return params;
}

function readParameter(field: Field, range: ParameterRange): number | string {
  return range.kind === 'integer'
    ? readInteger(field, range.min, range.max)
    : readChoice(field, wordsOf(range));
}

function readMalformedInput(field: Field, hosts: Hosts): PlanMalformedInput {
  const fields = readObject(field, ['id', 'atUs', 'node', 'listener', 'form', 'bytes']);
  return {
    id: readText(fields.id, 32),
    atUs: readDuration(fields.atUs),
    node: hosts.readNode(fields.node),
    listener: readChoice(fields.listener, malformedInputListeners),
    form: readChoice(fields.form, malformedInputForms),
    bytes: readInteger(fields.bytes, 1, planLimits.valueBytesMax),
  };
}

function readScrape(field: Field, hosts: Hosts): PlanScrape {
  const fields = readObject(field, ['id', 'atUs', 'node']);
  return { id: readText(fields.id, 32), atUs: readDuration(fields.atUs), node: hosts.readNode(fields.node) };
}

function readBucketChanges(field: Field, hosts: Hosts): readonly PlanBucketChange[] {
  const read = (item: Field): PlanBucketChange => readBucketChange(item, hosts);
  return distinct(field, readList(field, planLimits.bucketChangesMax, read));
}

function readBackups(field: Field): readonly PlanBackup[] {
  const read = (item: Field): PlanBackup => {
    const { id, atUs } = readObject(item, ['id', 'atUs']);
    return { id: readText(id, 32), atUs: readDuration(atUs) };
  };
  return distinct(field, readList(field, planLimits.backupsMax, read));
}

function readBucketChange(field: Field, hosts: Hosts): PlanBucketChange {
  const fields = readObject(field, ['id', 'atUs', 'node', 'kind', 'bucket', 'mark']);
  return {
    id: readText(fields.id, 32),
    atUs: readDuration(fields.atUs),
    node: hosts.readNode(fields.node),
    kind: readChoice(fields.kind, bucketChangeKinds),
    bucket: readInteger(fields.bucket, 0, planLimits.changedBucketsMax - 1),
    mark: readInteger(fields.mark, 0, planLimits.marksOfBucketsMax),
  };
}

/** Engine settings of a plan or a scenario. The engine checks their meaning when the cluster is built. */
export function readSettings(field: Field): Plan['settings'] {
  const settings: Record<string, number | string | boolean> = {};
  for (const [name, { path, value }] of readEntries(field, planLimits.settingsMax)) {
    const plain = typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean';
    settings[name] = plain ? value : refuse({ path, value }, 'a number, a text or a truth value is expected');
  }
  return settings;
}

/** Comparisons that each invariant must make at least, by name. An old code is read as the name. */
export function readFloors(field: Field): Plan['floors'] {
  const floors: Partial<Record<InvariantName, number>> = {};
  for (const [name, floor] of readEntries(field, invariantTable.length)) {
    const row = readNamed({ path: floor.path, value: name }, invariantTable, 'invariant');
    if (floors[row.name] !== undefined) refuse(floor, `${row.name} (${row.code}) is given twice`);
    floors[row.name] = readInteger(floor, 0, Number.MAX_SAFE_INTEGER);
  }
  return floors;
}

function readJudges(field: Field): PlanJudges {
  const { file, invariants } = readObject(field, ['invariants'], ['file']);
  const names = readList(invariants, planLimits.ownInvariantsMax, (item) => readText(item, 200));
  if (names.length === 0)
    refuse(invariants, 'at least one name is expected; leave judgedBy out where none judged');
  return { ...(file === undefined ? {} : { file: readText(file, 4096) }), invariants: names };
}

function readRecordedRun(field: Field): RecordedRun {
  const { version, events, every, marks, broke } = readObject(field, [
    'version',
    'events',
    'every',
    'marks',
    'broke',
  ]);
  return {
    version: readText(version, 64),
    events: readInteger(events, 0, Number.MAX_SAFE_INTEGER),
    every: readInteger(every, 1, Number.MAX_SAFE_INTEGER),
    marks: readText(marks, planLimits.marksMax),
    broke: readText(broke, 200),
  };
}

function readDuration(field: Field): number {
  return readInteger(field, 0, planLimits.durationUsMax);
}

function distinct<T extends { readonly id: string }>(field: Field, items: readonly T[]): readonly T[] {
  const seen = new Set<string>();
  for (const { id } of items) {
    if (seen.has(id)) refuse(field, `the id "${id}" is given twice`);
    seen.add(id);
  }
  return items;
}

/** Reads one Redis operation of a plan file. Throws `PlanInvalid`. */
export function readRedisOperation(field: Field): PlanRedisOperation {
  const fields = readObject(field, ['id', 'client', 'thinkUs', 'kind', 'key', 'other', 'amount']);
  return {
    id: readText(fields.id, 32),
    client: readInteger(fields.client, 0, planLimits.clientsMax - 1),
    thinkUs: readInteger(fields.thinkUs, 0, planLimits.durationUsMax),
    kind: readChoice(fields.kind, redisKinds),
    key: readInteger(fields.key, 0, planLimits.keysMax - 1),
    other: readInteger(fields.other, 0, planLimits.keysMax - 1),
    amount: readInteger(fields.amount, 0, 1_000_000_000),
  };
}

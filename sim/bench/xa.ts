/**
 * `npm run bench xa`: cross-node transactions on clusters of real processes, all synced, beside two-phase commits over
 * two and three PostgreSQL servers where that is installed; and one-node batches beside puts of the same bytes. Medians
 * of alternated rounds.
 *
 * A cluster with one copy of each key does the same work as equally many servers and answers once the decision is
 * synced; so does a level that asks for one copy. A cluster of three nodes with three copies does three times as much
 * work and answers once two copies are synced; no compared server keeps more than one copy.
 *
 * Also reports the processor time of all servers per operation. On a shared machine only that is comparable, because
 * the scheduler gives a server of 128 processes more time than one of three.
 */
import type { ChildProcess } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';

import type { Conversation, Endpoint, ErrorCounts, LoopResult } from './load/closed-loop.ts';
import { closedLoop } from './load/closed-loop.ts';
import type { KeySpace } from './load/conversations.ts';
import { httpPut, pbPut } from './load/conversations.ts';
import { figure, median, quantile, table } from './figures.ts';
import type { ClusterForm } from './servers/local-cluster.ts';
import { LocalCluster } from './servers/local-cluster.ts';
import type { OtherBuild } from './servers/other-build.ts';
import type { PostgresServers } from './servers/postgres.ts';
import { postgresLoop, postgresPrograms, startPostgres } from './servers/postgres.ts';
import {
  httpTransactions,
  keyCount,
  learnPrimaries,
  partCount,
  parts,
  transactions,
} from './load/transaction-conversations.ts';
import { BenchProcess, freePort, machineText, progress } from './bench-process.ts';

/** Size of the measurement. */
export interface TransactionBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly valueBytes: number;
  readonly json: boolean;
  /** Only contenders whose names contain one of these texts, separated by semicolons. */
  readonly only?: string;
  /** Number of clients; undefined: 1, then 64. */
  readonly clients?: number;
  /** A build that is measured in turns with this one. */
  readonly other: OtherBuild | undefined;
}

interface Contender {
  readonly name: string;
  /** The name of its row of this build, if another build serves it. */
  readonly ownName: string | undefined;
  readonly connections: number;
  /** Number of nodes, or servers, on which a transaction writes. */
  readonly branches: number;
  /** The contender with whose puts it is compared. */
  readonly put: string;
  run(seconds: number): Promise<LoopResult>;
  /** Processor time of its servers. */
  processorSeconds(): number;
}

/** Nodes, and, in the order of their endpoints, the keys of which each is the primary. */
interface Contestant {
  readonly cluster: LocalCluster;
  readonly primaries: readonly (readonly string[])[];
}

// Statistics listen 14,124 higher, which must stay below the system's ephemeral ports.
const basePort = 17_098;
const pairBasePort = 17_298;
const singleCopyBasePort = 17_398;
const loneBasePort = 17_498;
/** Distance of the other build's ports. */
const otherPorts = 500;
const serverCounts = [2, 3];
/** Branches of the transactions that the target compares with. */
const theirBranches = 2;
const theirName = (servers: number): string => `PostgreSQL, ${servers} servers`;
const connectionCounts = [1, 64];
/** Length of the uncounted round relative to a counted one: code is optimized after some ten thousand turns. */
const warmUpFactor = 2;

/** Runs the benchmark and prints its table, or one line of JSON. */
export function run(options: TransactionBenchOptions): Promise<void> {
  return BenchProcess.run((undertaking) => measure(undertaking, options));
}

async function measure(undertaking: BenchProcess, options: TransactionBenchOptions): Promise<void> {
  const directory = undertaking.directory();
  const began = (child: ChildProcess): void => undertaking.add(child, 'SIGTERM');
  const words = (options.only ?? '').split(';');
  const isWanted = (name: string): boolean => words.some((word) => name.includes(word));
  const fieldOf = async (build: OtherBuild | undefined): Promise<Field> => {
    const start = async (
      name: string,
      port: number,
      rows: readonly Row[],
      form?: ClusterForm,
    ): Promise<Contestant | undefined> => {
      if (!rows.some((row) => isWanted(nameOf(row)))) return undefined;
      const title = build === undefined ? name : `${name}, ${build.name}`;
      progress(`starting ${title}, and learning the primaries of ${keyCount} keys`);
      const place = join(directory, title.replaceAll(/\W+/g, '-'));
      const settings = { form, began, dist: build?.dist };
      const cluster = await LocalCluster.start(
        place,
        port + (build === undefined ? 0 : otherPorts),
        settings,
      );
      return { cluster, primaries: await learnPrimaries(cluster, options.valueBytes) };
    };
    return {
      build,
      triple: await start('three nodes', basePort, tripleRows),
      pair: await start('two nodes, one copy', pairBasePort, pairRows, { nodes: 2, racks: 1 }),
      single: await start('three nodes, one copy', singleCopyBasePort, singleRows, { nodes: 3, racks: 1 }),
      lone: await start('one node', loneBasePort, [...loneRows, ...loneHttpRows], { nodes: 1, racks: 1 }),
    };
  };
  const fields = [await fieldOf(undefined)];
  if (options.other !== undefined) fields.push(await fieldOf(options.other));
  const programs = postgresPrograms();
  let postgres: PostgresServers | undefined;
  if (programs !== undefined && serverCounts.some((count) => isWanted(theirName(count)))) {
    progress('starting three PostgreSQL servers');
    const ports = [await freePort(), await freePort(), await freePort()];
    postgres = await startPostgres(programs, join(directory, 'postgres'), ports, (child) =>
      undertaking.add(child, 'SIGINT'),
    );
  }
  const contenders = (options.clients === undefined ? connectionCounts : [options.clients])
    .flatMap((connections) => contendersOf(connections, fields, postgres, options))
    .filter(({ name, ownName }) => isWanted(ownName ?? name));
  const missing =
    programs === undefined ? "PostgreSQL is not installed (Debian's postgresql)" : 'no PostgreSQL';
  const note = postgres?.version ?? `${missing}: our own figures only`;
  await report(contenders, options, note);
}

/** The requested clusters of a build. */
interface Field {
  /** Undefined: this build. */
  readonly build: OtherBuild | undefined;
  readonly triple: Contestant | undefined;
  readonly pair: Contestant | undefined;
  readonly single: Contestant | undefined;
  readonly lone: Contestant | undefined;
}

/** A connection's conversation with the nodes of a contestant. */
type Talk = (contestant: Contestant, index: number, connections: number, valueBytes: number) => Conversation;

/** The lists of keys from each of which a transaction takes one key. */
type Lists = (contestant: Contestant, index: number) => readonly (readonly string[])[];

const ownOf = ({ primaries }: Contestant, index: number): readonly string[] =>
  primaries[index % primaries.length] ?? [];
/** Keys of every primary through every node, as puts are sent. */
const anyOf = ({ primaries }: Contestant, index: number): readonly string[] =>
  primaries[Math.floor(index / primaries.length) % primaries.length] ?? [];
const first =
  (count: number): Lists =>
  ({ primaries }) =>
    primaries.slice(0, count);
const one =
  (listOf: typeof ownOf): Lists =>
  (contestant, index) => [listOf(contestant, index)];
/** Transactions with a key of each list, and with ids if `nextId` is given. */
const over =
  (listsOf: Lists, nextId?: () => string): Talk =>
  (contestant, index, connections, valueBytes) =>
    transactions(listsOf(contestant, index), index, connections, valueBytes, nextId);
const inParts =
  (listOf: typeof ownOf): Talk =>
  (contestant, index, connections, valueBytes) =>
    parts(listOf(contestant, index), index, connections, valueBytes);
const overHttp =
  (keys: number): Talk =>
  (contestant, index, connections, valueBytes) =>
    httpTransactions(ownOf(contestant, index), index, connections, valueBytes, keys);
const space = (valueBytes: number): KeySpace => ({ prefix: 'p', keys: keyCount, valueBytes });
const puts: Talk = (_, index, __, valueBytes) => pbPut(space(valueBytes), index);
const httpPuts: Talk = (_, index, __, valueBytes) => httpPut(space(valueBytes), index);

let idCount = 0;
/** An id that is unique within this process, over all rounds. */
function nextId(): string {
  idCount += 1;
  return `b${idCount}`;
}

/** A row: its name, the branches of its transactions, and its conversation. */
type Row = readonly [name: string, branches: number, talk: Talk];

const pairRows: readonly Row[] = [['2 primaries, 1 copy', 2, over(first(2))]];
const singleRows: readonly Row[] = [['3 primaries, 1 copy', 3, over(first(3))]];
const tripleRows: readonly Row[] = [
  ['2 primaries, 3 copies', 2, over(first(2))],
  ['3 primaries, 3 copies', 3, over(first(3))],
  ['2 primaries, 3 copies, with an id', 2, over(first(2), nextId)],
  ['1 primary, 3 copies', 1, over(first(1))],
  ['1 of 3 primaries, sent to any', 1, over(one(anyOf))],
  ['1 primary, sent to it', 1, over(one(ownOf))],
  ['1 primary, sent to it, with an id', 1, over(one(ownOf), nextId)],
  [`${partCount} puts of 1 primary, sent to any`, 1, inParts(anyOf)],
  [`${partCount} puts of 1 primary, sent to it`, 1, inParts(ownOf)],
  ['put, 3 copies', 1, puts],
];
const loneRows: readonly Row[] = [
  ['1 put as a batch, 1 node', 1, over(one(ownOf))],
  [`${partCount} puts as a batch, 1 node`, 1, inParts(ownOf)],
  ['put, 1 node', 1, puts],
];
const loneHttpRows: readonly Row[] = [
  ['1 put as a batch over HTTP, 1 node', 1, overHttp(1)],
  [`${partCount} puts as a batch over HTTP, 1 node`, 1, overHttp(partCount)],
  ['put over HTTP, 1 node', 1, httpPuts],
];

const nameOf = ([name]: Row): string => `lockstep, ${name}`;

/** All rows with so many clients; each row of the other build follows that of this one. */
function contendersOf(
  connections: number,
  fields: readonly Field[],
  postgres: PostgresServers | undefined,
  { valueBytes }: TransactionBenchOptions,
): readonly Contender[] {
  const ours = (
    of: (field: Field) => Contestant | undefined,
    rows: readonly Row[],
    endpointsOf = (cluster: LocalCluster): readonly Endpoint[] => cluster.endpoints,
  ): readonly Contender[] =>
    rows.flatMap((row) =>
      fields.flatMap((field) => {
        const contestant = of(field);
        if (contestant === undefined) return [];
        const talk = (index: number): Conversation => row[2](contestant, index, connections, valueBytes);
        return [contenderOf(row, rows, field.build, connections, contestant.cluster, endpointsOf, talk)];
      }),
    );
  const theirs = (branches: number): readonly Contender[] => {
    if (postgres === undefined) return [];
    const servers = { ports: postgres.ports.slice(0, branches) };
    const run = (seconds: number): Promise<LoopResult> =>
      postgresLoop(servers, connections, seconds, keyCount, valueBytes);
    const processorSeconds = (): number => postgres.processorSeconds();
    const name = theirName(branches);
    return [{ name, ownName: undefined, connections, branches, put: '', run, processorSeconds }];
  };
  return [
    ...ours(({ pair }) => pair, pairRows),
    ...serverCounts.flatMap(theirs),
    ...ours(({ single }) => single, singleRows),
    ...ours(({ triple }) => triple, tripleRows),
    ...ours(({ lone }) => lone, loneRows),
    ...ours(
      ({ lone }) => lone,
      loneHttpRows,
      ({ httpEndpoints }) => httpEndpoints,
    ),
  ];
}

function contenderOf(
  row: Row,
  rows: readonly Row[],
  build: OtherBuild | undefined,
  connections: number,
  cluster: LocalCluster,
  endpointsOf: (cluster: LocalCluster) => readonly Endpoint[],
  talk: (index: number) => Conversation,
): Contender {
  const titled = (name: string): string => (build === undefined ? name : `${name}, ${build.name}`);
  const put = rows.filter(([, , one]) => one === puts || one === httpPuts).map(nameOf)[0];
  return {
    name: titled(nameOf(row)),
    ownName: build === undefined ? undefined : nameOf(row),
    connections,
    branches: row[1],
    put: put === undefined ? '' : titled(put),
    run: (seconds) => closedLoop(endpointsOf(cluster), connections, seconds, talk),
    processorSeconds: () => cluster.processorSeconds(),
  };
}

interface Measured {
  readonly rates: number[];
  readonly p50: number[];
  readonly p99: number[];
  /** Microseconds of processor time of all its servers per operation. */
  readonly processorUs: number[];
}

/** What the rounds of all contenders came to. */
interface Rounds {
  readonly measured: ReadonlyMap<Contender, Measured>;
  readonly errors: ErrorCounts;
  /** The load average before each round. */
  readonly loads: readonly number[];
}

/** Runs the contenders in turn, round by round; the warm-up round is not counted. */
async function runRounds(
  contenders: readonly Contender[],
  options: TransactionBenchOptions,
): Promise<Rounds> {
  const measured = new Map<Contender, Measured>(
    contenders.map((one) => [one, { rates: [], p50: [], p99: [], processorUs: [] }]),
  );
  const errors: ErrorCounts = new Map();
  const loads: number[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    loads.push(loadavg()[0] ?? NaN);
    for (const [contender, { rates, p50, p99, processorUs }] of measured) {
      const before = contender.processorSeconds();
      const result = await contender.run(options.seconds * (round === 0 ? warmUpFactor : 1));
      const rate = result.operations / result.seconds;
      const { name, connections } = contender;
      progress(
        `${round === 0 ? 'warm-up' : `round ${round} of ${options.rounds}`}: ${name}, ${connections} clients: ${figure(rate)}/s`,
      );
      for (const [words, count] of result.errors) {
        const told = `${name}: ${words}`;
        errors.set(told, (errors.get(told) ?? 0) + count);
      }
      if (round === 0) continue;
      rates.push(rate);
      p50.push(quantile(result.latenciesUs, 0.5) / 1000);
      p99.push(quantile(result.latenciesUs, 0.99) / 1000);
      processorUs.push(((contender.processorSeconds() - before) * 1e6) / result.operations);
    }
  }
  return { measured, errors, loads };
}

async function report(
  contenders: readonly Contender[],
  options: TransactionBenchOptions,
  note: string,
): Promise<void> {
  const { measured, errors, loads } = await runRounds(contenders, options);
  const measurementOf = (name: string, connections: number): Measured | undefined =>
    [...measured].find(([one]) => one.name === name && one.connections === connections)?.[1];
  const results = [...measured].map(([{ name, connections, branches, put }, own]) => {
    const theirs = measurementOf(theirName(theirBranches), connections);
    const peers = measurementOf(theirName(branches), connections);
    const beside = measurementOf(put, connections);
    const other = [...measured].find(([one]) => one.ownName === name && one.connections === connections)?.[1];
    return {
      name,
      connections,
      perSecond: median(own.rates),
      p50Ms: median(own.p50),
      p99Ms: median(own.p99),
      processorUs: median(own.processorUs),
      ofPostgres: median(own.rates) / median(theirs?.rates ?? []),
      ofAsManyServers: median(own.rates) / median(peers?.rates ?? []),
      processorOfPostgres: median(own.processorUs) / median(theirs?.processorUs ?? []),
      ofPut: median(own.rates) / median(beside?.rates ?? []),
      processorOfPut: median(own.processorUs) / median(beside?.processorUs ?? []),
      ofOther: median(own.rates) / median(other?.rates ?? []),
      processorOfOther: median(own.processorUs) / median(other?.processorUs ?? []),
    };
  });
  if (options.json) {
    const told = Object.fromEntries(errors);
    process.stdout.write(
      `${JSON.stringify({ bench: 'xa', ...options, note, loads, errors: told, results })}\n`,
    );
    return;
  }
  const shown = (ratio: number): string => (Number.isFinite(ratio) ? figure(ratio) : '-');
  const rows = results.map((one) => [
    one.name,
    String(one.connections),
    figure(one.perSecond),
    figure(one.p50Ms),
    figure(one.p99Ms),
    shown(one.processorUs),
    shown(one.ofPostgres),
    shown(one.ofAsManyServers),
    shown(one.processorOfPostgres),
    shown(one.ofPut),
    shown(one.processorOfPut),
    ...(options.other === undefined ? [] : [shown(one.ofOther), shown(one.processorOfOther)]),
  ]);
  const head = [
    ...['', 'clients', 'per second', 'p50 ms', 'p99 ms'],
    ...['CPU µs', 'of 2 servers', 'of as many', 'CPU of 2 servers', 'of a put', 'CPU of a put'],
    ...(options.other === undefined ? [] : [`of ${options.other.name}`, `CPU of ${options.other.name}`]),
  ];
  const text = [
    `${options.valueBytes}-byte values, synced, median of ${options.rounds} rounds of ${options.seconds} s; one warm-up round not counted`,
    'of 2 servers, of as many: per second, beside PostgreSQL with a row on each of two servers, or of as many as there are primaries;',
    'it keeps one copy of each, and its coordinator is the client, which logs no decision',
    machineText(),
    `${note}; load average before each round ${loads.map(figure).join(', ')}`,
    table([head, ...rows]),
    errors.size === 0
      ? 'no errors'
      : [...errors].map(([words, count]) => `${count} errors: ${words}`).join('\n'),
  ];
  process.stdout.write(`${text.join('\n')}\n`);
}

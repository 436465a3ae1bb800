/**
 * `npm run bench xa`: cross-node transactions of clusters of real processes, every one synced, beside two-phase commits
 * over two and over three PostgreSQL servers where that is installed, in turn; and one-node batches beside puts of the
 * same bytes. Medians of alternated rounds. A cluster with one copy of each key does what as many servers do, and
 * answers once the decision is synced, as it does where a level asks for one copy; one of three nodes with three copies
 * does three times as much, and answers when two copies have synced: no server beside it keeps more than one.
 *
 * Per operation the processor time of all servers is told too: where others use the machine it is what can be compared,
 * since the scheduler gives a server of 128 processes more of it than one of three.
 */
import type { ChildProcess } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';

import { decodeReply, encodeRequest } from '../../engine/api/pbc/client-codec.ts';
import type { ClientReply } from '../../engine/api/pbc/client-codec.ts';
import type { Conversation, ErrorCounts, LoopResult } from './closed-loop.ts';
import { closedLoop } from './closed-loop.ts';
import { pbPut } from './conversations.ts';
import { figure, median, quantile, table } from './figures.ts';
import type { ClusterForm } from './local-cluster.ts';
import { LocalCluster } from './local-cluster.ts';
import type { PostgresServers } from './postgres.ts';
import { postgresLoop, postgresPrograms, startPostgres } from './postgres.ts';
import { Undertaking, freePort, progress } from './undertaking.ts';

export interface TransactionBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly valueBytes: number;
  readonly json: boolean;
  /** Only the contenders whose names hold one of these, separated by semicolons. */
  readonly only?: string;
}

interface Contender {
  readonly name: string;
  readonly connections: number;
  /** Nodes, or servers, that a transaction writes on. */
  readonly branches: number;
  run(seconds: number): Promise<LoopResult>;
  /** Of its servers. */
  processorSeconds(): number;
}

/** Nodes, and, in the order of their endpoints, the keys of each as a primary. */
interface Contestant {
  readonly cluster: LocalCluster;
  readonly primaries: readonly (readonly string[])[];
}

// Statistics listen 14,124 higher, which is to stay below the ports that systems give away.
const basePort = 17_098;
const pairBasePort = 17_298;
const singleCopyBasePort = 17_398;
const serverCounts = [2, 3];
/** What the issue compares with, whatever stands beside it. */
const theirBranches = 2;
const theirName = (servers: number): string => `PostgreSQL, ${servers} servers`;
const pairName = '2 primaries, 1 copy';
const singleName = '3 primaries, 1 copy';
const putName = 'lockstep, put, 3 copies';
/** Puts of a batch of several whose bytes together are those of one value. */
const partCount = 4;
/** Of a cluster; every connection has some of each primary to itself. */
const keyCount = 1500;
const connectionCounts = [1, 64];
/** How much longer the round is that is not counted: code is compiled for speed after some ten thousand turns. */
const warmUpFactor = 2;

export function run(options: TransactionBenchOptions): Promise<void> {
  return Undertaking.run((undertaking) => measure(undertaking, options));
}

async function measure(undertaking: Undertaking, options: TransactionBenchOptions): Promise<void> {
  const directory = undertaking.directory();
  const began = (child: ChildProcess): void => undertaking.add(child, 'SIGTERM');
  const words = (options.only ?? '').split(';');
  const isWanted = (name: string): boolean => words.some((word) => name.includes(word));
  const start = async (name: string, port: number, form?: ClusterForm): Promise<Contestant> => {
    progress(`starting ${name}, and learning the primaries of ${keyCount} keys`);
    const cluster = await LocalCluster.start(join(directory, name.replaceAll(' ', '-')), port, began, form);
    return { cluster, primaries: await learnPrimaries(cluster, options) };
  };
  const triple = await start('three nodes', basePort);
  const pair = isWanted(pairName)
    ? await start('two nodes, one copy', pairBasePort, { nodes: 2, racks: 1 })
    : undefined;
  const single = isWanted(singleName)
    ? await start('three nodes, one copy', singleCopyBasePort, { nodes: 3, racks: 1 })
    : undefined;
  const programs = postgresPrograms();
  let postgres: PostgresServers | undefined;
  if (programs !== undefined && serverCounts.some((count) => isWanted(theirName(count)))) {
    progress('starting three PostgreSQL servers');
    const ports = [await freePort(), await freePort(), await freePort()];
    postgres = await startPostgres(programs, join(directory, 'postgres'), ports, (child) =>
      undertaking.add(child, 'SIGINT'),
    );
  }
  const contenders = connectionCounts
    .flatMap((connections) => contendersOf(connections, triple, pair, single, postgres, options))
    .filter(({ name }) => isWanted(name));
  const missing =
    programs === undefined ? "PostgreSQL is not installed (Debian's postgresql)" : 'no PostgreSQL';
  const note = postgres?.version ?? `${missing}: our own figures only`;
  await report(contenders, options, note);
}

function contendersOf(
  connections: number,
  triple: Contestant,
  pair: Contestant | undefined,
  single: Contestant | undefined,
  postgres: PostgresServers | undefined,
  options: TransactionBenchOptions,
): readonly Contender[] {
  const { valueBytes } = options;
  const ours = (
    name: string,
    cluster: LocalCluster,
    branches: number,
    make: (index: number) => Conversation,
  ): Contender => ({
    name: `lockstep, ${name}`,
    connections,
    branches,
    run: (seconds) => closedLoop(cluster.endpoints, connections, seconds, make),
    processorSeconds: () => cluster.processorSeconds(),
  });
  const over = (name: string, contestant: Contestant | undefined, count: number): readonly Contender[] => {
    if (contestant === undefined) return [];
    const { cluster, primaries } = contestant;
    const make = (index: number): Conversation =>
      transactions(primaries.slice(0, count), index, connections, options);
    return [ours(name, cluster, count, make)];
  };
  const theirs = (branches: number): readonly Contender[] => {
    if (postgres === undefined) return [];
    const servers = { ports: postgres.ports.slice(0, branches) };
    const run = (seconds: number): Promise<LoopResult> =>
      postgresLoop(servers, connections, seconds, keyCount, valueBytes);
    const processorSeconds = (): number => postgres.processorSeconds();
    return [{ name: theirName(branches), connections, branches, run, processorSeconds }];
  };
  const space = { prefix: 'p', keys: keyCount, valueBytes };
  /** Keys of every primary through every node, as puts are sent. */
  const turnOf = (index: number): readonly string[] => {
    const { primaries } = triple;
    return primaries[Math.floor(index / primaries.length) % primaries.length] ?? [];
  };
  return [
    ...over(pairName, pair, 2),
    ...serverCounts.flatMap(theirs),
    ...over(singleName, single, 3),
    ...over('2 primaries, 3 copies', triple, 2),
    ...over('3 primaries, 3 copies', triple, 3),
    ...over('1 primary, 3 copies', triple, 1),
    ours('1 of 3 primaries, sent to any', triple.cluster, 1, (index) => {
      return transactions([turnOf(index)], index, connections, options);
    }),
    ours('1 primary, sent to it', triple.cluster, 1, (index) => {
      const own = triple.primaries[index % triple.primaries.length] ?? [];
      return transactions([own], index, connections, options);
    }),
    ours(`${partCount} puts of 1 primary, sent to any`, triple.cluster, 1, (index) =>
      parts(turnOf(index), index, connections, options),
    ),
    ours(`${partCount} puts of 1 primary, sent to it`, triple.cluster, 1, (index) =>
      parts(triple.primaries[index % triple.primaries.length] ?? [], index, connections, options),
    ),
    ours('put, 3 copies', triple.cluster, 1, (index) => pbPut(space, index)),
  ];
}

/** Writes every key in a transaction of its own, whose answer names its primary; the keys of each primary by its name. */
async function learnPrimaries(
  { endpoints }: LocalCluster,
  { valueBytes }: TransactionBenchOptions,
): Promise<readonly (readonly string[])[]> {
  const byPrimary = new Map<string, string[]>();
  const connections = 32;
  await closedLoop(endpoints, connections, 60, (index) => {
    let next = index - connections;
    return {
      request: () => {
        next += connections;
        return next < keyCount ? transactionFrame([`k${next}`], valueBytes) : undefined;
      },
      answerBytes: (received) =>
        answer(received, (reply) => {
          const node = Buffer.from(committed(reply)[0]?.node ?? []).toString();
          byPrimary.set(node, [...(byPrimary.get(node) ?? []), `k${next}`]);
        }),
    };
  });
  if (byPrimary.size < endpoints.length) throw new Error('not every node is the primary of some key');
  return [...byPrimary].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, keys]) => keys);
}

/** Transactions with one key of each list; connections keep apart: conflicts are not what is measured. */
function transactions(
  lists: readonly (readonly string[])[],
  index: number,
  connections: number,
  { valueBytes }: TransactionBenchOptions,
): Conversation {
  let count = 0;
  return {
    request: () => {
      count += 1;
      const keys = lists.map((list) => {
        const own = Math.max(1, Math.floor(list.length / connections));
        return list[index + connections * (count % own)] ?? '';
      });
      return transactionFrame(keys, valueBytes);
    },
    answerBytes: (received) => answer(received, committed),
  };
}

/** Transactions with several keys of one list, whose values together are as long as one value of the others. */
function parts(
  list: readonly string[],
  index: number,
  connections: number,
  { valueBytes }: TransactionBenchOptions,
): Conversation {
  const own = Math.max(1, Math.floor(list.length / (connections * partCount)));
  let count = 0;
  return {
    request: () => {
      count += 1;
      const first = (index + connections * (count % own)) * partCount;
      const keys = Array.from({ length: partCount }, (_, part) => list[first + part] ?? '');
      return transactionFrame(keys, Math.ceil(valueBytes / partCount));
    },
    answerBytes: (received) => answer(received, committed),
  };
}

function transactionFrame(keys: readonly string[], valueBytes: number): Buffer {
  const value = Buffer.alloc(valueBytes, 'v');
  const operations = keys.map((key) => ({
    bucket: Buffer.from('bench'),
    key: Buffer.from(key),
    content: { value },
  }));
  return encodeRequest({ kind: 'transaction', message: { operations } });
}

/** The branches of a committed transaction. Throws how it ended otherwise. */
function committed(reply: ClientReply): readonly { readonly node: Uint8Array }[] {
  if (reply.kind !== 'transacted')
    throw new Error(reply.kind === 'failed' ? reply.text : `answered ${reply.kind}`);
  const { outcome, reason, branches = [] } = reply.message;
  const word = Buffer.from(outcome).toString();
  if (word !== 'committed') throw new Error(`${word} ${Buffer.from(reason ?? []).toString()}`);
  return branches;
}

function answer(received: Buffer, take: (reply: ClientReply) => unknown): number {
  if (received.length < 4) return 0;
  const whole = 4 + received.readUInt32BE(0);
  if (received.length < whole) return 0;
  take(decodeReply({ code: received.readUInt8(4), body: received.subarray(5, whole) }));
  return whole;
}

interface Measured {
  readonly rates: number[];
  readonly p50: number[];
  readonly p99: number[];
  /** Microseconds of processor time of all its servers per operation. */
  readonly processorUs: number[];
}

async function report(
  contenders: readonly Contender[],
  options: TransactionBenchOptions,
  note: string,
): Promise<void> {
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
  const measurementOf = (name: string, connections: number): Measured | undefined =>
    [...measured].find(([one]) => one.name === name && one.connections === connections)?.[1];
  const results = [...measured].map(([{ name, connections, branches }, own]) => {
    const theirs = measurementOf(theirName(theirBranches), connections);
    const peers = measurementOf(theirName(branches), connections);
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
      ofPut: median(own.rates) / median(measurementOf(putName, connections)?.rates ?? []),
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
  ]);
  const head = [
    ...['', 'clients', 'per second', 'p50 ms', 'p99 ms'],
    ...['CPU µs', 'of 2 servers', 'of as many', 'CPU of 2 servers', 'of a put'],
  ];
  const text = [
    `${options.valueBytes}-byte values, synced, median of ${options.rounds} rounds of ${options.seconds} s; one warm-up round not counted`,
    'of 2 servers, of as many: per second, beside PostgreSQL with a row on each of two servers, or of as many as there are primaries;',
    'it keeps one copy of each, and its coordinator is the client, which logs no decision',
    `${note}; load average before each round ${loads.map(figure).join(', ')}`,
    table([head, ...rows]),
    errors.size === 0
      ? 'no errors'
      : [...errors].map(([words, count]) => `${count} errors: ${words}`).join('\n'),
  ];
  process.stdout.write(`${text.join('\n')}\n`);
}

/**
 * `npm run bench xa`: cross-node transactions of a 3-node cluster of real processes, every one synced, beside two-phase
 * commits over two PostgreSQL servers where that is installed, in turn; and one-node batches beside puts of the same
 * bytes. Medians of alternated rounds.
 */
import { mkdtempSync, rmSync, chmodSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { decodeReply, encodeRequest } from '../../engine/api/pbc/client-codec.ts';
import type { ClientReply } from '../../engine/api/pbc/client-codec.ts';
import type { Conversation, Endpoint, ErrorCounts, LoopResult } from './closed-loop.ts';
import { closedLoop } from './closed-loop.ts';
import { pbPut } from './conversations.ts';
import { figure, median, quantile, table } from './figures.ts';
import { clusterPort, startCluster, stopChild } from './own-cluster.ts';
import type { PostgresPair } from './postgres.ts';
import { postgresLoop, postgresPrograms, startPostgres } from './postgres.ts';

export interface TransactionBenchOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly valueBytes: number;
  readonly json: boolean;
}

interface Contender {
  readonly name: string;
  readonly connections: number;
  run(): Promise<LoopResult>;
}

const basePort = 29098;
const postgresPort = 29432;
const keyCount = 1500;
const connectionCounts = [1, 64];

export async function run(options: TransactionBenchOptions): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-bench-'));
  // PostgreSQL runs as another user where this is root.
  chmodSync(directory, 0o755);
  const programs = postgresPrograms();
  const cluster = await startCluster(join(directory, 'lockstep'), basePort);
  let postgres: PostgresPair | undefined;
  try {
    postgres =
      programs === undefined
        ? undefined
        : await startPostgres(programs, join(directory, 'postgres'), postgresPort);
    const primaries = await learnPrimaries(options);
    const contenders = connectionCounts.flatMap((connections) =>
      contendersOf(connections, primaries, postgres, options),
    );
    const note =
      postgres?.version ?? "PostgreSQL is not installed (Debian's postgresql): our own figures only";
    await report(contenders, options, note);
  } finally {
    await postgres?.stop();
    await stopChild(cluster);
    rmSync(directory, { recursive: true, force: true });
  }
}

function contendersOf(
  connections: number,
  primaries: readonly (readonly string[])[],
  postgres: PostgresPair | undefined,
  options: TransactionBenchOptions,
): readonly Contender[] {
  const ours = (name: string, make: (index: number) => Conversation): Contender => ({
    name,
    connections,
    run: () => closedLoop(endpoints, connections, options.seconds, make),
  });
  const over = (count: number): Contender =>
    ours(`lockstep, ${count} primaries`, (index) =>
      transactions(primaries.slice(0, count), index, connections, options),
    );
  const theirs: Contender[] =
    postgres === undefined
      ? []
      : [
          {
            name: 'PostgreSQL, 2 servers',
            connections,
            run: () => postgresLoop(postgres, connections, options.seconds, keyCount, options.valueBytes),
          },
        ];
  const space = { prefix: 'p', keys: keyCount, valueBytes: options.valueBytes };
  return [over(2), ...theirs, over(3), over(1), ours('lockstep, put', (index) => pbPut(space, index))];
}

const endpoints: readonly Endpoint[] = [0, 1, 2].map((index) => ({
  host: '127.0.0.1',
  port: clusterPort(basePort, index, 11),
}));

/** Writes every key in a transaction of its own, whose answer names its primary; the keys of each primary. */
async function learnPrimaries({
  valueBytes,
}: TransactionBenchOptions): Promise<readonly (readonly string[])[]> {
  const byPrimary = new Map<string, string[]>();
  const connections = 32;
  await closedLoop(endpoints, connections, 120, (index) => {
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
  return [...byPrimary.values()];
}

/** Transactions with one key of each list; connections keep apart, so that conflicts are rare and not what is measured. */
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
      const keys = lists.map((list) => list[(index + connections * count) % list.length] ?? '');
      return transactionFrame(keys, valueBytes);
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

async function report(
  contenders: readonly Contender[],
  options: TransactionBenchOptions,
  note: string,
): Promise<void> {
  const measured = new Map(
    contenders.map((one) => [one, { rates: [] as number[], p50: [] as number[], p99: [] as number[] }]),
  );
  const errors: ErrorCounts = new Map();
  for (let round = 0; round <= options.rounds; round++) {
    for (const [contender, { rates, p50, p99 }] of measured) {
      const result = await contender.run();
      for (const [words, count] of result.errors) errors.set(words, (errors.get(words) ?? 0) + count);
      if (round === 0) continue;
      rates.push(result.operations / result.seconds);
      p50.push(quantile(result.latenciesUs, 0.5) / 1000);
      p99.push(quantile(result.latenciesUs, 0.99) / 1000);
    }
  }
  const rateOf = (name: string, connections: number): number => {
    const found = [...measured].find(([one]) => one.name === name && one.connections === connections);
    return median(found?.[1].rates ?? []);
  };
  const results = [...measured].map(([{ name, connections }, { rates, p50, p99 }]) => ({
    name,
    connections,
    perSecond: median(rates),
    p50Ms: median(p50),
    p99Ms: median(p99),
    ofPostgres: median(rates) / rateOf('PostgreSQL, 2 servers', connections),
    ofPut: median(rates) / rateOf('lockstep, put', connections),
  }));
  if (options.json) {
    const told = Object.fromEntries(errors);
    process.stdout.write(`${JSON.stringify({ bench: 'xa', ...options, note, errors: told, results })}\n`);
    return;
  }
  const shown = (ratio: number): string => (Number.isFinite(ratio) ? figure(ratio) : '-');
  const rows = results.map(({ name, connections, perSecond, p50Ms, p99Ms, ofPostgres, ofPut }) => {
    return [
      name,
      String(connections),
      figure(perSecond),
      figure(p50Ms),
      figure(p99Ms),
      shown(ofPostgres),
      shown(ofPut),
    ];
  });
  const head = ['', 'clients', 'per second', 'p50 ms', 'p99 ms', 'of PostgreSQL', 'of a put'];
  const text = [
    `${options.valueBytes}-byte values, synced, median of ${options.rounds} rounds of ${options.seconds} s`,
    `(${note}; one warm-up round not counted)`,
    table([head, ...rows]),
    errors.size === 0
      ? 'no errors'
      : [...errors].map(([words, count]) => `${count} errors: ${words}`).join('\n'),
  ];
  process.stdout.write(`${text.join('\n')}\n`);
}

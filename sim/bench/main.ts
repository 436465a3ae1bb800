#!/usr/bin/env node
/** `npm run bench -- <name>`: the benchmarks. Each is loaded on demand, because some need development packages. */
import { Command, InvalidArgumentError, Option } from 'commander';

import type { SectionName } from './clients/client-section.ts';
import { sectionNames } from './clients/client-section.ts';
import type { Formats } from './metrics/scraping.ts';
import type { OtherBuild } from './servers/other-build.ts';
import { otherBuild } from './servers/other-build.ts';

interface CommonFlags {
  readonly rounds: number;
  readonly json?: boolean;
}

interface CompareFlags extends CommonFlags {
  readonly compare?: OtherBuild;
}

interface SimFlags extends CompareFlags {
  readonly seeds: number;
  readonly jobs: number;
  readonly raw: boolean;
}

interface HuntFlags {
  readonly for: number;
  readonly budget: number;
  readonly warm: number;
  readonly order: number;
  readonly firstSeed: number;
  readonly only?: string;
  readonly json?: boolean;
}

interface NodeFlags extends CompareFlags {
  readonly seconds: number;
  readonly connections: number;
  readonly valueBytes: number;
}

interface CoresFlags extends CommonFlags {
  readonly seconds: number;
  readonly connections: number;
  readonly valueBytes: number;
  readonly cores: number;
}

interface TransactionFlags extends CompareFlags {
  readonly seconds: number;
  readonly only?: string;
  readonly clients?: number;
  readonly valueBytes: number;
}

interface StoreFlags extends CommonFlags {
  readonly keys: number;
  readonly race?: string;
}

interface ScrapingFlags extends CommonFlags {
  readonly connections: number;
  readonly times: number;
  readonly formats: Formats;
}

interface OverheadFlags extends CommonFlags {
  readonly bytesPerSecond?: number;
  readonly seconds: number;
  readonly connections: number;
}

interface PeersFlags extends CommonFlags {
  readonly seconds: number;
  readonly rate: number;
  readonly lanes: number;
  readonly keys: number;
  readonly valueBytes: number;
  readonly nodes: readonly number[];
  readonly out?: string;
}

interface AaeFlags extends CommonFlags {
  readonly keys: number;
  readonly divergent: number;
}

interface ClientsFlags extends CompareFlags {
  readonly only?: SectionName;
  readonly objects: number;
  readonly redisRequests: number;
}

const program = new Command('bench').description('Measures Lockstep; medians of rounds.');

benchmark('sim', 'the simulator: seeds of the catalogue, run and judged; then its raw speed', 15)
  .option('--seeds <n>', 'measured seeds of each scenario', positive, 2)
  .option('--jobs <n>', 'threads', positive, 2)
  .option('--no-raw', 'leave the raw speed out')
  .addOption(compareOption())
  .action(async ({ json = false, compare, ...flags }: SimFlags) =>
    (await import('./sim.ts')).run({ ...flags, other: compare, json }),
  );

benchmark('hunt', 'guided exploration against plain seeds of the swarm, over mutants of the catalogue', 1)
  .option('--for <seconds>', 'processor time after which no further mutant is begun', positive, 600)
  .option('--budget <seconds>', 'processor time of each contender for each mutant', positive, 60)
  .option('--warm <n>', 'runs of the unchanged engine that fill the corpus', positive, 40)
  .option('--order <n>', 'seed of the order of the mutants', positive, 1)
  .option('--first-seed <s>', 'the first of the seeds', positive, 1)
  .option('--only <names>', 'these mutants (names joined by commas)')
  .action(async ({ json = false, for: seconds, only = '', ...flags }: HuntFlags) => {
    const names = only === '' ? [] : only.split(',');
    await (await import('./hunt.ts')).run({ ...flags, seconds, only: names, json });
  });

benchmark('node', 'a three-node cluster on this machine, beside etcd where it is installed', 3)
  .option('--seconds <n>', 'length of a measurement', positive, 5)
  .option('--connections <n>', 'client connections', positive, 64)
  .option('--value-bytes <n>', 'length of values', positive, 100)
  .addOption(compareOption())
  .action(async ({ json = false, compare, ...flags }: NodeFlags) =>
    (await import('./node.ts')).run({ ...flags, other: compare, json }),
  );

benchmark('cores', 'what more than one node a machine costs, and a model of machines of more cores', 3)
  .option('--seconds <n>', 'length of a measurement', positive, 5)
  .option('--connections <n>', 'client connections for each node of a machine', positive, 192)
  .option('--value-bytes <n>', 'length of values', positive, 100)
  .option('--cores <n>', 'cores of the machines in the model', positive, 16)
  .action(async ({ json = false, ...flags }: CoresFlags) =>
    (await import('./cores.ts')).run({ ...flags, json }),
  );

benchmark(
  'peers',
  'YCSB at a fixed rate, beside etcd, redis-server and PostgreSQL where they are installed',
  3,
)
  .option('--seconds <n>', 'length of a measurement', positive, 5)
  .option('--rate <n>', 'operations a second', positive, 500)
  .option('--lanes <n>', 'connections of each contender', positive, 32)
  .option('--keys <n>', 'keys before the first measurement', positive, 10_000)
  .option('--value-bytes <n>', 'length of values', positive, 1000)
  .addOption(
    new Option('--nodes <list>', 'sizes of the clusters of Lockstep and of etcd, with commas: 1,3,5')
      .argParser(clusterSizes)
      .default([3], '3'),
  )
  .option('--out <directory>', 'where to add the record (peers.json) and to draw the chart (peers.svg)')
  .action(async ({ json = false, out, ...flags }: PeersFlags) =>
    (await import('./peers/peers.ts')).run({ ...flags, out, json }),
  );

benchmark('store', 'the storage engine alone, beside LMDB and LevelDB', 3)
  .option('--keys <n>', 'keys of the start and memory measurements', positive, 1_000_000)
  .option('--race <words>', 'only the tables and races whose names hold these words')
  .action(async ({ json = false, ...flags }: StoreFlags) =>
    (await import('./store/store.ts')).run({ ...flags, json }),
  );

benchmark('stats', 'what counting and publishing cost', 5).action(
  async ({ rounds, json = false }: CommonFlags) => (await import('./metrics/stats.ts')).run({ rounds, json }),
);

benchmark(
  'scraping',
  'what being scraped twice a second costs a cluster under load; rounds: stretches with scrapes',
  300,
)
  .option('--connections <n>', 'client connections', positive, 64)
  .option(
    '--times <n>',
    'how many times as often everything happens, and is divided by (1 to 10)',
    positive,
    10,
  )
  .addOption(
    new Option('--formats <which>', 'what a scrape asks for').choices(['text', 'both']).default('text'),
  )
  .action(async ({ json = false, ...flags }: ScrapingFlags) =>
    (await import('./metrics/scraping.ts')).run({ ...flags, json }),
  );

for (const [name, description] of [
  ['backup', 'what a running backup costs a cluster under load; rounds: stretches with one'],
  ['tracing', 'what tracing one request in a hundred costs; rounds: stretches with it'],
] as const)
  benchmark(name, description, 10)
    .option('--seconds <n>', 'length of a stretch', positive, 6)
    .option('--connections <n>', 'client connections', positive, 32)
    .option('--bytes-per-second <n>', 'a backup’s pace for each node, instead of its default', positive)
    .action(async ({ json = false, bytesPerSecond, ...flags }: OverheadFlags) => {
      const { runBackup, runTracing } = await import('./overhead.ts');
      await (name === 'backup' ? runBackup : runTracing)({ ...flags, bytesPerSecond, json });
    });

benchmark('aae', 'anti-entropy between two replicas, and what it costs puts', 5)
  .option('--keys <n>', 'keys on each side', positive, 1_000_000)
  .option('--divergent <n>', 'keys that differ', positive, 100)
  .action(async ({ json = false, ...flags }: AaeFlags) => (await import('./aae.ts')).run({ ...flags, json }));

benchmark(
  'xa',
  'transactions over several nodes, beside PostgreSQL’s two-phase commit where it is installed',
  3,
)
  .option('--seconds <n>', 'length of a measurement', positive, 4)
  .option('--value-bytes <n>', 'length of values', positive, 100)
  .option('--only <words>', 'only the rows whose names hold one of these, separated by semicolons')
  .option('--clients <n>', 'only with so many clients, instead of with 1 and with 64', positive)
  .addOption(compareOption())
  .action(async ({ json = false, compare, ...flags }: TransactionFlags) =>
    (await import('./xa.ts')).run({ ...flags, other: compare, json }),
  );

benchmark('wasm', 'calls into Wasm modules, what metering costs, and preparing a module', 5).action(
  async ({ rounds, json = false }: CommonFlags) => (await import('./wasm/wasm.ts')).run({ rounds, json }),
);

benchmark(
  'clients',
  'what clients wait for: Redis commands beside redis-server, MapReduce jobs over a three-node cluster',
  3,
)
  .option('--objects <n>', 'objects that jobs run over', positive, 100_000)
  .option('--redis-requests <n>', 'requests of one measurement by redis-benchmark', positive, 100_000)
  .addOption(new Option('--only <section>', 'only this section').choices([...sectionNames]))
  .addOption(compareOption())
  .action(async ({ json = false, compare, only, ...flags }: ClientsFlags) =>
    (await import('./clients/clients.ts')).run({ ...flags, only, other: compare, json }),
  );

benchmark(
  'clusters',
  'what gossip costs clusters of 3 to 100 nodes, and a calm scenario of a hundred',
  1,
).action(async ({ rounds, json = false }: CommonFlags) =>
  (await import('./clusters.ts')).run({ rounds, json }),
);

benchmark('dispatch', 'what the dispatcher adds to a request', 5).action(
  async ({ rounds, json = false }: CommonFlags) => (await import('./dispatch.ts')).run({ rounds, json }),
);

await program.parseAsync();

function benchmark(name: string, description: string, rounds: number): Command {
  return program
    .command(name)
    .description(description)
    .option('--rounds <n>', 'rounds to take the median of', positive, rounds)
    .option('--json', 'print one line of JSON');
}

function compareOption(): Option {
  return new Option(
    '--compare <build>',
    'another build, measured in turns: a revision of this repository, or a dist directory',
  ).argParser((what) => {
    try {
      return otherBuild(what);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  });
}

function clusterSizes(text: string): readonly number[] {
  const sizes = text.split(',').map(Number);
  const distinct = new Set(sizes);
  if (distinct.size < sizes.length || sizes.some((size) => !Number.isInteger(size) || size < 1 || size > 5))
    throw new InvalidArgumentError('Different whole numbers from 1 to 5, with commas between them.');
  return sizes;
}

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidArgumentError('A whole number of at least 1.');
  return value;
}

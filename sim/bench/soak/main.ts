#!/usr/bin/env node
/**
 * `npm run soak -- --for 30m`: two datacenters of real processes on this machine under load, faults and operators' work.
 * What the clients saw is checked with the simulator's own checks. Exit code: 0, 1 if something is wrong, 2 if the soak
 * could not run.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { Command, InvalidArgumentError } from 'commander';

import { parseDurationMs } from '../../../engine/base/durations.ts';
import { WorldRandom } from '../../world/core/random.ts';
import { BenchProcess, progress } from '../bench-process.ts';
import { figure, table } from '../figures.ts';
import { SoakFaults } from './soak-faults.ts';
import { SoakLoad } from './soak-load.ts';
import { SoakNode } from './soak-nodes.ts';
import type { Judgement } from './soak-verdict.ts';
import { judge, judgement } from './soak-verdict.ts';

interface Flags {
  readonly for: number;
  readonly seed?: string;
  readonly json?: boolean;
}

const shape = [
  { datacenter: 'dc1', racks: ['r1', 'r2', 'r3'] },
  { datacenter: 'dc2', racks: ['r1', 'r2', 'r3'] },
];
const objectClients = 6;
const transactionClients = 3;
const sampleMs = 3000;
/** How long replicas get to become equal before the last reads. */
const calmMs = 10_000;
const statsMs = 3000;

const program = new Command('soak')
  .description('Runs a cluster of real processes under faults for a while, and checks what its clients saw.')
  .option('--for <duration>', 'how long: 3m, 1h', durationMs, parseDurationMs('30m'))
  .option('--seed <text>', 'the order of faults and requests; the machine’s timing differs anyway')
  .option('--json', 'print one line of JSON')
  .parse();

const outcome = { passed: false };
try {
  await BenchProcess.run(async (owner) => {
    outcome.passed = await soak(owner, program.opts<Flags>());
  });
} catch (error) {
  console.error(`soak: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(2);
}
process.exit(outcome.passed ? 0 : 1);

async function soak(owner: BenchProcess, flags: Flags): Promise<boolean> {
  const seed = flags.seed ?? String(Date.now());
  const random = WorldRandom.root(`soak ${seed}`);
  const [forFaults, forLoad] = [random.fork('faults'), random.fork('load')];
  const directory = owner.directory();
  const nodes = await makeNodes(directory);
  const spare = await SoakNode.make('n7', 'dc1', 'r1', directory);
  owner.onEnd(() => Promise.all([...nodes, spare].map((node) => node.close())));
  const small = nodes.find((node) => node.name === 'n2' && node.mount());
  for (const node of nodes) node.configure(nodes, false);
  for (const node of nodes) node.start();
  for (const node of nodes)
    if (!(await node.ready())) throw new Error(`${node.name} did not start: ${node.output}`);
  progress(`six nodes serve; ${Math.round(flags.for / 1000)} s with seed ${seed}`);
  const load = new SoakLoad(
    () => nodes,
    (below) => forLoad.below(below),
  );
  const startMs = Date.now();
  const note = (what: string): void =>
    progress(`${String(Math.round((Date.now() - startMs) / 1000)).padStart(5)} s  ${what}`);
  const pick = (below: number): number => forFaults.below(below);
  const faults = new SoakFaults(nodes, spare, small, directory, pick, note);
  const sampling = setInterval(() => nodes.forEach((node) => node.sample()), sampleMs);
  const clients = load.run(objectClients, transactionClients);
  await faults.run(startMs + flags.for);
  load.stop();
  await clients;
  note('calm: the replicas become equal');
  const ready = await Promise.all(nodes.map((node) => node.ready()));
  await sleep(calmMs);
  clearInterval(sampling);
  note('the last reads');
  await load.readAll(nodes);
  // The statistics are published from time to time.
  await sleep(statsMs);
  note('the history is judged');
  const judgements = [
    ...(await judge(load, nodes)),
    judgement('operators', faults.counts.backup + faults.counts.joinAndLeave, faults.failures),
    judgement('all-ready', nodes.length, ready.every(Boolean) ? [] : ['not every node is ready again']),
  ];
  report(flags, seed, load, faults, small !== undefined, judgements);
  return judgements.every(({ ok }) => ok);
}

async function makeNodes(directory: string): Promise<readonly SoakNode[]> {
  const nodes: SoakNode[] = [];
  for (const { datacenter, racks } of shape)
    for (const rack of racks)
      nodes.push(await SoakNode.make(`n${nodes.length + 1}`, datacenter, rack, directory));
  return nodes;
}

function report(
  flags: Flags,
  seed: string,
  { operations, transactions }: SoakLoad,
  { counts }: SoakFaults,
  hasSmallDisk: boolean,
  judgements: readonly Judgement[],
): void {
  const known = operations.filter((one) => one !== undefined);
  const outcomes = (list: readonly { readonly outcome: string }[]): Record<string, number> => {
    const sums: Record<string, number> = { ok: 0, fail: 0, unknown: 0 };
    for (const { outcome } of list) sums[outcome] = (sums[outcome] ?? 0) + 1;
    return sums;
  };
  const ok = judgements.every((one) => one.ok);
  const summary = {
    ...{ soak: ok ? 'passed' : 'failed', seconds: flags.for / 1000, seed, faults: counts },
    ...{
      fullDisks: hasSmallDisk ? 'a file system of its own' : 'left out: no file system can be mounted here',
    },
    ...{ operations: outcomes(known), transactions: outcomes(transactions), judgements },
  };
  if (flags.json === true) {
    process.stdout.write(`${JSON.stringify(summary)}\n`);
    return;
  }
  const listed = (sums: Readonly<Record<string, number>>): string =>
    Object.entries(sums)
      .map(([name, count]) => `${name} ${figure(count)}`)
      .join(', ');
  const lines = [
    `soak ${summary.soak} after ${Math.round(flags.for / 1000)} s (seed ${seed})`,
    `faults and operators' work: ${listed(counts)}; full disks: ${summary.fullDisks}`,
    `operations of single keys: ${listed(summary.operations)}`,
    `transactions and final reads of lists: ${listed(summary.transactions)}`,
    table([
      ['judged', 'compared', 'verdict'],
      ...judgements.map((one) => [one.name, figure(one.checked), one.ok ? 'holds' : 'BROKEN']),
    ]),
    ...judgements.flatMap(({ name, reasons }) => reasons.map((reason) => `${name}: ${reason}`)),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function durationMs(text: string): number {
  try {
    return parseDurationMs(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : 'a duration: 3m');
  }
}

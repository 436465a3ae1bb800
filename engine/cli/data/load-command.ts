/**
 * `lockstep load`: a bounded load on a user's own cluster, and its latencies.
 *
 * Requests are due at fixed times, whether or not earlier ones were answered. A latency counts from the time at which
 * its request was due, so a stall shows in every request that it delayed (no coordinated omission; Tene, "How NOT to
 * Measure Latency", 2015).
 */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';

import { foldedHelp, gather } from '../help-text.ts';
import { parseDurationMs } from '../../base/durations.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes, UsageError } from '../exit-codes.ts';
import type { AskingOptions } from '../operate/node-client.ts';
import { KeptConnections, NodeClient, NodeRefusal, withAskingOptions } from '../operate/node-client.ts';
import { table } from '../terminal.ts';
import { Latencies } from './latencies.ts';
import { ObjectClient } from './object-client.ts';

interface LoadOptions extends AskingOptions {
  readonly node: readonly string[];
  readonly rate: number;
  /** Milliseconds. */
  readonly for: number;
  readonly connections: number;
  readonly keys: number;
  readonly valueBytes: number;
  /** Per cent. */
  readonly reads: number;
  readonly bucket: string;
  readonly clean?: boolean;
  readonly json?: boolean;
}

const forMsMax = 3_600_000;
const tickMs = 2;
/** Requests that are due and not answered. */
const waitingMax = 100_000;

/** Adds the command `load`. `finish` gets the exit code. */
export function addLoadCommand(program: Command, finish: (code: ExitCode) => void): void {
  withAskingOptions(program.command('load'))
    .option('--node <address>', 'an HTTP listener, as host:port; repeat it to spread the load', gather, [])
    .option('--rate <count>', 'requests a second, on all nodes together', wholeIn(1, 100_000), 500)
    .addOption(
      new Option('--for <duration>', 'how long: 10s, 5m, at most 1h')
        .argParser(durationMs)
        .default(10_000, '10s'),
    )
    .option('--connections <count>', 'connections to each node', wholeIn(1, 1000), 16)
    .option('--keys <count>', 'keys that are written and read', wholeIn(1, 10_000_000), 10_000)
    .option('--value-bytes <count>', 'the length of a value', wholeIn(1, 1_048_576), 100)
    .option('--reads <percent>', 'the share of reads', wholeIn(0, 100), 50)
    .option('--bucket <bucket>', 'the bucket that is written', 'lockstep-load')
    .option('--clean', 'delete the keys afterwards')
    .option('--json', 'print one line of JSON')
    .addHelpText('after', foldedHelp(helpAfter))
    .description('send a fixed rate of reads and writes, and print their latencies')
    .action(async (options: LoadOptions) => finish(await load(options)));
}

const helpAfter = `
Example:
  lockstep load --node 127.0.0.1:8098 --node 127.0.0.1:8108 --rate 1000 --for 30s --reads 80

A latency counts from the moment at which its request was due, not from that at which a connection was free for it. If
the cluster cannot keep up with --rate, the latencies grow with the length of the run; then lower the rate.
Exit code: 0, or 1 if a request failed.`;

function wholeIn(min: number, max: number): (given: string) => number {
  return (given) => {
    const value = Number(given);
    if (/^\d+$/.test(given) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`allowed: ${min} to ${max}.`);
  };
}

function durationMs(given: string): number {
  try {
    const ms = parseDurationMs(given);
    if (ms >= 1 && ms <= forMsMax) return ms;
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
  throw new InvalidArgumentError('allowed: more than nothing, and at most 1h.');
}

/** An address with a path; requests to one node that fail alike are one line. */
const pathOfAddress = /(https?:\/\/[^/\s]+)\S*/;

/** What one run found. */
class Findings {
  readonly reads = new Latencies();
  readonly writes = new Latencies();
  /** Failed requests by reason. */
  readonly failures = new Map<string, number>();
  /** When the last answer came, in microseconds after the start. */
  lastUs = 0;

  fail(error: unknown): void {
    const reason =
      error instanceof NodeRefusal
        ? `status ${error.status}`
        : (error instanceof Error ? error.message : String(error)).replace(pathOfAddress, '$1');
    this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1);
  }

  get failureCount(): number {
    return [...this.failures.values()].reduce((sum, count) => sum + count, 0);
  }
}

async function load({ node, connections, ...options }: LoadOptions): Promise<ExitCode> {
  if (node.length === 0) throw new UsageError('name at least one node by --node');
  const agent = new KeptConnections(connections);
  const targets = node.map((address) => new ObjectClient(new NodeClient(address, options, process.env), agent));
  try {
    const findings = await run(targets, options);
    console.log(options.json === true ? JSON.stringify(jsonOf(findings)) : textOf(findings));
    if (options.clean === true) await clean(targets, options);
    return findings.failureCount === 0 ? exitCodes.done : exitCodes.failed;
  } finally {
    agent.close();
  }
}

type Shape = Omit<LoadOptions, 'node' | 'connections'>;

/** Sends every request at its time; resolves once all are answered. */
async function run(targets: readonly ObjectClient[], shape: Shape): Promise<Findings> {
  const findings = new Findings();
  const total = Math.ceil((shape.rate * shape.for) / 1000);
  const startUs = nowUs();
  const running = new Set<Promise<void>>();
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, Math.floor(((nowUs() - startUs) * shape.rate) / 1_000_000) + 1);
    if (running.size > waitingMax)
      throw new Error(`${running.size} requests wait for an answer: the cluster cannot keep up; lower --rate`);
    for (; sent < due; sent++) {
      const dueUs = startUs + Math.floor((sent * 1_000_000) / shape.rate);
      const one = request(targets, shape, sent, findings, startUs, dueUs).finally(() => running.delete(one));
      running.add(one);
    }
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  await Promise.all(running);
  return findings;
}

async function request(
  targets: readonly ObjectClient[],
  { keys, reads, valueBytes, bucket }: Shape,
  number: number,
  findings: Findings,
  startUs: number,
  dueUs: number,
): Promise<void> {
  const target = targets[number % targets.length];
  if (target === undefined) return;
  // Spread over all keys, and over reads and writes, the same way in every run.
  const mixed = Math.imul(number + 1, 0x9e3779b1) >>> 0;
  const name = { type: 'default', bucket, key: `key-${mixed % keys}` };
  const isRead = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0 < (reads / 100) * 2 ** 32;
  try {
    if (isRead) await target.get(name);
    else await target.put(name, { value: Buffer.alloc(valueBytes, 'v'), headers: { 'content-type': 'text/plain' } }, { kind: 'beside' });
    (isRead ? findings.reads : findings.writes).add(nowUs() - dueUs);
  } catch (error) {
    findings.fail(error);
  }
  findings.lastUs = nowUs() - startUs;
}

async function clean(targets: readonly ObjectClient[], { keys, bucket }: Shape): Promise<void> {
  const [target] = targets;
  for (let key = 0; key < keys; key++) await target?.delete({ type: 'default', bucket, key: `key-${key}` });
}

function jsonOf(findings: Findings): object {
  const { reads, writes, failures, lastUs } = findings;
  const answered = reads.count + writes.count;
  return {
    seconds: Math.round(lastUs / 1000) / 1000,
    per_second: lastUs === 0 ? 0 : Math.round((answered * 1_000_000) / lastUs),
    reads: reads.summary(),
    writes: writes.summary(),
    failures: Object.fromEntries(failures),
  };
}

function textOf(findings: Findings): string {
  const { reads, writes, failures, lastUs } = findings;
  const heading = ['', 'count', 'mean ms', 'p50', 'p95', 'p99', 'p99.9', 'max'];
  const rows = ([['reads', reads], ['writes', writes]] as const)
    .filter(([, { count }]) => count > 0)
    .map(([name, latencies]) => [name, ...Object.values(latencies.summary()).map(String)]);
  const rate = Math.round(((reads.count + writes.count) * 1_000_000) / Math.max(1, lastUs));
  const failed = [...failures].map(([reason, count]) => `${count} failed: ${reason}`);
  return [table([heading, ...rows]), `${rate} a second were answered`, ...failed].join('\n');
}

function nowUs(): number {
  return Math.round(performance.now() * 1000);
}

/**
 * The processes of a soak: two datacenters of three racks, each node a process of the built command with its files in a
 * directory, and a proxy before its peer listener. Only processes that were started here are ever signalled.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { freePorts } from '../../processes/free-port.ts';
import type { ProcessEnd } from '../../processes/node-process.ts';
import { NodeProcess } from '../../processes/node-process.ts';
import { CutProxy } from './cut-proxy.ts';

/** The bucket type whose buckets keep siblings. */
export const siblingType = 'soak';

const bootMsMax = 60_000;
const diskMiB = 192;

/** Memory and open files of one process at one moment. */
export interface ProcessSample {
  readonly atMs: number;
  readonly residentMiB: number;
  readonly handles: number;
}

/** One node: its place, its present process, and what was seen of that. */
export class SoakNode {
  readonly name: string;
  readonly datacenter: string;
  readonly rack: string;
  readonly home: string;
  readonly httpPort: number;
  readonly statsPort: number;
  readonly proxyPort: number;
  readonly #peerPort: number;
  #proxy: CutProxy | undefined;
  readonly #process: NodeProcess;
  #isMounted = false;
  /** Samples of the present process. */
  samples: ProcessSample[] = [];
  /** The present process may have started its node again, with new counters: its disk was full. */
  isRenewed = false;
  /** Ends of processes that nothing here asked for. */
  readonly deaths: string[] = [];

  private constructor(
    name: string,
    datacenter: string,
    rack: string,
    home: string,
    ports: readonly number[],
  ) {
    this.name = name;
    this.datacenter = datacenter;
    this.rack = rack;
    this.home = home;
    [this.httpPort = 0, this.statsPort = 0, this.#peerPort = 0, this.proxyPort = 0] = ports;
    this.#process = new NodeProcess({
      name,
      configFile: this.#configFile,
      onEnd: (end) => this.#ended(end),
    });
  }

  /** A node that is not started, with free ports and a listening proxy. */
  static async make(name: string, datacenter: string, rack: string, directory: string): Promise<SoakNode> {
    const node = new SoakNode(name, datacenter, rack, join(directory, name), await freePorts(4));
    mkdirSync(node.#data, { recursive: true });
    node.#proxy = await CutProxy.listen(node.proxyPort, node.#peerPort);
    return node;
  }

  get #data(): string {
    return join(this.home, 'data');
  }

  get #configFile(): string {
    return join(this.home, 'lockstep.yaml');
  }

  /** The last output of the node's processes, for a failure. */
  get output(): string {
    return this.#process.output;
  }

  /** The number of processes so far. */
  get lives(): number {
    return this.#process.lives;
  }

  /** The host and port of the HTTP listener. */
  get address(): string {
    return `127.0.0.1:${this.httpPort}`;
  }

  /** Puts the node's files on a small disk of their own. False if this system does not allow it. */
  mount(): boolean {
    const made = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMiB}m`, 'soak', this.#data]);
    this.#isMounted = made.status === 0;
    return this.#isMounted;
  }

  /** Writes the configuration. `joins`: the node is new to a cluster that runs. */
  configure(all: readonly SoakNode[], joins: boolean): void {
    const seeds = all.map(({ name, proxyPort, datacenter, rack }) => {
      return { name, address: `127.0.0.1:${proxyPort}`, datacenter, rack };
    });
    const keys = {
      ...{ name: this.name, datacenter: this.datacenter, rack: this.rack, seeds },
      ...{ listen: this.address, pb_listen: 'off', log_level: 'warn' },
      ...{ peer_listen: `127.0.0.1:${this.#peerPort}`, peer_advertise: `127.0.0.1:${this.proxyPort}` },
      ...{
        stats_listen: `127.0.0.1:${this.statsPort}`,
        bucket_types: { [siblingType]: { allow_mult: true } },
      },
      ...{ gossip_interval_ms: 300, phi_threshold_milli: 4000, store_segment_bytes_max: 4 * 1024 ** 2 },
      ...{
        stats_interval_ms: 1000,
        hint_drain_interval_ms: 2000,
        aae_tick_interval_seconds: 5,
        transfer_drop_delay_seconds: 5,
      },
      ...(joins ? { join: 'joining' } : {}),
    };
    writeFileSync(this.#configFile, JSON.stringify({ soak: keys }));
  }

  /** Starts a process; the node must have none. */
  start(): void {
    this.samples = [];
    this.isRenewed = false;
    this.#process.start();
  }

  /** Resolves with whether the node says that it is ready, in time. */
  async ready(budgetMs = bootMsMax): Promise<boolean> {
    const endMs = Date.now() + budgetMs;
    while (Date.now() < endMs) {
      const answer = await fetch(`http://127.0.0.1:${this.statsPort}/health/ready`, {
        signal: AbortSignal.timeout(2000),
      }).catch(() => undefined);
      await answer?.arrayBuffer().catch(() => undefined);
      if (answer?.status === 200) return true;
      await sleep(200);
    }
    return false;
  }

  /** Sends a signal to the present process, if there is one. */
  signal(signal: NodeJS.Signals): void {
    this.#process.signal(signal);
  }

  /** Sends the signal, and resolves once no process of the node is left. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    return this.#process.end(signal);
  }

  /** The process is expected to end by itself: it leaves the cluster. */
  expectEnd(): void {
    this.#process.expectEnd();
  }

  /** Cuts or restores what the other nodes send to this one. */
  cut(isCut: boolean): void {
    this.#proxy?.cut(isCut);
  }

  /** Fills the node's own disk; only after `mount`. */
  fill(): void {
    this.isRenewed = true;
    spawnSync('dd', ['if=/dev/zero', `of=${join(this.#data, 'filler')}`, 'bs=64k'], { stdio: 'ignore' });
  }

  /** Frees it again. */
  free(): void {
    rmSync(join(this.#data, 'filler'), { force: true });
  }

  /** Forgets the node's files. */
  wipe(): void {
    for (const name of readdirSync(this.#data))
      rmSync(join(this.#data, name), { recursive: true, force: true });
  }

  /** Notes memory and open files of the present process. */
  sample(): void {
    const { pid } = this.#process;
    if (pid === undefined) return;
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      const residentMiB = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024;
      const handles = readdirSync(`/proc/${pid}/fd`).length;
      this.samples.push({ atMs: Date.now(), residentMiB, handles });
    } catch {
      // The process has just ended, or this system has no /proc.
    }
  }

  /** The value of a counter of the statistics listener, summed over its labels; undefined if it does not answer. */
  async counter(name: string): Promise<number | undefined> {
    const answer = await fetch(`http://127.0.0.1:${this.statsPort}/metrics`).catch(() => undefined);
    if (answer === undefined) return undefined;
    const lines = (await answer.text()).split('\n').filter((line) => line.startsWith(`${name}{`));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Ends everything of the node. Its directory is the caller's. */
  async close(): Promise<void> {
    this.signal('SIGCONT');
    await this.end('SIGKILL');
    this.#proxy?.close();
    if (this.#isMounted) spawnSync('umount', [this.#data]);
  }

  #ended({ asked, code, signal }: ProcessEnd): void {
    if (!asked) this.deaths.push(`${this.name} ended by itself (${signal ?? code}): ${this.output}`);
  }
}

/**
 * A plan's cluster as processes on this machine: each node runs the built command with its files in a directory, its
 * configuration is that of the world's node but for the addresses, and a proxy stands before its peer listener.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { assert, present } from '../../engine/base/assert.ts';
import { credentialLine } from '../../engine/auth/credentials.ts';
import type { Member } from '../../engine/cluster/ring/ring.ts';
import { Ring } from '../../engine/cluster/ring/ring.ts';
import type { NodeConfig } from '../../engine/config/config.ts';
import type { Address } from '../../engine/io/network.ts';
import type { Death } from '../check/objects/convergence.ts';
import type { FaultClock, FaultCluster, FaultHost } from '../faults/fault-context.ts';
import type { PlanNode } from '../plan/plan-node.ts';
import type { ClockState } from '../processes/clock-state.ts';
import { clockVariable } from '../processes/clock-state.ts';
import { freePorts } from '../processes/free-port.ts';
import type { ProcessEnd } from '../processes/node-process.ts';
import { NodeProcess } from '../processes/node-process.ts';
import type { PeerProxies } from '../processes/peer-proxies.ts';
import type { LoadCluster } from '../workload/load-world.ts';
import { workFiles } from '../workload/work-modules.ts';
import { wallOffsetMsMax, driftPpmMax } from '../world/cluster/cluster.ts';
import type { ClusterPort } from '../world/cluster/node-config.ts';
import { configOf, fileOf, spareSettings } from '../world/cluster/node-config.ts';
import type { Gone, Standing } from '../world/cluster/node-slots.ts';
import { isGone } from '../world/cluster/node-slots.ts';
import { worldCredentials, worldTokens } from '../world/cluster/world-credentials.ts';
import type { MachineWorld } from './machine-world.ts';

type Settings = Readonly<Record<string, unknown>>;
type Ports = Readonly<Record<ClusterPort | 'proxy', number>>;

const portNames: readonly (keyof Ports)[] = ['http', 'pb', 'redis', 'peer', 'stats', 'proxy'];
/** How long a supervisor waits before it starts a node again that ended by itself, in microseconds, as in the world. */
const retryUs = 300_000;

/** An end of a process that nothing here asked for. */
export interface UnaskedEnd {
  readonly node: string;
  readonly atUs: number;
  readonly code: number | undefined;
  readonly signal: string | undefined;
  readonly served: boolean;
  readonly output: string;
}

/** One node of the cluster. */
class ProcessHost implements FaultHost {
  readonly node: PlanNode;
  readonly ports: Ports;
  readonly home: string;
  readonly process: NodeProcess;
  readonly clock: ProcessClock;
  standing: Standing;
  own: Settings;
  paused = false;
  /** Its process was told to end, or has ended, and no other was started since. */
  isDown = true;
  leaves = false;
  /** Its process was asked to stop: a second request would end it at once. */
  isStopping = false;
  #silence: { lift(): void } | undefined;

  constructor(
    node: PlanNode,
    ports: Ports,
    directory: string,
    clock: ClockState,
    told: { readonly line: (line: string) => void; readonly end: (end: ProcessEnd) => void },
  ) {
    this.node = node;
    this.ports = ports;
    this.home = join(directory, node.name);
    this.standing = node.spare === true ? 'spare' : 'member';
    this.own = node.spare === true ? spareSettings(node) : {};
    mkdirSync(join(this.home, 'data'), { recursive: true });
    this.process = new NodeProcess({
      name: node.name,
      configFile: join(this.home, 'lockstep.yaml'),
      preload: 'sim/processes/clock-preload.js',
      onLine: told.line,
      onEnd: told.end,
    });
    this.clock = new ProcessClock(clock, (state) => this.process.tell({ clock: state }));
  }

  get alive(): boolean {
    return !this.isDown;
  }

  get lives(): number {
    return this.process.lives;
  }

  pause(): void {
    this.paused = true;
    this.process.signal('SIGSTOP');
  }

  resume(): void {
    this.paused = false;
    this.process.signal('SIGCONT');
  }

  /** Its machine is off until the next start. */
  beSilent(silence: { lift(): void }): void {
    this.#silence ??= silence;
  }

  beHeard(): void {
    this.#silence?.lift();
    this.#silence = undefined;
  }
}

/** By how much a drifting clock is wrong at most at the end of a run, in milliseconds. */
const driftMsMax = 100;

/** The clocks of a node; they outlive its processes. */
class ProcessClock implements FaultClock {
  #state: ClockState;
  #leastMs: number;
  #mostMs: number;
  readonly #tell: (state: ClockState) => void;

  constructor(state: ClockState, tell: (state: ClockState) => void) {
    this.#state = state;
    this.#tell = tell;
    this.#leastMs = Math.min(0, state.offsetMs);
    this.#mostMs = Math.max(0, state.offsetMs);
  }

  /** The errors that the wall clock had so far, at most. */
  get error(): { readonly leastMs: number; readonly mostMs: number } {
    this.#note();
    return { leastMs: this.#leastMs - driftMsMax, mostMs: this.#mostMs + driftMsMax };
  }

  get state(): ClockState {
    return this.#state;
  }

  setDrift(ppm: number): void {
    this.#change({ ppm });
  }

  setWallOffset(offsetMs: number): void {
    this.#change({ offsetMs });
  }

  jumpWall(byMs: number): void {
    const { offsetMs, frozenMs } = this.#state;
    this.#change({
      offsetMs: offsetMs + byMs,
      frozenMs: frozenMs === undefined ? undefined : frozenMs + byMs,
    });
  }

  freezeWall(): void {
    this.#change({ frozenMs: this.#state.frozenMs ?? Date.now() + this.#state.offsetMs });
  }

  thawWall(): void {
    this.#change({ frozenMs: undefined });
  }

  setTimerJitter(earlyUs: number, lateUs: number): void {
    this.#change({ earlyUs, lateUs });
  }

  heal(): void {
    this.#change({ offsetMs: 0, frozenMs: undefined, earlyUs: 0, lateUs: 0 });
  }

  #note(): void {
    const { offsetMs, frozenMs } = this.#state;
    const errorMs = frozenMs === undefined ? offsetMs : frozenMs - Date.now();
    this.#leastMs = Math.min(this.#leastMs, errorMs);
    this.#mostMs = Math.max(this.#mostMs, errorMs);
  }

  #change(part: Partial<ClockState>): void {
    this.#note();
    this.#state = { ...this.#state, ...part };
    this.#note();
    this.#tell(this.#state);
  }
}

/** What a cluster of processes is made of. */
export interface ProcessClusterSetup {
  readonly world: MachineWorld;
  readonly nodes: readonly PlanNode[];
  /** The plan's settings. */
  readonly settings: Settings;
  readonly directory: string;
  readonly network: PeerProxies;
  /** Called with every line that a node prints. */
  readonly onLine: (node: string, line: string) => void;
}

/** The cluster of one run. */
export class ProcessCluster implements LoadCluster, FaultCluster {
  readonly ring: Ring;
  /** Ends of processes that nothing here asked for. */
  readonly unasked: UnaskedEnd[] = [];
  /** Processes that died without notice. */
  readonly deaths: Death[] = [];
  /** Second processes on a used directory: how they ended. */
  readonly doubleStarts: { readonly node: string; code: number | undefined }[] = [];
  readonly #setup: ProcessClusterSetup;
  readonly #hosts = new Map<string, ProcessHost>();
  /** No process is started any more, and the end of one is no news. */
  #isOver = false;

  private constructor(setup: ProcessClusterSetup) {
    this.#setup = setup;
    const { nodes, settings } = setup;
    const members = nodes.filter(({ spare }) => spare !== true);
    this.ring = new Ring(members.map((node) => memberOf(node, members, settings)));
  }

  /** Makes the files and the proxies. */
  static async make(setup: ProcessClusterSetup): Promise<ProcessCluster> {
    const cluster = new ProcessCluster(setup);
    const clocks = setup.world.random.fork('clocks');
    const drawn = (max: number): number => clocks.below(2 * max + 1) - max;
    for (const node of setup.nodes) {
      const found = await freePorts(portNames.length);
      const ports = Object.fromEntries(portNames.map((name, index) => [name, found[index]])) as Ports;
      // The world draws the clocks of its hosts in this order, from this stream.
      const [offsetMs, ppm] = [drawn(wallOffsetMsMax), drawn(driftPpmMax)];
      const clock = { offsetMs, ppm, frozenMs: undefined, earlyUs: 0, lateUs: 0 };
      const host = new ProcessHost(node, ports, setup.directory, clock, {
        line: (line) => setup.onLine(node.name, line),
        end: (end) => cluster.#ended(host, end),
      });
      cluster.#hosts.set(node.name, host);
      await setup.network.listen(node.name, ports.proxy, ports.peer);
    }
    for (const name of cluster.names) cluster.#configure(name);
    return cluster;
  }

  get names(): readonly string[] {
    return [...this.#hosts.keys()];
  }

  get members(): readonly string[] {
    return this.#standing('member');
  }

  get gone(): Gone {
    const replacements = this.#setup.nodes.flatMap(({ name, replaces }) =>
      replaces === undefined ? [] : [[replaces, name] as const],
    );
    return {
      lost: this.#standing('left', 'replaced', 'lost'),
      missed: this.#standing('lost'),
      replacements: new Map(replacements),
    };
  }

  /** The ring of the nodes that are members now. */
  owners(): Ring {
    const { nodes, settings } = this.#setup;
    const first = nodes.filter(({ spare }) => spare !== true);
    const now = [...this.#hosts.values()].filter(({ standing }) => standing === 'member');
    return new Ring(now.map(({ node, own }) => memberOf(node, first, { ...settings, ...own })));
  }

  address(name: string, port: ClusterPort): Address {
    return `127.0.0.1:${this.#host(name).ports[port]}`;
  }

  configOf(name: string): { readonly datacenter: string } {
    return this.#host(name).node;
  }

  host(name: string): ProcessHost {
    return this.#host(name);
  }

  isUp(name: string): boolean {
    return this.#host(name).alive;
  }

  serves(name: string): boolean {
    const host = this.#host(name);
    return host.alive && host.process.serves;
  }

  /** The configuration as the engine reads it, but for the addresses. */
  engineConfigOf(name: string): NodeConfig {
    const { nodes, settings } = this.#setup;
    const { node, own } = this.#host(name);
    return configOf(
      node,
      nodes.filter(({ spare }) => spare !== true),
      { ...settings, ...own },
    );
  }

  /** The directory with the files of the node's disk. */
  dataOf(name: string): string {
    return join(this.#host(name).home, 'data');
  }

  start(name: string): void {
    const host = this.#host(name);
    if (host.alive || this.#isOver || isGone(host.standing)) return;
    host.isDown = false;
    host.paused = false;
    host.leaves = false;
    this.#setup.world.follow(`start ${name}`, this.#startSoon(host));
  }

  crash(name: string, _survival: string, connections: 'silent' | 'reset'): void {
    const host = this.#host(name);
    if (!host.alive) return;
    if (connections === 'silent') {
      const others = this.names.filter((other) => other !== name);
      host.beSilent(this.#setup.network.silence(name, others));
    }
    host.isDown = true;
    this.deaths.push({ node: name, atUs: this.#setup.world.nowUs });
    host.process.signal('SIGKILL');
  }

  /** Asks the node to stop; `onStopped` is called when its process has ended. Returns false if it does not serve. */
  beginStop(name: string, onStopped: () => void): boolean {
    const host = this.#host(name);
    if (!this.serves(name) || host.isStopping) return false;
    host.isStopping = true;
    const stopped = host.process.end('SIGTERM').then(() => {
      host.isDown = true;
      host.isStopping = false;
      onStopped();
    });
    this.#setup.world.follow(`stop ${name}`, stopped);
    return true;
  }

  startTwice(name: string): boolean {
    if (!this.serves(name)) return false;
    const start: { node: string; code: number | undefined } = { node: name, code: undefined };
    this.doubleStarts.push(start);
    const configFile = join(this.#host(name).home, 'lockstep.yaml');
    const second = new NodeProcess({ name, configFile, onEnd: ({ code }) => (start.code = code) });
    second.start();
    return true;
  }

  changeBuild(name: string, peerVersion: number): void {
    this.#reconfigure(name, { peer_version: peerVersion });
  }

  /** No process claims to be another: plans with that fault are not portable. */
  impose(): void {
    assert(false, 'an impostor is not portable');
  }

  lose(name: string): boolean {
    const host = this.#host(name);
    if (host.standing !== 'member') return false;
    host.standing = 'lost';
    this.crash(name, 'keepAll', 'silent');
    return true;
  }

  change(name: string): boolean {
    const host = this.#host(name);
    if (host.standing === 'member') return this.#leave(host);
    if (host.standing !== 'spare') return false;
    const { replaces } = host.node;
    if (replaces !== undefined) {
      const replaced = this.#host(replaces);
      if (replaced.standing === 'left') return false;
      replaced.standing = 'replaced';
      this.crash(replaces, 'keepAll', 'silent');
    }
    host.standing = 'member';
    this.start(name);
    return true;
  }

  /** Sends a request to the node's HTTP listener as its operator; resolves with whether it was accepted. */
  async operate(name: string, path: string): Promise<boolean> {
    const token = this.#setup.settings['credentials'] === undefined ? undefined : worldTokens.admin;
    const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(5000);
    try {
      const answer = await fetch(`http://${this.address(name, 'http')}${path}`, {
        method: 'POST',
        headers,
        signal,
      });
      return answer.ok;
    } catch {
      // The node is down, paused or does not accept it now.
      return false;
    }
  }

  /** The node's disk is empty from now on; it must have no process that runs. */
  async wipe(name: string): Promise<void> {
    const host = this.#host(name);
    await host.process.gone();
    rmSync(this.dataOf(name), { recursive: true, force: true });
    mkdirSync(this.dataOf(name));
  }

  /** Resolves with the nodes that had to be killed, once every process has ended. */
  async stopAll(signal: 'SIGTERM' | 'SIGKILL'): Promise<readonly UnaskedEnd[]> {
    this.#isOver = true;
    const before = this.unasked.length;
    await Promise.all(
      [...this.#hosts.values()].map(async ({ process, isStopping }) => {
        process.signal('SIGCONT');
        if (isStopping && signal === 'SIGTERM') await process.gone();
        else await process.end(signal);
      }),
    );
    return this.unasked.slice(before);
  }

  #leave(host: ProcessHost): boolean {
    if (!this.serves(host.node.name) || host.leaves) return false;
    host.leaves = true;
    host.process.expectEnd();
    const asked = this.operate(host.node.name, '/cluster/leave').then((accepted) => {
      if (!accepted) host.leaves = false;
    });
    this.#setup.world.follow(`leave ${host.node.name}`, asked);
    return true;
  }

  async #startSoon(host: ProcessHost): Promise<void> {
    // The process before this one may still be ending.
    await host.process.gone();
    if (host.isDown || this.#isOver || host.process.pid !== undefined) return;
    host.beHeard();
    host.process.start({ [clockVariable]: JSON.stringify(host.clock.state) });
  }

  #ended(host: ProcessHost, end: ProcessEnd): void {
    const { name } = host.node;
    if (host.leaves && end.code === 0) host.standing = 'left';
    host.leaves = false;
    const isAsked = end.asked && (end.signal === 'SIGKILL' || end.code === 0 || this.#isOver);
    if (!isAsked) {
      const { output } = host.process;
      this.deaths.push({ node: name, atUs: this.#setup.world.nowUs });
      this.unasked.push({ node: name, atUs: this.#setup.world.nowUs, ...end, output });
    }
    if (host.isDown) return;
    host.isDown = true;
    if (isAsked) return;
    this.#setup.world.after(retryUs, `start ${name} again`, () => {
      if (host.standing === 'member') this.start(name);
    });
  }

  #reconfigure(name: string, own: Settings): void {
    const host = this.#host(name);
    host.own = { ...host.own, ...own };
    this.#configure(name);
  }

  #configure(name: string): void {
    const { node, own, ports, home } = this.#host(name);
    const { settings, nodes } = this.#setup;
    const first = nodes.filter(({ spare }) => spare !== true);
    const local = {
      peer_listen: `127.0.0.1:${ports.peer}`,
      peer_advertise: `127.0.0.1:${ports.proxy}`,
      ...(settings['credentials'] === undefined ? {} : { credentials: 'credentials' }),
    };
    const text = fileOf(node, first, { ...settings, ...own, ...local }, (other, port) => {
      return `127.0.0.1:${this.#host(other).ports[port === 'peer' ? 'proxy' : port]}`;
    });
    writeFileSync(join(home, 'lockstep.yaml'), text);
    for (const [file, bytes] of workFiles) {
      const path = join(home, file);
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, bytes);
    }
    const lines = worldCredentials.map((one) => `${credentialLine(one)}\n`);
    writeFileSync(join(home, 'credentials'), lines.join(''), { mode: 0o600 });
  }

  #standing(...wanted: readonly ProcessHost['standing'][]): readonly string[] {
    const hosts = [...this.#hosts.values()].filter(({ standing }) => wanted.includes(standing));
    return hosts.map(({ node }) => node.name);
  }

  #host(name: string): ProcessHost {
    return present(this.#hosts.get(name), `the node ${name}`);
  }
}

function memberOf(node: PlanNode, nodes: readonly PlanNode[], settings: Settings): Member {
  const { name, datacenter, rack, tokens } = configOf(node, nodes, settings);
  return { node: name, datacenter, rack, tokens };
}

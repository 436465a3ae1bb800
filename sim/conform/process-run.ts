/**
 * Runs a plan on processes of this machine, phase by phase as `sim/runner/run.ts` runs it in the world: start, storm,
 * calm, settle, converge, stop. The clients are those of the world (`sim/workload`).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Token } from '../../engine/base/ids.ts';
import type { ClockErrors } from '../check/protocols/redis-expiry.ts';
import type { ReplicaDump, ReplicaEvidence } from '../check/objects/convergence.ts';
import {
  convergenceRow,
  HintlessDeaths,
  keysInFlight,
  noHintlessDeaths,
} from '../check/objects/convergence.ts';
import { needsAny } from '../check/invariants.ts';
import { seedNameOf } from '../plan/former-names.ts';
import type { Plan } from '../plan/plan.ts';
import { PeerProxies } from '../processes/peer-proxies.ts';
import { dumpStore } from '../observe/store-dump.ts';
import { TypeMaker } from '../runner/type-maker.ts';
import { DurableTags } from '../workload/durable-tags.ts';
import type { History } from '../evidence/history.ts';
import { Load } from '../workload/workload.ts';
import { typesAtRunTime } from '../world/cluster/node-config.ts';
import { worldTokens } from '../world/cluster/world-credentials.ts';
import { messageVersions } from '../../engine/peer/wire/versions.ts';
import { ClientWire } from './client-wire.ts';
import { MachineWorld } from './machine-world.ts';
import type { ClientsTruth } from './client-wire.ts';
import type { PacedRecorder } from './pacing.ts';
import type { Span } from './stalls.ts';
import { Stalls } from './stalls.ts';
import type { UnaskedEnd } from './process-cluster.ts';
import { ProcessCluster } from './process-cluster.ts';
import { ProcessFaults } from './process-faults.ts';

const startMsMax = 180_000;
const acquaintanceMs = 500;
const convergeMsMax = 60_000;
const dumpEveryMs = 500;
/** Clients that wait for others get so much longer than the storm for the operations that the world's clients made. */
const lateMsMax = 15_000;
const pollMs = 20;
/** The statistics are published once a second. */
const statsMs = 2_500;
/** Virtual time in which a coordinator's hint is durable, as in the world's run. */
const hintUsMax = 1_000_000;

/** The options of a run of processes. */
export interface ProcessRunOptions {
  readonly directory: string;
  /** Records the history of single keys, and paces their clients. */
  readonly recorder: PacedRecorder;
  readonly onPhase?: (phase: string) => void;
  readonly signal?: AbortSignal;
}

/** One process's counters at the end, beside what clients asked of it. */
export interface CountedProcess {
  readonly node: string;
  readonly life: number;
  /** `/metrics`; undefined if the node did not answer. */
  readonly metrics: string | undefined;
  readonly truth: ClientsTruth | undefined;
}

/** What came of a plan on processes. */
export interface ProcessOutcome {
  readonly load: Load;
  readonly history: History;
  readonly replicas: ReplicaEvidence;
  readonly faults: ProcessFaults;
  readonly members: readonly string[];
  readonly counted: readonly CountedProcess[];
  readonly unasked: readonly UnaskedEnd[];
  /** Ends after the request to stop that were no orderly stops. */
  readonly badStops: readonly UnaskedEnd[];
  readonly doubleStarts: ProcessCluster['doubleStarts'];
  readonly clockErrors: ClockErrors;
  /** What did not come to be in its time: a node that never served. */
  readonly unfinished: readonly string[];
  readonly failures: readonly string[];
  /** When the machine was too busy for a run in real time. */
  readonly stalls: readonly Span[];
}

/** Runs the plan. Rejects if a process cannot be started at all. */
export async function runOnProcesses(plan: Plan, options: ProcessRunOptions): Promise<ProcessOutcome> {
  const run = await ProcessRun.make(plan, options);
  try {
    await run.begin();
    await run.storm();
    await run.calm();
    if (plan.repairedBy === 'sweeps') await run.converge();
    await run.settle();
    if (plan.repairedBy === undefined) await run.converge();
    return await run.finish();
  } finally {
    await run.close();
  }
}

class ProcessRun {
  readonly #plan: Plan;
  readonly #options: ProcessRunOptions;
  readonly #world: MachineWorld;
  readonly #network: PeerProxies;
  readonly #cluster: ProcessCluster;
  readonly #wire: ClientWire;
  readonly #faults: ProcessFaults;
  readonly #load: Load;
  readonly #recorder: PacedRecorder;
  readonly #stalls: Stalls;
  readonly #unfinished: string[] = [];
  #dumps: readonly ReplicaDump[] = [];

  private constructor(
    plan: Plan,
    options: ProcessRunOptions,
    parts: {
      readonly world: MachineWorld;
      readonly network: PeerProxies;
      readonly cluster: ProcessCluster;
      readonly lines: { hear: (node: string, line: string) => void };
    },
  ) {
    this.#plan = plan;
    this.#options = options;
    this.#recorder = options.recorder;
    this.#world = parts.world;
    this.#stalls = new Stalls(() => parts.world.nowUs);
    this.#network = parts.network;
    this.#cluster = parts.cluster;
    this.#wire = new ClientWire((address) => {
      for (const node of parts.cluster.names)
        for (const port of ['http', 'pb', 'redis', 'stats'] as const)
          if (parts.cluster.address(node, port) === address)
            return { node, life: parts.cluster.host(node).lives, port };
      return undefined;
    });
    this.#world.followClients((network) => this.#wire.over(network));
    this.#faults = new ProcessFaults(parts.world, parts.cluster, parts.network, () => this.#load);
    parts.lines.hear = (node, line) => this.#faults.heard(node, line);
    const { pacing } = this.#recorder;
    // No process shows what its disk holds at the moment of an acknowledgement.
    const durable = new DurableTags();
    const ignore = (): void => undefined;
    this.#load = new Load(parts.world, parts.cluster, plan, this.#recorder, durable, ignore, pacing);
  }

  static async make(plan: Plan, options: ProcessRunOptions): Promise<ProcessRun> {
    const seed = `${seedNameOf(plan.scenario)}/${plan.seed}`;
    const world = new MachineWorld(seed, options.directory);
    const network = new PeerProxies(`${seed}/proxies`);
    const lines = { hear: (_node: string, _line: string): void => undefined };
    const cluster = await ProcessCluster.make({
      world,
      nodes: plan.nodes,
      settings: { ...ownSettings(plan), ...plan.settings },
      directory: options.directory,
      network,
      onLine: (node, line) => lines.hear(node, line),
    });
    return new ProcessRun(plan, options, { world, network, cluster, lines });
  }

  async begin(): Promise<void> {
    this.#phase('start');
    const { members } = this.#cluster;
    for (const name of members) this.#cluster.start(name);
    await this.#until(
      () => members.every((name) => this.#cluster.serves(name)) || this.#cluster.unasked.length > 0,
      startMsMax,
      'nodes serve',
    );
    const [refused] = this.#cluster.unasked;
    if (refused !== undefined) throw new Error(`${refused.node} does not start: ${refused.output.trim()}`);
    await sleep(acquaintanceMs);
    if (this.#plan.settings[typesAtRunTime] === true) {
      const made = new TypeMaker(this.#world, this.#cluster).make();
      await this.#until(() => made.over, startMsMax, 'the bucket type is made');
    }
  }

  async storm(): Promise<void> {
    this.#phase('storm');
    const startUs = this.#world.nowUs;
    this.#faults.arrange(this.#plan.faults, startUs);
    this.#load.begin(startUs);
    await this.#pass(this.#plan.stormUs / 1000);
    this.#faults.calm();
    // The clients make the operations that the world's clients made.
    await this.#until(() => this.#load.idle, lateMsMax, undefined);
  }

  async calm(): Promise<void> {
    this.#phase('calm');
    this.#load.end();
    await this.#pass(this.#plan.calmUs / 1000);
    const { members } = this.#cluster;
    await this.#until(
      () => members.every((name) => this.#cluster.serves(name)),
      startMsMax,
      'nodes serve again',
    );
  }

  async settle(): Promise<void> {
    this.#phase('settle');
    const budgetUs = this.#plan.settleUsMax;
    const endUs = this.#world.nowUs + budgetUs;
    const stopped = (): boolean => this.#world.nowUs >= endUs || this.#options.signal?.aborted === true;
    await this.#until(() => this.#load.idle, budgetUs / 1000, 'clients are idle');
    this.#load.readBack(stopped);
    this.#load.finish(
      this.#faults.wipes.map(({ node }) => node),
      stopped,
    );
    await this.#until(() => this.#load.idle, budgetUs / 1000 + 5_000, 'the last reads are answered');
  }

  async converge(): Promise<void> {
    if (!needsAny(this.#plan.floors, 'equal-replicas')) return;
    this.#phase('converge');
    const endMs = performance.now() + convergeMsMax;
    for (;;) {
      this.#options.signal?.throwIfAborted();
      this.#dumps = this.#dump();
      const isEqual = convergenceRow.check?.({ replicas: this.#replicas() })?.ok === true;
      if (isEqual || performance.now() >= endMs) return;
      await sleep(dumpEveryMs);
    }
  }

  async finish(): Promise<ProcessOutcome> {
    this.#phase('stop');
    await this.#pass(statsMs);
    const { members } = this.#cluster;
    const counted = await Promise.all(members.map((node) => this.#count(node)));
    const unasked = [...this.#cluster.unasked];
    const badStops = await this.#cluster.stopAll('SIGTERM');
    return {
      load: this.#load,
      history: this.#recorder.history,
      replicas: this.#replicas(),
      faults: this.#faults,
      members,
      counted,
      unasked,
      badStops,
      doubleStarts: this.#cluster.doubleStarts,
      clockErrors: new Map(this.#cluster.names.map((name) => [name, this.#cluster.host(name).clock.error])),
      unfinished: this.#unfinished,
      failures: this.#world.failures,
      stalls: this.#stalls.spans,
    };
  }

  /** Ends everything that still runs. */
  async close(): Promise<void> {
    this.#stalls.stop();
    this.#world.close();
    await this.#cluster.stopAll('SIGKILL');
    this.#network.close();
  }

  async #count(node: string): Promise<CountedProcess> {
    const life = this.#cluster.host(node).lives;
    const truth = this.#wire.truthOf(node, life);
    const isGuarded = this.#plan.settings['credentials'] !== undefined;
    const headers = isGuarded ? { Authorization: `Bearer ${worldTokens.admin}` } : {};
    try {
      const answer = await fetch(`http://${this.#cluster.address(node, 'stats')}/metrics`, { headers });
      return { node, life, truth, metrics: answer.ok ? await answer.text() : undefined };
    } catch {
      // The node is down; the differences say so.
      return { node, life, truth, metrics: undefined };
    }
  }

  #replicas(): ReplicaEvidence {
    const ring = this.#cluster.owners();
    const { history } = this.#recorder;
    return {
      dumps: this.#dumps,
      ownersOf: (token) => ring.placement(token as Token).map(({ node }) => node),
      inFlight: keysInFlight(history, this.#dumps[0]?.atUs ?? 0),
      deaths: this.#deaths(),
    };
  }

  /** As in the world's run: where hints alone repair, a coordinator that dies takes its knowledge with it. */
  #deaths(): HintlessDeaths {
    if (this.#plan.repairedBy === undefined) return noHintlessDeaths;
    const { members, deaths } = this.#cluster;
    const configs = members.map((name) => this.#cluster.engineConfigOf(name));
    if (configs.some(({ aaeEnabled }) => aaeEnabled)) return noHintlessDeaths;
    const patienceMs = Math.max(...configs.map(({ requestTimeoutMs }) => requestTimeoutMs));
    return new HintlessDeaths(this.#recorder.history, deaths, patienceMs * 1000 + hintUsMax, members);
  }

  #dump(): readonly ReplicaDump[] {
    return this.#cluster.members.map((node) => {
      const files = filesIn(this.#cluster.dataOf(node), 'store');
      return { node, atUs: this.#world.nowUs, values: dumpStore(files) };
    });
  }

  #phase(name: string): void {
    this.#options.signal?.throwIfAborted();
    this.#options.onPhase?.(name);
  }

  async #pass(ms: number): Promise<void> {
    await sleep(ms, undefined, this.#options.signal === undefined ? {} : { signal: this.#options.signal });
  }

  /** Waits for the goal; `wanted` names it among what did not come to be. */
  async #until(goal: () => boolean, msMax: number, wanted: string | undefined): Promise<void> {
    const endMs = performance.now() + msMax;
    while (!goal()) {
      this.#options.signal?.throwIfAborted();
      if (performance.now() >= endMs) {
        if (wanted !== undefined)
          this.#unfinished.push(`${wanted}: not within ${Math.round(msMax / 1000)} s`);
        return;
      }
      await sleep(pollMs);
    }
  }
}

/** Settings by which a node of a process differs from the world's: none that its behaviour depends on. */
function ownSettings({ faults }: Plan): Readonly<Record<string, unknown>> {
  const waits = faults.some(({ when }) => 'event' in when);
  const changes = faults.some(({ kind }) => kind === 'build-change');
  return {
    log_level: waits ? 'trace' : 'warn',
    // As in the world: a cluster whose builds change has begun with the older one.
    ...(changes ? { peer_version: messageVersions.min } : {}),
  };
}

/** The files of one directory by their path below `root`. */
function filesIn(root: string, directory: string): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  if (!existsSync(join(root, directory))) return files;
  for (const name of readdirSync(join(root, directory)).toSorted()) {
    try {
      files.set(`${directory}/${name}`, readFileSync(join(root, directory, name)));
    } catch {
      // The node has just removed it.
    }
  }
  return files;
}

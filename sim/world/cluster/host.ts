/**
 * A simulated machine and the incarnations of the process on it. The machine (its clock, its disk, its place in the
 * network) outlives them; each incarnation has ports of its own. `incarnation.ts` says what the end of one means.
 */
import { assert, present } from '../../../engine/base/assert.ts';
import type { Io } from '../../../engine/io/io.ts';
import { HostClock, IncarnationClock } from '../core/clock.ts';
import { IncarnationDisk } from '../disk/disk-port.ts';
import { HostDisk } from '../disk/disk.ts';
import type { Survival } from '../disk/file-image.ts';
import type { WorldContext } from '../core/world-context.ts';
import { IncarnationHttp } from '../http/http.ts';
import type { FaultId } from '../core/fault-log.ts';
import type { Holding } from './incarnation.ts';
import { Incarnation } from './incarnation.ts';
import { IncarnationLog } from '../core/log.ts';
import type { Machine } from '../network/machine.ts';
import type { WorldNetwork } from '../network/network.ts';
import { Tasks } from '../core/tasks.ts';
import { worldEvents } from '../core/trace.ts';
import { SpanRecorder } from './span-recorder.ts';
import { IncarnationWasmTools } from './wasm-tools.ts';

export type { Survival };

/** The clocks of a host. */
export interface HostOptions {
  /** Offset of the wall clock at the start, in milliseconds. Default 0. */
  readonly wallOffsetMs?: number;
  /** Parts per million by which both clocks run fast (or slow, below 0). Default 0. */
  readonly driftPpm?: number;
}

/** What an orderly stop left behind (`resource-bounds`). All zero and empty if nothing leaked. */
export interface Leaks {
  readonly timers: number;
  readonly connections: readonly string[];
  readonly listeners: readonly string[];
  readonly files: readonly string[];
  readonly locks: readonly string[];
  /** Tasks of `spawn` that have not ended. */
  readonly tasks: readonly string[];
}

/** Memory of an idle process, and of each thing that it holds, in bytes. */
const baseBytes = 24 * 1024 * 1024;
const bytesPer = { timer: 128, connection: 4096, file: 1024, name: 256, task: 512 } as const;

/** One simulated machine. `World.addHost` creates it. */
export class Host {
  readonly name: string;
  readonly clock: HostClock;
  readonly disk: HostDisk;
  /** The spans that the host's incarnations have ended. */
  readonly tracing = new SpanRecorder();
  readonly #ground: WorldContext;
  readonly #network: WorldNetwork;
  readonly #machine: Machine;
  #io: Io | undefined;
  #lives = 0;
  #zombieCallsBefore = 0;
  #lastLife: Incarnation | undefined;

  constructor(ground: WorldContext, network: WorldNetwork, machine: Machine, options: HostOptions) {
    this.name = machine.name;
    this.#ground = ground;
    this.#network = network;
    this.#machine = machine;
    this.clock = new HostClock(ground, machine.name, options.wallOffsetMs ?? 0, options.driftPpm ?? 0);
    this.disk = new HostDisk(ground, machine.name);
  }

  /** Whether a process runs here. */
  get alive(): boolean {
    return this.#machine.life !== undefined;
  }

  get paused(): boolean {
    return this.#machine.life?.paused === true;
  }

  /** How many incarnations have begun so far. */
  get lives(): number {
    return this.#lives;
  }

  /** Calls of dead incarnations to their ports, out of promise reactions that were still queued when they died. */
  get zombieCalls(): number {
    return this.#zombieCallsBefore + (this.#lastLife?.zombieCalls ?? 0);
  }

  /** The ports of the incarnation. Throws if there is none. */
  get io(): Io {
    return present(this.#io, `a life on ${this.name}`);
  }

  /** Begins an incarnation and returns its ports. Throws if one is alive. */
  boot(): Io {
    assert(!this.alive, `${this.name} is alive already`);
    this.#zombieCallsBefore = this.zombieCalls;
    const life = new Incarnation(this.#ground, this.name, this.#machine.index, ++this.#lives);
    this.#lastLife = life;
    this.#machine.life = life;
    this.#machine.on = true;
    this.#machine.crashed = false;
    this.#ground.trace.happened(worldEvents.hostBooted, this.#machine.index, life.number);
    this.#network.machineChanged();
    this.#io = this.#ports(life);
    return this.#io;
  }

  /**
   * `process-crash`, `power-loss`, `torn-write`, `lost-directory-entries`: the incarnation ends without notice. Its
   * ports never settle again, and calls to them do nothing.
   *
   * `silent`: the machine is off until the next boot and answers nothing, so peers keep half-open connections. `reset`:
   * the operating system survives and tells peers what it tells them about a killed process's sockets.
   */
  crash(survival: Survival, connections: 'silent' | 'reset' = 'silent'): void {
    const cause = crashFault(survival);
    this.#ground.ledger.enter(cause, this.name, 'injected');
    this.#ground.ledger.enter(cause, this.name, 'crashed');
    this.#machine.crashed = true;
    this.#machine.on = connections === 'reset';
    const life = this.#endLife('process-crash');
    this.disk.endLife(survival, cause);
    this.#ground.trace.happened(worldEvents.hostCrashed, this.#machine.index, life.number, 0, survival);
  }

  /** Ends the incarnation after an orderly stop, and reports what it left behind. */
  stop(): Leaks {
    const leaks = leaksOf(present(this.#machine.life, `a life on ${this.name}`));
    const life = this.#endLife(undefined);
    this.disk.endLife('keepAll', undefined);
    this.#ground.trace.happened(worldEvents.hostStopped, this.#machine.index, life.number);
    return leaks;
  }

  /**
   * `process-pause`: the process does not run, and what would wake it waits for `resume`. Its clocks and its kernel go
   * on.
   */
  pause(): void {
    const life = present(this.#machine.life, `a life on ${this.name}`);
    life.pause();
    this.#ground.ledger.enter('process-pause', this.name, 'injected');
    this.#ground.trace.happened(worldEvents.hostPaused, this.#machine.index, life.number);
  }

  /**
   * Delivers a request from outside the process (a signal, an operator's command); a paused process gets it when it
   * runs.
   */
  ask(act: () => void): void {
    present(this.#machine.life, `a life on ${this.name}`).whenRunning(act);
  }

  /** Ends a pause; does nothing if the process is not paused. */
  resume(): void {
    const life = present(this.#machine.life, `a life on ${this.name}`);
    if (!life.paused) return;
    const held = life.resume();
    if (held > 0) this.#ground.ledger.enter('process-pause', this.name, 'paused');
    this.#ground.trace.happened(worldEvents.hostResumed, this.#machine.index, life.number, held);
  }

  /** Counts and logs an assertion that failed in the code of the current incarnation, as the machine's ports do. */
  noteFailedAssertion({ message: detail }: Error): void {
    const life = present(this.#machine.life, `a life on ${this.name}`);
    life.failedAssertions += 1;
    this.io.log.event('error', 'assertion.failed', { detail });
  }

  #endLife(cause: FaultId | undefined): Incarnation {
    const life = present(this.#machine.life, `a life on ${this.name}`);
    this.#machine.life = undefined;
    this.#io = undefined;
    life.end();
    this.#network.endLife(life, this.#machine, cause);
    return life;
  }

  #ports(life: Incarnation): Io {
    const clock = new IncarnationClock(life, this.clock);
    const network = this.#network.door(life, this.#machine);
    const log = new IncarnationLog(life);
    const tasks = new Tasks(life, log);
    return {
      clock,
      network,
      peerNetwork: network,
      log,
      disk: new IncarnationDisk(life, this.disk),
      random: this.#ground.random.fork(`life/${this.name}/${life.number}`),
      http: new IncarnationHttp(life, network, clock, log),
      wasm: new IncarnationWasmTools(life),
      tracing: this.tracing,
      spawn: (name, task) => tasks.spawn(name, task),
      failedTasks: () => tasks.failed,
      checks: 'all',
      // The world watches for all of its nodes.
      watchAssertions: () => () => undefined,
      failedAssertions: () => life.failedAssertions,
      // No attacker listens on the world's network.
      secured: { clients: true, peers: true },
      failedHandshakes: () => ({ clients: 0, peers: 0 }),
      residentBytes: () => this.#residentBytes(life),
    };
  }

  #residentBytes(life: Incarnation): number {
    return (
      baseBytes +
      life.timers * bytesPer.timer +
      life.tasks.size * bytesPer.task +
      life.files.size * bytesPer.file +
      this.disk.nameCount * bytesPer.name +
      life.connections.size * bytesPer.connection +
      this.#network.heldBytes(life)
    );
  }
}

function crashFault(survival: Survival): FaultId {
  if (survival === 'keepAll') return 'process-crash';
  if (survival === 'namesLost') return 'lost-directory-entries';
  return survival === 'torn' ? 'torn-write' : 'power-loss';
}

function leaksOf(life: Incarnation): Leaks {
  const describe = (holdings: ReadonlySet<Holding>): string[] => [...holdings].map((one) => one.describe());
  return {
    timers: life.timers,
    connections: describe(life.connections),
    listeners: describe(life.listeners),
    files: describe(life.files),
    locks: describe(life.locks),
    tasks: life.tasks.names,
  };
}

/** Names of the resources that a stop left behind, for reports. */
export function namesOfLeaks(leaks: Leaks): readonly string[] {
  const { timers, connections, listeners, files, locks, tasks } = leaks;
  const lists = Object.entries({ connections, listeners, files, locks, tasks });
  return [
    ...(timers === 0 ? [] : [`${timers} timers`]),
    ...lists.filter(([, names]) => names.length > 0).map(([kind, names]) => `${kind}: ${names.join(' ')}`),
  ];
}

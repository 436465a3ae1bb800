/**
 * The simulated world: hosts with clocks, disks and a network between them, virtual time, and everything that can go
 * wrong, all drawn from one seed. The engine runs on it unchanged, behind the ports of `engine/io`.
 *
 *     const world = new World({ seed: 7 });
 *     const host = world.addHost('n1');
 *     const io = host.boot();                      // the ports of the first incarnation
 *     io.spawn('node', () => startNode(io));
 *     await world.run({ untilUs: 5_000_000 });     // five virtual seconds
 *     host.crash('torn');                          // a silent crash; the disk keeps what was synced, and a torn rest
 *     const leaks = other.stop();                  // an orderly stop: what did it leave behind?
 *     world.digest();                              // 64 hex digits: equal seeds, equal digests
 *
 * Rules. One world runs at a time in a thread. Everything that happens is in the digest: every delivery with its bytes,
 * every disk operation, every timer, every event of the engine's log. Between two events all promises settle, and
 * nothing but the world may wake the engine; anything else that does is a failure. Every error of an event, a task, a
 * listener or an unhandled promise is in `failures` with its virtual time and host. A crash is silent
 * (`cluster/incarnation.ts`).
 */
import { assert, onFailedAssertion, present } from '../../engine/base/assert.ts';
import { onProgramError } from '../../engine/base/errors.ts';
import type { RareBranch } from '../../engine/base/sometimes.ts';
import { onRareBranch } from '../../engine/base/sometimes.ts';
import type { LogLevel } from '../../engine/io/log.ts';
import type { Random } from '../../engine/io/random.ts';
import type { ClockUse } from '../check/program/clock-use.ts';
import { guardAmbientTime } from './core/ambient-time-guard.ts';
import { drive } from './core/driver.ts';
import type { Actor, ClockUser, WorldContext, WorldFailure } from './core/world-context.ts';
import type { HostOptions } from './cluster/host.ts';
import { Host } from './cluster/host.ts';
import { HttpClient } from './http/http-client.ts';
import { HttpWays } from './http/http-router.ts';
import { FaultLog } from './core/fault-log.ts';
import { Machines } from './network/machine.ts';
import type { Lasting } from './network/network.ts';
import { WorldNetwork } from './network/network.ts';
import { WorldRandom } from './core/random.ts';
import type { TimelineEvent } from './core/timeline.ts';
import { StandstillError, Timeline } from './core/timeline.ts';
import { Trace, worldEvents } from './core/trace.ts';
import type { TuningChange } from './core/tuning.ts';
import { tune } from './core/tuning.ts';
import type { WasmSupplies } from './cluster/wasm-supplies.ts';
import { noSupplies } from './cluster/wasm-supplies.ts';

export type { HttpClient, Lasting, WorldFailure };

/** How to create a world. */
export interface WorldOptions {
  /** Root of the names of all streams: equal seeds give equal worlds. */
  readonly seed: string | number;
  /**
   * The engine's log events below this level are neither traced nor passed to listeners; part of the run's identity.
   * Default: debug.
   */
  readonly logLevel?: LogLevel;
  /** Receives the trace as readable lines. The digest is the same with and without it. */
  readonly record?: (line: string) => void;
  /** What differs from the default tuning: latencies, windows, chances of small disturbances. */
  readonly tuning?: TuningChange;
  /** Files of Wasm modules, and a compiler of their texts. Default: none. */
  readonly wasm?: WasmSupplies;
}

/** A scheduled action that can be cancelled. */
export interface Appointment {
  cancel(): void;
}

/** Why a run ended. `reached`: the goal was reached; `exhausted`: the budget is spent; `quiet`: no event is left. */
export type RunEnd = 'reached' | 'exhausted' | 'quiet';

/** One simulated world. */
export class World {
  /** The run's own streams: fork by name (`world.random.fork('load')`). */
  readonly random: Random;
  readonly trace: Trace;
  readonly ledger = new FaultLog();
  readonly network: WorldNetwork;
  readonly #timeline = new Timeline();
  readonly #machines = new Machines();
  readonly #hosts: Host[] = [];
  readonly #failures: WorldFailure[] = [];
  readonly #rareBranches = new Set<RareBranch>();
  readonly #ground: WorldGround;
  #running = false;
  #endHost: (host: string) => void = () => undefined;
  #failingHost: string | undefined;

  constructor(options: WorldOptions) {
    const random = WorldRandom.root(options.seed);
    this.trace = new Trace(
      () => this.#timeline.nowUs,
      options.record,
      (name, error) => this.#fail('', `listener of ${name}`, error),
    );
    this.random = random.fork('run');
    this.#ground = new WorldGround(this.#timeline, this.trace, this.ledger, random, options, (...failure) =>
      this.#fail(...failure),
    );
    this.network = new WorldNetwork(this.#ground, this.#machines);
  }

  /** Virtual time since the world's beginning, in whole microseconds. */
  get nowUs(): number {
    return this.#timeline.nowUs;
  }

  /** How many events have been taken from the agenda. */
  get eventCount(): number {
    return this.#timeline.count;
  }

  /**
   * How many of them ran code of an incarnation on one of these hosts; the others are waiting packets and the runner's
   * events.
   */
  eventCountOf(hosts: readonly string[]): number {
    const lives = this.#ground.lives.filter(({ host }) => hosts.includes(host));
    return lives.reduce((count, life) => count + life.eventCount, 0);
  }

  /** How many timers all incarnations on these hosts have set so far, and how often they have read their clocks. */
  clockCallsOf(hosts: readonly string[]): { readonly timersSet: number; readonly readings: number } {
    const lives = this.#ground.lives.filter(({ host }) => hosts.includes(host));
    const timersSet = lives.reduce((count, life) => count + life.timersSet, 0);
    return { timersSet, readings: lives.reduce((count, life) => count + life.clockReadings, 0) };
  }

  /** Errors that no code handled, in order. Every one is a bug. */
  get failures(): readonly WorldFailure[] {
    return this.#failures;
  }

  /** The rare branches that code of living incarnations has taken (engine/base/sometimes.ts). */
  get rareBranches(): ReadonlySet<RareBranch> {
    return this.#rareBranches;
  }

  get hosts(): readonly Host[] {
    return this.#hosts;
  }

  /**
   * Calls `end` with the name of a host as soon as an assertion of the engine has failed in its code: `end` ends its
   * process. The failure is in `failures` either way.
   */
  onFailedAssertion(end: (host: string) => void): void {
    this.#endHost = end;
  }

  /**
   * Adds a machine, switched off: `boot` it. Its name is its name in addresses (`n1:8101`), beside an address
   * `10.x.y.z`.
   */
  addHost(name: string, options: HostOptions = {}): Host {
    const machine = this.#machines.add(name);
    this.trace.addHost(name);
    const host = new Host(this.#ground, this.network, machine, options);
    this.#hosts.push(host);
    return host;
  }

  /** Throws if there is no host of that name. */
  mustGetHost(name: string): Host {
    return present(
      this.#hosts.find((host) => host.name === name),
      `the host ${name}`,
    );
  }

  /** Calls `act` at an instant (now, if it has passed), as an event of the world's own. `name` goes to the trace. */
  at(atUs: number, name: string, act: () => void): Appointment {
    const event: TimelineEvent = {
      owner: undefined,
      happen: () => {
        this.#ground.leave();
        this.trace.happened(worldEvents.worldActed, -1, 0, 0, name);
        act();
        return true;
      },
    };
    const ticket = this.#timeline.schedule(Math.ceil(atUs), event);
    return { cancel: () => this.#timeline.cancel(ticket) };
  }

  /** As `at`, `delayUs` from now. */
  after(delayUs: number, name: string, act: () => void): Appointment {
    return this.at(this.nowUs + delayUs, name, act);
  }

  /**
   * Lets time pass up to and including `untilUs`; resolves when no event before that is left. Only one run at a time.
   */
  async run({ untilUs }: { readonly untilUs: number }): Promise<void> {
    await this.#drive(untilUs, () => false);
  }

  /** Lets time pass until the promise is settled (either way), or the condition holds (checked after every event). */
  async runUntil(goal: Promise<unknown> | (() => boolean), budgetUs: number): Promise<RunEnd> {
    const reached = typeof goal === 'function' ? goal : settlingOf(goal);
    const untilUs = this.nowUs + budgetUs;
    await this.#drive(untilUs, reached);
    if (reached()) return 'reached';
    return this.#timeline.nextUs === Infinity ? 'quiet' : 'exhausted';
  }

  /**
   * A client of HTTP listeners whose connections begin at a live host; it belongs to the host's current incarnation.
   */
  httpClient(host: Host, token?: string): HttpClient {
    return new HttpClient(host.io, token);
  }

  /** SHA-256 over everything that has happened, 64 hex digits. May be called at any time. */
  digest(): string {
    return this.trace.hex();
  }

  async #drive(untilUs: number, reached: () => boolean): Promise<void> {
    assert(!this.#running, 'a world runs once at a time');
    this.#running = true;
    const unguard = guardAmbientTime((name) => this.#machineCalled(name));
    const unlisten = onFailedAssertion((error) => this.#assertionFailed(error));
    const unwatchErrors = onProgramError((error) => this.#programFailed(error));
    const unfollow = onRareBranch((name) => {
      if (this.#ground.actor?.alive === true) this.#rareBranches.add(name);
    });
    try {
      await drive({
        step: () => !reached() && this.#step(untilUs),
        outside: (is) => (this.#ground.outside = is),
        unhandled: (reason) => this.#unhandled(reason),
      });
    } finally {
      unguard();
      unlisten();
      unwatchErrors();
      unfollow();
      this.#ground.outside = false;
      this.#ground.leave();
      this.#running = false;
    }
  }

  /** Every incarnation so far, and how it used clocks. */
  clockUses(): readonly ClockUse[] {
    return this.#ground.lives.map(({ host, number, clockReadings, machineCalls, firstCallUs }) => ({
      node: host,
      life: number,
      readings: clockReadings,
      machineCalls: [...machineCalls],
      firstCallUs,
    }));
  }

  #machineCalled(name: string): void {
    const { actor } = this.#ground;
    if (actor === undefined) return;
    actor.machineCalls.add(name);
    actor.firstCallUs ??= this.nowUs;
  }

  #step(untilUs: number): boolean {
    this.#ground.leave();
    try {
      const ran = this.#timeline.step(untilUs);
      if (ran && this.#ground.actor !== undefined) this.#ground.actor.eventCount += 1;
      return ran;
    } catch (error) {
      const { actor } = this.#ground;
      // Errors of an incarnation that died in the middle of the event do not count.
      if (actor?.alive === false && !(error instanceof StandstillError)) return true;
      this.#fail(actor?.host ?? '', 'event', error);
      // The run goes on, to show the consequences; but not if time itself stands still.
      return !(error instanceof StandstillError);
    }
  }

  #unhandled(reason: unknown): void {
    const { actor } = this.#ground;
    // Rejections of an incarnation that died in the middle of an event do not count.
    if (actor?.alive === false) return;
    this.#fail(actor?.host ?? '', 'promise', reason);
  }

  /** Ends the process whose code contradicted itself. The world's own code fails as an event does. */
  #assertionFailed(error: Error): void {
    const { actor } = this.#ground;
    if (actor?.alive !== true || this.#failingHost !== undefined) return;
    // Counters that are read at the end of an incarnation may contradict themselves, too.
    this.#failingHost = actor.host;
    this.#fail(actor.host, 'assertion', error);
    this.mustGetHost(actor.host).noteFailedAssertion(error);
    this.#endHost(actor.host);
    this.#failingHost = undefined;
  }

  /** A node answers a bug of its program as an error. It goes on, as it would on a machine. */
  #programFailed(error: Error): void {
    const { actor } = this.#ground;
    if (actor?.alive === true) this.#fail(actor.host, 'answered as Internal', error);
  }

  #fail(host: string, what: string, error: unknown): void {
    this.#failures.push({ atUs: this.nowUs, host, what, error });
  }
}

class WorldGround implements WorldContext {
  readonly timeline: Timeline;
  readonly trace: Trace;
  readonly ledger: FaultLog;
  readonly random: WorldRandom;
  readonly tuning: WorldContext['tuning'];
  readonly logLevel: LogLevel;
  readonly wasm: WasmSupplies;
  readonly httpWays = new HttpWays();
  readonly fail: WorldContext['fail'];
  outside = false;
  readonly lives: ClockUser[] = [];
  #actor: Actor | undefined;

  constructor(
    timeline: Timeline,
    trace: Trace,
    ledger: FaultLog,
    random: WorldRandom,
    options: WorldOptions,
    fail: WorldContext['fail'],
  ) {
    this.timeline = timeline;
    this.trace = trace;
    this.ledger = ledger;
    this.random = random;
    this.tuning = tune(options.tuning);
    this.logLevel = options.logLevel ?? 'debug';
    this.wasm = options.wasm ?? noSupplies;
    this.fail = fail;
  }

  /** The incarnation whose code runs; undefined for the world's own events. */
  get actor(): Actor | undefined {
    return this.#actor;
  }

  begin(life: ClockUser): void {
    this.lives.push(life);
  }

  enter(actor: Actor): void {
    this.#actor = actor;
  }

  leave(): void {
    this.#actor = undefined;
  }
}

/** Whether a promise is settled, either way. */
function settlingOf(goal: Promise<unknown>): () => boolean {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  void goal.then(settle, settle);
  return () => settled;
}

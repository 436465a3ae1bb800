/**
 * Injects a plan's faults: schedules each for its moment, counts those that struck, and undoes everything at the calm.
 * A fault that finds nothing to strike (a crash of a node that is down) is skipped and not counted; `missed` lists such
 * faults with the reason.
 */
import { present } from '../../engine/base/assert.ts';
import type { DetectorDisturbance } from '../check/failure-detector.ts';
import type { StandbyPeriod } from '../check/standby.ts';
import type { Wipe } from '../check/transactions.ts';
import type { SnapshotTamper } from '../check/snapshot-rejection.ts';
import type { DiskFaultKind } from './kinds/disk-fault-kinds.ts';
import type { SnapshotFaultKind } from './kinds/snapshot-fault-kinds.ts';
import type { FaultKind, ReturnMode } from './kinds/fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { WasmFault } from './kinds/wasm-fault-kinds.ts';
import type { HostClock } from '../world/core/clock.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { Host, Survival } from '../world/cluster/host.ts';
import type { Claim } from '../world/cluster/impostors.ts';
import type { Appointment, World } from '../world/world.ts';
import type { ClockFault } from './clock-faults.ts';
import { injectClockFault, isClockFault } from './clock-faults.ts';
import type { ForeignStart } from './disk-faults.ts';
import { DiskStrikes, isDiskFault } from './disk-faults.ts';
import { Returns } from './restart-faults.ts';
import { StandbyFaults } from './standby-faults.ts';
import type { NetworkFault } from './network-faults.ts';
import { injectNetworkFault, isNetworkFault, isNetworkFaultKind } from './network-faults.ts';
import type { MissedFault } from '../runner/result.ts';
import type { ModuleWork } from './wasm-faults.ts';
import { isWasmFault } from './wasm-faults.ts';
import type { ClientFault } from './kinds/client-fault-kinds.ts';
import type { ClientPlanFault } from './client-faults.ts';
import { isClientFault } from './client-faults.ts';
import type { SnapshotFault } from './snapshot-faults.ts';
import { SnapshotFaults, isSnapshotFault } from './snapshot-faults.ts';
import type { Stage } from './fault-context.ts';

/** The kinds that this module injects itself; the modules beside it inject the others. */
type OwnKind = Exclude<
  FaultKind,
  NetworkFault['kind'] | ClockFault['kind'] | DiskFaultKind | SnapshotFaultKind | WasmFault | ClientFault
>;

/** How long a node's supervisor waits after a refused start before it starts the node again, in microseconds. */
const retryUs = 300_000;

/** Injects the faults of one run. */
export class Faults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #modules: ModuleWork;
  readonly #byClients: (fault: ClientPlanFault) => boolean;
  readonly #appointments: Appointment[] = [];
  readonly #struck = new Map<FaultKind, number>();
  /** The faults that have not struck, in the plan's order. */
  readonly #missed = new Map<PlanFault, MissedFault['why']>();
  readonly #snapshots: SnapshotFaults;
  readonly #disturbances: DetectorDisturbance[] = [];
  readonly #stage: Stage;
  readonly #disks: DiskStrikes;
  readonly #returns: Returns;
  readonly #standbys: StandbyFaults;
  /** Clocks that a fault has touched. */
  readonly #clocks = new Set<HostClock>();
  #calm = false;

  /**
   * `onAltered` receives a snapshot in which a leaf was altered under a valid checksum (`leaf-corruption`). `byClients`
   * injects the faults that clients cause; it returns false if there was nothing to strike.
   */
  constructor(
    world: World,
    cluster: Cluster,
    modules: ModuleWork,
    onAltered: (node: string, bytes: Buffer) => void,
    byClients: (fault: ClientPlanFault) => boolean,
  ) {
    this.#byClients = byClients;
    this.#modules = modules;
    this.#world = world;
    this.#cluster = cluster;
    this.#stage = {
      world,
      cluster,
      later: (delayUs, label, act) => void this.#appointments.push(world.after(delayUs, label, act)),
      last: ({ forUs, id }, ...lasting) => {
        const lift = (): void => lasting.forEach((one) => one.lift());
        this.#appointments.push(world.after(forUs, `heal ${id}`, lift));
      },
      others: ({ targets }) => cluster.names.filter((name) => !targets.includes(name)),
    };
    this.#returns = new Returns(world, cluster);
    this.#standbys = new StandbyFaults(world, cluster);
    this.#disks = new DiskStrikes(this.#stage, {
      calm: () => this.#calm,
      crash: (fault, survival, meanwhile) => this.#crash(fault, survival, 'silent', meanwhile),
    });
    cluster.onStartRefused(({ node }) => this.#startLater(node));
    this.#snapshots = new SnapshotFaults(this.#stage, onAltered);
  }

  /** How many faults struck, by kind. */
  get struck(): Readonly<Partial<Record<FaultKind, number>>> {
    return Object.fromEntries(this.#struck);
  }

  /** The plan's faults that did not take place, with the reason. */
  get missed(): readonly MissedFault[] {
    return [...this.#missed].map(([{ id, kind, targets }, why]) => ({ id, kind, targets, why }));
  }

  /** Disturbances that a failure detector may notice. Crashes and pauses are missing: the trace holds those. */
  get troubles(): readonly DetectorDisturbance[] {
    return this.#disturbances;
  }

  /** What was done to snapshots of hash trees. */
  get tampers(): readonly SnapshotTamper[] {
    return this.#snapshots.tampers;
  }

  /** Disks that were replaced by empty ones. */
  get wipes(): readonly Wipe[] {
    return this.#disks.wipes;
  }

  /**
   * Starts that must be refused: on another node's disk (`foreign-disk`), and on a node's own disk after it left
   * (`removed-node-restart`).
   */
  get foreignStarts(): readonly ForeignStart[] {
    return [...this.#disks.foreignStarts, ...this.#returns.starts];
  }

  /** When nodes were in STANDBY. */
  get standbyPeriods(): readonly StandbyPeriod[] {
    return this.#standbys.periods;
  }

  /** Schedules the faults. Their instants count from `startUs`. */
  arrange(faults: readonly PlanFault[], startUs: number): void {
    for (const fault of faults) {
      const { when } = fault;
      this.#missed.set(fault, 'its moment did not come');
      const strike = (): void => this.#strike(fault);
      if ('atUs' in when) {
        this.#appointments.push(this.#world.at(startUs + when.atUs, `fault ${fault.id}`, strike));
      } else {
        this.#appointments.push(this.#afterNth(fault.id, when, strike));
      }
    }
  }

  /**
   * Ends the storm: cancels pending faults, heals the network, clocks and disks, and starts every member that is down.
   */
  calm(): void {
    this.#calm = true;
    for (const appointment of this.#appointments) appointment.cancel();
    this.#world.network.heal();
    this.#cluster.impostors.dismiss();
    for (const clock of this.#clocks) clock.heal();
    this.#disks.heal();
    for (const name of this.#cluster.members) {
      resume(this.#cluster.host(name));
      this.#cluster.start(name);
    }
    this.#standbys.calm();
  }

  #afterNth(
    id: string,
    when: { readonly event: string; readonly host: string; readonly nth: number; readonly delayUs: number },
    strike: () => void,
  ): Appointment {
    let seen = 0;
    return this.#world.trace.on(when.event, (event) => {
      if (event.host !== when.host) return;
      seen += 1;
      if (seen === when.nth) this.#appointments.push(this.#world.after(when.delayUs, `fault ${id}`, strike));
    });
  }

  #strike(fault: PlanFault): void {
    if (this.#calm) return;
    if (!this.#inject(fault)) {
      this.#missed.set(fault, 'there was nothing to strike');
      return;
    }
    this.#missed.delete(fault);
    // `Load.givenUp` counts these when the client really gives up its request.
    if (fault.kind === 'immediate-retry' || fault.kind === 'client-disconnect') return;
    this.#struck.set(fault.kind, (this.#struck.get(fault.kind) ?? 0) + 1);
    this.#disturbances.push(...disturbancesOf(fault, this.#world.nowUs));
  }

  /** Injects one fault. Returns false if there was nothing to strike. */
  #inject(fault: PlanFault): boolean {
    if (isNetworkFault(fault)) return injectNetworkFault(fault, this.#stage);
    if (isClientFault(fault)) return this.#byClients(fault);
    const name = present(fault.targets[0], 'the node to strike');
    if (isClockFault(fault)) {
      const { clock } = this.#cluster.host(name);
      this.#clocks.add(clock);
      injectClockFault(fault, clock, this.#stage);
      return true;
    }
    if (isDiskFault(fault)) return this.#disks.inject(fault, name);
    if (isWasmFault(fault)) return this.#modules.inject(fault, name);
    if (isSnapshotFault(fault)) return this.#tamper(fault, name);
    switch (fault.kind as OwnKind) {
      case 'wrong-identity':
        this.#cluster.impose(fault.id, name, fault.params['claim'] as Claim);
        return true;
      case 'process-crash':
        return this.#crash(fault, 'keepAll', 'reset');
      case 'process-pause':
        return this.#pause(fault);
      case 'cpu-starvation':
      case 'node-flapping':
        this.#stutter(fault, name, this.#world.nowUs + fault.forUs);
        return true;
      case 'graceful-restart':
        return this.#restart(fault);
      case 'double-start':
        return this.#cluster.startTwice(name);
      case 'permanent-node-loss':
        return this.#cluster.lose(name);
      case 'membership-change':
        return this.#cluster.change(name);
      case 'removed-node-restart':
        return this.#returns.strike(name, fault.params['join'] as ReturnMode);
      case 'node-standby':
        this.#stage.later(fault.forUs, `return ${fault.id}`, () => this.#standbys.return(name));
        return this.#standbys.strike(name);
      case 'seeds-down':
        return this.#bootWithoutSeeds(fault);
      case 'failure-domain-outage':
        return this.#loseAll(fault);
      case 'power-loss':
        return this.#crash(fault, fault.params['keeps'] === 'some' ? 'subset' : 'dropAll', 'silent');
      case 'torn-write':
        return this.#crash(fault, 'torn', 'silent');
    }
  }

  /** Pauses the node for `awayMs` and resumes it for `hereMs`, in turn, until `endUs`. */
  #stutter(fault: PlanFault, name: string, endUs: number): void {
    const host = this.#cluster.host(name);
    if (this.#world.nowUs >= endUs) return;
    if (host.alive && !host.paused) host.pause();
    this.#stage.later(Number(fault.params['awayMs']) * 1000, `here ${fault.id}`, () => {
      resume(host);
      const again = (): void => this.#stutter(fault, name, endUs);
      this.#stage.later(Number(fault.params['hereMs']) * 1000, `away ${fault.id}`, again);
    });
  }

  /** Crashes all members. The targets start at once and alone, the others when the fault is over. */
  #bootWithoutSeeds(fault: PlanFault): boolean {
    const { members } = this.#cluster;
    for (const name of members) this.#cluster.crash(name, 'keepAll', 'silent');
    for (const name of fault.targets) this.#cluster.start(name);
    this.#stage.later(fault.forUs, `boot ${fault.id}`, () => {
      for (const name of members) this.#cluster.start(name);
    });
    return true;
  }

  #loseAll(fault: PlanFault): boolean {
    const survival = fault.params['keeps'] === 'synced' ? 'dropAll' : 'keepAll';
    for (const name of fault.targets) this.#cluster.crash(name, survival, 'silent');
    this.#stage.later(fault.forUs, `return ${fault.id}`, () => {
      for (const name of fault.targets) this.#cluster.start(name);
    });
    return true;
  }

  #crash(
    fault: PlanFault,
    survival: Survival,
    connections: 'silent' | 'reset',
    meanwhile: (disk: Host['disk']) => void = () => undefined,
  ): boolean {
    const name = present(fault.targets[0], 'the node to crash');
    if (!this.#cluster.isUp(name) || this.#disks.isForeign(name)) return false;
    const isMember = (): boolean => this.#cluster.members.includes(name);
    const wasMember = isMember();
    this.#cluster.crash(name, survival, connections);
    meanwhile(this.#cluster.host(name).disk);
    this.#appointments.push(
      this.#world.after(fault.forUs, `restart ${fault.id}`, () => {
        // The node may have been lost for good in the meantime.
        if (isMember() || !wasMember) this.#cluster.start(name);
      }),
    );
    return true;
  }

  /** Retries a refused start, unless another node's disk is mounted. */
  #startLater(name: string): void {
    this.#world.after(retryUs, `start ${name} again`, () => {
      if (this.#cluster.members.includes(name) && !this.#disks.isForeign(name)) this.#cluster.start(name);
    });
  }

  #pause(fault: PlanFault): boolean {
    const name = present(fault.targets[0], 'the node to pause');
    const host = this.#cluster.host(name);
    if (!host.alive || host.paused) return false;
    host.pause();
    this.#appointments.push(this.#world.after(fault.forUs, `resume ${fault.id}`, () => resume(host)));
    return true;
  }

  #restart(fault: PlanFault, meanwhile: (name: string) => void = () => undefined): boolean {
    const name = present(fault.targets[0], 'the node to restart');
    return this.#cluster.beginStop(name, () => {
      meanwhile(name);
      if (this.#calm) this.#cluster.start(name);
      else {
        const start = (): void => this.#cluster.start(name);
        this.#appointments.push(this.#world.after(fault.forUs, `restart ${fault.id}`, start));
      }
    });
  }

  /** Stops the node in order, alters its snapshot while it is down, and starts it again. */
  #tamper(fault: SnapshotFault, name: string): boolean {
    if (fault.kind !== 'stale-snapshot')
      return this.#restart(fault, (node) => this.#snapshots.strike(node, fault));
    const kept = this.#snapshots.keep(name);
    this.#stage.later(Number(fault.params['ageMs']) * 1000, `put back ${fault.id}`, () => {
      this.#restart(fault, (node) => this.#snapshots.strike(node, fault, kept));
    });
    return kept !== undefined;
  }
}

function resume(host: Host): void {
  if (host.alive) host.resume();
}

/**
 * Whom the fault disturbs as failure detectors see it: a fault of the network all nodes (`node` is ''), one of a link
 * its two ends, a late timer its node.
 */
function disturbancesOf(
  { kind, targets, forUs, params }: PlanFault,
  fromUs: number,
): readonly DetectorDisturbance[] {
  const toUs = fromUs + forUs;
  if (kind === 'network-delay' || kind === 'connection-reset' || kind === 'half-open-connection') {
    return targets.map((node) => ({ node, fromUs, toUs, away: false }));
  }
  // No peer talks to the removed node.
  if (kind === 'removed-node-restart' && params['join'] !== 'anew')
    return targets.map((node) => ({ node, fromUs, toUs: Infinity, away: false }));
  if (kind === 'timer-jitter') return targets.map((node) => ({ node, fromUs, toUs, away: false }));
  if (!isNetworkFaultKind(kind)) return [];
  const steps = targets.length * Number(params['stepMs'] ?? 0) * 1000;
  return [{ node: '', fromUs, toUs: toUs + 2 * steps, away: false }];
}

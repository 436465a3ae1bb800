/**
 * Runs a plan's faults: schedules each for its moment, lets its row strike, counts those that struck, and undoes
 * everything at the calm. A fault that finds nothing to strike (a crash of a node that is down) is skipped and not
 * counted; `missed` lists such faults with the reason.
 */
import type { DetectorDisturbance } from '../check/cluster/failure-detector.ts';
import type { SnapshotTamper } from '../check/anti-entropy/snapshot-rejection.ts';
import type { StandbyPeriod } from '../check/cluster/standby.ts';
import type { Wipe } from '../check/transactions/transactions.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { MissedFault } from '../runner/result.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { Host, Survival } from '../world/cluster/host.ts';
import type { Appointment, World } from '../world/world.ts';
import { diskFaultsOf } from './disk.ts';
import type { ClientActs, FaultContext, ForeignStart, ModuleActs, OperatorActs } from './fault-context.ts';
import { resume } from './fault-context.ts';
import type { Fault } from './fault.ts';
import { targetOf } from './fault.ts';
import type { FaultKind } from './fault-table.ts';
import { faultKinds } from './fault-table.ts';
import { removedRestarts, standbyFaults } from './membership.ts';
import { snapshotFaultsOf } from './snapshot.ts';

/** How long a node's supervisor waits after a refused start before it starts the node again, in microseconds. */
const retryUs = 300_000;

/** Injects the faults of one run. */
export class Faults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #appointments: Appointment[] = [];
  readonly #struck = new Map<FaultKind, number>();
  /** The faults that have not struck, in the plan's order. */
  readonly #missed = new Map<PlanFault, MissedFault['why']>();
  readonly #disturbances: DetectorDisturbance[] = [];
  readonly #context: FaultContext;
  readonly #states = new Map<unknown, unknown>();
  /** What is healed at the calm: clocks that a fault has touched. */
  readonly #patients = new Set<{ heal(): void }>();
  #calm = false;
  #onStruck: (fault: PlanFault) => void = () => undefined;

  /** `onAlteredLeaf` receives a snapshot in which a leaf was altered under a valid checksum (`leaf-corruption`). */
  constructor(
    world: World,
    cluster: Cluster,
    modules: ModuleActs,
    operators: OperatorActs,
    clients: () => ClientActs,
    onAlteredLeaf: (node: string, bytes: Buffer) => void,
  ) {
    this.#world = world;
    this.#cluster = cluster;
    this.#context = {
      world,
      cluster,
      get clients() {
        return clients();
      },
      modules,
      operators,
      isCalm: () => this.#calm,
      later: (delayUs, label, act) => void this.#appointments.push(world.after(delayUs, label, act)),
      last: ({ forUs, id }, ...lasting) => {
        const lift = (): void => lasting.forEach((one) => one.lift());
        this.#appointments.push(world.after(forUs, `heal ${id}`, lift));
      },
      others: ({ targets }) => cluster.names.filter((name) => !targets.includes(name)),
      crash: (fault, survival, connections, meanwhile) =>
        this.#crash(fault, survival, connections, meanwhile),
      restart: (fault, meanwhile) => this.#restart(fault, meanwhile),
      healAtCalm: (patient) => void this.#patients.add(patient),
      onAlteredLeaf,
      state: (make) => this.#state(make),
    };
    // These follow the run from its start.
    this.#state(removedRestarts);
    this.#state(standbyFaults);
    this.#state(diskFaultsOf);
    cluster.onStartRefused(({ node, code }) => this.#startLater(node, code));
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
    return [...this.#disturbances, ...this.#context.operators.disturbances];
  }

  /** What was done to snapshots of hash trees. */
  get tampers(): readonly SnapshotTamper[] {
    return this.#state(snapshotFaultsOf).tampers;
  }

  /** Disks that were replaced by empty ones. */
  get wipes(): readonly Wipe[] {
    return this.#state(diskFaultsOf).wipes;
  }

  /**
   * Starts that must be refused: on another node's disk (`foreign-disk`), and on a node's own disk after it left
   * (`removed-node-restart`).
   */
  get foreignStarts(): readonly ForeignStart[] {
    return [...this.#state(diskFaultsOf).foreignStarts, ...this.#state(removedRestarts).starts];
  }

  /** When nodes were in STANDBY. */
  get standbyPeriods(): readonly StandbyPeriod[] {
    return this.#state(standbyFaults).periods;
  }

  /** Calls the listener with every fault that has struck, except those that clients carry out. */
  onStruck(listener: (fault: PlanFault) => void): void {
    this.#onStruck = listener;
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
    for (const patient of this.#patients) patient.heal();
    this.#state(diskFaultsOf).heal();
    this.#context.operators.calm();
    for (const name of this.#cluster.members) {
      resume(this.#cluster.host(name));
      this.#cluster.start(name);
    }
    this.#state(standbyFaults).calm();
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
    const row = faultKinds[fault.kind];
    if (!this.#hasHosts(fault) || !row.strike(fault, this.#context)) {
      this.#missed.set(fault, 'there was nothing to strike');
      return;
    }
    this.#missed.delete(fault);
    if (row.countedByClients === true) return;
    this.#struck.set(fault.kind, (this.#struck.get(fault.kind) ?? 0) + 1);
    this.#disturbances.push(...(row.disturbs?.(fault, this.#world.nowUs) ?? []));
    this.#onStruck(fault);
  }

  /** The author of a plan may aim a fault at the network of a client that its load does not have. */
  #hasHosts({ kind, targets }: PlanFault): boolean {
    const { aim } = faultKinds[kind];
    if (aim !== 'link' && aim !== 'side') return true;
    return targets.every((target) => this.#world.hosts.some(({ name }) => name === target));
  }

  #state<State>(make: (context: FaultContext) => State): State {
    if (!this.#states.has(make)) this.#states.set(make, make(this.#context));
    return this.#states.get(make) as State;
  }

  #crash(
    fault: Fault,
    survival: Survival,
    connections: 'silent' | 'reset',
    meanwhile: (disk: Host['disk']) => void = () => undefined,
  ): boolean {
    const name = targetOf(fault);
    if (!this.#cluster.isUp(name) || this.#state(diskFaultsOf).isForeign(name)) return false;
    this.#cluster.crash(name, survival, connections);
    meanwhile(this.#cluster.host(name).disk);
    this.#appointments.push(
      this.#world.after(fault.forUs, `restart ${fault.id}`, () => {
        this.#cluster.start(name);
      }),
    );
    return true;
  }

  /** Retries a refused start, unless another node's disk is mounted. */
  #startLater(name: string, code: string): void {
    this.#world.after(retryUs, `start ${name} again`, () => {
      const disks = this.#state(diskFaultsOf);
      if (!this.#cluster.members.includes(name) || disks.isForeign(name)) return;
      if (code === 'Corrupted' && !this.#cluster.isUp(name)) disks.moveAway(name);
      this.#cluster.start(name);
    });
  }

  #restart(fault: Fault, meanwhile: (name: string) => void = () => undefined): boolean {
    const name = targetOf(fault);
    return this.#cluster.beginStop(name, () => {
      meanwhile(name);
      if (this.#calm) this.#cluster.start(name);
      else {
        const start = (): void => this.#cluster.start(name);
        this.#appointments.push(this.#world.after(fault.forUs, `restart ${fault.id}`, start));
      }
    });
  }
}

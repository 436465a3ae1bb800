/**
 * Acts out a plan's faults: arranges each for its moment, counts those that struck, and at the calm undoes everything.
 * A fault that finds nothing to strike (a crash of a node that is down) is passed over and not counted.
 */
import { present } from '../../engine/base/assert.ts';
import { snapshotPath } from '../../engine/aae/snapshot.ts';
import type { SnapshotFlip } from '../check/snapshot-rejection.ts';
import type { FaultKind } from '../plan/fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { Cluster } from '../world/cluster.ts';
import type { Host, Survival } from '../world/host.ts';
import type { Latency } from '../world/latency.ts';
import type { Appointment, Lasting, World } from '../world/world.ts';

export class Faults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #appointments: Appointment[] = [];
  readonly #struck = new Map<FaultKind, number>();
  readonly #flips: SnapshotFlip[] = [];
  #calm = false;

  constructor(world: World, cluster: Cluster) {
    this.#world = world;
    this.#cluster = cluster;
  }

  /** Faults that struck, by kind. */
  get struck(): Readonly<Partial<Record<FaultKind, number>>> {
    return Object.fromEntries(this.#struck);
  }

  /** Bits flipped in snapshots (FS1). */
  get flips(): readonly SnapshotFlip[] {
    return this.#flips;
  }

  /** Arranges the faults; their instants count from `startUs`. */
  arrange(faults: readonly PlanFault[], startUs: number): void {
    for (const fault of faults) {
      const { when } = fault;
      const strike = (): void => this.#strike(fault);
      if ('atUs' in when) {
        this.#appointments.push(this.#world.at(startUs + when.atUs, `fault ${fault.id}`, strike));
      } else {
        this.#appointments.push(this.#afterNth(fault.id, when, strike));
      }
    }
  }

  /** No fault strikes any more; the network and the disks are healed, and every node that is down is started. */
  calm(): void {
    this.#calm = true;
    for (const appointment of this.#appointments) appointment.cancel();
    this.#world.network.heal();
    for (const name of this.#cluster.members) {
      this.#cluster.host(name).disk.heal();
      resume(this.#cluster.host(name));
      this.#cluster.start(name);
    }
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
    if (this.#calm || !this.#inject(fault)) return;
    this.#struck.set(fault.kind, (this.#struck.get(fault.kind) ?? 0) + 1);
  }

  /** False: there was nothing to strike. */
  #inject(fault: PlanFault): boolean {
    const { network } = this.#world;
    const [first, second] = fault.targets;
    switch (fault.kind) {
      case 'FN1': {
        const [left, right] = linkOf(first, second);
        const latency = latencyOf(fault);
        this.#last(fault, network.slow([left], [right], latency), network.slow([right], [left], latency));
        return true;
      }
      case 'FN8':
        this.#last(fault, network.partition(fault.targets, this.#others(fault)));
        return true;
      case 'FN9': {
        const [from, to] =
          fault.params['direction'] === 'deaf'
            ? [this.#others(fault), fault.targets]
            : [fault.targets, this.#others(fault)];
        this.#last(fault, network.partitionOneWay(from, to));
        return true;
      }
      case 'FN11':
        return network.reset(...linkOf(first, second)) > 0;
      case 'FP1':
        return this.#crash(fault, 'keepAll', 'reset');
      case 'FP4':
        return this.#pause(fault);
      case 'FP7':
        return this.#restart(fault);
      case 'FS1':
        return this.#restart(fault, (name) => this.#rotSnapshot(name, fault));
      case 'FM1':
        return this.#cluster.change(present(fault.targets[0], 'the node to move'));
      case 'FD6':
        return this.#crash(fault, fault.params['keeps'] === 'some' ? 'subset' : 'dropAll', 'silent');
      case 'FD7':
        return this.#crash(fault, 'torn', 'silent');
    }
  }

  #crash(fault: PlanFault, survival: Survival, connections: 'silent' | 'reset'): boolean {
    const name = present(fault.targets[0], 'the node to crash');
    if (!this.#cluster.isUp(name)) return false;
    this.#cluster.crash(name, survival, connections);
    this.#appointments.push(
      this.#world.after(fault.forUs, `restart ${fault.id}`, () => this.#cluster.start(name)),
    );
    return true;
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

  /** Nothing when no snapshot has been saved yet. */
  #rotSnapshot(node: string, { params }: PlanFault): void {
    const { disk } = this.#cluster.host(node);
    const bytes = disk.durableFiles().get(snapshotPath)?.length ?? 0;
    const offset = Math.floor((bytes * Number(params['permille'])) / 1000);
    if (bytes > 0 && disk.rot(snapshotPath, offset, Number(params['bit']))) {
      this.#flips.push({ node, atUs: this.#world.nowUs });
    }
  }

  #last(fault: PlanFault, ...lasting: readonly Lasting[]): void {
    const lift = (): void => lasting.forEach((one) => one.lift());
    this.#appointments.push(this.#world.after(fault.forUs, `heal ${fault.id}`, lift));
  }

  #others(fault: PlanFault): readonly string[] {
    return this.#cluster.names.filter((name) => !fault.targets.includes(name));
  }
}

function resume(host: Host): void {
  if (host.alive) host.resume();
}

function linkOf(first: string | undefined, second: string | undefined): [string, string] {
  return [present(first, 'a host'), present(second, 'another host')];
}

function latencyOf({ params }: PlanFault): Latency {
  return {
    minUs: Number(params['minUs']),
    meanUs: Number(params['meanUs']),
    tailOneIn: 200,
    tailUs: 500_000,
  };
}

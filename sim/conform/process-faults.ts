/**
 * Injects the portable faults of a plan into a cluster of processes. The kinds' own rows strike (sim/faults), as they
 * strike the world; what they act on is processes, proxies and clocks.
 */
import { setTimeout as sleep } from 'node:timers/promises';

import { assert } from '../../engine/base/assert.ts';
import type { Loss } from '../check/objects/disk-losses.ts';
import type { ClientActs, CommonFaultContext } from '../faults/fault-context.ts';
import { resume } from '../faults/fault-context.ts';
import type { Fault } from '../faults/fault.ts';
import { targetOf } from '../faults/fault.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { PeerProxies } from '../processes/peer-proxies.ts';
import type { MachineWorld, Planned } from './machine-world.ts';
import { commonRows } from './portable.ts';
import type { ProcessCluster } from './process-cluster.ts';

const standbyRetryMs = 300;

/** The faults of one run of processes. */
export class ProcessFaults {
  /** Those that struck, in order. */
  readonly strikes: { readonly fault: PlanFault; readonly atUs: number }[] = [];
  /** Disks that were replaced by empty ones. */
  readonly wipes: Loss[] = [];
  readonly #world: MachineWorld;
  readonly #cluster: ProcessCluster;
  readonly #network: PeerProxies;
  readonly #context: CommonFaultContext;
  readonly #planned: Planned[] = [];
  readonly #patients = new Set<{ heal(): void }>();
  readonly #standby = new Set<string>();
  /** Faults that wait for an event of a node's log: `n1 xa.c.vote.recv`. */
  readonly #waiting = new Map<string, ((count: number) => void)[]>();
  readonly #seen = new Map<string, number>();
  #isCalm = false;

  constructor(world: MachineWorld, cluster: ProcessCluster, network: PeerProxies, clients: () => ClientActs) {
    this.#world = world;
    this.#cluster = cluster;
    this.#network = network;
    this.#context = {
      world: {
        network,
        get nowUs() {
          return world.nowUs;
        },
      },
      cluster,
      get clients() {
        return clients();
      },
      later: (delayUs, label, act) => this.#later(delayUs, label, act),
      last: ({ id, forUs }, ...lasting) =>
        this.#later(forUs, `heal ${id}`, () => lasting.forEach((one) => one.lift())),
      others: ({ targets }) => cluster.names.filter((name) => !targets.includes(name)),
      crash: (fault, survival, connections) => this.#crash(fault, survival, connections, () => undefined),
      restart: (fault, meanwhile) => this.#restart(fault, meanwhile ?? (() => undefined)),
      healAtCalm: (patient) => void this.#patients.add(patient),
    };
  }

  /** Schedules the faults. Their instants count from `startUs`. */
  arrange(faults: readonly PlanFault[], startUs: number): void {
    for (const fault of faults) {
      const { when } = fault;
      const strike = (): void => this.#strike(fault);
      if ('atUs' in when) {
        this.#planned.push(this.#world.at(startUs + when.atUs, `fault ${fault.id}`, strike));
        continue;
      }
      const event = `${when.host} ${when.event}`;
      const listeners = this.#waiting.get(event) ?? [];
      listeners.push((count) => {
        if (count === when.nth) this.#later(when.delayUs, `fault ${fault.id}`, strike);
      });
      this.#waiting.set(event, listeners);
    }
  }

  /** A node printed a line; faults may wait for it. */
  heard(node: string, line: string): void {
    if (this.#waiting.size === 0 || !line.startsWith('{')) return;
    const name = /"event":"([^"]+)"\}?\s*$/.exec(line)?.[1];
    if (name === undefined) return;
    const event = `${node} ${name}`;
    const listeners = this.#waiting.get(event);
    if (listeners === undefined) return;
    const count = (this.#seen.get(event) ?? 0) + 1;
    this.#seen.set(event, count);
    for (const hear of listeners) hear(count);
  }

  /** Ends the storm: cancels pending faults, heals networks and clocks, and starts every member that is down. */
  calm(): void {
    this.#isCalm = true;
    for (const planned of this.#planned) planned.cancel();
    this.#network.heal();
    for (const patient of this.#patients) patient.heal();
    for (const name of this.#cluster.members) {
      resume(this.#cluster.host(name));
      this.#cluster.start(name);
    }
    for (const name of [...this.#standby]) this.#world.follow(`return ${name}`, this.#return(name));
  }

  #strike(fault: PlanFault): void {
    if (this.#isCalm || !this.#act(fault)) return;
    this.strikes.push({ fault, atUs: this.#world.nowUs });
  }

  #act(fault: PlanFault): boolean {
    const row = commonRows.get(fault.kind);
    if (row !== undefined) return row.strike(fault, this.#context);
    if (fault.kind === 'disk-wipe') return this.#wipe(fault);
    assert(fault.kind === 'node-standby', `${fault.kind} is portable`);
    return this.#sendToStandby(fault);
  }

  #later(delayUs: number, label: string, act: () => void): void {
    this.#planned.push(this.#world.after(delayUs, label, act));
  }

  #crash(
    fault: Fault,
    survival: string,
    connections: 'silent' | 'reset',
    meanwhile: () => Promise<void> | void,
  ): boolean {
    const name = targetOf(fault);
    if (!this.#cluster.isUp(name)) return false;
    this.#cluster.crash(name, survival, connections);
    const done = Promise.resolve(meanwhile());
    const start = (): void => {
      const started = done.then(() => this.#cluster.start(name));
      this.#world.follow(`start ${name}`, started);
    };
    this.#later(fault.forUs, `restart ${fault.id}`, start);
    return true;
  }

  #restart(fault: Fault, meanwhile: (name: string) => void): boolean {
    const name = targetOf(fault);
    return this.#cluster.beginStop(name, () => {
      meanwhile(name);
      if (this.#isCalm) this.#cluster.start(name);
      else this.#later(fault.forUs, `restart ${fault.id}`, () => this.#cluster.start(name));
    });
  }

  #wipe(fault: Fault): boolean {
    const name = targetOf(fault);
    return this.#crash(fault, 'dropAll', 'silent', () => {
      this.wipes.push({ node: name, atUs: this.#world.nowUs });
      return this.#cluster.wipe(name);
    });
  }

  #sendToStandby(fault: Fault): boolean {
    const name = targetOf(fault);
    if (!this.#cluster.serves(name)) return false;
    this.#standby.add(name);
    const asked = this.#cluster.operate(name, '/cluster/standby').then((accepted) => {
      if (!accepted) this.#standby.delete(name);
    });
    this.#world.follow(`standby ${name}`, asked);
    this.#later(fault.forUs, `return ${fault.id}`, () =>
      this.#world.follow(`return ${name}`, this.#return(name)),
    );
    return true;
  }

  /** The operator asks until the node has returned. */
  async #return(name: string): Promise<void> {
    while (this.#standby.has(name)) {
      if (await this.#cluster.operate(name, '/cluster/standby?return=true')) this.#standby.delete(name);
      else await sleep(standbyRetryMs);
    }
  }
}

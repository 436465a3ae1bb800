/**
 * A machine as the network sees it: whether it answers, which incarnation runs on it, and which listener has which
 * port.
 */
import { assert } from '../../../engine/base/assert.ts';
import type { Address, Connection } from '../../../engine/io/network.ts';
import type { Incarnation } from '../cluster/incarnation.ts';

/** A listener on a port. */
export interface Listening {
  readonly life: Incarnation;
  onConnection(connection: Connection): void;
}

/** One machine. */
export interface Machine {
  readonly index: number;
  readonly name: string;
  /** The other name by which it can be reached: `10.0.0.7`. */
  readonly ip: string;
  /** Whether the operating system answers the network, even if the process is dead. */
  on: boolean;
  /** The process died of a fault and has not been started again. */
  crashed: boolean;
  life: Incarnation | undefined;
  readonly listeners: Map<number, Listening>;
  nextPort: number;
}

const firstPort = 32_768;
const portMax = 65_535;
const ownNames = ['127.0.0.1', 'localhost', '0.0.0.0'];

/** The machines of one world. */
export class Machines {
  readonly #all: Machine[] = [];
  readonly #byName = new Map<string, Machine>();

  get all(): readonly Machine[] {
    return this.#all;
  }

  add(name: string): Machine {
    assert(!this.#byName.has(name), `a host is called ${name} already`);
    const index = this.#all.length;
    const ip = `10.0.${index >> 8}.${(index & 0xff) + 1}`;
    const machine = {
      index,
      name,
      ip,
      on: false,
      crashed: false,
      life: undefined,
      listeners: new Map<number, Listening>(),
      nextPort: firstPort,
    };
    this.#all.push(machine);
    this.#byName.set(name, machine);
    this.#byName.set(ip, machine);
    return machine;
  }

  get(name: string): Machine | undefined {
    return this.#byName.get(name);
  }

  mustGet(name: string): Machine {
    const machine = this.get(name);
    assert(machine !== undefined, `no host is called ${name}`);
    return machine;
  }

  /** Where an address leads, seen from a machine; undefined if its host is unknown or it has no port. */
  resolve(address: Address, from: Machine): { readonly machine: Machine; readonly port: number } | undefined {
    const { host, port } = splitAddress(address);
    if (!Number.isInteger(port) || port < 0 || port > portMax) return undefined;
    const machine = ownNames.includes(host) ? from : this.get(host);
    return machine === undefined ? undefined : { machine, port };
  }
}

/** A port of the machine without a listener, each in turn. */
export function freePort(machine: Machine): number {
  for (;;) {
    const port = machine.nextPort;
    machine.nextPort = port === portMax ? firstPort : port + 1;
    if (!machine.listeners.has(port)) return port;
  }
}

/** `host:port`, or `[host]:port`. The port is NaN if there is none. */
export function splitAddress(address: Address): { readonly host: string; readonly port: number } {
  const colon = address.lastIndexOf(':');
  const host = address.slice(0, Math.max(colon, 0)).replace(/^\[(.*)\]$/, '$1');
  const digits = address.slice(colon + 1);
  return { host, port: /^\d{1,5}$/.test(digits) ? Number(digits) : NaN };
}

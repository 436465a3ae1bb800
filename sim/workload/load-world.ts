/**
 * What the load needs of the machines that it runs on, and of the cluster that it uses: the simulated world and its
 * cluster, or this machine and real processes (sim/conform). The clients are the same in both.
 */
import type { Ring } from '../../engine/cluster/ring/ring.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address } from '../../engine/io/network.ts';
import type { ClusterPort } from '../world/cluster/node-config.ts';
import type { Gone } from '../world/cluster/node-slots.ts';

/** Where clients run. Times are microseconds. */
export interface LoadWorld {
  readonly nowUs: number;
  /** A machine of one client; `boot` starts its process and returns the ports of that. */
  addHost(name: string): { boot(): Io };
  /** Calls `act` at an instant; now, if it has passed. */
  at(atUs: number, name: string, act: () => void): unknown;
}

/** The cluster as clients and operators see it. */
export interface LoadCluster {
  /** The ring of the members at the start. */
  readonly ring: Ring;
  readonly members: readonly string[];
  readonly gone: Gone;
  /** The address of one of a node's listeners. */
  address(name: string, port: ClusterPort): Address;
  /** Whether a process of the node runs, whether it serves yet or not. */
  isUp(name: string): boolean;
  /** Whether the node has started and serves. */
  serves(name: string): boolean;
  /** Whether the node's process stands still, and how many it has had. */
  host(name: string): { readonly paused: boolean; readonly lives: number };
  configOf(name: string): { readonly datacenter: string };
}

/**
 * Called before each operation of the plan, with the operation's id: the client begins it once the promise is resolved.
 * `stopped`: the client shall begin no further one.
 */
export type Pacing = (operation: string, stopped: () => boolean) => Promise<void>;

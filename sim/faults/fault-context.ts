/**
 * What a fault can act on: the world, the cluster, clients, and how its effects are undone later or at the calm.
 * `faults.ts` implements it. Only types of the world are imported, so plans can read the table of faults without it.
 */
import type { Cluster } from '../world/cluster/cluster.ts';
import type { Host, Survival } from '../world/cluster/host.ts';
import type { HostDisk } from '../world/disk/disk.ts';
import type { Lasting, World } from '../world/world.ts';
import type { Fault } from './fault.ts';

/** A client that can give up its requests. */
export interface ImpatientClient {
  /** Gives up the next request that is unanswered after `afterUs` microseconds; `retries`: and repeats it at once. */
  loseIt(afterUs: number, retries: boolean): void;
  /** Repeats so many transactions that are over. */
  doubt(count: number): void;
}

/** What faults make clients do (`workload/workload.ts`). The functions return false if no client can do it. */
export interface ClientActs {
  impatienceOf(client: string): ImpatientClient | undefined;
  /** So many more clients want one key at once. */
  crowd(id: string, clients: number): boolean;
  /** A client sends a request without sufficient credentials. */
  askUnauthorized(id: string, node: string, params: Fault['params']): boolean;
  /** So many clients keep to one node, for `forUs` microseconds. */
  keepTo(id: string, node: string, clients: number, forUs: number): void;
  /** A client asks for much, and reads nothing for `forUs` microseconds. */
  readSlowly(id: string, node: string, requests: number, bytes: number, forUs: number): boolean;
}

/** How a module fails: the first letter of the key or of a phase's argument that makes it, and the answer's error code. */
export interface ModuleFailure {
  readonly letter: string;
  readonly code: string;
}

/** What faults make the users of Wasm modules do (`workload/module-work.ts`). */
export interface ModuleActs {
  provoke(fault: Fault, failure: ModuleFailure): boolean;
  swap(node: string, version: number): boolean;
}

/**
 * A start that the node must refuse: on another node's disk, or on its own disk after it left (`removed-node-restart`).
 */
export interface ForeignStart {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  served: boolean;
}

/** One run as its faults see it. */
export interface FaultContext {
  readonly world: World;
  readonly cluster: Cluster;
  readonly clients: ClientActs;
  readonly modules: ModuleActs;
  /** Whether the storm is over. */
  isCalm(): boolean;
  /** Calls `act` after `delayUs` microseconds, unless the calm comes first. */
  later(delayUs: number, label: string, act: () => void): void;
  /** Lifts the fault's effects after its `forUs`. At the calm the network lifts all effects itself. */
  last(fault: Fault, ...lasting: readonly Lasting[]): void;
  /** The nodes that the fault does not aim at. */
  others(fault: Fault): readonly string[];
  /**
   * Crashes the target and starts it again after `forUs`; `meanwhile` acts on its disk in between. Returns false if the
   * node is down.
   */
  crash(
    fault: Fault,
    survival: Survival,
    connections: 'silent' | 'reset',
    meanwhile?: (disk: HostDisk) => void,
  ): boolean;
  /**
   * Stops the target in order and starts it again after `forUs`; `meanwhile` acts in between. Returns false if the node
   * is down.
   */
  restart(fault: Fault, meanwhile?: (node: string) => void): boolean;
  /** Heals it at the calm. */
  healAtCalm(patient: { heal(): void }): void;
  /** A snapshot of a hash tree has one altered leaf under a valid checksum. */
  onAlteredLeaf(node: string, bytes: Buffer): void;
  /** What a family keeps during the run: made at its first use. */
  state<State>(make: (context: FaultContext) => State): State;
}

/** Resumes a paused host, unless it is down. */
export function resume(host: Host): void {
  if (host.alive) host.resume();
}

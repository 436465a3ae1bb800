/**
 * What a fault can act on: the world, the cluster, clients, and how its effects are undone later or at the calm.
 * `faults.ts` implements it. Only types of the world are imported, so plans can read the table of faults without it.
 */
import type { DetectorDisturbance } from '../check/cluster/failure-detector.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { Survival } from '../world/cluster/host.ts';
import type { Claim } from '../world/cluster/impostors.ts';
import type { HostClock } from '../world/core/clock.ts';
import type { HostDisk } from '../world/disk/disk.ts';
import type { WorldNetwork } from '../world/network/network.ts';
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

/** What faults make operators do (`workload/operator-work.ts`). The functions return false if none can do it. */
export interface OperatorActs {
  /** Installs today's build at every member, if the fault says so, and finalizes through its target. */
  upgrade(fault: Fault): boolean;
  /** Changes a credential at the target while its client is connected. */
  changeCredential(fault: Fault): boolean;
  /** Has the target hold its writes for a backup that nothing ends. */
  abandonBackup(fault: Fault): boolean;
  /** Decides, or abandons, the branches that the target lists in doubt. */
  decide(fault: Fault): boolean;
  /** The storm is over: undoes what would keep members apart. */
  calm(): void;
  /** Whom the operators' acts disturb, as failure detectors see it. */
  readonly disturbances: readonly DetectorDisturbance[];
}

/**
 * A start that the node must refuse: on another node's disk, or on its own disk after it left (`removed-node-restart`).
 */
export interface ForeignStart {
  readonly node: string;
  readonly life: number;
  /** Its last start on that disk: another fault may have started it again in the meantime. */
  lastLife?: number;
  readonly atUs: number;
  served: boolean;
}

/** What faults of the network act on. Effects that last are lifted by what they return. */
export type FaultNetwork = Pick<
  WorldNetwork,
  'clog' | 'halfOpen' | 'meddle' | 'partition' | 'partitionOneWay' | 'reset' | 'shred' | 'slow'
>;

/** What faults of clocks act on. */
export type FaultClock = Pick<
  HostClock,
  'freezeWall' | 'heal' | 'jumpWall' | 'setDrift' | 'setTimerJitter' | 'setWallOffset' | 'thawWall'
>;

/** A machine with the process of a node, as faults see it. */
export interface FaultHost {
  /** Whether a process runs. */
  readonly alive: boolean;
  readonly paused: boolean;
  readonly clock: FaultClock;
  pause(): void;
  resume(): void;
}

/** The cluster as faults of networks, processes, clocks and members see it; functions return false if nothing happened. */
export interface FaultCluster {
  readonly names: readonly string[];
  readonly members: readonly string[];
  host(name: string): FaultHost;
  start(name: string): void;
  crash(name: string, survival: Survival, connections: 'silent' | 'reset'): void;
  startTwice(name: string): boolean;
  changeBuild(name: string, peerVersion: number): void;
  impose(id: string, victim: string, claim: Claim): void;
  lose(name: string): boolean;
  change(name: string): boolean;
}

/** One run, simulated or of real processes (sim/conform), as faults of networks, processes, clocks and clients see it. */
export interface CommonFaultContext {
  readonly world: { readonly nowUs: number; readonly network: FaultNetwork };
  readonly cluster: FaultCluster;
  readonly clients: ClientActs;
  /** Calls `act` after `delayUs` microseconds, unless the calm comes first. */
  later(delayUs: number, label: string, act: () => void): void;
  /** Lifts the fault's effects after its `forUs`. At the calm the network lifts all effects itself. */
  last(fault: Fault, ...lasting: readonly Lasting[]): void;
  /** The nodes that the fault does not aim at. */
  others(fault: Fault): readonly string[];
  /** Crashes the target and starts it again after `forUs`. Returns false if the node is down. */
  crash(fault: Fault, survival: Survival, connections: 'silent' | 'reset'): boolean;
  /**
   * Stops the target in order and starts it again after `forUs`; `meanwhile` acts in between. Returns false if the node
   * is down.
   */
  restart(fault: Fault, meanwhile?: (node: string) => void): boolean;
  /** Heals it at the calm. */
  healAtCalm(patient: { heal(): void }): void;
}

/** One simulated run as its faults see it. */
export interface FaultContext extends CommonFaultContext {
  readonly world: World;
  readonly cluster: Cluster;
  readonly modules: ModuleActs;
  readonly operators: OperatorActs;
  /** Whether the storm is over. */
  isCalm(): boolean;
  /** As in `CommonFaultContext`; `meanwhile` acts on the disk between the two incarnations. */
  crash(
    fault: Fault,
    survival: Survival,
    connections: 'silent' | 'reset',
    meanwhile?: (disk: HostDisk) => void,
  ): boolean;
  /** A snapshot of a hash tree has one altered leaf under a valid checksum. */
  onAlteredLeaf(node: string, bytes: Buffer): void;
  /** What a family keeps during the run: made at its first use. */
  state<State>(make: (context: FaultContext) => State): State;
}

/** Resumes a paused host, unless it is down. */
export function resume(host: FaultHost): void {
  if (host.alive) host.resume();
}

/** What a cluster knows of each of its nodes: host, configuration, incarnation, and how its starts ended. */
import type { Token } from '../../../engine/base/ids.ts';
import type { Credential } from '../../../engine/auth/credentials.ts';
import type { NodeConfig } from '../../../engine/config/config.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { Node } from '../../../engine/node/node.ts';
import type { Member } from '../../../engine/cluster/ring/ring.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import type { Host, Leaks } from './host.ts';

/** A start that the node itself refused, because its disk or what lay on it was wrong. */
export interface RefusedStart {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  readonly code: string;
  readonly detail: string;
  /** The highest version of peer messages that its build speaks. */
  readonly build: number;
  /** Its disk says that it has left the cluster, and it has. */
  readonly departed: boolean;
  /** What the refused start left behind; all zero and empty if nothing leaked. */
  readonly left: Leaks;
}

/** A node that was asked to stop and has stopped. */
export interface OrderlyStop {
  readonly node: string;
  readonly atUs: number;
  readonly left: Leaks;
}

/** Called at the end of an incarnation with the node's name. */
export type IncarnationEndListener = (name: string, how: 'crashed' | 'stopped') => void;

/** A process on a host: its ports, and the node once it serves. */
export interface SlotIncarnation {
  readonly io: Io;
  node: Node | undefined;
  /** It was asked to stop, and lets the directory go. */
  stopping: boolean;
  /** Resolves when the second start (`startTwice`) that began last is over; undefined: there was none. */
  second: Promise<void> | undefined;
}

/** One node of the cluster. */
export interface NodeSlot {
  /** As its file says. */
  config: NodeConfig;
  /** As its credentials file says; read if its configuration names one. */
  credentials: readonly Credential[];
  /** The highest version of peer messages that its build speaks; undefined: as its file says. */
  build: number | undefined;
  /** The tokens that peers have assigned to it, if they differ from its file's. */
  told: readonly Token[] | undefined;
  readonly host: Host;
  readonly node: PlanNode;
  life: SlotIncarnation | undefined;
  /** The node has announced its departure to the others. */
  departed: boolean;
  /** The node was told to leave, and took the order. */
  leaving: boolean;
  standing: Standing;
}

/**
 * A node's place in the cluster. `spare`: not yet a member. `left` and `replaced` nodes start again through
 * `removed-node-restart` only; a `lost` node, which died for good, never does.
 */
export type Standing = 'member' | 'spare' | 'left' | 'replaced' | 'lost';

/** Whether a node of that standing was a member and is one no more: no end of a fault starts it again. */
export function isGone(standing: Standing): boolean {
  return standing === 'left' || standing === 'replaced' || standing === 'lost';
}

/** Members that are gone. */
export interface Gone {
  /** Nodes that have left or died for good. */
  readonly lost: readonly string[];
  /** Nodes that died and were not replaced: the others still regard them as members and wait for them. */
  readonly missed: readonly string[];
  /** Replacements, by the name of the replaced node. */
  readonly replacements: ReadonlyMap<string, string>;
}

/** A second start on a directory in use, and the code of the error that it ended with. */
export interface DoubleStart {
  readonly node: string;
  readonly atUs: number;
  /** Empty while the start is under way. */
  refused: string;
  /** The machine crashed first: the start has no end. */
  cutOff: boolean;
}

/** The node as a member of the ring. */
export function memberOf({ config, told }: NodeSlot): Member {
  const { name, datacenter, rack, tokens } = config;
  return { node: name, datacenter, rack, tokens: told ?? tokens };
}

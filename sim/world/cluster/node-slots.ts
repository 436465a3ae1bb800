/** What a cluster knows of each of its nodes: its host, its configuration, its life, and how its starts ended. */
import type { Token } from '../../../engine/base/ids.ts';
import type { NodeConfig } from '../../../engine/config/config.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { Node } from '../../../engine/node/node.ts';
import type { Member } from '../../../engine/cluster/ring/ring.ts';
import type { PlanNode } from '../../plan/plan.ts';
import type { Host, Leaks } from './host.ts';

/** A start that the node itself refused: what lay on its disk, or the disk, was not right. */
export interface RefusedStart {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  readonly code: string;
  readonly detail: string;
  /** Its disk says that it has left the cluster, and it has. */
  readonly departed: boolean;
  /** What the refused start left behind; all zero and empty when nothing leaked. */
  readonly left: Leaks;
}

export type IncarnationEndListener = (name: string, how: 'crashed' | 'stopped') => void;

/** A process on a host: its doors, and the node once it serves. */
export interface SlotIncarnation {
  readonly io: Io;
  node: Node | undefined;
}

export interface NodeSlot {
  /** As its file says. */
  config: NodeConfig;
  /** The tokens that its peers have told it of, where they are others than its file's. */
  told: readonly Token[] | undefined;
  readonly host: Host;
  readonly node: PlanNode;
  life: SlotIncarnation | undefined;
  /** The others know, by what it last said, that it has left. */
  departed: boolean;
  /**
   * `spare`: not a member yet. `left` and `replaced` start again by `removed-node-restart` only; `lost`, who died for
   * good, never.
   */
  standing: 'member' | 'spare' | 'left' | 'replaced' | 'lost';
}

/** Members that are no more. */
export interface Gone {
  /** Who have left, or died for good. */
  readonly lost: readonly string[];
  /** Who died with nobody in their place: the others go on calling them members, and wait for them. */
  readonly missed: readonly string[];
  /** Who took the place of one that had died, by that one. */
  readonly heirs: ReadonlyMap<string, string>;
}

/** A second start on a directory in use, and the code of the error that it ended with. */
export interface DoubleStart {
  readonly node: string;
  readonly atUs: number;
  refused: string;
}

/** Where it stands in the ring once it is a member. */
export function memberOf({ config, told }: NodeSlot): Member {
  const { name, datacenter, rack, tokens } = config;
  return { node: name, datacenter, rack, tokens: told ?? tokens };
}

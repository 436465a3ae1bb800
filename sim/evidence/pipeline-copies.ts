/** Which disks hold the values of pipelines, and how many must. Plain data and pure functions. */

/** Nodes of which at least `need` must hold a value before its write is acknowledged. */
export interface KeeperGroup {
  readonly nodes: readonly string[];
  readonly need: number;
}

/** What the disks of a run held of the values of pipelines. */
export interface PipelineCopies {
  /** The groups that a write of the key through a node of that datacenter waits for, by the configured level. */
  keepersOf(key: string, datacenter: string): readonly KeeperGroup[];
  /** The values of the key's numbers that the node's store has held, and since when bytes survived any crash. */
  heldBy(node: string): ReadonlyMap<number, number>;
}

/** A node of a plan. */

/** A node of the cluster. */
export interface PlanNode {
  readonly name: string;
  readonly datacenter: string;
  readonly rack: string;
  /** The node is not a member from the start: `membership-change` makes it join. */
  readonly spare?: true;
  /** The member that this spare replaces when it joins; that member dies for good. */
  readonly replaces?: string;
}

/** What an operator decided of transactions in doubt while the cluster ran, and what the node showed then. Plain data. */

/** `abandon` ends the wait of a heuristic decision, or of a lost branch, for the rest of its transaction. */
export const operatorDecisions = ['commit', 'rollback', 'abandon'] as const;
/** What an operator decides of a transaction in doubt. */
export type OperatorDecision = (typeof operatorDecisions)[number];

/** One decision. Times are virtual microseconds. */
export interface DecisionRecord {
  readonly id: string;
  readonly node: string;
  readonly atUs: number;
  readonly xid: string;
  readonly decision: OperatorDecision;
  /** The role and the state as the node listed them: `branch prepared`. */
  readonly state: string;
  readonly coordinator: string;
  /** `heuristic` if the node took the decision, otherwise the code of its error; undefined without an answer. */
  readonly answered: string | undefined;
  /**
   * The role and the state as the node listed them after its answer, `over` if it listed the transaction no more, and
   * undefined if it did not answer, or has restarted.
   */
  readonly after: string | undefined;
}

/**
 * The part of `outcome-stability` about operators' decisions. A branch whose decision its node has acknowledged is listed
 * as prepared no more, and no restart finds it prepared again (except on a disk that lost records). A heuristic decision
 * is kept until it is compared: `abandon` is refused while the coordinator is a member that has its records.
 *
 * Skipped: decisions without an answer, and those that the node refused.
 */
import type { DecisionRecord } from '../../evidence/operator-decisions.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** A named step of a transaction, as far as this check reads it. */
interface Step {
  readonly atUs: number;
  readonly node: string;
  readonly step: string;
  readonly xid: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What the check needs of a run. */
export interface DecisionEvidence {
  readonly decisions?: readonly DecisionRecord[];
  readonly steps: readonly Step[];
  /** Nodes whose disks lost records, in one way or another. */
  readonly forgetful: readonly string[];
  /** Nodes that left or died for good, and those that were replaced. */
  readonly lost: readonly string[];
}

/** Judges each decision that a node acknowledged. */
export function checkOperatorDecisions(run: DecisionEvidence): CheckReport {
  const tally = new Tally('outcome-stability');
  const decided = new Map<string, string>();
  for (const record of run.decisions ?? []) checkDecision(record, run, tally);
  for (const { node, step, xid, fields, atUs } of run.steps) {
    if (step === 'branch.decided') decided.set(`${node} ${xid}`, String(fields['decision']));
    const decision = step === 'p.recovery.scan' ? decided.get(`${node} ${xid}`) : undefined;
    if (decision === undefined || run.forgetful.includes(node)) continue;
    tally.compare(fields['phase'] !== 'prepared', atUs, () => {
      return `${node} finds ${xid} prepared at its start, after an operator's ${decision} was recorded`;
    });
  }
  return tally.report();
}

function checkDecision(record: DecisionRecord, { forgetful, lost }: DecisionEvidence, tally: Tally): void {
  const { id, node, xid, atUs, decision, state, coordinator, answered, after } = record;
  const isTaken = answered === 'heuristic';
  if (decision === 'abandon') {
    const isGone = [...forgetful, ...lost].includes(coordinator);
    if (answered === undefined || !state.startsWith('branch heuristic') || isGone) return tally.skip();
    tally.compare(!isTaken, atUs, () => {
      return `${id}: ${node} dropped the operator's decision over ${xid} before ${coordinator}, a member, had said what it decided`;
    });
    return;
  }
  if (!isTaken || state !== 'branch prepared' || after === undefined) return tally.skip();
  tally.compare(after !== 'branch prepared', atUs, () => {
    return `${id}: ${node} answered ${answered} to an operator's ${decision} over ${xid}, and lists it as prepared`;
  });
}

/** Nodes whose branches an operator decides or abandons in this step. */
function nodesDecided({ node, step, fields }: Step): readonly string[] {
  switch (step) {
    case 'branch.decided':
      return [node];
    case 'decision.abandoned':
      return String(fields['nodes']).split(' ');
    // The record was on the disk when the node crashed, before its step was traced.
    case 'p.recovery.scan':
      return String(fields['phase']).startsWith('heuristic') ? [node] : [];
    default:
      return [];
  }
}

/** `n2 n1-…-1`: branches that an operator decided or abandoned. */
export function heuristicBranches(steps: readonly Step[]): ReadonlySet<string> {
  return new Set(steps.flatMap((step) => nodesDecided(step).map((node) => `${node} ${step.xid}`)));
}

/** Transactions of which an operator decided a branch or abandoned a lost one. */
export function decidedHeuristically(steps: readonly Step[]): ReadonlySet<string> {
  return new Set(steps.filter((step) => nodesDecided(step).length > 0).map(({ xid }) => xid));
}

/**
 * Those of them whose branches need not have one outcome: an operator's decision over a branch differs from the
 * coordinator's, or a lost branch was abandoned. `committed`: transactions with a durable decision to commit.
 */
export function mixedHeuristically(
  steps: readonly Step[],
  committed: ReadonlySet<string>,
): ReadonlySet<string> {
  const isMixed = (step: Step): boolean =>
    nodesDecided(step).length > 0 && decisionOf(step) !== (committed.has(step.xid) ? 'commit' : 'rollback');
  return new Set(steps.filter(isMixed).map(({ xid }) => xid));
}

/** What the operator decided of the branch in this step; undefined if it was abandoned. */
function decisionOf({ step, fields }: Step): string | undefined {
  if (step === 'branch.decided') return String(fields['decision']);
  if (step !== 'p.recovery.scan') return undefined;
  return { heuristicCommitted: 'commit', heuristicRolledBack: 'rollback' }[String(fields['phase'])];
}

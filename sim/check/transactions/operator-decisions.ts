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

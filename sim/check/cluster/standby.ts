/**
 * `standby-routing` (INV35), what STANDBY promises, from clients' answers and from the wire:
 *
 * - a node in STANDBY answers no client request: a request that began and ended in that time was refused;
 * - a coordinator that calls a replica STANDBY does not read from it while the other replicas suffice for the read and
 *   answer it. Not compared: reads that need equal answers (two different ones require a third), reads that need more
 *   copies than the others have, and reads near a disturbance: a node that is not NORMAL, or any fault of a node or the
 *   network less than `troubleUs` ago;
 * - a node that has returned answers a client or a read again. Skipped if no client asks it then, and no read waits for
 *   all replicas, while it is up: it may be replaced soon after.
 *
 * A disk that loses data may lose that its node was in STANDBY: such a period ends with the next start.
 */
import type { History, Operation, ReadOperation } from '../../evidence/history.ts';
import { describeOperation, isRead } from '../../evidence/history.ts';
import type { DetectorDisturbance } from './failure-detector.ts';
import type { Opinions } from '../../evidence/opinions.ts';
import type { ReadAnswer } from '../../evidence/read-answers.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** A period of STANDBY, as the node itself declared it; `toUs` is Infinity if it did not return. */
export interface StandbyPeriod {
  readonly node: string;
  readonly fromUs: number;
  readonly toUs: number;
  /** The node's disk may have lost the STANDBY, so it is unknown whether the node serves after `toUs`. */
  readonly forgotten?: true;
}

/** The evidence of one run. */
export interface StandbyTruth {
  readonly history: History;
  readonly answers: readonly ReadAnswer[];
  readonly opinions: Opinions;
  readonly periods: readonly StandbyPeriod[];
  readonly troubles: readonly DetectorDisturbance[];
  readonly nodes: readonly string[];
}

/** Within this time, in virtual microseconds, a lost link is restored and the requests that it carried have failed. */
const troubleUs = 2_000_000;

/** The evidence of one run; fields as in `StandbyTruth`. */
export interface StandbyEvidence {
  readonly history: History;
  readonly readAnswers: readonly ReadAnswer[];
  readonly opinions: Opinions;
  readonly standbyPeriods: readonly StandbyPeriod[];
  readonly disturbances: readonly DetectorDisturbance[];
  readonly nodes: readonly string[];
}

/** The row of `standby-routing`. */
export const standbyRoutingRow = invariant({
  name: 'standby-routing',
  code: 'INV35',
  promise: 'nodes in STANDBY serve no client, are read last',
  gravity: 'availability',
  breach: 'clients and reads meet a node that an operator took out of their way, or never meet it again',
  needs: ['routes'],
  check: ({ history, readAnswers, opinions, standbyPeriods, disturbances, nodes }: StandbyEvidence) =>
    checkStandby({
      history,
      answers: readAnswers,
      opinions,
      periods: standbyPeriods,
      troubles: disturbances,
      nodes,
    }),
});

/** Checks each period of STANDBY. */
export function checkStandby(truth: StandbyTruth): CheckReport {
  const tally = new Tally('standby-routing');
  for (const period of truth.periods) {
    checkClosed(period, truth, tally);
    checkReturned(period, truth, tally);
  }
  const spared = new Set(truth.periods.map(({ node }) => node));
  for (const operation of truth.history) {
    if (isRead(operation) && operation.outcome === 'ok') checkSpared(operation, spared, truth, tally);
  }
  return tally.report();
}

function checkClosed({ node, fromUs, toUs }: StandbyPeriod, { history }: StandbyTruth, tally: Tally): void {
  for (const operation of history) {
    const { completedUs } = operation;
    if (operation.node !== node || completedUs === undefined) continue;
    if (operation.invokedUs < fromUs || completedUs > toUs) continue;
    tally.compare(operation.outcome !== 'ok', completedUs, () => {
      return `${describeOperation(operation)}: ${node} was in STANDBY and answered a client`;
    });
  }
}

function checkReturned(
  { node, toUs, forgotten }: StandbyPeriod,
  { history, answers, troubles }: StandbyTruth,
  tally: Tally,
): void {
  if (toUs === Infinity || forgotten === true) return tally.skip();
  const isAway = (atUs: number): boolean =>
    troubles.some((one) => one.node === node && one.away && one.fromUs <= atUs && atUs <= one.toUs);
  const mayBeAsked = (one: Operation): boolean =>
    one.invokedUs > toUs &&
    !isAway(one.invokedUs) &&
    (one.node === node || (isRead(one) && one.need >= one.copies));
  if (!history.some(mayBeAsked)) return tally.skip();
  const isServing =
    answers.some(({ peer, askedUs }) => peer === node && askedUs > toUs) ||
    history.some((operation) => {
      return operation.node === node && operation.outcome === 'ok' && operation.invokedUs > toUs;
    });
  tally.compare(isServing, toUs, () => `${node} returned from STANDBY and has answered nothing since`);
}

/** The coordinator had no reason to read from a replica in STANDBY. */
function checkSpared(
  operation: ReadOperation,
  candidates: ReadonlySet<string>,
  truth: StandbyTruth,
  tally: Tally,
): void {
  const { node, key, invokedUs, completedUs = invokedUs, copies, need } = operation;
  const others = truth.nodes.filter((peer) => peer !== node);
  const thought = others.map((peer) => {
    const states = [...truth.opinions.between(node, peer, invokedUs, completedUs)];
    return { peer, state: states.length === 1 ? states[0] : undefined };
  });
  const standby = thought.filter(({ peer, state }) => state === 'STANDBY' && candidates.has(peer));
  if (standby.length === 0) return;
  const isCalm =
    thought.every(({ state }) => state === 'NORMAL' || state === 'STANDBY') &&
    !truth.troubles.some(({ fromUs, toUs }) => fromUs <= completedUs && toUs >= invokedUs - troubleUs);
  if (operation.agree === true || need > copies - standby.length || !isCalm) return tally.skip();
  for (const { peer } of standby) {
    const asked = truth.answers.find((answer) => {
      const isAmid = answer.askedUs >= invokedUs && answer.heardUs <= completedUs;
      return answer.node === node && answer.peer === peer && answer.key === key && isAmid;
    });
    tally.compare(asked === undefined, completedUs, () => {
      return `${describeOperation(operation)}: it read from ${peer}, which it called STANDBY, though the others were enough`;
    });
  }
}

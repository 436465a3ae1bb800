/**
 * `failure-detection` (INV21), the failure detector. Of every node's opinion of every other node:
 *
 * - it changes along legal transitions only, each from the state that the previous one reached (the transitions are
 *   listed here again, independently of the engine's table);
 * - phi is a whole number, finite and never negative, in every sample;
 * - a peer is called DOWN only if something disturbed the peer, the observing node or the network between them no
 *   longer ago than silence may take to be judged (`horizonUs`);
 * - a peer that was away for longer is no longer called routable by an observing node that was undisturbed all the
 *   time.
 */
import type { OpinionMove, Opinions } from '../../evidence/opinions.ts';
import type { IncarnationAccount } from '../metrics/reconcile/account.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** A disturbance of a node, or (`node` empty) of the network, with its duration. */
export interface DetectorDisturbance {
  readonly node: string;
  readonly fromUs: number;
  readonly toUs: number;
  /** The node was silent all the time: down or paused. */
  readonly away: boolean;
}

/** One value of phi, in thousandths. */
export interface PhiSample {
  readonly node: string;
  readonly atUs: number;
  readonly milliPhi: number;
}

const legal: Readonly<Record<string, readonly string[]>> = {
  UNKNOWN: ['JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'LEAVING'],
  JOINING: ['NORMAL', 'STANDBY', 'DOWN', 'RESET', 'LEAVING'],
  NORMAL: ['STANDBY', 'DOWN', 'RESET', 'LEAVING'],
  STANDBY: ['JOINING', 'NORMAL', 'DOWN', 'RESET', 'LEAVING'],
  DOWN: ['JOINING', 'NORMAL', 'STANDBY', 'RESET', 'LEAVING'],
  RESET: ['JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'LEAVING'],
  LEAVING: ['JOINING', 'NORMAL', 'DOWN', 'RESET'],
};
const routable: readonly string[] = ['NORMAL', 'JOINING', 'STANDBY'];

/** What the monitor recorded of opinions and disturbances in one run. */
export interface DetectorTruth {
  readonly opinions: Opinions;
  readonly looks: readonly PhiSample[];
  readonly troubles: readonly DetectorDisturbance[];
  readonly nodes: readonly string[];
  /** Longest time from the begin of a silence to its judgement, in virtual microseconds. */
  readonly horizonUs: number;
}

/** The evidence of one run; fields as in `DetectorTruth`. */
export interface DetectorEvidence {
  readonly opinions: Opinions;
  readonly accounts: readonly IncarnationAccount[];
  readonly disturbances: readonly DetectorDisturbance[];
  readonly nodes: readonly string[];
  readonly horizonUs: number;
}

/** The row of `failure-detection`. */
export const failureDetectionRow = invariant({
  name: 'failure-detection',
  code: 'INV21',
  promise: 'live peers are not called down, dead ones are',
  gravity: 'availability',
  breach: 'requests avoid a healthy node, or wait for a dead one',
  needs: [],
  everydayFloor: 30,
  check: ({ opinions, accounts, disturbances, nodes, horizonUs }: DetectorEvidence) =>
    checkDetector({ opinions, looks: phiSamples(accounts), troubles: disturbances, nodes, horizonUs }),
});

/** Checks transitions, samples of phi, causes of DOWN and detection of absences. */
export function checkDetector(truth: DetectorTruth): CheckReport {
  const tally = new Tally('failure-detection');
  checkPaths(truth, tally);
  checkLooks(truth.looks, tally);
  for (const move of truth.opinions.moves) if (move.to === 'DOWN') checkCause(move, truth, tally);
  for (const trouble of truth.troubles) if (trouble.away) checkNoticed(trouble, truth, tally);
  return tally.report();
}

function checkPaths({ opinions }: DetectorTruth, tally: Tally): void {
  const last = new Map<string, string>();
  for (const { observer, life, peer, from, to, atUs } of opinions.moves) {
    const pair = `${observer} ${life} ${peer}`;
    const before = last.get(pair) ?? 'UNKNOWN';
    last.set(pair, to);
    const fine = before === from && (legal[from] ?? []).includes(to);
    tally.compare(fine, atUs, () => `${observer} moved ${peer} from ${from} to ${to}; it was ${before}`);
  }
}

function checkLooks(looks: readonly PhiSample[], tally: Tally): void {
  for (const { node, atUs, milliPhi } of looks) {
    const fine = Number.isInteger(milliPhi) && milliPhi >= 0 && milliPhi <= 0x7fffffff;
    tally.compare(fine, atUs, () => `${node} shows a phi of ${milliPhi} thousandths`);
  }
}

/** A disturbance explains the change to DOWN. */
function checkCause(
  { observer, peer, atUs }: OpinionMove,
  { troubles, horizonUs }: DetectorTruth,
  tally: Tally,
): void {
  const why = troubles.some(
    ({ node, fromUs, toUs }) =>
      (node === '' || node === observer || node === peer) && fromUs <= atUs && toUs >= atUs - horizonUs,
  );
  tally.compare(why, atUs, () => `${observer} calls ${peer} down, and nothing was wrong with either`);
}

/** By then, every undisturbed node has noticed the absence. */
function checkNoticed(absence: DetectorDisturbance, truth: DetectorTruth, tally: Tally): void {
  const { opinions, troubles, nodes, horizonUs } = truth;
  const dueUs = absence.fromUs + horizonUs;
  if (absence.toUs <= dueUs) return;
  for (const observer of nodes) {
    if (observer === absence.node) continue;
    const hindered = troubles.some(
      ({ node, fromUs, toUs }) =>
        (node === '' || node === observer) && toUs >= absence.fromUs && fromUs <= dueUs,
    );
    if (hindered) {
      tally.skip();
      continue;
    }
    const states = [...opinions.between(observer, absence.node, dueUs, dueUs)];
    tally.compare(!states.every((state) => routable.includes(state)), dueUs, () => {
      return `${observer} still calls ${absence.node} ${states.join(' or ')}, which is away since ${absence.fromUs} us`;
    });
  }
}

/** The samples of the gauge `gossip_phi_score_milli`. */
function phiSamples(accounts: readonly IncarnationAccount[]): readonly PhiSample[] {
  return accounts.flatMap(({ node, atUs, counted }) =>
    counted
      .filter(({ family }) => family === 'gossip_phi_score_milli')
      .map(({ value }) => ({ node, atUs, milliPhi: value })),
  );
}

/**
 * `liveness` (INV22), liveness after heal: within a budget of virtual time after the heal, clients have their answers,
 * every node calls every other one NORMAL (or DOWN, if it died for good), no hint is pending, and no node asks another
 * for bucket properties or modules: all know the same. One comparison per node and peer for each.
 */
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** The state of a node at the end of the budget, or as soon as the cluster was quiet. */
export interface QuietRecord {
  readonly node: string;
  readonly atUs: number;
  /** Its opinion of each other node, by the peer's number; undefined if it does not serve. */
  readonly peers: ReadonlyMap<string, string> | undefined;
  /** Number of other nodes that must be up. */
  readonly peersExpected: number;
  /** Number of other nodes that died for good and were not replaced. */
  readonly peersLost: number;
  readonly hintsKept: number;
  /** What it has asked another node for lately, because that node knew something else; undefined: nothing. */
  readonly asking: string | undefined;
}

/** `clientsBusy`: number of client conversations without an end. */
export function checkQuiet(records: readonly QuietRecord[], clientsBusy: number): CheckReport {
  const tally = new Tally('liveness');
  const endUs = records[0]?.atUs ?? 0;
  tally.compare(clientsBusy === 0, endUs, () => `${clientsBusy} conversations of clients never ended`);
  for (const record of records) checkNode(record, tally);
  return tally.report();
}

function checkNode(
  { node, atUs, peers, peersExpected, peersLost, hintsKept, asking }: QuietRecord,
  tally: Tally,
): void {
  const known = peersExpected + peersLost;
  tally.compare(peers?.size === known, atUs, () => {
    const knows = peers === undefined ? 'does not serve' : `knows ${peers.size} others, not ${known}`;
    return `${node} ${knows}`;
  });
  const down = [...(peers ?? [])].filter(([, state]) => state === 'DOWN');
  tally.compare(down.length === peersLost, atUs, () => {
    return `${node} calls ${down.length} peers DOWN, and ${peersLost} died for good`;
  });
  for (const [peer, state] of peers ?? []) {
    if (state === 'DOWN') continue;
    tally.compare(state === 'NORMAL', atUs, () => `${node} calls its peer ${peer} ${state}`);
  }
  tally.compare(asking === undefined, atUs, () => `${node} asks its peers again and again: ${asking ?? ''}`);
  // Hints for a node that died for good wait until they expire.
  if (peersLost > 0) tally.skip();
  else tally.compare(hintsKept === 0, atUs, () => `${node} still keeps ${hintsKept} hints`);
}

/** Whether `checkQuiet` holds for the nodes alone. */
export function isQuiet(records: readonly QuietRecord[]): boolean {
  return checkQuiet(records, 0).ok;
}

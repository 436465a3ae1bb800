/**
 * `liveness` (INV22), liveness after heal: within a budget of virtual time after everything was healed, clients have
 * their answers, every node calls every other one NORMAL (DOWN, when it died for good), and no hint waits any more.
 * Per node and peer one comparison each.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A node as it was at the end of the budget, or as soon as all was well. */
export interface QuietRecord {
  readonly node: string;
  readonly atUs: number;
  /** Its opinion of each other node, by the peer's number; undefined: it does not serve. */
  readonly peers: ReadonlyMap<string, string> | undefined;
  /** Other nodes that are to be up. */
  readonly peersExpected: number;
  /** Other nodes that died for good with nobody in their place. */
  readonly peersLost: number;
  readonly hintsKept: number;
}

export function checkQuiet(records: readonly QuietRecord[], clientsBusy: number): CheckReport {
  const tally = new Tally('liveness');
  const endUs = records[0]?.atUs ?? 0;
  tally.compare(clientsBusy === 0, endUs, () => `${clientsBusy} conversations of clients never ended`);
  for (const record of records) checkNode(record, tally);
  return tally.report();
}

function checkNode(
  { node, atUs, peers, peersExpected, peersLost, hintsKept }: QuietRecord,
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
  // Hints for one that died for good wait until they are too old.
  if (peersLost > 0) tally.skip();
  else tally.compare(hintsKept === 0, atUs, () => `${node} still keeps ${hintsKept} hints`);
}

export function isQuiet(records: readonly QuietRecord[]): boolean {
  return checkQuiet(records, 0).ok;
}

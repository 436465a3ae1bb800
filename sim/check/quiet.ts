/**
 * INV22, liveness after heal: within a budget of virtual time after everything was healed, clients have their answers,
 * every node calls every other one NORMAL, and no hint waits any more. Per node and peer one comparison each.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** A node as it was at the end of the budget, or as soon as all was well. */
export interface QuietRecord {
  readonly node: string;
  readonly atUs: number;
  /** Its opinion of each other node, by the peer's number; undefined: it does not serve. */
  readonly peers: ReadonlyMap<string, string> | undefined;
  readonly peersExpected: number;
  readonly hintsKept: number;
}

export function checkQuiet(records: readonly QuietRecord[], clientsBusy: number): CheckReport {
  const tally = new Tally('INV22');
  const endUs = records[0]?.atUs ?? 0;
  tally.compare(clientsBusy === 0, endUs, () => `${clientsBusy} conversations of clients never ended`);
  for (const { node, atUs, peers, peersExpected, hintsKept } of records) {
    tally.compare(peers?.size === peersExpected, atUs, () => {
      const knows =
        peers === undefined ? 'does not serve' : `knows ${peers.size} others, not ${peersExpected}`;
      return `${node} ${knows}`;
    });
    for (const [peer, state] of peers ?? []) {
      tally.compare(state === 'NORMAL', atUs, () => `${node} calls its peer ${peer} ${state}`);
    }
    tally.compare(hintsKept === 0, atUs, () => `${node} still keeps ${hintsKept} hints`);
  }
  return tally.report();
}

export function isQuiet(records: readonly QuietRecord[]): boolean {
  return checkQuiet(records, 0).ok;
}

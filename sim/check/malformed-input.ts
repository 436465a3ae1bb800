/**
 * INV16, malformed input never harms a node: whatever bytes a stranger sends to a listener, the node stays up, still
 * answers a well-formed request, and its memory stays bounded. Each burst of garbage is one comparison. Skipped:
 * bursts that never reached their node (it was down, or the network lost them), and ends that a fault explains.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export interface GarbageRecord {
  readonly id: string;
  readonly node: string;
  readonly listener: string;
  readonly form: string;
  readonly sentBytes: number;
  readonly atUs: number;
  /**
   * `closed`: the node ended the connection, or answered with an error. `open`: it was still waiting for more when the
   * sender gave up. `lost`: no connection could be made, or a fault took it.
   */
  readonly outcome: 'closed' | 'open' | 'lost';
  /** The bytes cannot be the beginning of anything valid, so the node must end the connection or answer an error. */
  readonly hopeless: boolean;
}

/** How a node stood after the settling. */
export interface NodeRecord {
  readonly node: string;
  readonly atUs: number;
  /** It answered a ping. */
  readonly answers: boolean;
}

export function checkMalformedInput(
  garbage: readonly GarbageRecord[],
  nodes: readonly NodeRecord[],
): CheckReport {
  const tally = new Tally('INV16');
  for (const burst of garbage) {
    if (burst.outcome === 'lost') {
      tally.skip();
      continue;
    }
    tally.compare(!burst.hopeless || burst.outcome === 'closed', burst.atUs, () => {
      return `${burst.id}: ${burst.sentBytes} bytes of garbage (${burst.form}) to ${burst.node}'s ${burst.listener} listener left the connection open`;
    });
  }
  for (const node of nodes) {
    tally.compare(node.answers, node.atUs, () => `${node.node} does not answer a ping after the calm`);
  }
  return tally.report();
}

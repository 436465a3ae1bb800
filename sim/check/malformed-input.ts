/**
 * `input-robustness` (INV16), malformed input never harms a node: whatever bytes a stranger sends to a listener, the
 * node stays up, still answers a well-formed request, and its memory stays bounded. Each burst of garbage is one
 * comparison. Nor does a disk that is not the node's own any more, or not sound: a start on another node's disk, or
 * on one's own of before one left, is refused as `StoreForeign`, a start is refused as `StorageFailed` or `Corrupted`
 * only when its disk failed or handed out what nobody wrote, and a refused start leaves nothing behind. Each such
 * start is one comparison. Skipped: bursts that never reached their node (it was down, or the network lost them),
 * ends that a fault explains, and starts that did not come to their end.
 */
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

export interface MalformedInputRecord {
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

/** A start that the node refused, or one that it must refuse. */
export interface StartRecord {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  /** The error's code; undefined: it was not refused. */
  readonly refused: string | undefined;
  readonly served: boolean;
  /** The disk was another node's, or its own of before it left. */
  readonly foreign: boolean;
  /** The disk failed, or handed out bytes that nobody wrote, in this life. */
  readonly troubled: boolean;
  /** Names of what a refused start left behind. */
  readonly left: readonly string[];
}

export function checkMalformedInput(
  garbage: readonly MalformedInputRecord[],
  nodes: readonly NodeRecord[],
  starts: readonly StartRecord[] = [],
): CheckReport {
  const tally = new Tally('input-robustness');
  for (const start of starts) checkStart(start, tally);
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

function checkStart(start: StartRecord, tally: Tally): void {
  const { refused, served, foreign, troubled, left, atUs } = start;
  if (refused === undefined && !served) {
    tally.skip();
    return;
  }
  const right = foreign
    ? refused === 'StoreForeign'
    : troubled && (refused === 'StorageFailed' || refused === 'Corrupted');
  tally.compare(right && left.length === 0, atUs, () => describeStart(start));
}

function describeStart({ node, life, refused, foreign, left }: StartRecord): string {
  const what = `${node}, life ${life}, ${foreign ? 'on a disk that is not its own (any more), ' : ''}`;
  if (refused === undefined) return `${what}served`;
  if (left.length > 0) return `${what}refused its start and left behind: ${left.join(', ')}`;
  return `${what}refused its start as ${refused}, without a cause`;
}

/**
 * `input-robustness` (INV16), malformed input never harms a node. Whatever bytes an unauthenticated client sends to a
 * listener, the node stays up, still answers a well-formed request, and its memory stays bounded. Each burst of
 * malformed input is one comparison.
 *
 * A foreign or damaged disk does no harm either. A start on another node's disk, or on the node's own disk from before
 * it left, is refused as `StoreForeign`. A start is refused as `StorageFailed` or `Corrupted` only if its disk failed
 * or returned altered bytes, and as `FormatUnsupported` only if its build is older than a finalized upgrade. A refused
 * start leaves no resource behind, and one that refuses its store leaves the store as it was. Each such start is one
 * comparison. A start that serves knows the members that its member file names. It syncs a store's directory before it
 * changes a name there, gives up the file of its hash tree durably before the node serves, moves an unreadable store
 * aside in steps that a power loss may interrupt, and cuts nothing from a log that the disk refused to read. Each breach
 * is one comparison.
 *
 * Skipped: bursts that never reached their node (it was down, or the network lost them), connection ends that a fault
 * explains, and starts that did not complete.
 */
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** One burst of malformed input and the node's reaction. */
export interface MalformedInputRecord {
  readonly id: string;
  readonly node: string;
  readonly listener: string;
  readonly form: string;
  readonly sentBytes: number;
  readonly atUs: number;
  /**
   * `closed`: the node ended the connection or answered with an error. `open`: it still waited for more when the sender
   * gave up. `lost`: no connection could be made, or a fault broke it.
   */
  readonly outcome: 'closed' | 'open' | 'lost';
  /** The bytes are no prefix of a valid request: the node must end the connection or answer with an error. */
  readonly hopeless: boolean;
}

/** The state of a node after the settling. */
export interface NodeRecord {
  readonly node: string;
  readonly atUs: number;
  /** It answered a ping. */
  readonly answers: boolean;
}

/** A start that the node refused or must refuse. */
export interface StartRecord {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  /** The error's code; undefined if the start was not refused. */
  readonly refused: string | undefined;
  readonly served: boolean;
  /** The disk was another node's, or the node's own from before it left. */
  readonly foreign: boolean;
  /** The disk failed or returned altered bytes in this incarnation. */
  readonly troubled: boolean;
  /** Its build is older than the one that the cluster was, or may have been, finalized for. */
  readonly outdated?: boolean;
  /** Names of the resources that a refused start left behind. */
  readonly left: readonly string[];
  /** The first file of its store that the start changed before the store was open; absent: none. */
  readonly changed?: string | undefined;
  /** What a start that served did wrong; absent: nothing. */
  readonly broke?: string;
}

/** Bursts, the nodes' answers after the settling, and starts that were refused or must have been. */
export interface MalformedInputEvidence {
  readonly bursts: readonly MalformedInputRecord[];
  readonly nodes: readonly NodeRecord[];
  readonly starts: readonly StartRecord[];
}

/** The row of `input-robustness`. */
export const inputRobustnessRow = invariant({
  name: 'input-robustness',
  code: 'INV16',
  promise: 'malformed input or a foreign disk harms no node',
  gravity: 'availability',
  breach: 'a client can end a node, or a node starts on a disk that it must refuse',
  needs: [],
  everydayFloor: 3,
  check: ({ malformedInput }: { readonly malformedInput: MalformedInputEvidence }) =>
    checkMalformedInput(malformedInput.bursts, malformedInput.nodes, malformedInput.starts),
});

/** Checks bursts of malformed input, the nodes after the settling, and starts. */
export function checkMalformedInput(
  bursts: readonly MalformedInputRecord[],
  nodes: readonly NodeRecord[],
  starts: readonly StartRecord[] = [],
): CheckReport {
  const tally = new Tally('input-robustness');
  for (const start of starts) checkStart(start, tally);
  for (const burst of bursts) {
    if (burst.outcome === 'lost') {
      tally.skip();
      continue;
    }
    tally.compare(!burst.hopeless || burst.outcome === 'closed', burst.atUs, () => {
      return `${burst.id}: ${burst.sentBytes} bytes of malformed input (${burst.form}) to ${burst.node}'s ${burst.listener} listener left the connection open`;
    });
  }
  for (const node of nodes) {
    tally.compare(node.answers, node.atUs, () => `${node.node} does not answer a ping after the calm`);
  }
  return tally.report();
}

/** Codes with which a start refuses its store, or what lies beside it. */
const storeRefusals: readonly string[] = ['Corrupted', 'StoreForeign', 'FormatUnsupported'];

function checkStart(start: StartRecord, tally: Tally): void {
  const { refused, served, foreign, troubled, outdated, left, atUs } = start;
  const isAsItWas = start.changed === undefined || !storeRefusals.includes(refused ?? '');
  if (refused === undefined && !served) {
    tally.skip();
    return;
  }
  const isOutdated = outdated === true && refused === 'FormatUnsupported';
  const right = foreign
    ? refused === 'StoreForeign'
    : isOutdated || (troubled && (refused === 'StorageFailed' || refused === 'Corrupted'));
  tally.compare(right && left.length === 0 && isAsItWas, atUs, () => describeStart(start));
}

function describeStart({ node, life, refused, foreign, left, changed, broke }: StartRecord): string {
  const what = `${node}, life ${life}, ${foreign ? 'on a disk that is not its own (any more), ' : ''}`;
  if (broke !== undefined) return `${what}${broke}`;
  if (refused === undefined) return `${what}served`;
  if (left.length > 0) return `${what}refused its start and left behind: ${left.join(', ')}`;
  if (changed !== undefined) return `${what}refused its start as ${refused}, and has changed ${changed}`;
  return `${what}refused its start as ${refused}, without a cause`;
}

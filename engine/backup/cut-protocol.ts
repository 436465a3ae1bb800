/**
 * Takes a cut of the whole cluster: the durable state of every node at one moment, so that it holds all of a
 * transaction or nothing. `README.md` says why that follows.
 *
 * 1. Every node holds its writes back, with a lease.
 * 2. Once all of them do, every node pins its segments.
 * 3. Once all of them have, the writes go on. Each node states whether it held them without a break.
 *
 * If one did not, if the ring changed meanwhile, or if a node does not answer, the pins are dropped and the cut is tried
 * again.
 */
import { sleep } from '../io/clock.ts';
import type { Clock } from '../io/clock.ts';
import type { BackupNode, CutAnswer, HoldAnswer, ReleaseAnswer } from './messages.ts';

/** The cut of one node. */
export interface NodeCut extends CutAnswer {
  readonly from: BackupNode;
  readonly at: HoldAnswer;
}

/** The cut of the cluster. */
export interface ClusterCut {
  readonly id: string;
  readonly clusterId: string;
  readonly view: string;
  /** Milliseconds since the epoch, by the clock of the process that takes the backup. */
  readonly takenMs: number;
  /** For how long writes were held back on some node, in microseconds. */
  readonly heldUs: number;
  readonly nodes: readonly NodeCut[];
  /** Members that are not part of it, by the caller's wish. */
  readonly without: readonly string[];
}

/** How a cut is taken. */
export interface CutOptions {
  readonly leaseMs: number;
  readonly attemptsMax: number;
  /** Members that may be missing. */
  readonly without: readonly string[];
}

/** The defaults of `lockstep backup`. */
export const cutDefaults: CutOptions = { leaseMs: 3000, attemptsMax: 10, without: [] };

const retryUs = 500_000;

/** Why this attempt gave no cut; another one may. */
class CutMissedError extends Error {
  override readonly name = 'CutMissedError';
}

/** The nodes that were asked are not the cluster's members: trying again does not help. */
export class MembersMissingError extends Error {
  override readonly name = 'MembersMissingError';
}

/** Takes a cut. Rejects with `MembersMissingError`, or with the reason of the last attempt. */
export async function takeCut(
  nodes: readonly BackupNode[],
  id: string,
  clock: Clock,
  options: CutOptions = cutDefaults,
): Promise<ClusterCut> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptCut(nodes, `${id}-${attempt}`, clock, options);
    } catch (error) {
      await Promise.all(nodes.map((node) => giveUp(node, `${id}-${attempt}`)));
      if (error instanceof MembersMissingError || attempt >= options.attemptsMax) throw error;
    }
    await sleep(clock, retryUs * attempt);
  }
}

async function attemptCut(
  nodes: readonly BackupNode[],
  id: string,
  clock: Clock,
  { leaseMs, without }: CutOptions,
): Promise<ClusterCut> {
  const beganUs = clock.nowUs();
  const holds = await all(nodes.map((node) => node.hold(id, leaseMs)));
  const first = holds[0];
  if (first === undefined) throw new MembersMissingError('name at least one node');
  checkMembers(holds, without);
  const cuts = await all(nodes.map((node) => node.cut(id)));
  const takenMs = clock.wallMs();
  const releases = await all(nodes.map((node) => node.release(id)));
  const heldUs = clock.nowUs() - beganUs;
  holds.forEach((hold, index) => checkHeld(hold, releases[index], first.view));
  const parts = nodes.flatMap((from, index) => {
    const at = holds[index];
    const cut = cuts[index];
    return at === undefined || cut === undefined ? [] : [{ ...cut, from, at }];
  });
  const missing = first.members.filter((name) => !holds.some(({ node }) => node === name));
  return {
    id,
    clusterId: first.cluster_id,
    view: first.view,
    takenMs,
    heldUs,
    nodes: parts,
    without: missing,
  };
}

/** Waits for all of them, and rejects with the first rejection only then: no call is under way afterwards. */
async function all<T>(calls: readonly Promise<T>[]): Promise<readonly T[]> {
  const settled = await Promise.allSettled(calls);
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value;
    throw one.reason;
  });
}

function checkMembers(holds: readonly HoldAnswer[], without: readonly string[]): void {
  const asked = holds.map(({ node }) => node);
  const twice = asked.find((node, index) => asked.indexOf(node) !== index);
  if (twice !== undefined) throw new MembersMissingError(`${twice} is named twice`);
  const clusters = new Set(holds.map(({ cluster_id: cluster }) => cluster));
  if (clusters.size > 1)
    throw new MembersMissingError(`the nodes are of several clusters: ${[...clusters].join(', ')}`);
  const members = new Set(holds.flatMap((hold) => hold.members));
  const missing = [...members].filter((node) => !asked.includes(node) && !without.includes(node));
  if (missing.length > 0)
    throw new MembersMissingError(
      `${missing.join(', ')} belong to the cluster and were not named; add each with --node, or leave it out with --without`,
    );
  const views = new Set(holds.map(({ view }) => view));
  if (views.size > 1)
    throw new CutMissedError('the nodes have different ring views: a ring change is spreading');
}

function checkHeld(hold: HoldAnswer, release: ReleaseAnswer | undefined, view: string): void {
  if (release?.held !== true || release.incarnation !== hold.incarnation)
    throw new CutMissedError(
      `${hold.node} did not hold its writes until every node was cut; a longer --lease may help`,
    );
  if (release.view !== view) throw new CutMissedError('the ring changed while the cut was taken');
}

async function giveUp(node: BackupNode, id: string): Promise<void> {
  try {
    await node.release(id);
    await node.end(id);
  } catch {
    // The lease and the idle timer of the node end both.
  }
}

/**
 * Which keys a job or a listing must find: those of which a majority of a datacenter's replicas had acknowledged a put
 * before it, unless some client may have deleted the key, a disk has lost data, or as many nodes as hold copies were
 * disturbed meanwhile, or were not called NORMAL by the node that was asked.
 */
import type { History, WriteOperation } from '../../evidence/history.ts';
import { isRead, isWrite } from '../../evidence/history.ts';
import type { Opinions } from '../../evidence/opinions.ts';
import type { Prunings } from '../../evidence/prunings.ts';

/** What the nodes of a run thought of each other, which disks lost data, and what was pruned from contexts. */
export interface JobSurroundings {
  readonly nodes: readonly string[];
  readonly opinions: Pick<Opinions, 'between'>;
  readonly diskLosses: { lostBetween(fromUs: number, toUs: number): number };
  readonly prunings: Prunings;
  /** Disturbances of a node, or (`node` empty) of the network. */
  readonly disturbances: readonly { readonly node: string; readonly fromUs: number; readonly toUs: number }[];
}

/** A request over several keys, answered by `node` between two instants. */
interface Asked {
  readonly node: string;
  /** Its replicas alone are asked; undefined: those of all datacenters may be. */
  readonly datacenter?: string;
  readonly invokedUs: number;
  readonly completedUs: number;
}

/**
 * Finds, among the operations of a key, a put that so many replicas held throughout the request that it must be found;
 * undefined if there is none.
 */
export function heldThroughout(
  { node, datacenter, invokedUs, completedUs }: Asked,
  { nodes, opinions, diskLosses, disturbances }: JobSurroundings,
): (operations: History) => WriteOperation | undefined {
  if (diskLosses.lostBetween(0, completedUs) > 0) return () => undefined;
  const isDisturbed = (peer: string): boolean => {
    if (
      disturbances.some(
        (one) => (one.node === peer || one.node === '') && one.fromUs <= completedUs && one.toUs >= invokedUs,
      )
    )
      return true;
    const states = opinions.between(node, peer, invokedUs, completedUs);
    return peer !== node && (states.size > 1 || !states.has('NORMAL'));
  };
  const disturbed = nodes.filter(isDisturbed).length;
  return (operations) => {
    const writes = operations.filter(isWrite);
    const mayBeGone = writes.some(
      ({ kind, outcome, invokedUs: begunUs }) =>
        kind === 'delete' && outcome !== 'fail' && begunUs <= completedUs,
    );
    if (mayBeGone) return undefined;
    return writes.find((write) => {
      const isNear = datacenter === undefined || write.datacenter === datacenter;
      return isNear && isHeldBefore(write, invokedUs) && write.durableCopies > disturbed;
    });
  };
}

function isHeldBefore(write: WriteOperation, atUs: number): boolean {
  const { kind, outcome, need, copies, durableCopies, completedUs } = write;
  const isMajority = need * 2 > copies && durableCopies * 2 > copies;
  return kind === 'put' && outcome === 'ok' && isMajority && (completedUs ?? Infinity) < atUs;
}

/**
 * What the last read after the calm returned in each datacenter, one list of tags each; undefined without such a read, or
 * if a later write may have changed them.
 *
 * Datacenters may differ: a read asks the replicas of one of them, and an acknowledged write may not have reached the
 * others. The coordinator has then died before it kept a hint, and anti-entropy is off, or compares the replicas only
 * after these reads.
 */
export function shownAfterCalm(history: History): readonly (readonly string[])[] | undefined {
  if (history.some((one) => isWrite(one) && one.outcome === 'unknown')) return undefined;
  const shown = new Map<string, readonly string[]>();
  for (const one of history) {
    if (isRead(one) && one.final && one.outcome === 'ok') shown.set(one.datacenter, one.values);
  }
  return shown.size === 0 ? undefined : [...shown.values()];
}

/**
 * Tells which values of a key are there for good: not those that were replaced, and that a pruned context may bring back
 * or replace again (evidence/prunings.ts) between the reads after the calm and the request.
 */
export function staysUntil(
  completedUs: number,
  operations: History,
  prunings: Prunings,
): (tag: string) => boolean {
  const writes = operations.filter(isWrite);
  return (tag) => !writes.some((write) => write.tag === tag && prunings.mayBeBack(write, completedUs));
}

/** `«w:c0:1» or nothing`: what reads after the calm showed, for people. */
export function describeShown(shown: readonly (readonly string[])[]): string {
  return [...new Set(shown.map((tags) => tags.join(' ') || 'nothing'))].join(' or ');
}

/**
 * Collects the starts that nodes refused, and the starts on foreign disks, for `input-robustness`; and what orderly
 * stops left behind, for `resource-bounds`.
 */
import type { StopRecord } from '../check/bounds/leaks.ts';
import type { StartRecord } from '../check/protocols/malformed-input.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { namesOfLeaks } from '../world/cluster/host.ts';
import type { DiskHistory } from '../observe/disk-history.ts';
import type { ForeignStart } from '../faults/fault-context.ts';

/** The start records of one run. */
export function startsOf(
  cluster: Cluster,
  foreignStarts: readonly ForeignStart[],
  disks: DiskHistory,
  mayRefuseBuild: (atUs: number, version: number) => boolean,
): readonly StartRecord[] {
  const refused = cluster.refusedStarts.map(({ node, life, atUs, code, build, departed, left }) => ({
    node,
    life,
    atUs,
    refused: code,
    served: false,
    foreign: departed || foreignStarts.some((start) => start.node === node && isWithin(life, start)),
    troubled: disks.isTroubled(node, life),
    outdated: mayRefuseBuild(atUs, build),
    left: namesOfLeaks(left),
    changed: disks.changedAtStart(node, life),
  }));
  const served = foreignStarts.filter((start) => start.served);
  const wrong = served.map((start) => ({
    ...start,
    refused: undefined,
    foreign: true,
    troubled: false,
    left: [],
  }));
  const broken = disks.wrongStarts.map(({ node, life, atUs, text }) => ({
    node,
    life,
    atUs,
    refused: undefined,
    served: true,
    foreign: false,
    troubled: false,
    left: [],
    broke: text,
  }));
  return [...refused, ...wrong, ...broken];
}

/** The life is one of those that this disk was mounted for. */
function isWithin(life: number, { life: first, lastLife = first }: ForeignStart): boolean {
  return life >= first && life <= lastLife;
}

/** The orderly stops of one run, those amid the load included. */
export function stopsOf(cluster: Cluster): readonly StopRecord[] {
  return cluster.stops.map(({ node, atUs, left }) => ({
    node,
    atUs,
    stopped: true,
    left: namesOfLeaks(left),
  }));
}

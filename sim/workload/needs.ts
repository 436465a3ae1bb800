/**
 * How many replicas an operation on a single key needs, as promised to the client: by what the request states, else by
 * the properties of the bucket, else by the consistency level.
 */
import type { ConsistencyLevel } from '../../engine/replication/requests.ts';
import type { Operation } from '../evidence/history.ts';
import type { NeedWord, PlanOperation } from '../plan/plan.ts';
import type { BucketNeed, BucketNeeds, NeedProperty } from '../plan/bucket-needs.ts';

/** What an operation demands. */
export type Wanted = Pick<PlanOperation, 'kind' | 'need' | 'quorum' | 'over' | 'absence' | 'ifChanged'> & {
  readonly key?: number;
};

/** How many copies of its datacenter the operation waits for. */
export function waitedFor(
  wanted: Wanted,
  level: ConsistencyLevel,
  copies: number,
  bucket: BucketNeeds = {},
): number {
  const { quorum } = wanted;
  const raised = raisingProperties(wanted).map((name) => needCount(bucket[name] ?? 'one', copies));
  const stated = quorum?.as === 'number' ? quorum.count : needCount(wordOf(wanted, bucket), copies, level);
  const more = quorum === undefined || quorum.as === 'number' ? 0 : quorum.count;
  return Math.max(stated, more, ...raised);
}

/** Whether neither the request nor the bucket says how many must answer, so that the consistency level does. */
export function isByLevel(wanted: Wanted, bucket: BucketNeeds): boolean {
  return wanted.quorum?.as !== 'number' && wordOf(wanted, bucket) === 'level';
}

/** The property that the request replaces, if it states its need, and uses, if not. */
function wordOf({ kind, need }: Wanted, bucket: BucketNeeds): NeedWord | BucketNeed {
  if (need !== 'level') return need;
  if (kind === 'get') return bucket.r ?? need;
  return (kind === 'delete' ? bucket.rw : undefined) ?? bucket.w ?? need;
}

/** The properties that only raise the need, less the one that the request states itself. */
function raisingProperties({ kind, quorum, key }: Wanted): readonly NeedProperty[] {
  const all: readonly NeedProperty[] =
    kind === 'get' ? ['pr', 'node_confirms'] : ['pw', 'dw', 'node_confirms'];
  if (quorum?.as === 'primaries') return all.filter((name) => name !== 'pr' && name !== 'pw');
  if (quorum?.as !== 'durable') return all;
  return all.filter((name) => name !== (isByNodes(kind, key) ? 'node_confirms' : 'dw'));
}

/** Reads, and puts of every second key, count durable copies by `node_confirms`: here both names mean the same. */
export function isByNodes(kind: Wanted['kind'], key = 0): boolean {
  return kind === 'get' || (kind === 'put' && key % 2 === 1);
}

/**
 * How many replicas must answer that they lack the key before the node answers "not found", if the request, or the
 * bucket, wants absences confirmed; undefined if not.
 */
export function confirmingNeed(
  { absence }: Pick<Wanted, 'absence'>,
  { copies, need }: Pick<Operation, 'copies' | 'need'>,
  bucket: BucketNeeds = {},
): number | undefined {
  if (absence === undefined && bucket.notfound_ok !== false) return undefined;
  const rest = copies - need + 1;
  const byMajority = absence === 'confirmed-by-majority' || bucket.basic_quorum === true;
  return byMajority ? Math.min(rest, needCount('quorum', copies)) : rest;
}

/** How many of `copies` in the datacenter a word demands. */
export function needCount(need: NeedWord, copies: number, level: ConsistencyLevel = 'DC_QUORUM'): number {
  if (need === 'one' || (need === 'level' && level === 'DC_ONE')) return 1;
  return need === 'all' ? copies : Math.floor(copies / 2) + 1;
}

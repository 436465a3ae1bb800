/**
 * Computes from Riak's quorum parameters how many replicas a request waits for.
 *
 * Riak distinguishes replicas that answered (`r`, `w`), primaries among them (`pr`, `pw`), durable ones (`dw`) and
 * distinct nodes (`node_confirms`). Here each rack holds one replica on a node of its own, there are no fallback
 * replicas, and no write is acknowledged before it is durable. The four therefore count the same replicas, and the
 * strongest one given holds.
 *
 * All are numbers of the local datacenter. `r` and `w` replace the level; the others only raise it.
 */
import type { QuorumName } from '../base/errors.ts';
import type { BucketProperties } from '../buckets/properties.ts';
import type { ConsistencyLevel, Need, ReadNeed, WriteNeed } from './requests.ts';

/** What the named needs mean at this node. */
export interface ReplicaTerms {
  readonly readLevel: ConsistencyLevel;
  readonly writeLevel: ConsistencyLevel;
  /** Replicas of a key in the local datacenter, configured ones. */
  replicaCount(): number;
}

/** The quorum parameters of a read request. `default`: the bucket's property holds. */
export interface AskedRead {
  readonly r: Need | 'primary';
  readonly pr: Need;
  readonly nodeConfirms: Need;
}

/** The quorum parameters of a write request. `default`: the bucket's property holds. */
export interface AskedWrite {
  readonly w: Need;
  readonly dw: Need;
  readonly pw: Need;
  readonly nodeConfirms: Need;
}

/** A request without quorum parameters. */
export const nothingAsked: AskedRead & AskedWrite = {
  r: 'default',
  pr: 'default',
  w: 'default',
  dw: 'default',
  pw: 'default',
  nodeConfirms: 'default',
};

/** What a read waits for, and the parameter that asks for the most. */
export interface ReadQuorum {
  readonly need: ReadNeed;
  readonly quorum: QuorumName;
}

/** What a write waits for, and the parameter that asks for the most. */
export interface WriteQuorum {
  readonly need: WriteNeed;
  readonly quorum: QuorumName;
}

/** What a read of a bucket with these properties needs. */
export function bucketReadNeed(terms: ReplicaTerms, bucket: BucketProperties, asked: AskedRead): ReadQuorum {
  const r = asked.r === 'primary' ? asked.r : given(asked.r, bucket.r);
  const pr = atLeast(asked.pr, bucket.pr);
  const nodeConfirms = atLeast(asked.nodeConfirms, bucket.nodeConfirms);
  const least = r === 'primary' ? 'one' : r;
  const quorum = strictest(terms, terms.readLevel, 'r', least, 'pr', pr, 'default', nodeConfirms);
  return { need: readNeed(terms, r, pr, nodeConfirms), quorum };
}

/** What a write to a bucket with these properties needs. */
export function bucketWriteNeed(
  terms: ReplicaTerms,
  bucket: BucketProperties,
  asked: AskedWrite,
): WriteQuorum {
  const w = given(asked.w, bucket.w);
  const dw = atLeast(asked.dw, bucket.dw);
  const pw = atLeast(asked.pw, bucket.pw);
  const nodeConfirms = atLeast(asked.nodeConfirms, bucket.nodeConfirms);
  const quorum = strictest(terms, terms.writeLevel, 'w', w, 'pw', pw, dw, nodeConfirms);
  return { need: writeNeed(terms, w, dw, pw, nodeConfirms), quorum };
}

/** The properties as a deletion uses them: the bucket's `rw`, if set, replaces its `r` and `w`. */
export function forDeletion(bucket: BucketProperties): BucketProperties {
  return bucket.rw === 'default' ? bucket : { ...bucket, r: bucket.rw, w: bucket.rw };
}

function given(asked: Need, bucket: Need): Need {
  return asked === 'default' ? bucket : asked;
}

/** As `given`; 0 requires nothing. */
function atLeast(asked: Need, bucket: Need): Need {
  const need = given(asked, bucket);
  return need === 0 ? 'default' : need;
}

/**
 * The need of a read: the strongest of `r`, `pr` and `node_confirms`. `primary` is one replica, namely the primary, and
 * holds unless another parameter needs more than one.
 */
export function readNeed(terms: ReplicaTerms, r: Need | 'primary', pr: Need, nodeConfirms: Need): ReadNeed {
  if (r === 'primary') {
    const more = strongest(terms, terms.readLevel, 'one', pr, nodeConfirms, 'default');
    return numberOf(more, terms.readLevel, terms.replicaCount()) > 1 ? more : r;
  }
  return strongest(terms, terms.readLevel, r, pr, nodeConfirms, 'default');
}

/** How many replicas must report "no copy", and how many the read has asked for. */
export interface Absence {
  readonly need: number;
  readonly asked: number;
}

/**
 * How many replicas must report "no copy" before a client with `notfound_ok=false` gets "not found". It is the number
 * that leaves too few replicas for the read's need; with `basic_quorum` a majority suffices. Undefined if the read
 * itself has already asked that many.
 */
export function absenceNeed(terms: ReplicaTerms, need: ReadNeed, basicQuorum: boolean): Absence | undefined {
  // The primary's answer is final.
  if (need === 'primary') return undefined;
  const count = terms.replicaCount();
  const asked = numberOf(need, terms.readLevel, count);
  const left = count - asked + 1;
  const enough = basicQuorum ? Math.min(left, majorityOf(count)) : left;
  return enough > asked ? { need: enough, asked } : undefined;
}

/** The need of a write: the strongest of `w`, `dw`, `pw` and `node_confirms`. */
export function writeNeed(terms: ReplicaTerms, w: Need, dw: Need, pw: Need, nodeConfirms: Need): WriteNeed {
  return strongest(terms, terms.writeLevel, w, dw, pw, nodeConfirms);
}

/**
 * The parameter that asks for the most replicas. If several ask for the same number, the order is: that of the primaries
 * (`pr` or `pw`), `dw`, then `base`, as Riak reports them (riak_kv_get_core, riak_kv_put_core), and `node_confirms` last.
 * Runs for every request, so it allocates nothing.
 */
function strictest(
  terms: ReplicaTerms,
  level: ConsistencyLevel,
  base: 'r' | 'w',
  need: Need,
  primaries: 'pr' | 'pw',
  primariesNeed: Need,
  dw: Need,
  nodeConfirms: Need,
): QuorumName {
  if (primariesNeed === 'default' && dw === 'default' && nodeConfirms === 'default') return base;
  const count = terms.replicaCount();
  let name: QuorumName = base;
  let most = numberOf(need, level, count);
  if (dw !== 'default' && numberOf(dw, level, count) >= most) {
    name = 'dw';
    most = numberOf(dw, level, count);
  }
  if (primariesNeed !== 'default' && numberOf(primariesNeed, level, count) >= most) {
    name = primaries;
    most = numberOf(primariesNeed, level, count);
  }
  return nodeConfirms !== 'default' && numberOf(nodeConfirms, level, count) > most ? 'node_confirms' : name;
}

function strongest(
  terms: ReplicaTerms,
  level: ConsistencyLevel,
  first: Need,
  second: Need,
  third: Need,
  fourth: Need,
): WriteNeed {
  if (second === 'default' && third === 'default' && fourth === 'default') return atLeastOne(first);
  const count = terms.replicaCount();
  let need = first;
  // 'default' among the others requires nothing beyond the first.
  for (const other of [second, third, fourth]) {
    if (other !== 'default' && numberOf(other, level, count) > numberOf(need, level, count)) need = other;
  }
  // A plain number would drop the majorities of the other datacenters.
  if (first === 'default' && need !== 'default' && level === 'DC_EACH_SAFE_QUORUM')
    return { atLeast: numberOf(need, level, count) };
  return atLeastOne(need);
}

/** No request is answered before one replica has answered: 0 means 1. */
function atLeastOne(need: Need): Need {
  return need === 0 ? 'one' : need;
}

function numberOf(need: WriteNeed, level: ConsistencyLevel, replicaCount: number): number {
  if (typeof need === 'number') return need;
  if (typeof need === 'object') return Math.max(need.atLeast, majorityOf(replicaCount));
  switch (need) {
    case 'one':
      return 1;
    case 'quorum':
      return majorityOf(replicaCount);
    case 'all':
      return replicaCount;
    case 'default':
      return level === 'DC_ONE' ? 1 : majorityOf(replicaCount);
  }
}

function majorityOf(count: number): number {
  return Math.floor(count / 2) + 1;
}

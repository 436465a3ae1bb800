/**
 * `quorum-intersection` (INV18), quorum intersection, from the wire. Every answered read had answers of as many
 * different replicas as it asked for. Where the client wants an absence confirmed, these are so many that too few are
 * left for the read; the history states that number as the read's need. Every acknowledged write lay durably on as many
 * as it asked for. If these numbers add up to more than the copies, the two sets share a replica. A refusal names as
 * away only peers that the node did not call routable at the time, and too few others remained. At a SAFE level, while
 * nothing goes wrong, no read is refused because its copies differ: they are equal, or the read repairs them. No read
 * fails for want of answers while no fault hinders the node that was asked and as many replicas as must answer: the node
 * asks others than those that are silent. The same holds for GETs of Redis clients (`protocols/redis-reads.ts`).
 *
 * A coordinator that holds a copy counts as one of the answers: its own read is on no wire. Skipped: writes that may
 * leave no tag on a disk (see `durable-before-ack`, and all in buckets without siblings), and refusals that name no
 * peer. With `sync: N`, all writes: they are acknowledged before they are durable.
 */
import type { History, Operation } from '../../evidence/history.ts';
import { byKey, describeOperation, isWrite } from '../../evidence/history.ts';
import type { Opinions } from '../../evidence/opinions.ts';
import type { ReadAnswer } from '../../evidence/read-answers.ts';
import type { SyncLag } from '../../evidence/sync-lag.ts';
import { noLag } from '../../evidence/sync-lag.ts';
import { writesThatLast } from './acknowledgement.ts';
import { invariant } from '../invariant.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { ReadTerms } from '../protocols/redis-reads.ts';
import { checkRedisReads } from '../protocols/redis-reads.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** A refusal of another coordinator, to which the request was forwarded, begins with that node's name. */
const refusalText = /^(?:NoQuorum: )?(?:(\S+): )?.*are needed and \d+ can be reached \(away: ([^)]*)\)/;
const disagreement = /the copies of \S+ differ/;
/** While nothing goes wrong, an acknowledged write reaches all replicas within this time, in virtual microseconds. */
const spreadUs = 300_000;
/** How a read ends that too few replicas have answered, over HTTP and in the binary protocol. */
const lackOfAnswers = /^(?:\d{3} )?(?:NoQuorum|Timeout|timeout)\b|_val_unsatisfied/;
/** How a read ends whose time is over. */
const timeIsOver = /^(?:\d{3} )?[Tt]imeout\b/;
/** A read whose time is over sooner stated less time than an answer may take (`brief_requests_ms`). */
const patientUs = 200_000;
const routable: readonly string[] = ['NORMAL', 'JOINING', 'STANDBY'];

/** Requests, and the answers of replicas on the wire. */
export interface QuorumEvidence {
  readonly history: History;
  readonly readAnswers: readonly ReadAnswer[];
  readonly opinions: Opinions;
  readonly nodes: readonly string[];
  /**
   * From when on nothing goes wrong, in virtual microseconds: 0 for a plan without faults, else after the calm; Infinity
   * if a fault may still be felt then.
   */
  readonly quietFromUs: number;
  /** Nodes that a fault may keep from answering reads; undefined: the plan does not tell which. */
  readonly hindered: ReadonlySet<string> | undefined;
  readonly redis: readonly RedisRecord[];
  /** What GETs of Redis clients may rely on; undefined: the plan does not tell. */
  readonly redisReads: ReadTerms | undefined;
  readonly syncLag: SyncLag;
}

/** The row of `quorum-intersection`. */
export const quorumIntersectionRow = invariant({
  name: 'quorum-intersection',
  code: 'INV18',
  promise: 'as many replicas take part as a quorum needs',
  gravity: 'data',
  breach: 'a read and a write that ought to meet share no replica',
  needs: ['routes'],
  everydayFloor: 25,
  check: (evidence: QuorumEvidence) => {
    const { history, readAnswers, opinions, nodes, quietFromUs, hindered, redis, redisReads, syncLag } =
      evidence;
    return joinReports(
      checkQuorums(history, readAnswers, opinions, nodes, quietFromUs, hindered, syncLag),
      checkRedisReads(redis, redisReads),
    );
  },
});

/** Checks reads and refusals against the wire, and writes against the disks. */
export function checkQuorums(
  history: History,
  answers: readonly ReadAnswer[],
  opinions: Opinions,
  nodes: readonly string[],
  quietFromUs = Infinity,
  hindered: ReadonlySet<string> | undefined = undefined,
  { us: lagUs }: SyncLag = noLag,
): CheckReport {
  const tally = new Tally('quorum-intersection');
  const byReader = groupBy(answers, ({ node, key }) => `${node} ${key}`);
  const lasting = lagUs > 0 ? new Set<number>() : writesThatLast(history);
  for (const operation of history) {
    if (operation.outcome === 'ok') checkAnswered(operation, byReader, lasting, tally);
    else checkRefused(operation, opinions, nodes, tally);
  }
  if (quietFromUs < Infinity) checkAgreement(history, quietFromUs, tally);
  if (hindered !== undefined) checkReadable(history, hindered, tally);
  return tally.report();
}

/**
 * A hindered node counts as a replica of every key, so that only those reads are judged that enough other replicas can
 * answer.
 */
function checkReadable(history: History, hindered: ReadonlySet<string>, tally: Tally): void {
  for (const operation of history) {
    const { kind, node, copies, need, far, agree, outcome, reason, invokedUs, completedUs } = operation;
    if (kind !== 'get' || far !== undefined || agree === true || hindered.has(node)) continue;
    if (need > copies - hindered.size) continue;
    if (outcome !== 'ok' && timeIsOver.test(reason) && (completedUs ?? Infinity) - invokedUs < patientUs)
      continue;
    tally.compare(outcome === 'ok' || !lackOfAnswers.test(reason), invokedUs, () => {
      const others = hindered.size === 0 ? 'no node' : `none but ${[...hindered].join(' ')}`;
      return `${describeOperation(operation)}: faults hinder ${others}, and ${need} of ${copies} replicas must answer`;
    });
  }
}

function checkAnswered(
  operation: Operation,
  answers: ReadonlyMap<string, readonly ReadAnswer[]>,
  lasting: ReadonlySet<number>,
  tally: Tally,
): void {
  const { kind, node, key, need, far = {}, invokedUs, completedUs } = operation;
  if (kind !== 'get' && !(operation.siblings && lasting.has(operation.id))) return tally.skip();
  const endUs = completedUs ?? invokedUs;
  if (kind !== 'get') {
    const { farCopies = {} } = operation;
    for (const [datacenter, kept] of Object.entries(farCopies)) {
      const enough = far[datacenter] ?? 0;
      tally.compare(kept >= enough, endUs, () => {
        return `${describeOperation(operation)}: ${datacenter} keeps ${kept} copies, ${enough} are needed`;
      });
    }
    tally.compare(operation.durableCopies >= need, endUs, () => {
      return `${describeOperation(operation)}: ${operation.durableCopies} replicas keep it, ${need} are needed`;
    });
    return;
  }
  const heard = (answers.get(`${node} ${key}`) ?? []).filter(
    ({ askedUs, heardUs }) => askedUs >= invokedUs && heardUs <= endUs,
  );
  const replicas = new Set([node, ...heard.map(({ peer }) => peer)]);
  const all = Object.values(far).reduce((sum, one) => sum + one, need);
  tally.compare(replicas.size >= all, endUs, () => {
    return `${describeOperation(operation)}: ${all} replicas are needed, and only ${[...replicas].join(' ')} can have answered`;
  });
}

/**
 * While nothing goes wrong, a read at a SAFE level is refused only while a write of the key is on its way: it repairs
 * copies that differ, since their replicas missed a write, and finds them equal then.
 */
function checkAgreement(history: History, quietFromUs: number, tally: Tally): void {
  for (const operations of byKey(history).values()) {
    const writes = operations.filter(isWrite);
    for (const read of operations) {
      const { agree, outcome, invokedUs, completedUs = invokedUs } = read;
      if (agree !== true || outcome === 'unknown' || invokedUs < quietFromUs) continue;
      const underWay = writes.some(
        (write) => write.invokedUs <= completedUs && (write.completedUs ?? Infinity) >= invokedUs - spreadUs,
      );
      if (underWay) tally.skip();
      else
        tally.compare(!disagreement.test(read.reason), completedUs, () => {
          return `${describeOperation(read)}: all copies are equal, or can be made so`;
        });
    }
  }
}

function checkRefused(
  operation: Operation,
  opinions: Opinions,
  nodes: readonly string[],
  tally: Tally,
): void {
  const [, by, names] = refusalText.exec(operation.reason) ?? [];
  const away = names?.split(', ') ?? [];
  const { invokedUs, completedUs = invokedUs } = operation;
  const node = by ?? operation.node;
  const named = away.filter((name) => nodes.includes(name) && name !== node);
  if (named.length === 0) return tally.skip();
  for (const peer of named) {
    const states = [...opinions.between(node, peer, invokedUs, completedUs)];
    const truly = states.some((state) => !routable.includes(state));
    tally.compare(truly, completedUs, () => {
      return `${describeOperation(operation)}: it calls ${peer} away, which was ${states.join(' or ')} to it`;
    });
  }
}

function groupBy<T>(items: readonly T[], of: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = of(item);
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [item]);
    else known.push(item);
  }
  return groups;
}

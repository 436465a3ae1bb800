/**
 * Records the named protocol steps of transactions with the state of the disk at that moment: whether the record on
 * which a step relies is certainly durable. It searches durable bytes for transaction ids and does not decode them.
 */
import { branchSteps, coordinatorSteps } from '../../engine/transactions/formats/steps.ts';
import { coordinatorOf } from '../../engine/transactions/formats/xid.ts';
import type { Plan } from '../plan/plan.ts';
import type { TransactionStep } from '../check/transactions/transactions.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import type { World } from '../world/world.ts';

/**
 * Events that are no protocol steps. The end of a transaction of one branch, which has no other step if it writes
 * nothing. Operators' decisions: the checks leave their branches out. Decisions that a start
 * found in the log after a crash prevented their own step.
 */
const beside = [
  'branch.concluded',
  'branch.decided',
  'branch.mixed',
  'decision.abandoned',
  'decision.recovered',
];

const branchRecord = 'xa.branch';
const decisionRecord = 'xa.decision';
const buckets = [branchRecord, decisionRecord];
const xidBytesMax = 100;
const xidForm = /^[A-Za-z0-9_.-]{1,64}-[0-9a-f]{12}-[0-9]{1,16}/;

/** Collects the steps of all nodes of a run, in order. */
export class TransactionSteps {
  readonly steps: TransactionStep[] = [];
  /** `n1 xa.branch n2-…`: records that lie durably on a node's disk. */
  readonly #durable = new Set<string>();
  /** Records of which a disk said that they are durable, and lied (`lying-sync`). */
  readonly #lied = new Set<string>();

  constructor(world: World, cluster: Cluster) {
    for (const step of [...coordinatorSteps, ...branchSteps, ...beside]) {
      world.trace.on(`xa.${step}`, (event) => this.#happened(step, event));
    }
    for (const name of cluster.names) {
      const { disk } = cluster.host(name);
      disk.onDurable(({ image, from, to }) => enterRecords(this.#durable, name, image, from, to));
      disk.watch({
        lied: (_host, _path, content, from, to) => enterRecords(this.#lied, name, content, from, to),
      });
    }
  }

  #happened(step: string, { atUs, host, fields }: TraceEvent): void {
    const xid = String(fields['xid']);
    const bucket = reliedOn(step, host, xid);
    const record = `${host} ${bucket ?? ''} ${xid}`;
    const lied = this.#lied.has(record) ? { lied: true } : {};
    const durable = bucket === undefined ? {} : { durable: this.#durable.has(record), ...lied };
    this.steps.push({ atUs, node: host, step, xid, fields: { ...fields, ...durable } });
  }
}

/** Enters the records of transactions that lie in bytes `from..to - 1` of the image. */
function enterRecords(records: Set<string>, node: string, image: Buffer, from: number, to: number): void {
  // A transaction id may cross the edge of the written range.
  const bytes = image.subarray(Math.max(0, from - xidBytesMax), Math.min(image.length, to + xidBytesMax));
  for (const bucket of buckets) {
    for (let at = bytes.indexOf(bucket); at >= 0; at = bytes.indexOf(bucket, at + 1)) {
      const begin = at + bucket.length;
      const [xid] = xidForm.exec(bytes.toString('latin1', begin, begin + xidBytesMax)) ?? [];
      if (xid !== undefined) records.add(`${node} ${bucket} ${xid}`);
    }
  }
}

/**
 * The record on which a step relies: the decision's before the first commit, a branch's before its vote. The
 * coordinator's own branch has no record: it is written, and its vote traced, with the decision.
 */
function reliedOn(step: string, host: string, xid: string): string | undefined {
  if (step === 'c.commit.sent') return decisionRecord;
  if (step !== 'p.vote.sent') return undefined;
  return coordinatorOf(xid) === host ? decisionRecord : branchRecord;
}

/** Whether the named steps are traced: the plan has transactions, or Redis commands that run as transactions. */
export function tracesSteps({
  transactionClients,
  redisOperations = [],
}: Pick<Plan, 'transactionClients' | 'redisOperations'>): boolean {
  return transactionClients > 0 || redisOperations.length > 0;
}

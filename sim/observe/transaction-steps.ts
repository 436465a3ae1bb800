/**
 * The named steps of transactions as they happen, each with what the world knows of the disk at that moment: whether
 * the record that the step relies on is certainly there. It looks for names in durable bytes, not into their form.
 */
import { branchSteps, coordinatorSteps } from '../../engine/transactions/formats/steps.ts';
import { coordinatorOf } from '../../engine/transactions/formats/xid.ts';
import type { TransactionStep } from '../check/transactions.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { TraceEvent } from '../world/core/trace.ts';
import type { World } from '../world/world.ts';

/**
 * No steps of the protocol: decisions of operators, whose branches the checks leave out; and decisions that a start has
 * found in the log, though a crash came before the step that says so.
 */
const beside = ['branch.decided', 'branch.mixed', 'decision.abandoned', 'decision.recovered'];

const branchRecord = 'xa.branch';
const decisionRecord = 'xa.decision';
const buckets = [branchRecord, decisionRecord];
const xidBytesMax = 100;
const xidForm = /^[A-Za-z0-9_.-]{1,64}-[0-9a-f]{12}-[0-9]{1,16}/;

export class TransactionSteps {
  readonly steps: TransactionStep[] = [];
  /** `n1 xa.branch n2-…`: records that lie durably on a node's disk. */
  readonly #durable = new Set<string>();

  constructor(world: World, cluster: Cluster) {
    for (const step of [...coordinatorSteps, ...branchSteps, ...beside]) {
      world.trace.on(`xa.${step}`, (event) => this.#happened(step, event));
    }
    for (const name of cluster.names) {
      cluster.host(name).disk.onDurable(({ image, from, to }) => this.#becameDurable(name, image, from, to));
    }
  }

  #happened(step: string, { atUs, host, fields }: TraceEvent): void {
    const xid = String(fields['xid']);
    const bucket = reliedOn(step, host, xid);
    const durable = bucket === undefined ? {} : { durable: this.#durable.has(`${host} ${bucket} ${xid}`) };
    this.steps.push({ atUs, node: host, step, xid, fields: { ...fields, ...durable } });
  }

  #becameDurable(node: string, image: Buffer, from: number, to: number): void {
    // A name may lie across the edges of the run.
    const bytes = image.subarray(Math.max(0, from - xidBytesMax), Math.min(image.length, to + xidBytesMax));
    for (const bucket of buckets) {
      for (let at = bytes.indexOf(bucket); at >= 0; at = bytes.indexOf(bucket, at + 1)) {
        const begin = at + bucket.length;
        const [xid] = xidForm.exec(bytes.toString('latin1', begin, begin + xidBytesMax)) ?? [];
        if (xid !== undefined) this.#durable.add(`${node} ${bucket} ${xid}`);
      }
    }
  }
}

/**
 * What a step relies on: the decision's record before the first commit, a branch's before its vote. The coordinator's own
 * branch has none: it is written, and said to have voted, with the decision.
 */
function reliedOn(step: string, host: string, xid: string): string | undefined {
  if (step === 'c.commit.sent') return decisionRecord;
  if (step !== 'p.vote.sent') return undefined;
  return coordinatorOf(xid) === host ? decisionRecord : branchRecord;
}

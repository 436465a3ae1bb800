/**
 * The plays of `enumerate transactions`: transactions in one phase and in two, while one operation of the disk of their
 * coordinator or of a primary is struck. Each transaction has keys of its own. After the heal, the keys must hold what
 * its client was told: every value if it was committed, none if it was aborted, all or none if its outcome is unknown.
 */
import { byteStringOf } from '../../engine/base/ids.ts';
import { isSystemKey } from '../../engine/base/object-key.ts';
import { routeToken } from '../../engine/cluster/ring/token.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { nameOf, newestOf } from '../observe/store-dump.ts';
import type { StepHarness } from './step-harness.ts';
import { second } from './step-harness.ts';

/** A transaction of a play, and the last that its client knows of it. */
export interface TriedTransaction {
  /** The value of all its keys. */
  readonly value: string;
  readonly keys: readonly string[];
  readonly xid: string;
  /** `unknown`: no answer, in doubt, or an error that leaves it open. */
  outcome: 'committed' | 'aborted' | 'unknown';
}

/** Which nodes are the primaries of a transaction's keys: one key for each name. */
type Primaries = readonly string[];

/** The coordinator of every transaction. It is the primary of no key of a transaction in one phase. */
const coordinator = 'n1';
const bucket = 'b';
const settleUs = 30 * second;

/** Transactions whose keys have one primary; the last two have one key, and an idempotency key. */
export const onePhase: readonly Primaries[] = [['n2', 'n2'], ['n3', 'n3'], ['n2'], ['n2', 'n2']];
/** Transactions over several primaries, with a branch of the coordinator's own and without one. */
export const twoPhase: readonly Primaries[] = [
  ['n2', 'n3'],
  ['n1', 'n2', 'n3'],
];

/** Runs a transaction for each row, one after another; records what the client learns. */
export async function runTransactions(
  harness: StepHarness,
  rows: readonly Primaries[],
  tried: TriedTransaction[],
): Promise<void> {
  const keyOf = keyMaker(harness.cluster);
  for (const [index, primaries] of rows.entries()) {
    const value = `v${index}`;
    const keys = primaries.map((node) => keyOf(node));
    const operations = keys.map((key) => ({ op: 'put', bucket, key, value }));
    const named = index === onePhase.length - 1 ? { id: `attempt-${index}` } : {};
    const body = JSON.stringify({ operations, timeout_ms: 800, ...named });
    const answer = await harness.ask(coordinator, 'POST', '/transactions', body, 'application/json');
    tried.push({ value, keys, ...reportedBy(answer.body) });
  }
  await harness.pass(3 * second);
}

/** What is wrong with the outcomes and with the keys, once nothing changes any more. */
export async function verifyTransactions(
  harness: StepHarness,
  tried: readonly TriedTransaction[],
): Promise<readonly string[]> {
  const contradicted: string[] = [];
  for (const one of tried) contradicted.push(...(await learn(harness, one)));
  const open = await inDoubt(harness);
  const endUs = harness.world.nowUs + settleUs;
  while (wrongKeys(harness, tried).length > 0 && harness.world.nowUs < endUs) await harness.pass(second);
  const unread: string[] = [];
  for (const one of tried) unread.push(...(await wrongReads(harness, one)));
  return [...contradicted, ...open, ...wrongKeys(harness, tried), ...unread];
}

/** Asks for the outcome until it is known. A known outcome must stay what it was. */
async function learn(harness: StepHarness, one: TriedTransaction): Promise<readonly string[]> {
  if (one.xid === '') return [];
  const endUs = harness.world.nowUs + settleUs;
  for (;;) {
    const answer = await harness.askUntil(coordinator, `/transactions/${one.xid}`, [200, 404]);
    const { outcome } = answer.status === 200 ? reportedBy(answer.body) : { outcome: 'unknown' as const };
    if (outcome !== 'unknown') {
      const before = one.outcome;
      one.outcome = outcome;
      return before === 'unknown' || before === outcome
        ? []
        : [`${described(one)}, and was ${before} before`];
    }
    if (answer.status === 404 || one.outcome !== 'unknown' || harness.world.nowUs >= endUs) return [];
    await harness.pass(second);
  }
}

/** The transactions that a member lists as in doubt although all serve. */
async function inDoubt(harness: StepHarness): Promise<readonly string[]> {
  const endUs = harness.world.nowUs + settleUs;
  for (;;) {
    const listed: string[] = [];
    for (const node of harness.cluster.members) {
      const { body } = await harness.askUntil(node, '/transactions?state=in_doubt', [200]);
      if (body.trim() !== '{"transactions":[]}') listed.push(`${node} lists in doubt: ${body}`);
    }
    if (listed.length === 0 || harness.world.nowUs >= endUs) return listed;
    await harness.pass(second);
  }
}

/** What the disks of the members hold against the outcomes. */
function wrongKeys({ cluster }: StepHarness, tried: readonly TriedTransaction[]): readonly string[] {
  return cluster.members.flatMap((node) => {
    const files = cluster.host(node).disk.durableFiles();
    const held = new Set([...newestOf(files, (key) => !isSystemKey(key)).keys()].map(nameOf));
    return tried.flatMap((one) => {
      const found = one.keys.filter((key) => held.has(`${bucket}/${key}`)).length;
      if (fits(one, found)) return [];
      return [`${described(one)}, and the disk of ${node} holds ${found} of them`];
    });
  });
}

/** What clients read through the members against the outcome. */
async function wrongReads(harness: StepHarness, one: TriedTransaction): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const node of harness.cluster.members) {
    let found = 0;
    for (const key of one.keys) {
      const { status, body } = await harness.askUntil(node, `/buckets/${bucket}/keys/${key}`, [200, 404]);
      if (status === 200 && body === one.value) found += 1;
      else if (status !== 404) wrong.push(`${key} through ${node}: ${status} ${body.slice(0, 40)}`);
    }
    if (!fits(one, found)) wrong.push(`${described(one)}, and ${found} of them are read through ${node}`);
  }
  return wrong;
}

function fits({ outcome, keys }: TriedTransaction, found: number): boolean {
  if (outcome === 'unknown') return found === 0 || found === keys.length;
  return found === (outcome === 'committed' ? keys.length : 0);
}

/** `the transaction of t0 t3 is committed`. */
function described({ keys, outcome }: TriedTransaction): string {
  return `the transaction of ${keys.join(' ')} is ${outcome}`;
}

/** The transaction's id and outcome in an answer; an empty id if it names none. */
function reportedBy(body: string): Pick<TriedTransaction, 'xid' | 'outcome'> {
  if (!body.startsWith('{')) return { xid: '', outcome: 'unknown' };
  const answer = JSON.parse(body) as { readonly transaction_id?: string; readonly outcome?: string };
  const { transaction_id: xid = '', outcome } = answer;
  return { xid, outcome: outcome === 'committed' || outcome === 'aborted' ? outcome : 'unknown' };
}

/** Returns a further key of which the node is the primary at each call. */
function keyMaker({ ring }: Cluster): (node: string) => string {
  let next = 0;
  return (node) => {
    for (;;) {
      const key = `t${next++}`;
      const token = routeToken('STD', byteStringOf(bucket), byteStringOf(key));
      if (ring.placement(token)[0]?.node === node) return key;
    }
  };
}

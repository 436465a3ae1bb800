/**
 * What operators and clients do about transactions after the calm.
 *
 * The operator goes from node to node and resolves what cannot end by itself. If the coordinator died for good, it
 * commits some branches and rolls others back, since it cannot know better. If the coordinator lost its disk, it rolls
 * branches back. It abandons branches that were lost with a disk and whose prepare requests no node has. Once all
 * branches are decided, it abandons heuristic decisions under a coordinator that was replaced: a node refuses that while
 * another branch waits.
 *
 * Then every node is asked until it is in doubt of nothing, each coordinates one more transaction over all primaries,
 * and every key is read. Last, coordinators are asked again for outcomes that they answered before.
 */
import type { LockInDoubt } from '../../engine/api/pbc/transaction-messages.ts';
import { bufferOf } from '../../engine/base/ids.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { LivenessRecord } from '../check/cluster/liveness.ts';
import type { Dangling, HeardOutcome } from '../check/transactions/transactions.ts';
import type { ForgottenAnswer } from '../check/transactions/remembered.ts';
import type { TransactionHistory } from '../evidence/transactions.ts';
import type { TransactionClient } from './transaction-client.ts';
import type { TransactionKeys } from './transaction-keys.ts';

/** What the work after the calm needs. */
export interface FinalsSetup {
  readonly client: TransactionClient;
  readonly io: Io;
  readonly keys: TransactionKeys;
  /** Nodes that are members. */
  readonly members: readonly string[];
  /** Nodes that died for good. */
  readonly lost: readonly string[];
  /** Those of them that no node has replaced. */
  readonly missed: readonly string[];
  /** Members that lost a disk during the run. */
  readonly forgetful: readonly string[];
  readonly nowUs: () => number;
  readonly stopped: () => boolean;
}

/** What the work after the calm found. */
export interface Finals {
  readonly dangling: readonly Dangling[];
  readonly liveness: readonly LivenessRecord[];
  readonly heard: readonly HeardOutcome[];
  /** Coordinators that knew nothing of a transaction that a client had an answer of. */
  readonly forgotten: readonly ForgottenAnswer[];
}

const retryUs = 200_000;
/** How long the operator takes from one node to the next; meanwhile the branches there inquire at the first. */
const walkUs = 1_000_000;
/** How many outcomes are asked for a second time. */
const askedMax = 40;

/** Resolves what is in doubt, probes every node, reads every key and asks again for outcomes. */
export async function finishTransactions(setup: FinalsSetup, history: TransactionHistory): Promise<Finals> {
  const dangling: Dangling[] = [];
  const liveness: LivenessRecord[] = [];
  for (const node of setup.members) await untilCertain(setup, node, (entry) => !isDecided(entry));
  for (const node of setup.members) dangling.push(await untilCertain(setup, node));
  // If a primary is gone for good, transactions over its keys cannot commit.
  const able = setup.missed.length === 0 ? setup.members : [];
  for (const node of able) liveness.push(await untilCommitted(setup, node));
  for (const key of setup.keys.all) {
    while (!(await setup.client.readFinally(key, setup.missed)) && !setup.stopped())
      await sleep(setup.io.clock, retryUs);
  }
  const again = await askAgain(setup, history);
  setup.client.close();
  return { dangling, liveness, ...again };
}

/** What the node is in doubt of, once that is nothing or time is up. `isMeant`: which transactions count. */
async function untilCertain(
  setup: FinalsSetup,
  node: string,
  isMeant: (entry: LockInDoubt) => boolean = () => true,
): Promise<Dangling> {
  for (;;) {
    const entries = await inDoubtAt(setup, node);
    const open = entries?.filter((entry) => !isExcused(setup, entry) && isMeant(entry));
    if (open !== undefined && (await resolveOrphans(setup, node, open))) await sleep(setup.io.clock, walkUs);
    if (open?.length === 0 || setup.stopped()) {
      return {
        node,
        atUs: setup.nowUs(),
        xids: open?.map(({ transaction_id: xid, state }) => `${text(xid)} ${text(state)}`),
      };
    }
    await sleep(setup.io.clock, retryUs);
  }
}

async function inDoubtAt({ client }: FinalsSetup, node: string): Promise<readonly LockInDoubt[] | undefined> {
  const exchange = await client.ask(node, { kind: 'transactionList' });
  if (exchange.kind === 'lost' || exchange.answer.kind !== 'inDoubt') return undefined;
  return exchange.answer.message.transactions ?? [];
}

/** Whether the entry is a branch that an operator has decided. */
function isDecided({ role, state }: LockInDoubt): boolean {
  return text(role) === 'branch' && text(state).startsWith('heuristic');
}

/**
 * Whether no node can end the transaction: a decision that a dead branch never acknowledges, or a heuristic decision
 * that a dead coordinator never confirms, or for which a dead branch may wait.
 */
function isExcused({ missed }: FinalsSetup, entry: LockInDoubt): boolean {
  const { role, coordinator, branches = [] } = entry;
  const isAnyMissed = branches.some((node) => missed.includes(text(node)));
  if (text(role) === 'coordinator') return isAnyMissed;
  return isDecided(entry) && (isAnyMissed || missed.includes(text(coordinator)));
}

/** Sends the operator's decisions. Returns false if nothing waits for an operator. */
async function resolveOrphans(
  setup: FinalsSetup,
  node: string,
  entries: readonly LockInDoubt[],
): Promise<boolean> {
  let given = false;
  for (const entry of entries) {
    const decision = decisionOver(setup, node, entry);
    if (decision === undefined) continue;
    const message = { transaction_id: entry.transaction_id, heuristic: Buffer.from(decision) };
    await setup.client.ask(node, { kind: 'transactionResolve', message });
    given = true;
  }
  return given;
}

/** The operator's decision; undefined if the transaction ends by itself. */
function decisionOver(
  { lost, forgetful, members }: FinalsSetup,
  node: string,
  { transaction_id: xid, role, state, coordinator, branches = [] }: LockInDoubt,
): 'rollback' | 'commit' | 'abandon' | undefined {
  // The node refuses this while a branch is only late.
  if (text(role) === 'coordinator') {
    const gone = [...forgetful, ...lost];
    // A coordinator on an older image asks branches that have long forgotten the transaction.
    return [node, ...branches.map(text)].some((name) => gone.includes(name)) ? 'abandon' : undefined;
  }
  // The node refuses this while its coordinator may come back.
  if (text(state) !== 'prepared')
    return [...lost, ...forgetful].includes(text(coordinator)) ? 'abandon' : undefined;
  if (forgetful.includes(text(coordinator))) return 'rollback';
  if (!lost.includes(text(coordinator))) return undefined;
  // Alternates over transactions and nodes, so that branches of one transaction get different decisions.
  return (numberOf(text(xid)) + members.indexOf(node)) % 2 === 0 ? 'rollback' : 'commit';
}

async function untilCommitted(setup: FinalsSetup, node: string): Promise<LivenessRecord> {
  const sinceUs = setup.nowUs();
  for (;;) {
    const committed = await setup.client.probe(node);
    if (committed || setup.stopped()) return { node, sinceUs, atUs: setup.nowUs(), committed };
    await sleep(setup.io.clock, retryUs);
  }
}

async function askAgain(
  { client, members, nowUs }: FinalsSetup,
  history: TransactionHistory,
): Promise<Pick<Finals, 'heard' | 'forgotten'>> {
  const heard: HeardOutcome[] = [];
  const forgotten: ForgottenAnswer[] = [];
  const names = history.flatMap(({ xids }) => xids.map((answer) => answer.split(' ')[0] ?? ''));
  for (const xid of names.slice(-askedMax)) {
    const coordinator = xid.replace(/-[0-9a-f]{12}-\d+$/, '');
    if (!members.includes(coordinator)) continue;
    const exchange = await client.ask(coordinator, {
      kind: 'transactionGet',
      message: { transaction_id: Buffer.from(xid) },
    });
    if (exchange.kind === 'lost') continue;
    if (exchange.answer.kind === 'failed' && exchange.answer.code === 'NotFound')
      forgotten.push({ atUs: nowUs(), node: coordinator, xid });
    if (exchange.answer.kind !== 'transacted') continue;
    const { transaction_id: answered, outcome: bytes } = exchange.answer.message;
    const outcome = text(bytes);
    if (outcome !== 'committed' && outcome !== 'aborted') continue;
    // A retry whose idempotency key another attempt has used has that attempt's outcome, and the answer names it.
    heard.push({ atUs: nowUs(), xid: text(answered), outcome });
  }
  return { heard, forgotten };
}

/** The number of the transaction among those of its coordinator. */
function numberOf(xid: string): number {
  return Number(xid.slice(xid.lastIndexOf('-') + 1));
}

function text(bytes: Uint8Array): string {
  return bufferOf(bytes).toString('latin1');
}

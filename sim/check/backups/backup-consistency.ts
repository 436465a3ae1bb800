/**
 * `backup-consistency` (INV41): a backup that was taken holds one moment of the whole cluster. That moment lies after
 * the last node held its writes back, and before the first went on. It also lies after the invocation of every write
 * that the backup shows. So the backup is judged as if one client had read everything at that moment:
 *
 * - each object as `durability` judges a read of all copies: every write acknowledged before is there or was replaced,
 *   nothing replaced is back (but for what pruned contexts excuse), nothing is there that no client wrote;
 * - the keys of transactions as `strict-serializability` judges a transaction that reads them all, and as `atomicity`
 *   judges what they hold in the end: all of a transaction or nothing;
 * - of no transaction is the outcome unknown, and the backup, and every key in it, can be read;
 * - a transaction of which an operator has committed a branch counts as committed, until that branch hears its
 *   coordinator.
 *
 * `redis-in-backups.ts` judges the keys of Redis clients and their expiries.
 *
 * Taken or not, a backup that is over has asked each node to let its writes go on and to release what it had pinned, and
 * a node that has answered lets them.
 *
 * `backup-leases.ts` judges backups whose process vanishes.
 *
 * Skipped: backups that were not taken, and keys that the invariants named above skip.
 */
import type { LeaseRecord } from '../../evidence/backup-leases.ts';
import type { BackupContents, BackupRecord } from '../../evidence/backups.ts';
import { byKey, isWrite } from '../../evidence/history.ts';
import type { History, Operation, ReadOperation, WriteOperation } from '../../evidence/history.ts';
import type { RedisRecord } from '../../evidence/redis.ts';
import type { Prunings } from '../../evidence/prunings.ts';
import type { TransactionHistory, TransactionRecord } from '../../evidence/transactions.ts';
import type { DiskLosses } from '../objects/disk-losses.ts';
import { causalityOf } from '../objects/causality.ts';
import { checkRead } from '../objects/durability.ts';
import { checkIsolation } from '../transactions/isolation.ts';
import { checkTransactionValues } from '../transactions/transaction-values.ts';
import type { TransactionFindings } from '../transactions/transactions.ts';
import type { ClockErrors } from '../protocols/redis-expiry.ts';
import { checkLeases } from './backup-leases.ts';
import { checkRedisInBackup } from './redis-in-backups.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { joinReports, Tally } from '../report.ts';

/** What `backup-consistency` needs. */
export interface BackupEvidence {
  readonly backups: readonly BackupRecord[];
  /** Holds of backups whose process vanished. */
  readonly leases: readonly LeaseRecord[];
  readonly history: History;
  readonly diskLosses: DiskLosses;
  readonly prunings: Prunings;
  readonly transactions: TransactionFindings | undefined;
  readonly redis: readonly RedisRecord[];
  readonly clockErrors: ClockErrors;
}

/** A backup that was taken and read back. */
type Readable = BackupRecord & { readonly contents: BackupContents };

/** The row of `backup-consistency`. */
export const backupConsistencyRow = invariant({
  name: 'backup-consistency',
  code: 'INV41',
  promise: 'a backup holds one moment of the whole cluster',
  gravity: 'data',
  breach: 'what is restored is torn, or lacks what clients had been told before the backup',
  needs: [],
  check: (run: BackupEvidence) => joinReports(checkBackups(run), checkLeases(run.leases)),
});

/** Judges each backup by itself. */
export function checkBackups({
  backups,
  history,
  diskLosses,
  prunings,
  transactions,
  redis,
  clockErrors,
}: Omit<BackupEvidence, 'leases'>): CheckReport {
  const tally = new Tally('backup-consistency');
  const operations = byKey(history);
  const parts: CheckReport[] = [];
  for (const backup of backups) {
    if (backup.outcome === 'ok')
      tally.compare(isReadable(backup), backup.completedUs, () => {
        return `backup ${backup.id} was taken, and cannot be read back: ${backup.reason}`;
      });
    tally.compare(backup.leftBehind.length === 0, backup.completedUs, () => {
      return `backup ${backup.id} is over, and ${backup.leftBehind.join('; ')}`;
    });
    if (!isReadable(backup)) {
      tally.skip();
      continue;
    }
    const { id, completedUs, contents } = backup;
    tally.compare(contents.inDoubt.length === 0, completedUs, () => {
      return `backup ${id} does not say what became of ${contents.inDoubt.join(' ')}`;
    });
    tally.compare(contents.unreadable === 0, completedUs, () => {
      return `backup ${id} holds ${contents.unreadable} keys of which no copy can be read`;
    });
    const sinceUs = earliestMoment(backup, operations, transactions?.history ?? []);
    tally.compare(sinceUs <= backup.releasedUs, completedUs, () => {
      return `backup ${id} shows a write that began at ${sinceUs} us, after its nodes went on at ${backup.releasedUs} us`;
    });
    const excuses = { diskLosses, prunings };
    for (const { key, values } of contents.objects)
      checkObject(readIn(backup, key, values, sinceUs), operations.get(key) ?? [], excuses, tally);
    const mixed = transactions?.mixedByOperator ?? new Set<string>();
    checkRedisInBackup(backup, { redis, clockErrors, diskLosses, mixed }, tally);
    if (transactions === undefined) continue;
    parts.push(...checkTransactions(backup, sinceUs, transactions));
    checkOperatorCommits(backup, transactions.steps, diskLosses, tally);
  }
  return joinReports(tally.report(), ...parts);
}

function isReadable(backup: BackupRecord): backup is Readable {
  return backup.contents !== undefined;
}

/** The backup's moment is not before this: everything it shows had begun. */
function earliestMoment(
  { contents, heldUs }: Readable,
  operations: ReadonlyMap<string, History>,
  history: TransactionHistory,
): number {
  let sinceUs = heldUs;
  for (const { key, values } of contents.objects)
    for (const write of (operations.get(key) ?? []).filter(isWrite))
      if (values.includes(write.tag)) sinceUs = Math.max(sinceUs, write.invokedUs);
  const tags = new Set(contents.transactionKeys.map(({ value }) => value?.tag));
  for (const { writes, invokedUs } of history)
    if (writes.some(({ value }) => value !== undefined && tags.has(value.tag)))
      sinceUs = Math.max(sinceUs, invokedUs);
  return sinceUs;
}

/** The backup as a read of all copies of one key. */
function readIn(
  { id, releasedUs, nodes: [node = ''] }: Readable,
  key: string,
  values: readonly string[],
  sinceUs: number,
): Omit<ReadOperation, keyof Placing> {
  return {
    ...{ id: -1, client: `backup ${id}`, key, node, values },
    ...{ kind: 'get', outcome: 'ok', reason: '', final: false },
    invokedUs: sinceUs,
    completedUs: Math.max(sinceUs, releasedUs),
  };
}

type Placing = Pick<Operation, 'siblings' | 'datacenter' | 'copies' | 'need' | 'far'>;

/** Every copy of every datacenter is in the backup, so it meets every write that one disk keeps. */
function checkObject(
  read: Omit<ReadOperation, keyof Placing>,
  operations: History,
  { diskLosses, prunings }: Pick<BackupEvidence, 'diskLosses' | 'prunings'>,
  tally: Tally,
): void {
  const [first] = operations;
  if (first === undefined) {
    tally.compare(read.values.length === 0, read.invokedUs, () => {
      return `${read.client} holds ${read.values.join(' ')} under ${read.key}, which no client wrote`;
    });
    return;
  }
  const { siblings, datacenter, copies } = first;
  const far = Object.fromEntries(operations.map((one) => [one.datacenter, one.copies]));
  const whole = { ...read, siblings, datacenter, copies, need: copies, far };
  const acknowledged = operations.filter(
    (one): one is WriteOperation => isWrite(one) && one.outcome === 'ok',
  );
  const terms = { causality: causalityOf(operations), writes: operations.filter(isWrite), prunings };
  checkRead(whole, acknowledged, terms, diskLosses, tally);
}

/** The backup as a transaction that read every key, and as the last look at all of them. */
function checkTransactions(
  backup: Readable,
  sinceUs: number,
  { history, accounts, firstBalance, decidedByOperator, partlyLost }: TransactionFindings,
): readonly CheckReport[] {
  const excused = new Set([...decidedByOperator, ...partlyLost]);
  const earlier = history.map((record) => asKnownAt(record, sinceUs));
  const look = lookOf(backup, sinceUs, history.length);
  const isolation = checkIsolation([...history, look], excused);
  const values = checkTransactionValues([...earlier, look], accounts, firstBalance, excused);
  return [isolation, values].map((report) => ({ ...report, invariant: 'backup-consistency' }));
}

/** Steps after which a node no longer holds an operator's decision over its branch. */
const endsOfDecisions: readonly string[] = [
  'branch.mixed',
  'branch.forgotten',
  'p.decision.recv',
  'p.ack.sent',
];

/** What an operator has committed durably before the cut is committed in it, whatever other branches know. */
function checkOperatorCommits(
  { id, nodes, heldUs, releasedUs, completedUs, contents }: Readable,
  steps: TransactionFindings['steps'],
  losses: DiskLosses,
  tally: Tally,
): void {
  for (const { step, node, xid, atUs, fields } of steps) {
    if (step !== 'branch.decided' || fields['decision'] !== 'commit') continue;
    if (atUs >= heldUs || !nodes.includes(node)) continue;
    const isOver = steps.some(
      (one) =>
        one.node === node && one.xid === xid && one.atUs <= releasedUs && endsOfDecisions.includes(one.step),
    );
    if (isOver || losses.lostBetween(atUs, releasedUs) > 0) {
      tally.skip();
      continue;
    }
    tally.compare(![...contents.aborted, ...contents.inDoubt].includes(xid), completedUs, () => {
      return `backup ${id} leaves out ${xid}, of which an operator had committed the branch at ${node}`;
    });
  }
}

/** What is known of a transaction then: it is certain only if its client had the answer. */
function asKnownAt(record: TransactionRecord, atUs: number): TransactionRecord {
  const { completedUs = Infinity, outcome } = record;
  const isKnown = completedUs < atUs || outcome === 'fail';
  return { ...record, final: false, forced: false, outcome: isKnown ? outcome : 'unknown' };
}

function lookOf(
  { id, releasedUs, nodes, contents }: Readable,
  sinceUs: number,
  place: number,
): TransactionRecord {
  return {
    ...{ id: place, planned: id, client: `backup ${id}`, kind: 'look', forced: false, validated: true },
    ...{ reads: contents.transactionKeys, writes: [], need: 0, final: true },
    invokedUs: sinceUs,
    completedUs: Math.max(sinceUs, releasedUs),
    ...{ outcome: 'ok', reason: '', node: nodes[0] ?? '', xids: [], clientId: '', denials: [] },
  };
}

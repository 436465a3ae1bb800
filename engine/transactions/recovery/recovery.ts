/**
 * Restores the transactions in the log at a start. Every prepared branch holds its locks again before the node serves
 * any request. Every decision is taken up, and applied branches are sent to the other replicas again. A damaged record is
 * reported and kept. Nothing is presumed of it: this node tells no other branch that it never had the damaged one. A disk that fails to give a record ends the start: that record may be
 * whole, and its locks must hold.
 */
import { BytesError } from '../../base/bytes.ts';
import type { ByteString } from '../../base/ids.ts';
import { textOf } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import { endedOf } from '../coordinator/active-transaction.ts';
import type { Branch } from '../participant/branch.ts';
import type { Branches } from '../participant/branches.ts';
import type { TransactionContext } from '../context.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { FoundRecord } from './transaction-log.ts';
import type { NamedRecord } from '../formats/idempotency-records.ts';
import { clientBucket, readClient } from '../formats/idempotency-records.ts';
import type { BranchRecord, DecisionRecord, LocalBranch } from '../formats/records.ts';
import { branchBucket, decisionBucket, readBranch, readDecision } from '../formats/records.ts';
import type { Xid } from '../formats/xid.ts';
import { parseXid } from '../formats/xid.ts';

const noDigest = '' as ByteString;

/**
 * Reads every transaction record of the store into `branches`, `coordinator` and the idempotency keys. Rejects with the
 * store's error if the disk fails.
 */
export async function recoverTransactions(
  context: TransactionContext,
  branches: Branches,
  coordinator: Coordinator,
): Promise<void> {
  const { io, metrics } = context;
  const named = await recoverNames(context);
  // Decisions come first: an `applied` branch that was written with a decision has no record of its own.
  const ended = new Map<Xid, DecisionRecord>();
  await eachRecord(context, decisionBucket, (name, bytes) => {
    const xid = parseXid(name);
    if (xid === undefined) throw new BytesError('a decision without a name');
    const record = readDecision(bytes);
    if (record.state === 'ended') {
      ended.set(xid, record);
      return;
    }
    coordinator.restore(xid, record);
    sometimes('recovery.decision-taken-up');
    metrics.recovered('recommitted');
    io.log.event('info', 'xa.decision.recovered', { xid });
    if (record.own !== undefined)
      takeUp(context, branches.restore(xid, ownRecord(context, record, record.own, named.get(xid)), true));
  });
  await eachRecord(
    context,
    branchBucket,
    (name, bytes) => {
      const xid = parseXid(name);
      if (xid === undefined) throw new BytesError('a branch without a name');
      takeUp(context, branches.restore(xid, readBranch(Buffer.from(bytes))));
    },
    (name) => {
      const xid = parseXid(name);
      if (xid !== undefined) branches.enterDamaged(xid);
    },
  );
  for (const [xid, record] of ended) {
    coordinator.remembered.end(endedOf(xid, record));
    coordinator.remembered.releaseAll(xid, record);
  }
}

/** Restores the idempotency records, and returns them by the transactions that were applied under them. */
async function recoverNames(context: TransactionContext): Promise<ReadonlyMap<Xid, NamedRecord>> {
  const named: NamedRecord[] = [];
  await eachRecord(context, clientBucket, (name, bytes) => {
    named.push({ clientId: textOf(name), ...readClient(bytes) });
  });
  named.sort((left, right) => left.sinceMs - right.sinceMs);
  const newest = named.at(-1);
  if (newest !== undefined) context.retention.continueFrom(newest.sinceMs);
  for (const one of named) context.names.enter(one);
  return new Map(named.map((one) => [one.xid, one]));
}

function takeUp({ io, metrics }: TransactionContext, { xid, phase }: Branch): void {
  if (phase === 'prepared') sometimes('recovery.branch-prepared');
  metrics.recovered(phase === 'prepared' ? 'reprepared' : 'respread');
  io.log.event('info', 'xa.branch.recovered', { xid, phase });
}

/** The record that the coordinator's own branch would have, derived from its decision. */
function ownRecord(
  { parts }: TransactionContext,
  { sinceMs, branches }: DecisionRecord,
  { level, places }: LocalBranch,
  named: NamedRecord | undefined,
): BranchRecord {
  const names = branches.map(({ node, readOnly }) => ({ node, writes: !readOnly, life: 0 }));
  const order = {
    coordinator: parts.self.node,
    level,
    clientId: named?.clientId ?? '',
    clientDigest: named?.digest ?? noDigest,
    branches: names,
  };
  return { state: 'applied', sinceMs, order: { ...order, operations: [] }, places };
}

async function eachRecord(
  { io, log, metrics }: TransactionContext,
  bucket: ByteString,
  take: (name: ByteString, bytes: Uint8Array) => void,
  onDamaged?: (name: ByteString) => void,
): Promise<void> {
  const damaged = ({ name }: FoundRecord, detail: string): void => {
    onDamaged?.(name);
    sometimes('recovery.record-damaged');
    metrics.recovered('damaged');
    io.log.event('error', 'xa.record.damaged', { record: `${bucket}/${textOf(name)}`, detail });
  };
  for (const record of await log.scan(bucket)) {
    if (record.bytes === undefined) {
      damaged(record, 'it does not match its checksum');
      continue;
    }
    try {
      take(record.name, record.bytes);
    } catch (error) {
      if (!(error instanceof BytesError)) throw error;
      damaged(record, error.message);
    }
  }
}

/**
 * The named steps of a transaction: log events of level `trace` at the points where a crash makes a difference
 * (`xa.c.*` at the coordinator, `xa.p.*` at a branch). While that level is off, a step costs one call of `log.enabled`.
 */
import type { LogFields } from '../../io/log.ts';
import type { Io } from '../../io/io.ts';
import type { Xid } from './xid.ts';

/** Steps of the coordinator. */
export const coordinatorSteps = [
  'c.begin',
  'c.prepare.sent',
  'c.vote.recv',
  'c.decision.beforeLog',
  'c.decision.written',
  'c.decision.synced',
  'c.commit.sent',
  'c.ack.recv',
  'c.indoubt.written',
  'c.tombstone.written',
  'c.forget',
] as const;

/** Steps of a branch. */
export const branchSteps = [
  'p.prepare.recv',
  'p.locks.taken',
  'p.prepareRec.written',
  'p.prepareRec.synced',
  'p.vote.sent',
  'p.decision.recv',
  'p.apply.partial',
  'p.applied',
  'p.applied.synced',
  'p.ack.sent',
  'p.locks.released',
  'p.recovery.scan',
] as const;

/** The name of a step, without the prefix `xa.`. */
export type StepName = (typeof coordinatorSteps)[number] | (typeof branchSteps)[number];

/** Logs a step of a transaction. `more`: further fields, such as the branch or its vote. */
export function mark(io: Pick<Io, 'log'>, step: StepName, xid: Xid, more?: LogFields): void {
  if (io.log.enabled('trace')) io.log.event('trace', `xa.${step}`, { xid, ...more });
}

/**
 * Logs the begin of a transaction. `branches`: the branches' nodes, separated by spaces. `client`: the idempotency key.
 */
export function markBegin(io: Pick<Io, 'log'>, xid: Xid, branches: string, client: string | undefined): void {
  mark(io, 'c.begin', xid, client === undefined ? { branches } : { branches, client });
}

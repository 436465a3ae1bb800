/**
 * The named steps of a transaction: events of the trace level at the points where a crash makes a difference
 * (`xa.c.*` at the coordinator, `xa.p.*` at a branch). Costs one question of the log when nobody listens.
 */
import type { LogFields } from '../../io/log.ts';
import type { Io } from '../../io/io.ts';
import type { Xid } from './xid.ts';

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

export type StepName = (typeof coordinatorSteps)[number] | (typeof branchSteps)[number];

/** Marks a step of a transaction; `more` says which branch, which vote. */
export function mark(io: Pick<Io, 'log'>, step: StepName, xid: Xid, more?: LogFields): void {
  if (io.log.enabled('trace')) io.log.event('trace', `xa.${step}`, { xid, ...more });
}

/** Marks a transaction's begin; `branches`: the nodes of its branches, `client`: the name that the client gave it. */
export function markBegin(io: Pick<Io, 'log'>, xid: Xid, branches: string, client: string | undefined): void {
  mark(io, 'c.begin', xid, client === undefined ? { branches } : { branches, client });
}

/**
 * The table of operations: what clients asked, at which level, of which kind of bucket or structure. A cell is reached by
 * an operation that a client has sent, whatever its outcome.
 */
import { consistencyLevels } from '../../engine/replication/requests.ts';
import type { History } from '../evidence/history.ts';
import { jobKinds } from '../evidence/jobs.ts';
import type { JobRecord } from '../evidence/jobs.ts';
import { redisKinds } from '../evidence/redis.ts';
import type { RedisRecord } from '../evidence/redis.ts';
import type { TransactionHistory } from '../evidence/transactions.ts';
import type { Plan, PlanOperation } from '../plan/plan.ts';
import { keyOf, needNames, operationKinds, quorumForms } from '../plan/plan.ts';
import { transactionKinds, transactionLevels } from '../plan/plan-transactions.ts';
import type { Cell, CoverageTable } from './table.ts';
import { allCells } from './table.ts';

const words = needNames.filter((word) => word !== 'level');

/** The table. */
export const operationTable: CoverageTable = {
  name: 'operations',
  title: 'operations by level and kind of bucket',
  axes: ['operation', 'level', 'bucket'],
  cells: [
    ...allCells(operationKinds, [...words, ...quorumForms, ...consistencyLevels], ['siblings', 'newest']),
    ...allCells(transactionKinds, transactionLevels, ['transaction']),
    ...allCells(redisKinds, ['redis'], ['redis']),
    ...allCells(jobKinds, ['job'], ['job']),
  ],
  excuses: [
    {
      where: [['look'], '*', '*'],
      reason: 'it reads key after key and names no level, so plans give it none',
    },
  ],
};

/** What clients did in one run. */
export interface OperationsDone {
  readonly history: History;
  readonly transactions: TransactionHistory;
  readonly redis: readonly RedisRecord[];
  readonly jobs: readonly JobRecord[];
}

/** The cells that one run reached; some may come twice. */
export function operationCells(plan: Plan, done: OperationsDone): readonly Cell[] {
  const levels = new Map(plan.transactions.map(({ id, level }) => [id, level]));
  return [
    ...objectCells(plan, done.history),
    ...done.transactions.flatMap(({ kind, planned }) => {
      const level = levels.get(planned);
      return level === undefined ? [] : [[kind, level, 'transaction']];
    }),
    ...done.redis.map(({ kind }) => [kind, 'redis', 'redis']),
    ...done.jobs.map(({ kind }) => [kind, 'job', 'job']),
  ];
}

/** Clients perform their operations in the plan's order, so the nth of a client's records is of its nth operation. */
function objectCells(plan: Plan, history: History): readonly Cell[] {
  const sent = new Map<string, number>();
  for (const { client, kind, ...record } of history) {
    const isFinal = kind === 'get' && 'final' in record && record.final;
    if (!isFinal) sent.set(client, (sent.get(client) ?? 0) + 1);
  }
  const cells: Cell[] = [];
  for (let client = 0; client < plan.clients; client++) {
    const asked = plan.operations.filter((operation) => operation.client === client);
    for (const operation of asked.slice(0, sent.get(`c${client}`) ?? 0)) {
      const bucket = keyOf(plan, operation.key).siblings ? 'siblings' : 'newest';
      cells.push([operation.kind, levelOf(plan, operation), bucket]);
    }
  }
  return cells;
}

function levelOf({ settings }: Plan, { kind, need, quorum }: PlanOperation): string {
  if (quorum !== undefined) return quorum.as;
  if (need !== 'level') return need;
  return String(settings[kind === 'get' ? 'read_consistency' : 'write_consistency'] ?? 'DC_ONE');
}

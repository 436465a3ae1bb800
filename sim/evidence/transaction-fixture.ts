/** A transaction for the tests of what reads histories: committed, of no keys, in no time. */
import type { TransactionRecord } from './transactions.ts';

export const blankTransaction: TransactionRecord = {
  id: 0,
  planned: '',
  client: 'x0',
  kind: 'append',
  forced: false,
  validated: true,
  reads: [],
  writes: [],
  need: 1,
  invokedUs: 0,
  completedUs: 1,
  outcome: 'ok',
  reason: '',
  node: 'n1',
  xids: [],
  clientId: '',
  denials: [],
  final: false,
};

/** A blank transaction for tests of code that reads histories. */
import type { TransactionRecord } from './transactions.ts';

/** A committed transaction without keys that took one microsecond; tests override the fields they need. */
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

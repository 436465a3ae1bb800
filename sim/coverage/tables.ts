/** All tables of coverage, in the order in which they are shown. */
import { messageTable } from './messages.ts';
import { operationTable } from './operations.ts';
import { rareBranchTable } from './rare-branches.ts';
import { recoveryTable } from './recoveries.ts';
import { ringChangeTable } from './ring-changes.ts';
import { settingTable } from './settings.ts';
import { stepTable } from './steps-in-flight.ts';
import type { CoverageTable } from './table.ts';

/** The tables. */
export const coverageTables: readonly CoverageTable[] = [
  operationTable,
  stepTable,
  messageTable,
  settingTable,
  ringChangeTable,
  recoveryTable,
  rareBranchTable,
];

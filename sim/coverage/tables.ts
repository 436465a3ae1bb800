/** All tables of coverage, in the order in which they are shown. */
import { messageTable } from './messages.ts';
import { operationTable } from './operations.ts';
import { recoveryTable } from './recoveries.ts';
import { requestTable } from './request-fields.ts';
import { ringChangeTable } from './ring-changes.ts';
import { settingTable } from './settings.ts';
import { stepTable } from './steps-in-flight.ts';
import type { CoverageTable } from './table.ts';
import { rareBranches } from '../../engine/base/sometimes.ts';

/** The table. */
export const rareBranchTable: CoverageTable = {
  name: 'rare-branches',
  title: 'rare branches of the engine',
  axes: ['branch'],
  cells: Object.keys(rareBranches).map((name) => [name]),
  excuses: [],
};

/** The tables. */
export const coverageTables: readonly CoverageTable[] = [
  operationTable,
  stepTable,
  messageTable,
  settingTable,
  ringChangeTable,
  recoveryTable,
  requestTable,
  rareBranchTable,
];

/** The table of the rare branches of the engine (`sometimes`), which runs should take now and then. */
import { rareBranches } from '../../engine/base/sometimes.ts';
import type { CoverageTable } from './table.ts';

/** The table. */
export const rareBranchTable: CoverageTable = {
  name: 'rare-branches',
  title: 'rare branches of the engine',
  axes: ['branch'],
  cells: Object.keys(rareBranches).map((name) => [name]),
  excuses: [],
};

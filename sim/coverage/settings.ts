/**
 * The table of settings: each configuration key with its default and with each value that tests may give it. Keys that
 * no test changes say why in the schema (`trial`) and are not here.
 */
import type { ConfigField } from '../../engine/config/keys.ts';
import { configKeys } from '../../engine/config/keys.ts';
import { keyOf } from '../../engine/config/config-key.ts';
import type { Plan } from '../plan/plan.ts';
import type { Cell, CoverageTable } from './table.ts';

const fields = Object.keys(configKeys) as readonly ConfigField[];
const tried = fields.flatMap((field) => {
  const { trial } = configKeys[field];
  return 'untried' in trial ? [] : [{ key: keyOf(field), trial: trial.map(String) }];
});

/** The table. */
export const settingTable: CoverageTable = {
  name: 'settings',
  title: 'configuration keys by value',
  axes: ['key', 'value'],
  cells: tried.flatMap(({ key, trial }) => ['default', ...trial].map((value) => [key, value])),
  excuses: [],
};

const keys: ReadonlyMap<string, readonly string[]> = new Map(tried.map(({ key, trial }) => [key, trial]));

/** The cells that a run with this plan reached: values beside the table's are of scenarios, and not counted. */
export function settingCells({ settings }: Pick<Plan, 'settings'>): readonly Cell[] {
  return [...keys].flatMap(([key, trial]) => {
    const given = settings[key];
    if (given === undefined) return [[key, 'default']];
    return trial.includes(String(given)) ? [[key, String(given)]] : [];
  });
}

/**
 * Names of scenarios and of fields that were renamed. Plan files, users' scenario files and the command line accept the
 * former names. A scenario's name seeds its plans and its runs, so a renamed scenario keeps its former name as the seed:
 * every seed still draws the run that it drew before.
 */
import type { Field } from './fields.ts';
import { refuse } from './fields.ts';

/** The former name of each renamed scenario, by its present name. */
const formerNames: ReadonlyMap<string, string> = new Map([
  ['bit-rot-repaired', 'bit-rot-heals'],
  ['conflicting-triples', 'erased-and-stamped'],
  ['disk-space-recovers', 'room-comes-back'],
  ['duplicated-commits', 'doubled-commits'],
  ['exchange-interrupted', 'exchange-cut-midway'],
  ['hints-for-a-lost-node', 'hints-of-the-dead'],
  ['hints-only', 'hints-alone'],
  ['large-reads', 'large-values-in-turn'],
  ['left-node-restarts', 'leaver-starts-again'],
  ['lost-and-duplicated-messages', 'lost-and-doubled-messages'],
  ['missed-ring-change', 'slept-through-a-change'],
  ['node-names-reused', 'same-names-again'],
  ['old-and-foreign-disks', 'other-disks'],
  ['read-repair-only', 'reads-alone-repair'],
  ['replace-the-replacement', 'heir-of-an-heir'],
  ['replaced-node-returns', 'replaced-one-returns'],
  ['replacement-leaves', 'heir-leaves'],
  ['retries-after-disk-loss', 'retries-after-a-loss'],
  ['retries-after-disk-rollback', 'retries-on-an-old-disk'],
  ['retries-during-ring-change', 'retries-on-the-move'],
  ['single-copy-keys', 'one-copy-each'],
  ['single-node-power-loss', 'no-replica-helps'],
  ['single-put-batches', 'puts-cut-short'],
  ['tombstones-removed', 'deletions-forgotten'],
  ['transactions-during-ring-change', 'transactions-on-the-move'],
  ['unauthenticated-clients', 'strangers-at-the-door'],
  ['wiped-replica-rebuilds', 'wiped-replica-refills'],
  ['writes-over-bit-rot', 'written-over-rot'],
]);

const presentNames: ReadonlyMap<string, string> = new Map(
  [...formerNames].map(([present, former]) => [former, present]),
);

/** Names that scenarios had, in the order of their present names. No new scenario may take one. */
export const formerScenarioNames: readonly string[] = [...presentNames.keys()];

/** The name from which a scenario's seeds are derived: its first one. */
export function seedNameOf(scenario: string): string {
  return formerNames.get(scenario) ?? scenario;
}

/** The present name of a scenario that is given by its present or its former name, or that is unknown here. */
export function presentNameOf(scenario: string): string {
  return presentNames.get(scenario) ?? scenario;
}

/** Present names of fields by their former ones: of a plan, of a scenario, and of the parts of a scenario. */
export const formerFields = {
  plan: { mendedBy: 'repairedBy', garbage: 'malformedInput' },
  scenario: { story: 'description', mendedBy: 'repairedBy' },
  load: { garbage: 'malformedInput' },
  redis: { mortals: 'expiring', lifeMs: 'ttlMs' },
  draw: { words: 'choices' },
} as const;

/**
 * The field with present names of its keys in place of former ones. Throws `PlanInvalid` if a key is given by both names.
 * A value that is not an object is returned as it is.
 */
export function withPresentKeys(field: Field, former: Readonly<Record<string, string>>): Field {
  const { path, value } = field;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return field;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  const renamed = entries.map(([key, item]): [string, unknown] => {
    const present = Object.hasOwn(former, key) ? former[key] : undefined;
    if (present === undefined) return [key, item];
    if (Object.hasOwn(value, present))
      refuse(field, `"${key}" is the former name of "${present}", which is given, too`);
    return [present, item];
  });
  return { path, value: Object.fromEntries(renamed) };
}

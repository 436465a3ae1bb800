/**
 * Bucket properties: what they are, which values they take, and what holds where nobody has set any.
 *
 * A property has one name everywhere (configuration, HTTP, the file, the words between nodes) and one plain value:
 * true or false, a number, a text. `BucketProperties` is what the engine works with, with nothing left open.
 */
import type { Keyfun } from '../cluster/ring/token.ts';
import { keyfuns } from '../cluster/ring/token.ts';

/** The node's consistency level, or a number of replicas of the local datacenter (Riak's `r` and `w`). */
export type Need = 'default' | 'one' | 'quorum' | 'all' | number;

/** All properties of one bucket. */
export interface BucketProperties {
  /** Concurrent writes leave siblings for the client to resolve; otherwise the newest wins. */
  readonly allowMult: boolean;
  /** The newest write wins by its time alone, whatever its writer had seen. */
  readonly lastWriteWins: boolean;
  /** What requests wait for that do not say it themselves; `default`: the node's consistency level. */
  readonly r: Need;
  readonly w: Need;
  /** What they wait for at least; 0 adds nothing. */
  readonly pr: Need;
  readonly pw: Need;
  readonly dw: Need;
  readonly nodeConfirms: Need;
  /** Both needs of a deletion that does not say them itself; `default`: `r` and `w`. */
  readonly rw: Need;
  /** A majority of "I have none" is enough where `notfoundOk` is false. */
  readonly basicQuorum: boolean;
  /** A replica that has nothing counts as one that has answered. */
  readonly notfoundOk: boolean;
  readonly chashKeyfun: Keyfun;
  /** The Wasm module by which a CUSTOM bucket routes; empty for none. */
  readonly wasmKeyfun: string;
  /** Entries of a causal context that are always kept, and beyond which old ones always go. */
  readonly smallVclock: number;
  readonly bigVclock: number;
  /** Seconds: a younger entry is kept while `bigVclock` allows it, an older one goes. */
  readonly youngVclock: number;
  readonly oldVclock: number;
}

export type PropertyValue = boolean | number | string;

/** Some properties by name, as they were set. Names that this version does not know are carried along. */
export type PropertySet = ReadonlyMap<string, PropertyValue>;

interface PropertyRow {
  readonly field: keyof BucketProperties;
  readonly allowed: string;
  parse(given: unknown): PropertyValue | undefined;
}

const moduleIdForm = /^[A-Za-z0-9_.-]{0,64}$/;
const vclockCountMax = 10_000;
const vclockSecondsMax = 100 * 365 * 86_400;

/** By name, in the order in which they are shown. */
export const propertyTable: ReadonlyMap<string, PropertyRow> = new Map<string, PropertyRow>([
  ['allow_mult', flag('allowMult')],
  ['last_write_wins', flag('lastWriteWins')],
  ['r', need('r')],
  ['w', need('w')],
  ['pr', need('pr')],
  ['pw', need('pw')],
  ['dw', need('dw')],
  ['rw', need('rw')],
  ['node_confirms', need('nodeConfirms')],
  ['basic_quorum', flag('basicQuorum')],
  ['notfound_ok', flag('notfoundOk')],
  ['chash_keyfun', { field: 'chashKeyfun', allowed: `one of ${keyfuns.join(', ')}`, parse: parseKeyfun }],
  [
    'wasm_keyfun',
    { field: 'wasmKeyfun', allowed: 'a module id of 0 to 64 of A-Z a-z 0-9 _ . -', parse: parseModule },
  ],
  ['small_vclock', count('smallVclock', 1, vclockCountMax)],
  ['big_vclock', count('bigVclock', 1, vclockCountMax)],
  ['young_vclock', count('youngVclock', 0, vclockSecondsMax)],
  ['old_vclock', count('oldVclock', 0, vclockSecondsMax)],
]);

/** Riak's defaults for the type `default`; `r` and the like follow the node's consistency level. */
export const defaultProperties: BucketProperties = {
  allowMult: false,
  lastWriteWins: false,
  r: 'default',
  w: 'default',
  pr: 0,
  pw: 0,
  dw: 'default',
  nodeConfirms: 0,
  rw: 'default',
  basicQuorum: false,
  notfoundOk: true,
  chashKeyfun: 'STD',
  wasmKeyfun: '',
  smallVclock: 50,
  bigVclock: 50,
  youngVclock: 20,
  oldVclock: 86_400,
};

/** The value that a property may take; undefined when it may not, or when there is no such property. */
export function parseProperty(name: string, given: unknown): PropertyValue | undefined {
  return propertyTable.get(name)?.parse(given);
}

/** `base` with what `set` says; values that the table does not allow change nothing. */
export function withProperties(base: BucketProperties, set: PropertySet): BucketProperties {
  const fields: Record<string, unknown> = { ...base };
  for (const [name, value] of set) {
    const row = propertyTable.get(name);
    const parsed = row?.parse(value);
    if (row !== undefined && parsed !== undefined) fields[row.field] = parsed;
  }
  // Every row's values are of its field's type.
  return fields as object as BucketProperties;
}

/** The defaults of a bucket type's buckets: Riak's own types than `default` keep siblings. */
export function typeProperties(type: string, set: PropertySet): BucketProperties {
  const allowMult = type !== 'default' && set.get('last_write_wins') !== true;
  return withProperties({ ...defaultProperties, allowMult }, set);
}

function flag(field: keyof BucketProperties): PropertyRow {
  return {
    field,
    allowed: 'true or false',
    parse: (given) => (typeof given === 'boolean' ? given : undefined),
  };
}

function count(field: keyof BucketProperties, min: number, max: number): PropertyRow {
  const parse = (given: unknown): number | undefined =>
    typeof given === 'number' && Number.isInteger(given) && given >= min && given <= max ? given : undefined;
  return { field, allowed: `a whole number from ${min} to ${max}`, parse };
}

function need(field: keyof BucketProperties): PropertyRow {
  const parse = (given: unknown): Need | undefined => {
    if (given === 'default' || given === 'one' || given === 'quorum' || given === 'all') return given;
    return typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= 999
      ? given
      : undefined;
  };
  return { field, allowed: "a whole number, 'one', 'quorum', 'all' or 'default'", parse };
}

function parseKeyfun(given: unknown): Keyfun | undefined {
  return keyfuns.find((keyfun) => keyfun === given);
}

function parseModule(given: unknown): string | undefined {
  return typeof given === 'string' && moduleIdForm.test(given) ? given : undefined;
}

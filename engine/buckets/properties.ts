/**
 * Bucket properties: their names, allowed values and defaults.
 *
 * A property has one name everywhere (configuration, HTTP, the store, peer messages) and one plain value: a boolean, a
 * number or a string. `BucketProperties` is the resolved form that the engine works with: every field has a value.
 */
import type { Keyfun } from '../cluster/ring/token.ts';
import { keyfuns } from '../cluster/ring/token.ts';

/**
 * How many replicas a request waits for: the node's consistency level (`default`), a level by name, or a number of
 * replicas of the local datacenter (Riak's `r` and `w`).
 */
export type Need = 'default' | 'one' | 'quorum' | 'all' | number;

/** All properties of one bucket, resolved. Field names are the camel-case forms of Riak's names. */
export interface BucketProperties {
  /** True: concurrent writes leave siblings for the client to resolve. False: the newest write wins. */
  readonly allowMult: boolean;
  /** The write with the newest timestamp wins, whatever context the client sent. */
  readonly lastWriteWins: boolean;
  /** Needs of requests that name none; `default`: the node's consistency level. */
  readonly r: Need;
  readonly w: Need;
  /** The least that a request waits for, whatever it names; 0 adds nothing. */
  readonly pr: Need;
  readonly pw: Need;
  readonly dw: Need;
  readonly nodeConfirms: Need;
  /** Both needs of a deletion that names none; `default`: `r` and `w`. */
  readonly rw: Need;
  /** Where `notfoundOk` is false: a read ends as not found once a majority of the replicas hold no copy. */
  readonly basicQuorum: boolean;
  /** A replica without a copy counts as an answer. */
  readonly notfoundOk: boolean;
  readonly chashKeyfun: Keyfun;
  /** The Wasm module by which a bucket with `chash_keyfun` CUSTOM routes; empty for none. */
  readonly wasmKeyfun: string;
  /** Limits of a causal context in entries: at most `smallVclock` are never pruned; see below for `bigVclock`. */
  readonly smallVclock: number;
  readonly bigVclock: number;
  /**
   * Seconds. Entries younger than `youngVclock` stay. Of the others, those older than `oldVclock` are pruned, and all
   * while the context has more than `bigVclock` entries.
   */
  readonly youngVclock: number;
  readonly oldVclock: number;
}

/** The plain value of one property. */
export type PropertyValue = boolean | number | string;

/** Properties by name, as a client set them. Names that this version does not know are carried along. */
export type PropertySet = ReadonlyMap<string, PropertyValue>;

interface PropertyRow {
  readonly field: keyof BucketProperties;
  readonly allowed: string;
  parse(given: unknown): PropertyValue | undefined;
}

const moduleIdForm = /^[A-Za-z0-9_.-]{0,64}$/;
const vclockCountMax = 10_000;
const vclockSecondsMax = 100 * 365 * 86_400;

/** Every property by name, in display order: its field, its allowed values in words, and its parser. */
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

/** Riak's defaults for the type `default`. `r`, `w`, `dw` and `rw` follow the node's consistency level. */
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

/** `given` as a value of the property; undefined if the property does not allow it or does not exist. */
export function parseProperty(name: string, given: unknown): PropertyValue | undefined {
  return propertyTable.get(name)?.parse(given);
}

/** `base` overlaid with `set`. Unknown names and values that the table does not allow change nothing. */
export function withProperties(base: BucketProperties, set: PropertySet): BucketProperties {
  const fields: Record<string, unknown> = { ...base };
  for (const [name, value] of set) {
    const row = propertyTable.get(name);
    const parsed = row?.parse(value);
    if (row !== undefined && parsed !== undefined) fields[row.field] = parsed;
  }
  // Each row's `parse` returns values of its field's type.
  return fields as object as BucketProperties;
}

/**
 * The properties of a bucket type that sets `set`. As in Riak, types other than `default` keep siblings unless they set
 * `last_write_wins` or `allow_mult`.
 */
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

/**
 * What was set of one bucket's (or type's) properties, as a record that converges: per property the last value that
 * was set, by stamp; and when all were last reset (a map of last-writer-wins registers; source: Shapiro et al., "A
 * comprehensive study of Convergent and Commutative Replicated Data Types", 2011, section 3.2.2).
 *
 * Properties that only make sense together (`propertyGroups`) are always set together, with one stamp: so of two
 * settings on both sides of a partition one wins whole, and no mixture that nobody asked for comes out.
 *
 * Invariants: registers are newer than the reset; names are sorted; merging is commutative, associative, idempotent.
 */
import type { NodeId } from '../base/ids.ts';
import type { PropertySet, PropertyValue } from './properties.ts';

/** When something was set: a counter beyond all that the setter knew, which follows its clock. No two are equal. */
export interface Stamp {
  readonly counter: number;
  readonly node: NodeId;
}

export interface Register {
  readonly stamp: Stamp;
  readonly value: PropertyValue;
}

export interface PropertyRecord {
  readonly reset: Stamp | undefined;
  /** By name, in the order of the names. */
  readonly registers: ReadonlyMap<string, Register>;
}

export const emptyRecord: PropertyRecord = { reset: undefined, registers: new Map() };

/** Properties that are set together or not at all. */
export const propertyGroups: readonly (readonly string[])[] = [
  ['allow_mult', 'last_write_wins'],
  ['chash_keyfun', 'wasm_keyfun'],
];

export function isNewerStamp(left: Stamp, right: Stamp): boolean {
  return left.counter === right.counter ? left.node > right.node : left.counter > right.counter;
}

/** What either record says, the newer word on each property. */
export function mergeRecords(left: PropertyRecord, right: PropertyRecord): PropertyRecord {
  const reset = newerOf(left.reset, right.reset);
  const names = [...new Set([...left.registers.keys(), ...right.registers.keys()])].sort();
  const registers = new Map<string, Register>();
  for (const name of names) {
    const register = newerRegister(left.registers.get(name), right.registers.get(name));
    if (register === undefined) continue;
    if (reset === undefined || isNewerStamp(register.stamp, reset)) registers.set(name, register);
  }
  return { reset, registers };
}

/** The record of a setting; `set` holds whole groups. */
export function settingOf(set: PropertySet, stamp: Stamp): PropertyRecord {
  const names = [...set.keys()].sort();
  return {
    reset: undefined,
    registers: new Map(names.map((name) => [name, { stamp, value: set.get(name) ?? false }])),
  };
}

/** The record of a reset: everything set before it is as if it had not been. */
export function resetAt(stamp: Stamp): PropertyRecord {
  return { reset: stamp, registers: new Map() };
}

/** The values that hold now. */
export function valuesOf(record: PropertyRecord): PropertySet {
  return new Map([...record.registers].map(([name, { value }]) => [name, value]));
}

/** The highest counter that the record names; 0 for none. */
export function highestStamp({ reset, registers }: PropertyRecord): number {
  let highest = reset?.counter ?? 0;
  for (const { stamp } of registers.values()) highest = Math.max(highest, stamp.counter);
  return highest;
}

export function sameRecord(left: PropertyRecord, right: PropertyRecord): boolean {
  if (!sameStamp(left.reset, right.reset) || left.registers.size !== right.registers.size) return false;
  for (const [name, { stamp }] of left.registers) {
    if (!sameStamp(stamp, right.registers.get(name)?.stamp)) return false;
  }
  return true;
}

function newerOf(left: Stamp | undefined, right: Stamp | undefined): Stamp | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return isNewerStamp(left, right) ? left : right;
}

function newerRegister(left: Register | undefined, right: Register | undefined): Register | undefined {
  if (left === undefined || right === undefined) return left ?? right;
  return isNewerStamp(left.stamp, right.stamp) ? left : right;
}

function sameStamp(left: Stamp | undefined, right: Stamp | undefined): boolean {
  return left?.counter === right?.counter && left?.node === right?.node;
}

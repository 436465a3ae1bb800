/**
 * The converging record of one bucket's (or type's) properties: a map of last-writer-wins registers. It holds the last
 * value of each property by stamp, and the stamp of the last reset.
 *
 * Properties that only make sense together (`propertyGroups`) are always set together, with one stamp. Of two settings
 * on both sides of a partition, one therefore wins whole; a mixture that no client asked for cannot result.
 *
 * Invariants: registers are newer than the reset, except the bucket's epoch; names are sorted; merging is commutative,
 * associative and idempotent.
 *
 * Source: Shapiro et al., "A comprehensive study of Convergent and Commutative Replicated Data Types", 2011, section
 * 3.2.2.
 */
import type { NodeId } from '../base/ids.ts';
import type { PropertySet, PropertyValue } from './properties.ts';

/**
 * When a property was set: a counter above every stamp that the setting node knew, and at least its wall clock in
 * milliseconds; the node breaks ties. No two stamps are equal.
 */
export interface Stamp {
  readonly counter: number;
  readonly node: NodeId;
}

/** The value of one property and when it was set. */
export interface Register {
  readonly stamp: Stamp;
  readonly value: PropertyValue;
}

/** All registers of one bucket or type, and its last reset. */
export interface PropertyRecord {
  readonly reset: Stamp | undefined;
  /** By name, sorted. */
  readonly registers: ReadonlyMap<string, Register>;
}

/** The record of a bucket of which no property was ever set. */
export const emptyRecord: PropertyRecord = { reset: undefined, registers: new Map() };

/** Properties that are only ever set together. */
export const propertyGroups: readonly (readonly string[])[] = [
  ['allow_mult', 'last_write_wins'],
  ['chash_keyfun', 'wasm_keyfun'],
];

/** The name of the register whose stamp's counter is the bucket's epoch (`epochs.ts`). It is no property. */
export const epochName = 'epoch';
/** In the stamps of epochs: equal epochs are equal registers, whichever node learns or chooses them. */
const epochNode = 'epoch' as NodeId;

/**
 * The record of a bucket that begins the epoch. A reset of the bucket's properties leaves it in place, and of two epochs
 * the higher one stands.
 */
export function epochRecord(epoch: number): PropertyRecord {
  const stamp = { counter: epoch, node: epochNode };
  return { reset: undefined, registers: new Map([[epochName, { stamp, value: true }]]) };
}

/** The bucket's epoch; 0 if it was never flushed. */
export function epochIn({ registers }: PropertyRecord): number {
  return registers.get(epochName)?.stamp.counter ?? 0;
}

/** Orders stamps: by counter, then by node. */
export function isNewerStamp(left: Stamp, right: Stamp): boolean {
  return left.counter === right.counter ? left.node > right.node : left.counter > right.counter;
}

/** The merged record: per property the newer register, without those that are older than the newer reset. */
export function mergeRecords(left: PropertyRecord, right: PropertyRecord): PropertyRecord {
  const reset = newerOf(left.reset, right.reset);
  const names = [...new Set([...left.registers.keys(), ...right.registers.keys()])].sort();
  const registers = new Map<string, Register>();
  for (const name of names) {
    const register = newerRegister(left.registers.get(name), right.registers.get(name));
    if (register === undefined) continue;
    const isKept = name === epochName || reset === undefined || isNewerStamp(register.stamp, reset);
    if (isKept) registers.set(name, register);
  }
  return { reset, registers };
}

/** The record of a setting with one stamp. `set` holds whole groups. */
export function settingOf(set: PropertySet, stamp: Stamp): PropertyRecord {
  const names = [...set.keys()].sort();
  return {
    reset: undefined,
    registers: new Map(names.map((name) => [name, { stamp, value: set.get(name) ?? false }])),
  };
}

/** The record of a reset: it removes every setting with an older stamp. */
export function resetAt(stamp: Stamp): PropertyRecord {
  return { reset: stamp, registers: new Map() };
}

/** The values in effect, by name, without the epoch. */
export function valuesOf(record: PropertyRecord): PropertySet {
  const settings = [...record.registers].filter(([name]) => name !== epochName);
  return new Map(settings.map(([name, { value }]) => [name, value]));
}

/** The highest counter of any stamp in the record, apart from that of the epoch; 0 for none. */
export function highestStamp({ reset, registers }: PropertyRecord): number {
  let highest = reset?.counter ?? 0;
  for (const [name, { stamp }] of registers)
    if (name !== epochName) highest = Math.max(highest, stamp.counter);
  return highest;
}

/** Whether both records hold the same stamps, and therefore the same values. */
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

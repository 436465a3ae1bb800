/**
 * Validates names of nodes. Every host of the world has its own name, and clients, readers and operators are hosts too.
 * A node with the name of another host could not be told from it, nor be added to the world.
 */
import { parseNodeId } from '../../engine/base/ids.ts';
import type { Field } from './fields.ts';
import { readText, refuse } from './fields.ts';

/**
 * Names of hosts that are not nodes: clients, clients that faults bring (`f0.c1`), and what else the load and the
 * faults add.
 */
const namesOfOthers: readonly RegExp[] = [
  /^[cxrj]\d+$/,
  /\.([cxr]\d+|slow)$/,
  /^(x|j-after|reader)-/,
  /^(operator|modules|redis-reader|stranger|strangers|strangers-after)$/,
  // Addresses.
  /^10\.0\.\d+\.\d+$/,
];

/** Reads a node's name, which must not be in `taken`, and adds it there. Throws `PlanInvalid`. */
export function readNodeName(field: Field, taken: Set<string>): string {
  const name = readText(field, 64);
  if (parseNodeId(name) === undefined) refuse(field, `"${name}" is not a node name: 1..64 of [A-Za-z0-9_.-]`);
  if (namesOfOthers.some((pattern) => pattern.test(name)))
    refuse(field, `"${name}" is what a client or another host of the simulator is called; n1, n2, … are not`);
  if (taken.has(name)) refuse(field, `two nodes are called "${name}"`);
  taken.add(name);
  return name;
}

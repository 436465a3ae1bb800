/**
 * Names of nodes: each host of the world has its own, and clients, readers and operators are hosts too. A node that is
 * called like one of them could not be told from it, nor put into the world.
 */
import { parseNodeId } from '../../engine/base/ids.ts';
import type { Field } from './fields.ts';
import { readText, refuse } from './fields.ts';

/** Clients, those that faults bring (`f0.c1`), and whoever else the load and the faults put into the world. */
const namesOfOthers: readonly RegExp[] = [
  /^[cxrj]\d+$/,
  /\.([cxr]\d+|slow)$/,
  /^(x|j-after|reader)-/,
  /^(operator|modules|redis-reader|stranger|strangers|strangers-after)$/,
  // Addresses.
  /^10\.0\.\d+\.\d+$/,
];

/** A node's name, which is none of `taken`, and is now. */
export function readNodeName(field: Field, taken: Set<string>): string {
  const name = readText(field, 64);
  if (parseNodeId(name) === undefined) refuse(field, `"${name}" is no node name: 1..64 of [A-Za-z0-9_.-]`);
  if (namesOfOthers.some((pattern) => pattern.test(name)))
    refuse(field, `"${name}" is what a client or another host of the simulator is called; n1, n2, … are not`);
  if (taken.has(name)) refuse(field, `two nodes are called "${name}"`);
  taken.add(name);
  return name;
}

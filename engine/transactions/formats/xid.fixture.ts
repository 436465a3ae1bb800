/** A transaction's name, for tests that need one by its number. */
import type { NodeId } from '../../base/ids.ts';
import type { Xid } from './xid.ts';
import { XidSource } from './xid.ts';

export function makeXid(node: NodeId, epoch: string, counter: number): Xid {
  return `${new XidSource(node, epoch).prefix}${counter}` as Xid;
}

/** Builds a transaction id from its parts, for tests. */
import type { NodeId } from '../../base/ids.ts';
import type { Xid } from './xid.ts';
import { XidSource } from './xid.ts';

/** `epoch`: 12 hexadecimal digits. */
export function makeXid(node: NodeId, epoch: string, counter: number): Xid {
  return `${new XidSource(node, epoch).prefix}${counter}` as Xid;
}

/**
 * Names of transactions: `<node>-<epoch>-<counter>`, where the epoch is the random one of a life of the node that
 * coordinates. So no two transactions have one name, on any nodes and over any restarts.
 */
import type { NodeId } from '../../base/ids.ts';
import { parseNodeId } from '../../base/ids.ts';
import type { ByteString } from '../../base/ids.ts';

declare const xidBrand: unique symbol;
export type Xid = ByteString & { readonly [xidBrand]: true };

const form = /^(.{1,64})-([0-9a-f]{12})-([0-9]{1,16})$/;
/** The same, of nodes only: a test allocates nothing. */
const nameForm = /^[A-Za-z0-9_.-]{1,64}-[0-9a-f]{12}-[0-9]{1,16}$/;

/** Names the transactions of one life of a node: their counter goes up by one. */
export class XidSource {
  /** What `lifeOf` says of all of them. */
  readonly life: string;
  /** What all of them begin with, before the counter. */
  readonly prefix: string;
  #counter = 0;

  constructor(node: NodeId, epoch: string) {
    this.life = `${node}-${epoch}`;
    this.prefix = `${this.life}-`;
  }

  next(): Xid {
    this.#counter += 1;
    return `${this.prefix}${this.#counter}` as Xid;
  }
}

/** `text` as a transaction's name, or undefined when it is none. */
export function parseXid(text: string): Xid | undefined {
  return nameForm.test(text) ? (text as Xid) : undefined;
}

/** The life that named it: its node's name and epoch. */
export function lifeOf(xid: Xid): string {
  return xid.slice(0, xid.lastIndexOf('-'));
}

/** The node that coordinates the transaction; undefined for a text that names none. */
export function coordinatorOf(xid: string): NodeId | undefined {
  const [, node] = form.exec(xid) ?? [];
  return node === undefined ? undefined : parseNodeId(node);
}

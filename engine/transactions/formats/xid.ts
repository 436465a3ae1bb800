/**
 * Transaction ids: `<node>-<epoch>-<counter>`. The epoch is the random id of the coordinator's incarnation, so no two
 * transactions share an id, on any nodes and over any restarts.
 */
import type { NodeId } from '../../base/ids.ts';
import { parseNodeId } from '../../base/ids.ts';
import type { ByteString } from '../../base/ids.ts';

declare const xidBrand: unique symbol;
/** A transaction id, of at most 94 bytes. */
export type Xid = ByteString & { readonly [xidBrand]: true };

const form = /^(.{1,64})-([0-9a-f]{12})-([0-9]{1,16})$/;
/** The same without groups, so that a test allocates nothing. */
const nameForm = /^[A-Za-z0-9_.-]{1,64}-[0-9a-f]{12}-[0-9]{1,16}$/;

/** Generates the transaction ids of one incarnation of a node. The counter grows by one with each. */
export class XidSource {
  /** The incarnation's part of every id, as `lifeOf` returns it. */
  readonly life: string;
  /** What every id begins with, up to the counter. */
  readonly prefix: string;
  #counter = 0;

  constructor(node: NodeId, epoch: string) {
    this.life = `${node}-${epoch}`;
    this.prefix = `${this.life}-`;
  }

  /** The next transaction id. */
  next(): Xid {
    this.#counter += 1;
    return `${this.prefix}${this.#counter}` as Xid;
  }
}

/** `text` as a transaction id; undefined if it is none. */
export function parseXid(text: string): Xid | undefined {
  return nameForm.test(text) ? (text as Xid) : undefined;
}

/** The incarnation that generated the id: its node's name and epoch. */
export function lifeOf(xid: Xid): string {
  return xid.slice(0, xid.lastIndexOf('-'));
}

/** The node that coordinates the transaction; undefined if the text is no transaction id. */
export function coordinatorOf(xid: string): NodeId | undefined {
  const [, node] = form.exec(xid) ?? [];
  return node === undefined ? undefined : parseNodeId(node);
}

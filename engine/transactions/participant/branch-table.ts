/**
 * The branches with a record here, by transaction, and by the name that a client gave to it: an order with a name asks
 * for those of its name, and there may be thousands that only wait to be forgotten.
 */
import { assert } from '../../base/assert.ts';
import { TransientMap } from '../../base/transient-map.ts';
import type { Branch } from './branch.ts';
import type { Xid } from '../formats/xid.ts';

export class BranchTable {
  readonly #branches = new TransientMap<Xid, Branch>();
  /** Oldest first: more than one where a branch of before is carried out once more. */
  readonly #named = new Map<string, readonly Branch[]>();

  /** Oldest first. */
  get all(): readonly Branch[] {
    return this.#branches.values();
  }

  get(xid: Xid): Branch | undefined {
    return this.#branches.get(xid);
  }

  has(xid: Xid): boolean {
    return this.#branches.has(xid);
  }

  /** Those of the client's name, oldest first. */
  named(clientId: string): readonly Branch[] {
    return this.#named.get(clientId) ?? none;
  }

  /** Adds a branch, whose transaction has none here. */
  add(branch: Branch): void {
    const { xid, order } = branch;
    assert(this.#branches.add(xid, branch), 'a transaction has one branch here');
    const { clientId } = order;
    if (clientId === '') return;
    const others = this.#named.get(clientId);
    this.#named.set(clientId, others === undefined ? [branch] : [...others, branch]);
  }

  delete(xid: Xid): void {
    const gone = this.#branches.delete(xid);
    if (gone === undefined || gone.order.clientId === '') return;
    const { clientId } = gone.order;
    const rest = this.named(clientId).filter((branch) => branch !== gone);
    if (rest.length === 0) this.#named.delete(clientId);
    else this.#named.set(clientId, rest);
  }
}

const none: readonly never[] = [];

/**
 * The branches of this node that are not over, by transaction and by idempotency key. A prepare request with a key asks
 * for the branches of that key, and thousands of applied branches may wait for their coordinators to say forget.
 */
import { assert } from '../../base/assert.ts';
import { TransientMap } from '../../base/transient-map.ts';
import type { Branch } from './branch.ts';
import type { Xid } from '../formats/xid.ts';

/** An index of branches; every list is in the order of `add`. */
export class BranchTable {
  readonly #branches = new TransientMap<Xid, Branch>();
  /** Oldest first. A key has more than one branch where an earlier one is redone. */
  readonly #named = new Map<string, readonly Branch[]>();

  /** Every branch, oldest first. */
  get all(): readonly Branch[] {
    return this.#branches.values();
  }

  /** The branch of the transaction, if any. */
  get(xid: Xid): Branch | undefined {
    return this.#branches.get(xid);
  }

  /** Whether the transaction has a branch here. */
  has(xid: Xid): boolean {
    return this.#branches.has(xid);
  }

  /** The branches with this idempotency key, oldest first. */
  named(clientId: string): readonly Branch[] {
    return this.#named.get(clientId) ?? none;
  }

  /** Adds a branch. Its transaction must have none here. */
  add(branch: Branch): void {
    const { xid, order } = branch;
    assert(this.#branches.add(xid, branch), 'a transaction has one branch here');
    const { clientId } = order;
    if (clientId === '') return;
    const others = this.#named.get(clientId);
    this.#named.set(clientId, others === undefined ? [branch] : [...others, branch]);
  }

  /** Removes the branch of the transaction, if any. */
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

/**
 * The keys that transactions work on: accounts, lists, pairs, triples, single keys, bunches of one primary, and one key
 * for each node's probe. The keys of a pair or triple have different primaries if the cluster has enough nodes, so that
 * their transactions have several branches.
 */
import { present } from '../../engine/base/assert.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import type { Ring } from '../../engine/cluster/ring/ring.ts';
import { routeToken } from '../../engine/cluster/ring/token.ts';
import type { PlanStructures } from '../plan/plan-transactions.ts';
import type { KeyPlace } from './http-objects.ts';

/** One key, as messages carry it, and where the cluster places it. */
export interface TransactionKey {
  /** Bucket and key, as `lists/l3`. */
  readonly name: string;
  readonly place: KeyPlace;
  /** The node where its transactions prepare. */
  readonly primary: string;
  /** The primary, and the nodes that may become it during a ring change. */
  readonly primaries: readonly string[];
  /** Every node that holds a copy. */
  readonly holders: readonly string[];
  /** The holders, and the nodes that may hold a copy during a ring change. */
  readonly keepers: readonly string[];
  /** By datacenter: the copies that a majority has. */
  readonly majorities: ReadonlyMap<string, number>;
}

/** The keys of one plan's structures. */
export class TransactionKeys {
  readonly accounts: readonly TransactionKey[];
  readonly lists: readonly TransactionKey[];
  readonly twins: readonly (readonly TransactionKey[])[];
  readonly triples: readonly (readonly TransactionKey[])[];
  /** One single key beside each triple. */
  readonly loners: readonly TransactionKey[];
  /** Three keys with one primary beside each triple. */
  readonly bunches: readonly (readonly TransactionKey[])[];
  /** One per primary. */
  readonly probes: readonly TransactionKey[];
  readonly #ring: Ring;
  readonly #laterHolders: readonly string[];

  /** `laterHolders`: nodes that may come to hold copies of any key. */
  constructor(
    ring: Ring,
    nodes: readonly string[],
    { accounts, lists, twins, triples }: PlanStructures,
    laterHolders: readonly string[] = [],
  ) {
    this.#ring = ring;
    this.#laterHolders = laterHolders;
    this.accounts = numbered(accounts, (index) => this.#key('bank', `a${index}`));
    this.lists = numbered(lists, (index) => this.#key('lists', `l${index}`));
    this.twins = numbered(twins, (index) => this.#apart('twins', `w${index}`, 2));
    this.triples = numbered(triples, (index) => this.#apart('triples', `s${index}`, 3));
    this.loners = numbered(triples, (index) => this.#key('loners', `o${index}`));
    this.bunches = numbered(triples, (index) => this.#together('bunches', `u${index}`, 3));
    this.probes = this.#apart('probes', 'p', nodes.length);
  }

  /** Every key that holds something in the end, without the probes. */
  get all(): readonly TransactionKey[] {
    return [
      ...this.accounts,
      ...this.lists,
      ...this.twins.flat(),
      ...this.triples.flat(),
      ...this.loners,
      ...this.bunches.flat(),
    ];
  }

  /** Keys with different primaries, as far as the ring has enough. */
  #apart(bucket: string, stem: string, count: number): readonly TransactionKey[] {
    const keys: TransactionKey[] = [];
    for (let salt = 0; keys.length < count; salt++) {
      const key = this.#key(bucket, `${stem}.${salt}`);
      const taken = keys.some(({ primary }) => primary === key.primary);
      if (!taken || salt > saltMax) keys.push(key);
    }
    return keys;
  }

  /** Keys with the primary of the first key, as far as a bounded search finds them. */
  #together(bucket: string, stem: string, count: number): readonly TransactionKey[] {
    const keys: TransactionKey[] = [];
    for (let salt = 0; keys.length < count; salt++) {
      const key = this.#key(bucket, `${stem}.${salt}`);
      const primary = keys[0]?.primary ?? key.primary;
      if (key.primary === primary || salt > saltMax) keys.push(key);
    }
    return keys;
  }

  #key(bucket: string, key: string): TransactionKey {
    const placement = this.#ring.placement(routeToken('STD', byteStringOf(bucket), byteStringOf(key)));
    const holders = placement.map(({ node }) => node);
    const primary = present(placement[0], 'a primary').node;
    const copies = new Map<string, number>();
    for (const { datacenter } of placement) copies.set(datacenter, (copies.get(datacenter) ?? 0) + 1);
    return {
      name: `${bucket}/${key}`,
      place: { type: Buffer.from('default'), bucket: Buffer.from(bucket), key: Buffer.from(key) },
      primary,
      primaries: [primary, ...this.#laterHolders],
      holders,
      keepers: [...new Set([...holders, ...this.#laterHolders])],
      majorities: new Map([...copies].map(([place, count]) => [place, Math.floor(count / 2) + 1])),
    };
  }
}

const saltMax = 200;

function numbered<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

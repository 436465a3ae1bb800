/**
 * Requests between nodes that were never sent: a life's plane tells of each that it turned away, and its dispatcher of
 * those that it asked for. The two are held to one another, and both to the wire: a link that was up is not `closed`, and
 * only one that was up can be `full`. So does its store's driver, which is closed only once the life stops.
 */
import type { RefusalTruth } from '../check/reconcile/account.ts';
import { Tallies } from './tallies.ts';

/** Requests that others than the dispatcher make too (hints, transfers, exchanges), or only they. */
const othersKinds: ReadonlySet<string> = new Set([
  'gossip',
  'properties',
  'wasmModules',
  'keepHint',
  'antiEntropy',
  'transferRange',
  'readObject',
  'mergeObject',
]);

interface Drop {
  readonly peer: string;
  readonly kind: string;
  readonly outcome: string;
}

export class RefusalObserver {
  readonly #asked = new Tallies();
  #stopping = false;
  #storeFull = 0;
  #linksFull = 0;
  #storeClosed = 0;
  #local = 0;
  #remote = 0;
  /** The newest one that the plane told of, until the dispatcher says that it was its own. */
  #dropped: Drop | undefined;
  #contradicted = 0;

  truth(indexes: RefusalTruth['indexes']): RefusalTruth {
    return {
      local: this.#local,
      remote: this.#remote,
      byPeer: this.#asked.under(''),
      indexes,
      storeFull: this.#storeFull,
      storeClosed: this.#storeClosed,
      contradicted: this.#contradicted + (this.#isOwed() ? 1 : 0),
    };
  }

  /** For want of room, in the store's queue or in a link's. */
  get full(): number {
    return this.#storeFull + this.#linksFull;
  }

  /** The plane turned it away. `up`: by the wire, the link to the peer is there and has been greeted. */
  dropped(drop: Drop, local: boolean, up: boolean): void {
    if (local) this.#local += 1;
    else this.#remote += 1;
    if (drop.outcome === 'full') this.#linksFull += 1;
    if (up === (drop.outcome === 'closed')) this.#contradicted += 1;
    if (this.#isOwed()) this.#contradicted += 1;
    this.#dropped = drop;
  }

  /** The dispatcher was told that its request was. */
  refused({ peer, kind, outcome }: Drop): void {
    const drop = this.#dropped;
    if (drop?.peer !== peer || drop.kind !== kind || drop.outcome !== outcome) this.#contradicted += 1;
    this.#dropped = undefined;
    this.#asked.add(`${outcome} ${peer}`);
  }

  /** The life begins to stop in order. */
  stopping(): void {
    this.#stopping = true;
  }

  /** The store's driver turned a request away. */
  refusedByStore(outcome: string): void {
    if (outcome === 'full') this.#storeFull += 1;
    else this.#storeClosed += 1;
    if (outcome === 'closed' && !this.#stopping) this.#contradicted += 1;
  }

  /** A request that only the dispatcher makes was turned away, and it has not said so. */
  #isOwed(): boolean {
    return this.#dropped !== undefined && !othersKinds.has(this.#dropped.kind);
  }
}

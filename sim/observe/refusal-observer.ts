/**
 * Follows requests between nodes that were never sent. The peer plane of an incarnation reports each request that it
 * rejects, and the dispatcher each rejection that it receives; the two must agree with each other and with the wire. A
 * link that was up is not `closed`, and only a link that was up can be `full`. The store's driver is checked likewise:
 * it reports `closed` only once the incarnation stops.
 */
import type { RefusalTruth } from '../check/metrics/reconcile/account.ts';
import { Tallies } from './tallies.ts';

/**
 * Request kinds that other modules than the dispatcher send too (hints, transfers, exchanges, published messages, upgrades), or that only they send.
 */
const othersKinds: ReadonlySet<string> = new Set([
  'gossip',
  'properties',
  'wasmModules',
  'keepHint',
  'antiEntropy',
  'transferRange',
  'readObject',
  'mergeObject',
  'pubsub',
  'upgrade',
]);

interface Drop {
  readonly peer: string;
  readonly kind: string;
  readonly outcome: string;
}

/** Counts the rejected requests of one incarnation by reason. */
export class RefusalObserver {
  readonly #asked = new Tallies();
  #stopping = false;
  #storeFull = 0;
  #linksFull = 0;
  #storeClosed = 0;
  #local = 0;
  #remote = 0;
  /** The newest rejection of the plane, until the dispatcher has reported it. */
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

  /** Number of rejections because the store's queue or a link's queue was full. */
  get full(): number {
    return this.#storeFull + this.#linksFull;
  }

  /** The plane rejected a request. `up`: on the wire, the link to the peer exists and has been greeted. */
  dropped(drop: Drop, local: boolean, up: boolean): void {
    if (local) this.#local += 1;
    else this.#remote += 1;
    if (drop.outcome === 'full') this.#linksFull += 1;
    if (up === (drop.outcome === 'closed')) this.#contradicted += 1;
    if (this.#isOwed()) this.#contradicted += 1;
    this.#dropped = drop;
  }

  /** The dispatcher learned that its request was rejected. */
  refused({ peer, kind, outcome }: Drop): void {
    const drop = this.#dropped;
    if (drop?.peer !== peer || drop.kind !== kind || drop.outcome !== outcome) this.#contradicted += 1;
    this.#dropped = undefined;
    this.#asked.add(`${outcome} ${peer}`);
  }

  /** The incarnation begins a graceful stop. */
  stopping(): void {
    this.#stopping = true;
  }

  /** The store's driver rejected a request. */
  refusedByStore(outcome: string): void {
    if (outcome === 'full') this.#storeFull += 1;
    else this.#storeClosed += 1;
    if (outcome === 'closed' && !this.#stopping) this.#contradicted += 1;
  }

  /** A request that only the dispatcher sends was rejected, and the dispatcher has not reported it. */
  #isOwed(): boolean {
    return this.#dropped !== undefined && !othersKinds.has(this.#dropped.kind);
  }
}

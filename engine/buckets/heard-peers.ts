/**
 * Of which peers a node has all property records. A new connection with a peer begins anew, since the peer may have
 * taken settings while it could not reach this node. So does a digest in the peer's gossip that this node has not
 * matched yet.
 */
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import type { Io } from '../io/io.ts';

/** How long a node waits for the link to a peer that it asks, in microseconds. */
export const linkUsMax = 1_000_000;
/** How often it looks meanwhile, in microseconds. */
export const linkLookUs = 10_000;

/** What is known of the peers' records. */
export class HeardPeers {
  readonly #io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly #isConnected: (peer: NodeId) => boolean;
  readonly #fetch: (peer: NodeId) => Promise<boolean>;
  readonly #fetching = new Map<NodeId, Deferred<boolean>>();
  /** Peers whose records this node has, each with its digest as `#digests` had it when that was found. */
  readonly #heard = new Map<NodeId, string | undefined>();
  /** The digest that each peer's gossip carried last on its present connections. */
  readonly #digests = new Map<NodeId, string>();
  /** Fetches that wait for a link: each ends its wait. */
  readonly #waits = new Set<() => void>();
  #stopped = false;
  /** Increases whenever a fetch that runs may have come too early to count. */
  #doubts = 0;

  /** `fetch` takes all records of a peer, and resolves with whether they are durable here. It never rejects. */
  constructor(
    io: Pick<Io, 'clock' | 'log' | 'spawn'>,
    isConnected: (peer: NodeId) => boolean,
    fetch: (peer: NodeId) => Promise<boolean>,
  ) {
    this.#io = io;
    this.#isConnected = isConnected;
    this.#fetch = fetch;
  }

  /** Whether this node has all records of the peer, as far as it can know. */
  has(peer: NodeId): boolean {
    return this.#heard.has(peer);
  }

  /** The peer's gossip carried `digest`; `own` is this node's. Fetches the peer's records if some may be missing. */
  told(peer: NodeId, digest: string, own: string): void {
    this.#digests.set(peer, digest);
    if (digest === own || digest === '') this.#heard.set(peer, digest);
    // A peer that lacks records of this node has the same digest again and again, and nothing new.
    else if (this.#heard.get(peer) !== digest) {
      this.#heard.delete(peer);
      this.#begin(peer);
    }
  }

  /** A connection with the peer is new. */
  connected(peer: NodeId): void {
    this.#doubts += 1;
    this.#heard.delete(peer);
    this.#digests.delete(peer);
  }

  /** Records that some peer has sent could not be saved. */
  missed(): void {
    this.#doubts += 1;
    this.#heard.clear();
  }

  /** The fetches that run. */
  under(): readonly Promise<boolean>[] {
    return [...this.#fetching.values()].map(({ promise }) => promise);
  }

  /** Fetches the peer's records, or joins the fetch that runs. Resolves with whether all are known here. Never rejects. */
  hear(peer: NodeId): Promise<boolean> {
    return this.#begin(peer).promise;
  }

  /** The node stops: fetches that wait for a link come to nothing, now and from now on. */
  stop(): void {
    this.#stopped = true;
    for (const end of [...this.#waits]) end();
  }

  #begin(peer: NodeId): Deferred<boolean> {
    const under = this.#fetching.get(peer);
    if (under !== undefined) return under;
    const done = new Deferred<boolean>();
    this.#fetching.set(peer, done);
    this.#io.log.event('debug', 'props.fetch.began', { peer });
    this.#io.spawn('props.fetch', async () => {
      let heard = false;
      try {
        heard = await this.#fetchAll(peer);
      } finally {
        this.#fetching.delete(peer);
        done.resolve(heard);
      }
    });
    return done;
  }

  /** Fetches until the peer has had nothing new meanwhile. */
  async #fetchAll(peer: NodeId): Promise<boolean> {
    const { clock } = this.#io;
    const endUs = clock.nowUs() + linkUsMax;
    // The peer's connection to this node may be there before this node's to the peer.
    while (!this.#isConnected(peer) && clock.nowUs() < endUs && !this.#stopped) await this.#pause();
    while (!this.#stopped) {
      const digest = this.#digests.get(peer);
      const doubts = this.#doubts;
      if (!(await this.#fetch(peer))) return false;
      if (digest !== this.#digests.get(peer) || doubts !== this.#doubts) continue;
      this.#heard.set(peer, digest);
      return true;
    }
    return false;
  }

  #pause(): Promise<void> {
    const done = new Deferred<void>();
    const end = (): void => {
      timer.cancel();
      this.#waits.delete(end);
      done.resolve();
    };
    const timer = this.#io.clock.after(linkLookUs, end);
    this.#waits.add(end);
    return done.promise;
  }
}

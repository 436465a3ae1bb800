/**
 * Fetches keys whose newest copy this node has lost, once they are written again. The write may lack what was lost: a
 * version beside it, of a write that this node and one other replica had acknowledged. So the node goes on doubting its
 * copy (`Store.keepDoubt`), asks other replicas for theirs, and merges them. It asks so many replicas of its datacenter
 * that one of them has whatever a majority acknowledged. Then the doubt ends; a full sweep of anti-entropy ends it, too.
 *
 * A replica that has lost its copy as well has nothing to give, and is not waited for. None is asked while one of them is
 * unreachable, and all are asked again if one does not answer.
 */
import { Deferred } from '../../base/deferred.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { sometimes } from '../../base/sometimes.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { PeerLinks } from '../../replication/peer-links.ts';
import type { Replica } from '../../replica/replica.ts';
import type { Member, Ring } from '../ring/ring.ts';
import { keySources } from './arcs.ts';

/** What the fetching works with. */
export interface LostKeysDependencies {
  readonly io: Pick<Io, 'clock' | 'spawn'>;
  readonly self: Member;
  readonly membership: { readonly ring: Ring; isRoutable(node: Member['node']): boolean };
  readonly links: PeerLinks;
  readonly replica: Pick<Replica, 'merge' | 'onDoubt'>;
  /** As the store's methods of these names. */
  readonly store: { keepsDoubt(key: PackedKey): boolean; endDoubt(key: PackedKey): void };
  readonly timeoutUs: number;
}

/** The rest before replicas that did not answer are asked again. */
const retryUs = 1_000_000;
/** Keys that are fetched at once. */
const windowMax = 16;

/** Fetches the lost keys of one node. */
export class LostKeys {
  readonly #parts: LostKeysDependencies;
  readonly #wanted = new Map<PackedKey, Token>();
  #work: Promise<void> | undefined;
  #stopped = false;

  constructor(parts: LostKeysDependencies) {
    this.#parts = parts;
    parts.replica.onDoubt((key, token) => this.#want(key, token));
  }

  /** Stops. Resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work;
  }

  #want(key: PackedKey, token: Token): void {
    this.#wanted.set(key, token);
    if (this.#work !== undefined || this.#stopped) return;
    const over = new Deferred<void>();
    this.#work = over.promise;
    this.#parts.io.spawn('transfer.keys', async () => {
      try {
        await this.#fetchAll();
      } finally {
        this.#work = undefined;
        over.resolve();
      }
      // One may have come when the last round was over and the work was not.
      for (const [wanted, at] of this.#wanted) this.#want(wanted, at);
    });
  }

  async #fetchAll(): Promise<void> {
    while (this.#wanted.size > 0 && !this.#stopped) {
      const round = [...this.#wanted];
      let isAnyFetched = false;
      for (let from = 0; from < round.length; from += windowMax) {
        const window = round.slice(from, from + windowMax);
        const fetched = await Promise.all(window.map(([key, token]) => this.#fetch(key, token)));
        isAnyFetched ||= fetched.includes(true);
      }
      if (!isAnyFetched) await sleep(this.#parts.io.clock, retryUs);
    }
  }

  /** Asks the key's replicas once. Resolves with whether the key is in doubt no more. */
  async #fetch(key: PackedKey, token: Token): Promise<boolean> {
    const { membership, self, store } = this.#parts;
    if (this.#stopped) return false;
    if (store.keepsDoubt(key)) {
      const sources = keySources(membership.ring, token, self);
      if (!sources.every(({ node }) => membership.isRoutable(node))) return false;
      const answers = await Promise.all(sources.map(({ node }) => this.#merge(node, key, token)));
      if (!answers.every((isMerged) => isMerged)) return false;
      sometimes('replica.lost-key-fetched');
      store.endDoubt(key);
    }
    this.#wanted.delete(key);
    return true;
  }

  /** Resolves with true once what the replica holds of the key is durable here. */
  #merge(node: Member['node'], key: PackedKey, token: Token): Promise<boolean> {
    const { links, replica, timeoutUs } = this.#parts;
    const done = new Deferred<boolean>();
    const sent = links.request(node, { kind: 'readObject', key, token }, timeoutUs, (reply) => {
      if (reply.kind !== 'object' || reply.object === undefined) {
        done.resolve(reply.kind === 'object' || (reply.kind === 'failed' && reply.code === 'Corrupted'));
        return;
      }
      // The reply's bytes are a view into the connection's receive buffer.
      const bytes = Buffer.from(reply.object);
      const outcome = replica.merge(key, token, bytes, (error) => done.resolve(error === undefined));
      if (outcome !== 'ok') done.resolve(false);
    });
    if (sent !== 'ok') done.resolve(false);
    return done.promise;
  }
}

/**
 * Cleanup: removes from the store every key whose ranges this node neither owns nor is about to own. Such keys take
 * disk space, hold back the tombstone reaper, and would be served to a client that reads by an old ring.
 *
 * Cleanup starts only after the ring has not changed for `delayUs` and every live member agrees to it. A key is first
 * sent to all of its owners once more, merged there by causality, and is removed after each owner has it durably: if
 * this node still holds the same bytes and still does not own it. While a member is unreachable, nothing is removed or
 * sent. A key that an owner did not take counts toward the pace as well, and after a few of them the walk ends: such an
 * owner is overloaded, or about to be called DOWN.
 */
import { Deferred } from '../../base/deferred.ts';
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { ClientKeys } from '../../replica/client-keys.ts';
import type { PeerLinks } from '../../replication/peer-links.ts';
import type { Replica } from '../../replica/replica.ts';
import { sleep } from '../../io/clock.ts';
import type { Timer } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { Membership } from '../membership/membership.ts';
import type { Member } from '../ring/ring.ts';

/** Pace and delay of the cleanup, from the configuration. */
export interface CleanupOptions {
  /** How long the ring must not have changed, in microseconds. */
  readonly delayUs: number;
  readonly bytesPerSecond: number;
  readonly timeoutUs: number;
}

/** What the cleanup works with. */
export interface CleanupDependencies extends ClientKeys {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly self: Member;
  readonly membership: Pick<
    Membership,
    'self' | 'ring' | 'pending' | 'view' | 'agreed' | 'changingMembers' | 'agrees' | 'isRoutable'
  >;
  readonly links: PeerLinks;
  readonly replica: Pick<Replica, 'discard'>;
}

interface Held {
  readonly key: PackedKey;
  readonly token: Token;
}

const usPerSecond = 1_000_000;
const lookUsMin = 500_000;
const lookUsMax = 60_000_000;
/** Keys that are checked between two pauses, which let other work run. */
const glanceCount = 1000;
/**
 * So many keys that an owner did not take end a walk. More than one, so that a key which no owner ever takes does not
 * keep the others.
 */
const failedMax = 8;

/** Of a key: `kept`: it was written meanwhile. `failed`: an owner did not take it. */
type Outcome = 'gone' | 'kept' | 'failed';

/** The cleanup of one node's store. */
export class Cleanup {
  readonly #parts: CleanupDependencies;
  readonly #options: CleanupOptions;
  #timer: Timer | undefined;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();
  /** The ring view that has not changed, since when, and whether the store was cleaned under it. */
  #standing: { readonly view: string; readonly sinceUs: number; done: boolean } | undefined;
  /** How many keys were removed. */
  dropped = 0;

  constructor(parts: CleanupDependencies, options: CleanupOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  /** Starts the timer. Call it once, before `stop`. */
  start(): void {
    const lookUs = Math.min(lookUsMax, Math.max(lookUsMin, this.#options.delayUs / 4));
    this.#timer = this.#parts.io.clock.after(lookUs, () => {
      const over = new Deferred<void>();
      this.#work = over.promise;
      this.#parts.io.spawn('transfer.cleanup', async () => {
        try {
          await this.#look();
        } finally {
          over.resolve();
          if (!this.#stopped) this.start();
        }
      });
    });
  }

  /** Stops. Resolves when no cleanup is under way. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    return this.#work;
  }

  async #look(): Promise<void> {
    const { membership, io } = this.#parts;
    const { view } = membership;
    const nowUs = io.clock.nowUs();
    if (!this.#isSettled()) this.#standing = undefined;
    else if (this.#standing?.view !== view) this.#standing = { view, sinceUs: nowUs, done: false };
    const standing = this.#standing;
    if (standing === undefined || standing.done || nowUs - standing.sinceUs < this.#options.delayUs) return;
    standing.done = await this.#walk(standing.view);
  }

  /** True if no ring change is under way, and every member is reachable and agrees to the ring. */
  #isSettled(): boolean {
    const { membership, self } = this.#parts;
    const all = membership.ring.members.every(({ node }) => {
      // A member that is DOWN still agrees, by the last ring view that it stated.
      return node === self.node || (membership.isRoutable(node) && membership.agrees(node));
    });
    const still = membership.changingMembers.length === 0 && membership.self.state === 'NORMAL';
    return all && still && membership.agreed;
  }

  /** Removes every key that this node does not own. Returns true if all of them were removed. */
  async #walk(view: string): Promise<boolean> {
    let all = true;
    let glances = 0;
    let failed = 0;
    for (const key of this.#parts.keys()) {
      const token = this.#parts.tokenOf(key);
      glances += 1;
      if (glances % glanceCount === 0) await sleep(this.#parts.io.clock, 1);
      if (this.#stopped) return false;
      if (token === undefined || this.#isOurs(token)) continue;
      if (!this.#isSettled() || this.#parts.membership.view !== view) return false;
      const outcome = await this.#drop({ key, token }, failed === 0);
      if (outcome !== 'gone') all = false;
      if (outcome === 'failed' && ++failed >= failedMax) return false;
    }
    return all;
  }

  #isOurs(token: Token): boolean {
    const { membership, self } = this.#parts;
    const holders = [...membership.ring.placement(token), ...membership.pending(token)];
    return holders.some(({ node }) => node === self.node);
  }

  /** Sends the key to its owners and removes it. `isFirst`: no owner has refused a key in this walk: only that is logged. */
  async #drop(held: Held, isFirst: boolean): Promise<Outcome> {
    const owners = this.#parts.membership.ring.placement(held.token);
    let sentBytes = 0;
    let outcome: Outcome;
    try {
      const bytes = await this.#parts.bytesOf(held.key);
      if (bytes === undefined) return 'gone';
      const object = Buffer.from(bytes);
      sentBytes = object.length * owners.length;
      const given = await Promise.allSettled(owners.map((owner) => this.#give(owner, held, object)));
      for (const one of given) if (one.status === 'rejected') throw one.reason;
      outcome = await this.#discard(held, object);
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      if (code === 'Internal') throw error;
      sometimes('cleanup.key-kept');
      const { token } = held;
      if (isFirst) this.#parts.io.log.event('warn', 'transfer.cleanup.kept', { token, code, detail });
      outcome = 'failed';
    }
    await this.#rest(sentBytes);
    return outcome;
  }

  /** Resolves once the owner durably holds every version that the object has. */
  #give(owner: Member, { key, token }: Held, object: Uint8Array): Promise<void> {
    const taken = new Deferred<void>();
    const request = { kind: 'mergeObject', key, token, object } as const;
    const { links } = this.#parts;
    const outcome = links.request(owner.node, request, this.#options.timeoutUs, (reply) => {
      if (reply.kind === 'written') taken.resolve();
      else taken.reject(new LockstepError('PeerGone', `${owner.node} did not take a key: ${reply.kind}`));
    });
    if (outcome !== 'ok') {
      taken.reject(new LockstepError('PeerGone', `the link to ${owner.node} is ${outcome}`));
    }
    return taken.promise;
  }

  /** Removes the key if its bytes are those that were sent, and this node does not own it at that moment. */
  #discard({ key, token }: Held, object: Buffer): Promise<Outcome> {
    const done = new Deferred<Outcome>();
    const isThat = (bytes: Uint8Array): boolean => object.equals(bytes) && !this.#isOurs(token);
    this.#parts.replica.discard(key, token, isThat, (gone) => {
      if (gone) this.dropped += 1;
      else sometimes('cleanup.key-written');
      if (gone) this.#parts.io.log.event('debug', 'transfer.key.dropped', { token });
      done.resolve(gone ? 'gone' : 'kept');
    });
    return done.promise;
  }

  #rest(bytes: number): Promise<void> {
    return sleep(this.#parts.io.clock, Math.ceil((bytes * usPerSecond) / this.#options.bytesPerSecond));
  }
}

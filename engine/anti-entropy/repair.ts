/**
 * Repairs one key: reads both sides' objects again, compares them by causality, and sends each side what it lacks.
 * Objects are only ever merged, so a repair cannot replace a newer value with an older one, whatever is written
 * meanwhile.
 */
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import type { PackedKey } from '../base/object-key.ts';
import { nameOfKey } from '../base/object-key.ts';
import { sometimes } from '../base/sometimes.ts';
import type { ConflictRules, Replica } from '../replica/replica.ts';
import type { Log } from '../io/log.ts';
import type { AntiEntropyMetrics } from '../metrics/anti-entropy-metrics.ts';
import type { Suspect } from './diff.ts';
import { judge } from './diff.ts';
import type { ExchangePeer } from './exchange-peer.ts';

/** How the repair of one key ended. */
export type RepairOutcome =
  /** Both sides hold the same; nothing was repaired. */
  | 'equal'
  /** The winner was sent or fetched, or the siblings of both sides were exchanged. */
  | 'repaired'
  /** Causality cannot decide; nothing was changed. Not counted as a repair. */
  | 'AmbiguousClock'
  /** The peer did not answer, or took nothing. Not counted as a repair. */
  | 'PeerUnavailable';

/** The result of one repair. */
export interface Repair {
  readonly outcome: RepairOutcome;
  /** The two sides held different objects. */
  readonly divergent: boolean;
}

/** The part of the local replica that repairs use. */
export type LocalReplica = Pick<Replica, 'read' | 'merge'>;

interface Counting {
  readonly metrics: AntiEntropyMetrics;
  readonly datacenter: string;
  readonly rack: string;
}

/** Repairs keys between this node and a peer. */
export class RepairScheduler {
  readonly #replica: LocalReplica;
  readonly #rules: (key: PackedKey) => ConflictRules;
  readonly #log: Log;
  #counting: Counting | undefined;

  constructor(replica: LocalReplica, rules: (key: PackedKey) => ConflictRules, log: Log) {
    this.#replica = replica;
    this.#rules = rules;
    this.#log = log;
  }

  /** From now on counts repairs of a peer in this datacenter and rack. */
  withMetrics(metrics: AntiEntropyMetrics, datacenter: string, rack: string): this {
    this.#counting = { metrics, datacenter, rack };
    return this;
  }

  /** Repairs one key. Rejects with the local store's error only. */
  async repair(peer: ExchangePeer, suspect: Suspect): Promise<Repair> {
    const repair = await this.#repair(peer, suspect);
    const { divergent, outcome } = repair;
    if (divergent && this.#log.enabled('debug')) {
      const key = nameOfKey(suspect.key);
      this.#log.event('debug', 'aae.key.diverged', { peer: peer.identity.node, key, outcome });
    }
    return repair;
  }

  async #repair(peer: ExchangePeer, suspect: Suspect): Promise<Repair> {
    const theirs = await attempt(() => peer.read(suspect));
    if (theirs === unavailable) return { outcome: 'PeerUnavailable', divergent: false };
    const mine = await this.#read(suspect.key);
    const verdict = judge(mine, theirs, this.#rules(suspect.key).allowMult);
    if (verdict === 'equal') return { outcome: 'equal', divergent: false };
    if (verdict === 'ambiguousClock') {
      sometimes('anti-entropy.clock-ambiguous');
      this.#log.event('warn', 'aae.clock.ambiguous', { peer: peer.identity.node, token: suspect.token });
      return { outcome: 'AmbiguousClock', divergent: true };
    }
    const pushed = mine !== undefined && verdict !== 'pull';
    if (pushed && (await attempt(() => peer.merge(suspect, mine))) === unavailable) {
      sometimes('anti-entropy.repair-refused');
      return { outcome: 'PeerUnavailable', divergent: true };
    }
    if (theirs !== undefined && verdict !== 'push') await this.#merge(suspect, theirs);
    this.#count(peer);
    return { outcome: 'repaired', divergent: true };
  }

  #count(peer: ExchangePeer): void {
    const { metrics, datacenter, rack } = this.#counting ?? {};
    if (datacenter === undefined || rack === undefined) return;
    metrics?.repairsDispatched(peer.identity.index, datacenter, rack, 1);
  }

  /** An object that cannot be read here counts as absent: the peer's object heals it. */
  #read(key: PackedKey): Promise<Uint8Array | undefined> {
    const answer = new Deferred<Uint8Array | undefined>();
    const outcome = this.#replica.read(key, (error, bytes) => {
      if (error === undefined || error.code === 'Corrupted') answer.resolve(bytes);
      else answer.reject(error);
    });
    if (outcome !== 'ok') answer.reject(refused(outcome));
    return answer.promise;
  }

  #merge({ key, token }: Suspect, object: Uint8Array): Promise<void> {
    const done = new Deferred<void>();
    const outcome = this.#replica.merge(key, token as Token, object, (error) => {
      if (error === undefined) done.resolve();
      else done.reject(error);
    });
    if (outcome !== 'ok') done.reject(refused(outcome));
    return done.promise;
  }
}

function refused(outcome: 'full' | 'closed'): LockstepError {
  return new LockstepError('Overloaded', `the store's queue is ${outcome}`);
}

const unavailable = Symbol('unavailable');

async function attempt<T>(work: () => Promise<T>): Promise<T | typeof unavailable> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LockstepError) return unavailable;
    throw error;
  }
}

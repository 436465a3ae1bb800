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
import { refusalCodes } from '../replication/refusal-codes.ts';
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
  /**
   * One side refused this object, or a transaction in doubt holds the key. It says nothing of other keys. Not counted as
   * a repair.
   */
  | 'Refused'
  /** The peer did not answer, or took nothing. Not counted as a repair. */
  | 'PeerUnavailable';

/** The result of one repair. */
export interface Repair {
  readonly outcome: RepairOutcome;
  /** The two sides held different objects. */
  readonly divergent: boolean;
  /** Why the key was refused; only with the outcome `Refused`. */
  readonly refusal?: LockstepError;
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

  /** Repairs one key. Rejects with an error of the local store that concerns more than this key, and no other. */
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
    if (theirs instanceof LockstepError) return unrepaired(theirs, false);
    const mine = await attempt(() => this.#read(suspect.key));
    if (mine instanceof LockstepError) return refusedHere(mine, false);
    const verdict = judge(mine, theirs, this.#rules(suspect.key).allowMult);
    if (verdict === 'equal') return { outcome: 'equal', divergent: false };
    if (verdict === 'ambiguousClock') {
      sometimes('anti-entropy.clock-ambiguous');
      this.#log.event('warn', 'aae.clock.ambiguous', { peer: peer.identity.node, token: suspect.token });
      return { outcome: 'AmbiguousClock', divergent: true };
    }
    const pushed = mine !== undefined && verdict !== 'pull';
    const push = pushed ? await attempt(() => peer.merge(suspect, mine)) : undefined;
    if (push !== undefined) {
      sometimes('anti-entropy.repair-refused');
      return unrepaired(push, true);
    }
    const pulled = theirs !== undefined && verdict !== 'push';
    const pull = pulled ? await attempt(() => this.#merge(suspect, theirs)) : undefined;
    if (pull !== undefined) return refusedHere(pull, true);
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

/** The outcome of a key that the peer has not answered for, or has refused. */
function unrepaired(error: LockstepError, divergent: boolean): Repair {
  if (isRefusal(error)) return { outcome: 'Refused', divergent, refusal: error };
  return { outcome: 'PeerUnavailable', divergent };
}

/** The outcome of a key that this node has refused. Throws `error` if it concerns more than this key. */
function refusedHere(error: LockstepError, divergent: boolean): Repair {
  if (!isRefusal(error)) throw error;
  return { outcome: 'Refused', divergent, refusal: error };
}

/** `Timeout`: the key waits for the outcome of a transaction, or the peer has not answered. */
function isRefusal({ code }: LockstepError): boolean {
  return code === 'Timeout' || refusalCodes.has(code);
}

async function attempt<T>(work: () => Promise<T>): Promise<T | LockstepError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LockstepError) return error;
    throw error;
  }
}

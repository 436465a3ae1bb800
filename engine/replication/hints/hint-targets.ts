/**
 * Delivers one hint. The destinations are the replica that missed the write; all owners of its key, if that replica is
 * no longer a member; or another node that will store the hint.
 */
import { Deferred } from '../../base/deferred.ts';
import type { SendOutcome } from '../../base/channel.ts';
import type { ErrorCode } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { RetentionClock } from '../../base/retention-clock.ts';
import type { PeerRequest } from '../../peer/wire/messages.ts';
import type { Hint } from './hint-codec.ts';
import { encodeHandedHint } from './hint-codec.ts';
import type { PeerLinks } from '../peer-links.ts';
import { refusalCodes } from '../refusal-codes.ts';
import type { WriteDone } from '../../replica/key-slots.ts';

/** What hint delivery needs of the cluster. */
export interface HintPeers {
  readonly self: NodeId;
  /** The other members. */
  members(): readonly NodeId[];
  isRoutable(node: NodeId): boolean;
  /**
   * The ring's fingerprint while all members have the same ring view and no ring change is under way; undefined
   * otherwise.
   */
  settledView(): string | undefined;
  /** The nodes that own the token. */
  owners(token: Token): readonly NodeId[];
  /** Whether the key's bucket was flushed since the write: no replica takes it. */
  isFormer(key: PackedKey): boolean;
  /** Merges an object of a key that this node owns itself. `done` is called once if the outcome is `ok`. */
  takeHere(key: PackedKey, token: Token, object: Uint8Array, done: WriteDone): SendOutcome;
}

/**
 * What became of a hint: delivered, stored by another node (`handedOn`), or not taken by any node (`here`). `refused`: a
 * node has answered that it does not take this hint, which says nothing of other hints.
 */
export type HintOutcome = 'delivered' | 'handedOn' | 'here' | 'refused';

/** What became of a request to one node. */
type Taken = 'taken' | 'refused' | 'unknown';

/** One way to deliver a hint. Never rejects. */
export type HintWay = (peer: NodeId, key: PackedKey, hint: Hint) => Promise<HintOutcome>;

/** The ways to deliver a hint. Each request to a peer waits `timeoutUs` at most. */
export class HintWays {
  readonly #ages: Pick<RetentionClock, 'nowMs'>;
  readonly #links: PeerLinks;
  readonly #peers: HintPeers;
  readonly #timeoutUs: number;

  /** `ages`: the clock by which hints age. */
  constructor(ages: Pick<RetentionClock, 'nowMs'>, links: PeerLinks, peers: HintPeers, timeoutUs: number) {
    this.#ages = ages;
    this.#links = links;
    this.#peers = peers;
    this.#timeoutUs = timeoutUs;
  }

  /** Delivers to the replica that missed the write. */
  readonly toPeer: HintWay = async (peer, key, hint) => outcomeOf([await this.#merge(peer, key, hint)]);

  /** Delivers to all present owners of the key. */
  readonly toOwners: HintWay = async (_, key, hint) => {
    const owners = this.#peers.owners(hint.token);
    return outcomeOf(await Promise.all(owners.map((owner) => this.#merge(owner, key, hint))));
  };

  /**
   * Delivers to the replica, or to the key's owners if the replica is not a member. Failing that, another node stores the
   * hint, preferably an owner of the key.
   */
  readonly toAnybody: HintWay = async (peer, key, hint) => {
    const { self } = this.#peers;
    const members = this.#peers.members();
    const toFirst = members.includes(peer) ? this.toPeer : this.toOwners;
    const canAsk = toFirst === this.toOwners || this.#peers.isRoutable(peer);
    const outcome = canAsk ? await toFirst(peer, key, hint) : 'here';
    if (outcome === 'delivered') return outcome;
    let isRefused = outcome === 'refused';
    const ageMs = this.#ages.nowMs - hint.writtenMs;
    const words = encodeHandedHint({ peer, key, token: hint.token, ageMs, object: hint.object });
    for (const keeper of new Set([...this.#peers.owners(hint.token), ...members])) {
      if (keeper === peer || keeper === self || !this.#peers.isRoutable(keeper)) continue;
      const kept = await this.#ask(keeper, { kind: 'keepHint', words });
      if (kept === 'taken') return 'handedOn';
      isRefused ||= kept === 'refused';
    }
    return isRefused ? 'refused' : 'here';
  };

  /** Resolves with whether the node has the hint's object durably. */
  #merge(node: NodeId, key: PackedKey, { token, object }: Hint): Promise<Taken> {
    if (node !== this.#peers.self) return this.#ask(node, { kind: 'mergeObject', key, token, object });
    const taken = new Deferred<Taken>();
    const outcome = this.#peers.takeHere(key, token, object, (error) => taken.resolve(takenOf(error?.code)));
    if (outcome !== 'ok') taken.resolve('unknown');
    return taken.promise;
  }

  #ask(node: NodeId, request: PeerRequest): Promise<Taken> {
    const answer = new Deferred<Taken>();
    const outcome = this.#links.request(node, request, this.#timeoutUs, (reply) => {
      if (reply.kind === 'written') answer.resolve('taken');
      else answer.resolve(takenOf(reply.kind === 'failed' ? reply.code : 'Internal'));
    });
    if (outcome !== 'ok') answer.resolve('unknown');
    return answer.promise;
  }
}

function takenOf(code: ErrorCode | undefined): Taken {
  if (code === undefined) return 'taken';
  return refusalCodes.has(code) ? 'refused' : 'unknown';
}

/** What became of a hint that all of some nodes were to take. */
function outcomeOf(taken: readonly Taken[]): HintOutcome {
  if (taken.includes('unknown')) return 'here';
  return taken.includes('refused') ? 'refused' : 'delivered';
}

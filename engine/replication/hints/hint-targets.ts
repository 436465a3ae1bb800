/**
 * Where a kept write can go: to the replica that missed it; to all owners of its key, where that replica is no member
 * any more; or to another node that keeps it from now on.
 */
import { Deferred } from '../../base/deferred.ts';
import type { SendOutcome } from '../../base/channel.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { Clock } from '../../io/clock.ts';
import type { PeerRequest } from '../../peer/wire/messages.ts';
import type { Hint } from './hint-codec.ts';
import { encodeHandedHint } from './hint-codec.ts';
import type { PeerLinks } from '../peer-links.ts';
import type { WriteDone } from '../../replica/key-slots.ts';

/** The cluster as the hints need it. */
export interface HintPeers {
  readonly self: NodeId;
  /** The other members. */
  members(): readonly NodeId[];
  isRoutable(node: NodeId): boolean;
  /** The ring, by its fingerprint, while all see the same one and nobody moves; undefined otherwise. */
  settledView(): string | undefined;
  /** The nodes that own the token. */
  owners(token: Token): readonly NodeId[];
  /** Takes an object of a key that this node owns itself. */
  takeHere(key: PackedKey, token: Token, object: Uint8Array, done: WriteDone): SendOutcome;
}

/** What became of a hint: it is where it belongs, kept by another node, or nobody took it. */
export type HintOutcome = 'delivered' | 'handedOn' | 'here';

/** Tries to bring a hint somewhere. */
export type HintWay = (peer: NodeId, key: PackedKey, hint: Hint) => Promise<HintOutcome>;

export class HintWays {
  readonly #clock: Clock;
  readonly #links: PeerLinks;
  readonly #peers: HintPeers;
  readonly #timeoutUs: number;

  constructor(clock: Clock, links: PeerLinks, peers: HintPeers, timeoutUs: number) {
    this.#clock = clock;
    this.#links = links;
    this.#peers = peers;
    this.#timeoutUs = timeoutUs;
  }

  /** To the replica that missed it. */
  readonly toPeer: HintWay = async (peer, key, hint) => {
    return (await this.#merge(peer, key, hint)) ? 'delivered' : 'here';
  };

  /** To all that own the key now. */
  readonly toOwners: HintWay = async (_, key, hint) => {
    const owners = this.#peers.owners(hint.token);
    const taken = await Promise.all(owners.map((owner) => this.#merge(owner, key, hint)));
    return taken.includes(false) ? 'here' : 'delivered';
  };

  /** Where it belongs, or else to whoever keeps it: rather an owner of the key than another member. */
  readonly toAnybody: HintWay = async (peer, key, hint) => {
    const { self } = this.#peers;
    const members = this.#peers.members();
    if (!members.includes(peer)) return this.toOwners(peer, key, hint);
    if (this.#peers.isRoutable(peer) && (await this.#merge(peer, key, hint))) return 'delivered';
    const ageMs = this.#clock.wallMs() - hint.writtenMs;
    const words = encodeHandedHint({ peer, key, token: hint.token, ageMs, object: hint.object });
    for (const keeper of new Set([...this.#peers.owners(hint.token), ...members])) {
      if (keeper === peer || keeper === self || !this.#peers.isRoutable(keeper)) continue;
      if (await this.#ask(keeper, { kind: 'keepHint', words })) return 'handedOn';
    }
    return 'here';
  };

  /** Whether the node has what the hint tells of, durably. */
  #merge(node: NodeId, key: PackedKey, { token, object }: Hint): Promise<boolean> {
    if (node !== this.#peers.self) return this.#ask(node, { kind: 'mergeObject', key, token, object });
    const taken = new Deferred<boolean>();
    const outcome = this.#peers.takeHere(key, token, object, (error) => taken.resolve(error === undefined));
    if (outcome !== 'ok') taken.resolve(false);
    return taken.promise;
  }

  #ask(node: NodeId, request: PeerRequest): Promise<boolean> {
    const written = new Deferred<boolean>();
    const outcome = this.#links.request(node, request, this.#timeoutUs, (reply) => {
      written.resolve(reply.kind === 'written');
    });
    if (outcome !== 'ok') written.resolve(false);
    return written.promise;
  }
}

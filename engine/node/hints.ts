/**
 * Composes hinted handoff over its own store, and takes in the hints that a leaving peer hands over. The hints
 * themselves are in `replication/hints/`.
 */
import { BytesError } from '../base/bytes.ts';
import type { NodeConfig } from '../config/config.ts';
import { decodeHandedHint } from '../replication/hints/hint-codec.ts';
import { Hints } from '../replication/hints/hints.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Reply } from '../replication/peer-service.ts';
import type { Replica } from '../replica/replica.ts';
import type { Io } from '../io/io.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { Store } from '../storage/store.ts';
import { hintOptions, hintStoreOf } from './storage.ts';

/** Hinted handoff and the store that holds the hints. */
export interface Handoff {
  readonly store: Store;
  readonly hints: Hints;
}

/** Composes hinted handoff over `store`; not yet started. */
export function composeHandoff(
  io: Io,
  config: NodeConfig,
  links: PeerLinks,
  membership: Membership,
  { replica, buckets }: { readonly replica: Replica; readonly buckets: Buckets },
  store: Store,
): Handoff {
  const hints = new Hints(io, hintStoreOf(io, store, config), links, hintOptions(config), {
    self: config.name,
    members: () => membership.peers.map((peer) => peer.node),
    isRoutable: (node) => membership.isRoutable(node),
    settledView: () => {
      return membership.agreed && membership.changingMembers.length === 0 ? membership.view : undefined;
    },
    owners: (token) => membership.ring.placement(token).map(({ node }) => node),
    isFormer: (key) => buckets.epochs.isFormer(key),
    takeHere: (key, token, object, done) => replica.merge(key, token, object, done),
  });
  return { store, hints };
}

/**
 * Adopts a hint that a leaving peer hands over. Replies once the hint is durable; with `Overloaded` if hinted handoff
 * is off, and with `BadRequest` if the hint does not decode.
 */
export function takeHint(hints: Hints | undefined, words: Uint8Array, reply: Reply): void {
  if (hints === undefined) {
    reply({ kind: 'failed', code: 'Overloaded', detail: 'this node keeps no hints (hinted_handoff)' });
    return;
  }
  try {
    hints.adopt(decodeHandedHint(words), (error) => {
      if (error === undefined) reply({ kind: 'written' });
      else reply({ kind: 'failed', code: error.code, detail: error.message });
    });
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    reply({ kind: 'failed', code: 'BadRequest', detail: `a hint that does not decode: ${error.message}` });
  }
}

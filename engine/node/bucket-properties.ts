/**
 * Connects the keeper of bucket properties to the peer links, the local store and gossip, and offers the properties to
 * the client listeners. How properties spread and merge is in `buckets/`.
 */
import type { BucketAdmin } from '../api/bucket-admin.ts';
import { asLockstepError, LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { ObjectKey } from '../base/object-key.ts';
import { unpackKey } from '../base/object-key.ts';
import type { NodeConfig } from '../config/config.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Reply } from '../replication/peer-service.ts';
import { FlushedKeys } from '../replica/flushed-keys.ts';
import type { Replica } from '../replica/replica.ts';
import type { Store } from '../storage/store.ts';
import { objectKeys } from './tombstone-reaper.ts';
import type { Io } from '../io/io.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { BucketProperties } from '../buckets/properties.ts';
import { defaultProperties, withProperties } from '../buckets/properties.ts';
import { PropertyKeeper } from '../buckets/property-keeper.ts';
import type { PropertyLinks, PropertyShelf } from '../buckets/property-keeper.ts';
import type { KeyPlaces } from '../buckets/property-messages.ts';
import type { Router } from '../buckets/router.ts';
import { answerInTask } from '../peer/wire/answer.ts';
import type { PeerReply } from '../peer/wire/messages.ts';

interface PropertyParts {
  readonly buckets: Buckets;
  readonly properties: PropertyShelf;
  readonly store: Pick<Store, 'keysOfBucket' | 'tokenOf'>;
}

/** The keeper of bucket properties. Registers the keeper's digest as the gossip topic `props`. */
export function composeProperties(
  io: Io,
  config: NodeConfig,
  { buckets, properties, store }: PropertyParts,
  links: PeerLinks,
  membership: Membership,
  isConnected: (peer: NodeId) => boolean,
  router: Pick<Router, 'tokenOf'>,
): PropertyKeeper {
  const timeoutUs = config.peerRequestTimeoutMs * 1000;
  const around: PropertyLinks = {
    self: config.name,
    peers: () => membership.peers.map(({ node }) => node),
    isRoutable: (peer) => membership.isRoutable(peer),
    isConnected,
    ask: (peer, words, onAnswer) => {
      const outcome = links.request(peer, { kind: 'properties', words }, timeoutUs, (reply) =>
        onAnswer(wordsOf(reply)),
      );
      if (outcome !== 'ok') onAnswer(new LockstepError('NoTargets', `${peer} cannot be asked`));
    },
    holdsKeys: (name) => {
      for (const key of store.keysOfBucket(buckets.epochs.prefixOfRecord(name))) return key.length > 0;
      return false;
    },
    placesOf: (name) => placesIn(store, router, buckets.epochs.prefixOfRecord(name)),
    members: () => membership.members(),
  };
  const keeper = new PropertyKeeper(io, buckets, properties, around, {
    recordsMax: config.bucketPropertiesMax,
    pageBytes: config.peerPageBytes,
  });
  membership.topics.add('props', {
    digest: () => keeper.digest,
    heard: (peer, digest) => keeper.heard(peer, digest),
  });
  return keeper;
}

/** Where the keys with this prefix lie. A key that the present routing cannot place was placed by a former one. */
function placesIn(
  store: Pick<Store, 'keysOfBucket' | 'tokenOf'>,
  router: Pick<Router, 'tokenOf'>,
  prefix: string,
): KeyPlaces {
  const places = { some: false, former: false };
  for (const packed of store.keysOfBucket(prefix)) {
    const key = unpackKey(packed);
    if (key === undefined) continue;
    if (store.tokenOf(packed) === routedTo(router, key)) places.some = true;
    else places.former = true;
    if (places.some && places.former) break;
  }
  return places;
}

function routedTo(router: Pick<Router, 'tokenOf'>, key: ObjectKey): Token | undefined {
  try {
    return router.tokenOf(key);
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}

/**
 * Has the replica refuse former epochs of flushed buckets, and learn later ones. Returns the removal of flushed keys, not
 * yet started.
 */
export function followEpochs(
  io: Pick<Io, 'clock' | 'log' | 'spawn'>,
  {
    buckets,
    replica,
    store,
  }: { readonly buckets: Buckets; readonly replica: Replica; readonly store: Store },
  keeper: PropertyKeeper,
): FlushedKeys {
  const { epochs } = buckets;
  replica.epochs.follow({
    judge: (key) => epochs.judge(key),
    learn: (key, learnt) =>
      io.spawn('props.learn', async () => {
        learnt(await keeper.learnEpoch(key).then(() => undefined, asLockstepError));
      }),
  });
  const flushedKeys = new FlushedKeys({
    io,
    keys: () => objectKeys(store),
    tokenOf: (key) => store.tokenOf(key),
    isFormer: (key) => epochs.isFormer(key),
    isAny: () => epochs.any,
    replica,
  });
  epochs.onChange(() => flushedKeys.want());
  return flushedKeys;
}

/** Answers a peer's properties message. Calls `reply` exactly once. */
export function answerProperties(io: Io, keeper: PropertyKeeper, words: Uint8Array, reply: Reply): void {
  const asked = Uint8Array.from(words);
  answerInTask(io, 'props.answer', reply, async () => {
    return { kind: 'propertiesAnswered', words: await keeper.answer(asked) };
  });
}

function wordsOf(reply: PeerReply): Uint8Array | LockstepError {
  if (reply.kind === 'propertiesAnswered') return Uint8Array.from(reply.words);
  if (reply.kind === 'failed') return new LockstepError(reply.code, reply.detail);
  return new LockstepError('Internal', `a peer answered "${reply.kind}" to another question`);
}

/**
 * Bucket properties as the client listeners read and change them. `checkRouting` throws `BadRequest` if a module cannot
 * route keys; then neither a bucket nor a type is set to route by that module.
 */
export function bucketAdmin(
  buckets: Buckets,
  keeper: PropertyKeeper,
  checkRouting: (moduleId: string) => void,
): BucketAdmin {
  const check = ({ chashKeyfun, wasmKeyfun }: BucketProperties): void => {
    if (chashKeyfun === 'CUSTOM') checkRouting(wasmKeyfun);
  };
  return {
    of: (type, bucket) => buckets.of(type, bucket),
    ofType: (type) => buckets.ofType(type),
    typeNames: () => buckets.typeNames(),
    set: async (type, bucket, set) => {
      check(withProperties(buckets.of(type, bucket), set));
      await keeper.set(type, bucket, set);
    },
    reset: (type, bucket) => keeper.reset(type, bucket),
    createType: async (type, set) => {
      check(withProperties(defaultProperties, set));
      await keeper.createType(type, set);
    },
    setType: (type, set) => keeper.setType(type, set),
  };
}

/** Connects backups to the node: what it says of itself at a cut, and how it restores objects at their owners. */
import type { BackupAdmin } from '../api/http/backup-routes.ts';
import type { NodeSnapshots } from '../backup/node-snapshots.ts';
import { NodeSnapshots as Snapshots } from '../backup/node-snapshots.ts';
import { overwriting } from '../backup/overwriting.ts';
import type { ArrivedObject } from '../backup/restore-batch.ts';
import { decodeRestoreBatch } from '../backup/restore-batch.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { NodeId, Token } from '../base/ids.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Io } from '../io/io.ts';
import type { Actor } from '../replica/object/dots.ts';
import { decodeObject, encodeObject } from '../replica/object/object.ts';
import type { Replica } from '../replica/replica.ts';
import type { ClusterDispatcher } from '../replication/cluster-dispatcher.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Store } from '../storage/store.ts';
import type { Transactions } from '../transactions/transactions.ts';

/** The modules of the node that backups concern. */
export interface BackupDependencies {
  readonly store: Store;
  readonly membership: Membership;
  readonly transactions: Transactions;
  readonly dispatcher: ClusterDispatcher;
  readonly links: PeerLinks;
  readonly replica: Replica;
  readonly buckets: Buckets;
}

/** The node's part in backups. The node stops it before it closes the store. */
export function composeSnapshots(io: Io, config: NodeConfig, parts: BackupDependencies): NodeSnapshots {
  const { store, membership, transactions } = parts;
  const facts = {
    node: config.name,
    datacenter: config.datacenter,
    rack: config.rack,
    clusterId: config.clusterId,
    incarnation: () => membership.self.generation,
    view: () => membership.view,
    members: () => membership.members().map(({ node }) => node),
    transactions: () => transactions.inDoubt().map(({ xid, role, state }) => ({ id: xid, role, state })),
  };
  return new Snapshots({ io, store, facts });
}

/** Backups as the HTTP listener offers them. */
export function backupAdmin(
  io: Pick<Io, 'random' | 'clock'>,
  config: NodeConfig,
  snapshots: NodeSnapshots,
  parts: BackupDependencies,
): BackupAdmin {
  return {
    hold: (id, leaseMs) => snapshots.hold(id, leaseMs),
    cut: (id) => snapshots.cut(id),
    release: (id) => snapshots.release(id),
    end: (id) => snapshots.end(id),
    read: (id, segment, from, bytes) => snapshots.read(id, segment, from, bytes),
    restore: (batch, overwrite) => restore({ io, config, parts }, decodeRestoreBatch(batch), overwrite),
  };
}

interface Restoring {
  readonly io: Pick<Io, 'random' | 'clock'>;
  readonly config: NodeConfig;
  readonly parts: BackupDependencies;
}

async function restore(
  restoring: Restoring,
  objects: readonly ArrivedObject[],
  overwrite: boolean,
): Promise<number> {
  const { dispatcher, buckets, membership } = restoring.parts;
  for (const { name } of objects) {
    if (!buckets.knowsType(name.type))
      throw new LockstepError(
        'BadRequest',
        `there is no bucket type ${textOf(name.type)} here; create it first`,
      );
  }
  const { epochs } = buckets;
  const present = objects.map(({ name, bytes }) => {
    const there = epochs.present(name);
    return { name: there, key: there.packed, bytes };
  });
  const newest = overwrite ? await Promise.all(present.map((one) => overwritten(restoring, one))) : present;
  const merges = newest.flatMap((object) => {
    const { token, nodes } = dispatcher.locate(object.name);
    const owners = new Set([...nodes, ...membership.pending(token).map(({ node }) => node)]);
    return [...owners].map((node) => mergeAt(restoring, node, token, object));
  });
  const settled = await Promise.allSettled(merges);
  for (const one of settled) if (one.status === 'rejected') throw one.reason;
  return objects.length;
}

/** The object as the newest write of its key. */
async function overwritten(
  { io, parts }: Restoring,
  { key, name, bytes }: ArrivedObject,
): Promise<ArrivedObject> {
  const { object: current } = await parts.dispatcher.get({ key: name, need: 'quorum' });
  const actor = byteStringOf(`restore.${io.random.fork('restore').bytes(6).toString('hex')}`) as Actor;
  const object = overwriting(current, decodeObject(bytes), actor, io.clock.wallMs());
  return { key, name, bytes: encodeObject(object) };
}

/** Resolves once the node has the object durably. */
function mergeAt(
  { config, parts: { links, replica } }: Restoring,
  node: NodeId,
  token: Token,
  { key, bytes }: ArrivedObject,
): Promise<void> {
  const merged = new Deferred<void>();
  if (node === config.name) {
    const outcome = replica.merge(key, token, bytes, (error) =>
      error === undefined ? merged.resolve() : merged.reject(error),
    );
    if (outcome !== 'ok') merged.reject(new LockstepError('Overloaded', `the store's queue is ${outcome}`));
    return merged.promise;
  }
  const request = { kind: 'mergeObject', key, token, object: bytes } as const;
  const outcome = links.request(node, request, config.peerRequestTimeoutMs * 1000, (reply) => {
    if (reply.kind === 'written') merged.resolve();
    else if (reply.kind === 'failed') merged.reject(new LockstepError(reply.code, reply.detail));
    else merged.reject(new LockstepError('Internal', `${node} answered "${reply.kind}" to an object`));
  });
  if (outcome !== 'ok') merged.reject(new LockstepError('PeerGone', `the link to ${node} is ${outcome}`));
  return merged.promise;
}

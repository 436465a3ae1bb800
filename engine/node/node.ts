/**
 * A node: opens its data directory, composes its services over an `Io`, starts them bottom-up and stops them in
 * reverse. The same code runs on a machine and in the simulator's world.
 *
 * - Start: the node recovers its store, then admits peers, then clients. If a step fails, the node stops the services
 *   that it has started.
 * - Stop: the node finishes the requests of clients that are under way, tells its peers that it stops, then closes the
 *   store.
 *
 * `services.ts` composes the services.
 */
import type { ConsolePage } from '../api/http/console-routes.ts';
import type { Credential } from '../auth/credentials.ts';
import { Gate } from '../auth/gate.ts';
import { assert, present } from '../base/assert.ts';
import { LockstepError, asLockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import { version } from '../base/version.ts';
import type { NodeConfig } from '../config/config.ts';
import type { ClusterDispatcher } from '../replication/cluster-dispatcher.ts';
import type { HttpListener, HttpService } from '../io/http.ts';
import type { Disk } from '../io/disk.ts';
import type { Io } from '../io/io.ts';
import type { Address } from '../io/network.ts';
import { tokensOfMember } from '../cluster/membership/token-assignment.ts';
import { Identity, nodeOfIdentity } from '../cluster/membership/identity.ts';
import { MemberFile } from '../cluster/membership/member-file.ts';
import { sameTokens } from '../cluster/membership/member-record.ts';
import { noteAcquainted } from './anti-entropy.ts';
import { CountedDisk } from './counted-disk.ts';
import { ClusterVersion } from './cluster-version.ts';
import { DurableFiles } from './durable-files.ts';
import { isAlone, mustHaveItsStore } from './lost-store.ts';
import { isEmpty } from './tombstone-reaper.ts';
import type { Opened, NodeServices } from './services.ts';
import type { GossipHandler } from '../cluster/membership/gossip-handler.ts';
import { composeServices } from './services.ts';
import { hintStoreOptions, storeOptions } from './storage.ts';
import { forgetLostProperties, StoredProperties } from './stored-properties.ts';
import { recordsLost } from '../buckets/property-keeper.ts';
import type { StatsSnapshot } from '../metrics/snapshot.ts';
import { storeDirectory } from '../storage/log/file-names.ts';
import { openOrQuarantine, quarantineUnopened } from '../storage/recovery/quarantine.ts';
import { Store } from '../storage/store.ts';

/** The answer of `GET /cluster`. */
export type { ClusterView, MemberView } from '../api/http/cluster-routes.ts';

const hintDirectory = 'hints';
const identityPath = 'identity';
const membersPath = 'members';

/** The name of the node that the data directory belongs to; undefined if its identity file is missing. */
export function nodeOfDirectory(disk: Disk): Promise<string | undefined> {
  return nodeOfIdentity(disk, identityPath);
}

/** Drops the bucket properties that cannot be read. Resolves with the names of those buckets. */
export function forgetProperties(store: Store): Promise<readonly string[]> {
  return forgetLostProperties(store);
}

/**
 * How long a starting node waits to hear from all its peers before it serves clients, in microseconds. A node that
 * serves before it has heard any peer refuses requests whose consistency level it cannot meet. Dead peers must not
 * delay the start for long.
 */
const acquaintanceUsMax = 2_000_000;

/** How long a start waits for property records that its peers have and this node lacks, in microseconds. */
const fetchedUsMax = 1_000_000;

/** How long a starting node that has lost bucket properties waits for a peer that has them, in microseconds. */
const catchUpUsMax = 30_000_000;

/** The addresses at which a node listens; undefined for a listener that is off. */
export interface NodeAddresses {
  readonly http: Address | undefined;
  readonly pb: Address | undefined;
  readonly redis: Address | undefined;
  readonly peer: Address;
  readonly stats: Address | undefined;
}

/** Secrets of a node. They are not part of its configuration, which may be shown to anyone. */
export interface NodeSecrets {
  /** The contents of the file that the key `credentials` names. Ignored without that key. */
  readonly credentials?: readonly Credential[];
}

/** One running node. `Node.start` makes it; `stop` ends it. */
export class Node {
  readonly #io: Io;
  readonly #config: NodeConfig;
  readonly #services: NodeServices;
  readonly #gate: Gate;
  readonly #unwatch: () => void;
  readonly #listeners: HttpListener[] = [];
  #addresses: NodeAddresses | undefined;
  #stopped: Promise<void> | undefined;

  private constructor(io: Io, config: NodeConfig, services: NodeServices, gate: Gate, unwatch: () => void) {
    this.#unwatch = unwatch;
    this.#io = io;
    this.#config = config;
    this.#services = services;
    this.#gate = gate;
  }

  /**
   * Recovers the store, begins a new incarnation, connects to the peers and serves clients. Rejects with
   * `DirectoryLocked`, `FormatUnsupported`, `StoreForeign`, `StorageFailed`, `FileMissing` or `ConfigInvalid`, or with
   * `ListenError` if an address is taken. Without `consolePage` the HTTP listener serves the console's facts, and no page.
   */
  static async start(
    doors: Io,
    given: NodeConfig,
    secrets: NodeSecrets = {},
    consolePage?: ConsolePage,
  ): Promise<Node> {
    mustBeSecured(doors, given);
    const gate = gateOf(doors, given, secrets);
    const unwatch = doors.watchAssertions();
    try {
      return await Node.#begin(doors, given, gate, unwatch, consolePage);
    } catch (error) {
      unwatch();
      throw error;
    }
  }

  static async #begin(
    doors: Io,
    given: NodeConfig,
    gate: Gate,
    unwatch: () => void,
    consolePage: ConsolePage | undefined,
  ): Promise<Node> {
    const disk = new CountedDisk(doors.disk);
    const io: Io = { ...doors, disk };
    const opened = await open(io, given, disk);
    const config = withOwnTokens(io, given, opened.members);
    const node = new Node(io, config, composeServices(io, config, opened, gate, consolePage), gate, unwatch);
    try {
      await node.#serve(opened);
    } catch (error) {
      await node.stop();
      throw error;
    }
    io.log.event('info', 'node.started', { version, store: opened.store.storeId });
    return node;
  }

  /** The addresses at which the node listens. */
  get addresses(): NodeAddresses {
    return present(this.#addresses, 'the addresses of a started node');
  }

  /** Reads and writes objects of the whole cluster without a socket, at the configured consistency levels. */
  get objects(): ClusterDispatcher {
    return this.#services.dispatcher;
  }

  /** This node's peer states. */
  get gossip(): GossipHandler {
    return this.#services.gossip;
  }

  /** A metrics snapshot taken now. Works between two publications, and after the node has stopped. */
  statistics(): StatsSnapshot {
    return this.#services.publisher.take();
  }

  /**
   * Replaces the credentials at once. Clients whose credential remains stay authenticated; the others are revoked. Only
   * for a node whose configuration names credentials.
   */
  replaceCredentials(credentials: readonly Credential[]): void {
    assert(!this.#gate.open, 'a node that asks for no credentials is given none');
    this.#gate.replace(credentials);
    this.#io.log.event('info', 'auth.credentials.replaced', { count: credentials.length });
  }

  /**
   * Begins to hand over every range that this node owns, and then to leave the cluster (`left` resolves). Throws
   * `Conflict` if the node is in a ring change or a rebuild, if it is the last owner, or, without `force`, if it is the
   * last node of its rack. A later failure is only logged, as `transfer.leave.failed`.
   */
  leave({ force = false }: { readonly force?: boolean } = {}): void {
    void this.#services.ringChangeCoordinator.leave(force).catch((error: unknown) => {
      this.#io.log.event('error', 'transfer.leave.failed', { detail: String(error) });
    });
  }

  /**
   * Goes into STANDBY, or returns from it if `ends`. In STANDBY the node keeps its ranges and takes every write, but
   * serves no client. Peers read from it only if too few other replicas are left. Resolves once the state is durable.
   * Rejects with `StorageFailed`. Throws `Conflict` if the node is in a ring change, or if too few others would serve
   * reads of its keys.
   */
  standby({ ends = false }: { readonly ends?: boolean } = {}): Promise<void> {
    return this.#services.ringChangeCoordinator.standby(ends);
  }

  /** Resolves once this node has left the cluster. The caller then stops it. */
  get left(): Promise<void> {
    return this.#services.left;
  }

  /**
   * Calls `found` when a disk that was full has free space again. The node takes writes again only after the caller has
   * stopped it and started another one; until then it continues to answer reads.
   */
  onSpaceAvailable(found: () => void): void {
    const { store, handoff } = this.#services;
    for (const one of [store, handoff?.store]) one?.onSpaceAvailable(found);
  }

  /**
   * Calls `told` when peers assign this node other tokens than its configuration has: those of the node that it
   * replaces, or its own from before its disk was lost. The node cannot serve until the caller has stopped it and
   * started another one with these tokens.
   */
  onTokens(told: (tokens: readonly Token[]) => void): void {
    this.#services.membership.tokenAssignment.onTokens(told);
  }

  /** Stops the listeners, then the peer links, then the store. Resolves once all have stopped. May be called again. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #serve({ files, properties }: Pick<Opened, 'files' | 'properties'>): Promise<void> {
    const { driver, keeper, store } = this.#services;
    const { plane, membership, ringChangeCoordinator, transactions, antiEntropy, publisher, handoff, wasm } =
      this.#services;
    const { pbc, redis, http, statistics, reaper, cleanup, flushedKeys, rebuild } = this.#services;
    const { listen, pbListen, redisListen, statsListen, peerAdvertise } = this.#config;
    await wasm.start();
    await antiEntropy?.start();
    await rebuild.recover();
    await handoff?.hints.recall();
    files.writeTo(driver);
    properties.writeTo(driver);
    await transactions.recover();
    await membership.enroll();
    await plane.start();
    const peerAddress = present(plane.address, 'the peer address');
    membership.start(peerAdvertise ?? peerAddress);
    // The node must know the bucket properties before it writes by them: it would drop siblings otherwise.
    if (properties.condition !== 'whole') {
      await membership.acquainted(acquaintanceUsMax);
      await keeper.catchUp(catchUpUsMax);
    }
    handoff?.hints.start();
    transactions.start();
    publisher.start();
    if (properties.condition === 'whole') {
      await membership.acquainted(acquaintanceUsMax);
      // Otherwise its replicas would refuse the keys of a bucket that was flushed meanwhile.
      await keeper.fetched(fetchedUsMax);
    }
    noteAcquainted(antiEntropy, store, membership);
    transactions.acquainted();
    await rebuild.start();
    this.#addresses = {
      peer: peerAddress,
      stats: await this.#serveHttp(statsListen, statistics),
      pb: pbListen === undefined ? undefined : await pbc.start(pbListen),
      redis: redisListen === undefined ? undefined : await redis.start(redisListen),
      http: await this.#serveHttp(listen, http),
    };
    ringChangeCoordinator.start();
    cleanup.start();
    flushedKeys.start();
    reaper.start();
    this.#services.health.serving();
  }

  async #serveHttp(address: Address | undefined, service: HttpService): Promise<Address | undefined> {
    if (address === undefined) return undefined;
    const listener = await this.#io.http.serve(address, service);
    this.#listeners.push(listener);
    return listener.address;
  }

  async #stop(): Promise<void> {
    const { plane, membership, ringChangeCoordinator, cleanup, transactions, antiEntropy, publisher } =
      this.#services;
    const { wasm, mapReduce, coverage, readBudget, rebuild, snapshots, flushedKeys, keeper } = this.#services;
    const { pbc, redis, overload, driver, store, handoff, reaper, lostRecords, lostKeys } = this.#services;
    const drainMs = this.#config.drainTimeoutMs;
    this.#services.health.stopping();
    this.#io.log.event('info', 'node.stopping');
    const checked = snapshots.stop();
    await Promise.all([
      pbc.stop(drainMs),
      redis.stop(drainMs),
      ...this.#listeners.map((listener) => listener.close(drainMs)),
    ]);
    overload.stop();
    mapReduce.stop();
    coverage.stop();
    readBudget.close();
    transactions.stop();
    reaper.stop();
    antiEntropy?.stop();
    wasm.stop();
    const moved = Promise.all([
      ringChangeCoordinator.stop(),
      rebuild.stop(),
      cleanup.stop(),
      lostRecords.stop(),
      lostKeys.stop(),
      flushedKeys.stop(),
    ]);
    await membership.stop();
    await plane.stop();
    keeper.peers.stop();
    await Promise.all([moved, checked]);
    await membership.settled();
    await antiEntropy?.close();
    handoff?.hints.stop();
    publisher.stop();
    driver.close();
    try {
      await closeAll(handoff === undefined ? [store] : [handoff.store, store]);
    } finally {
      await this.#services.tracer?.close();
      this.#unwatch();
    }
    this.#io.log.event('info', 'node.stopped');
  }
}

/** Throws `ConfigInvalid` if the configuration asks for TLS and the ports have none: never plain text by mistake. */
function mustBeSecured({ secured }: Io, { tls, peerTls }: NodeConfig): void {
  const plain = [
    ...(tls !== undefined && !secured.clients ? ['tls'] : []),
    ...(peerTls !== undefined && !secured.peers ? ['peer_tls'] : []),
  ];
  if (plain.length === 0) return;
  const detail = `${plain.join(' and ')}: the configuration asks for TLS, and the node was started without it`;
  throw new LockstepError('ConfigInvalid', detail);
}

/** Throws `ConfigInvalid` if the configuration names credentials and the caller gave none: never open by mistake. */
function gateOf(io: Io, config: NodeConfig, { credentials }: NodeSecrets): Gate {
  if (config.credentials === undefined) return new Gate(io, undefined);
  if (credentials !== undefined) return new Gate(io, credentials);
  const detail = `credentials is ${config.credentials}, and the node was started without them`;
  throw new LockstepError('ConfigInvalid', detail);
}

/**
 * The configuration with the tokens that the member's disk records. A member holds the keys of these tokens, so they
 * win over its configuration. A seed of the same rack that the configuration still lists with one of them is the node
 * that this one has replaced; it is left out.
 */
function withOwnTokens({ log }: Io, config: NodeConfig, members: MemberFile): NodeConfig {
  const { name, datacenter, rack, replace } = config;
  const tokens = tokensOfMember(members, name);
  if (tokens === undefined) return config;
  if (replace === undefined && !sameTokens(tokens, config.tokens)) {
    const detail =
      'the configuration gives this member other tokens than it has, and keeps; they move by leaving and joining';
    log.event('warn', 'membership.tokens.kept', { detail });
  }
  const seeds = config.seeds.filter((seed) => {
    const isBeside = seed.datacenter === datacenter && seed.rack === rack;
    return !isBeside || !seed.tokens.some((token) => tokens.includes(token));
  });
  return { ...config, tokens, seeds };
}

/** Opens the stores and files of the data directory. If one fails, closes the stores that it has opened. */
async function open(io: Io, config: NodeConfig, disk: CountedDisk): Promise<Opened> {
  const stores: Store[] = [];
  const openStore = async (opening: Promise<Store>): Promise<Store> => {
    const store = await opening;
    stores.push(store);
    return store;
  };
  try {
    await mustHaveItsStore(io, config, { identityPath, membersPath });
    const store = await openStore(Store.open(io, storeDirectory, storeOptions(config)));
    const files = await DurableFiles.open(store);
    const version = await ClusterVersion.open(store, config.peerVersion);
    // Hints are copies of data that other nodes hold, too. Without them anti-entropy has more to repair.
    const hints = config.hintedHandoff
      ? await openStore(openOrQuarantine(io, hintDirectory, hintStoreOptions(config)))
      : undefined;
    if (hints !== undefined) noteHints(io, files, hints);
    // This node answers for its hints when a tombstone is removed (`tombstones/reaper.ts`). Hints that no incarnation
    // reads meanwhile would bring back deleted values once `hinted_handoff` is on again.
    else await quarantineUnopened(io, hintDirectory, 'hinted_handoff is off: anti-entropy brings the hints');
    const owner = { node: config.name, clusterId: config.clusterId };
    const identity = await Identity.open(io, identityPath, owner, {
      had: files.has('identity'),
      generation: files.generation,
      saved: (generation) => files.noteIdentity(generation),
    });
    const members = await MemberFile.open(io, membersPath, {
      had: files.has('members'),
      body: files.members,
      saved: (body) => files.noteMembers(body),
    });
    refuseLeaver(config.name, members);
    refuseLeftovers(config, members, store);
    const properties = await StoredProperties.open(io, store);
    if (properties.condition === 'lost' && isAlone(config, members.remembered))
      throw recordsLost('it has no peers');
    return { disk, store, hintStore: hints, identity, members, properties, files, version };
  } catch (error) {
    // The error of the start goes before one of a close.
    await closeAll(stores.toReversed()).catch((failure: unknown) => {
      io.log.event('error', 'node.close.failed', { detail: asLockstepError(failure).message });
    });
    throw error;
  }
}

/** Closes the stores in turn. Rejects with the first error once all have been closed. */
async function closeAll(stores: readonly Store[]): Promise<void> {
  const failures: unknown[] = [];
  for (const store of stores) {
    try {
      await store.close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

function noteHints(io: Io, files: DurableFiles, { recovery }: Store): void {
  if (recovery.created && files.has('hints')) {
    const detail = 'what was kept for other nodes is gone: anti-entropy brings it to them';
    io.log.event('warn', 'node.file.missing', { path: hintDirectory, detail });
  }
  files.noteHints();
}

/**
 * Throws `StoreForeign` for a node that has left its cluster. The members have deleted keys and forgotten the
 * tombstones since, and this node's old copies would bring those keys back. Does not throw until the members file
 * records the leave: until then the node must go on telling the members of it.
 */
function refuseLeaver(name: NodeConfig['name'], { isDeparted, remembered }: MemberFile): void {
  if (!isDeparted || !remembered.some(({ node, left }) => node === name && left)) return;
  const detail = `${name} has left its cluster, and deletions since then are not known here; move the directory away, and let the node join with an empty one (join: joining)`;
  throw new LockstepError('StoreForeign', detail);
}

/**
 * Throws `StoreForeign` for a node that is to join and whose store holds keys. Its directory belonged to a member of
 * this name in an earlier incarnation that the members file does not record. That member may have been replaced or have
 * left since: see `refuseLeaver`.
 */
function refuseLeftovers({ name, join }: NodeConfig, members: MemberFile, store: Store): void {
  const isKnown = members.remembered.some(({ node }) => node === name);
  if (join !== 'joining' || isKnown || isEmpty(store)) return;
  const detail = `${name} is to join, and the directory holds keys of an earlier time in a cluster; move the directory away, and let the node join with an empty one, or, if it is a member still, start it with join: member`;
  throw new LockstepError('StoreForeign', detail);
}

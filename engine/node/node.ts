/**
 * A node: its rooms, started bottom-up over an `Io` and stopped in reverse. The same code starts a node on a machine
 * and in the simulator's world.
 *
 * Starting: the store is recovered first, then peers are let in, then clients; a failure takes down what was up.
 * Stopping: clients are let go first (what is under way is answered), then peers, who are told, then the store.
 */
import type { Credential } from '../auth/credentials.ts';
import { Gate } from '../auth/gate.ts';
import { assert, present } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
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
import { CountedDisk } from './counted-disk.ts';
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
import { openOrQuarantine } from '../storage/recovery/quarantine.ts';
import { Store } from '../storage/store.ts';

/** What `GET /cluster` answers. */
export type { ClusterView, MemberView } from '../api/http/cluster-routes.ts';

const hintDirectory = 'hints';
const identityPath = 'identity';
const membersPath = 'members';
const propertiesPath = 'properties';

/** Whose data directory it is; undefined when nothing in it says so. */
export function nodeOfDirectory(disk: Disk): Promise<string | undefined> {
  return nodeOfIdentity(disk, identityPath);
}

/** Gives up what cannot be read of the properties of buckets; the names of those buckets. */
export function forgetProperties(disk: Disk, store: Store): Promise<readonly string[]> {
  return forgetLostProperties(disk, store, propertiesPath);
}

/**
 * How long a starting node waits to hear of all its peers before it takes clients: one that serves before it knows
 * anybody would refuse what its level cannot meet. Dead peers must not hold it up for long.
 */
const acquaintanceUsMax = 2_000_000;

/** How long a starting node that has lost what was set of buckets waits for a peer that tells it. */
const catchUpUsMax = 30_000_000;

/** Where a node can be reached; undefined for what is off. */
export interface NodeAddresses {
  readonly http: Address | undefined;
  readonly pb: Address | undefined;
  readonly redis: Address | undefined;
  readonly peer: Address;
  readonly stats: Address | undefined;
}

/** What a node is told beside its configuration, which anybody may read. */
export interface NodeSecrets {
  /** The credentials of the configuration's `credentials`; without that key they are not looked at. */
  readonly credentials?: readonly Credential[];
}

export class Node {
  readonly #io: Io;
  readonly #config: NodeConfig;
  readonly #rooms: NodeServices;
  readonly #gate: Gate;
  readonly #listeners: HttpListener[] = [];
  #addresses: NodeAddresses | undefined;
  #stopped: Promise<void> | undefined;

  private constructor(io: Io, config: NodeConfig, rooms: NodeServices, gate: Gate) {
    this.#io = io;
    this.#config = config;
    this.#rooms = rooms;
    this.#gate = gate;
  }

  /**
   * Recovers the store, begins a new life, joins the peers and serves. Rejects with `DirectoryLocked`, `FormatUnsupported`,
   * `StoreForeign`, `StorageFailed` or `ConfigInvalid`, or with `ListenError` when an address is taken.
   */
  static async start(doors: Io, given: NodeConfig, secrets: NodeSecrets = {}): Promise<Node> {
    mustBeSecured(doors, given);
    const gate = gateOf(doors, given, secrets);
    const disk = new CountedDisk(doors.disk);
    const io: Io = { ...doors, disk };
    const opened = await open(io, given, disk);
    const config = withOwnTokens(io, given, opened.members);
    const node = new Node(io, config, composeServices(io, config, opened, gate), gate);
    try {
      await node.#serve(opened);
    } catch (error) {
      await node.stop();
      throw error;
    }
    io.log.event('info', 'node.started', { version, store: opened.store.storeId });
    return node;
  }

  /** Where the node listens. */
  get addresses(): NodeAddresses {
    return present(this.#addresses, 'the addresses of a started node');
  }

  /** The way to the objects of the whole cluster without a socket, at the configured consistency. */
  get objects(): ClusterDispatcher {
    return this.#rooms.objects;
  }

  /** What this node thinks of its peers. */
  get gossip(): GossipHandler {
    return this.#rooms.gossip;
  }

  /** Everything that the node counts, as it stands now: between two publications, and after the stop too. */
  statistics(): StatsSnapshot {
    return this.#rooms.publisher.take();
  }

  /** From now on clients are known by these; who came in by one that is not among them is nobody. */
  replaceCredentials(credentials: readonly Credential[]): void {
    assert(!this.#gate.open, 'a node that asks for no credentials is given none');
    this.#gate.replace(credentials);
    this.#io.log.event('info', 'auth.credentials.replaced', { count: credentials.length });
  }

  /**
   * Begins to hand over everything that this node owns and to leave the cluster. Throws `Conflict` when it is on a move
   * already or is the last owner; also when it is the last one of its rack, unless that is forced.
   */
  leave({ force = false }: { readonly force?: boolean } = {}): void {
    void this.#rooms.mover.leave(force).catch((error: unknown) => {
      this.#io.log.event('error', 'transfer.leave.failed', { detail: String(error) });
    });
  }

  /**
   * Goes into STANDBY (`ends`: returns from it): it keeps what it owns and takes every write, serves no client, and is read
   * only where too few other replicas are left. Resolves once that is durable; rejects with `StorageFailed` when the disk
   * does not take it. Throws `Conflict` when it is on a move, or when too few others would serve reads of its keys.
   */
  standby({ ends = false }: { readonly ends?: boolean } = {}): Promise<void> {
    return this.#rooms.mover.standby(ends);
  }

  /** Resolves once this node has left the cluster; it then has nothing more to do than to stop. */
  get left(): Promise<void> {
    return this.#rooms.left;
  }

  /**
   * Calls `found` when a disk that was full has room again: the node takes writes once it is stopped and started anew,
   * and goes on as it is until then.
   */
  onRoom(found: () => void): void {
    const { store, handoff } = this.#rooms;
    for (const one of [store, handoff?.store]) one?.onRoom(found);
  }

  /**
   * Calls `told` when the cluster knows this node by other tokens than `config` gives it: as those of the node that it
   * replaces, or as its own before its disk was lost. It is of no use until it is stopped and started anew with them.
   */
  onTokens(told: (tokens: readonly Token[]) => void): void {
    this.#rooms.membership.heritage.onTokens(told);
  }

  /** Lets clients, then peers, then the store go. Resolves when nothing is left; further calls wait for the first. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #serve({ files, properties }: Pick<Opened, 'files' | 'properties'>): Promise<void> {
    const { driver, keeper } = this.#rooms;
    const { plane, membership, mover, transactions, antiEntropy, publisher, handoff, wasm } = this.#rooms;
    const { pbc, redis, http, statistics, reaper, surplus, refill } = this.#rooms;
    const { listen, pbListen, redisListen, statsListen, peerAdvertise } = this.#config;
    await wasm.start();
    await antiEntropy?.start();
    await refill.recover();
    files.writeTo(driver);
    await properties.writeTo(driver);
    await transactions.recover();
    await membership.enroll();
    await plane.start();
    const peerAddress = present(plane.address, 'the peer address');
    membership.start(peerAdvertise ?? peerAddress);
    // Nothing is written by the rules of buckets before they are known.
    if (properties.condition !== 'whole') {
      await membership.acquainted(acquaintanceUsMax);
      await keeper.catchUp(catchUpUsMax);
    }
    handoff?.hints.start();
    transactions.start();
    publisher.start();
    if (properties.condition === 'whole') await membership.acquainted(acquaintanceUsMax);
    await refill.start();
    this.#addresses = {
      peer: peerAddress,
      stats: await this.#serveHttp(statsListen, statistics),
      pb: pbListen === undefined ? undefined : await pbc.start(pbListen),
      redis: redisListen === undefined ? undefined : await redis.start(redisListen),
      http: await this.#serveHttp(listen, http),
    };
    mover.start();
    surplus.start();
    reaper.start();
  }

  async #serveHttp(address: Address | undefined, service: HttpService): Promise<Address | undefined> {
    if (address === undefined) return undefined;
    const listener = await this.#io.http.serve(address, service);
    this.#listeners.push(listener);
    return listener.address;
  }

  async #stop(): Promise<void> {
    const { plane, membership, mover, surplus, transactions, antiEntropy, publisher } = this.#rooms;
    const { wasm, mapReduce, readBudget, refill } = this.#rooms;
    const { pbc, redis, driver, store, handoff, reaper } = this.#rooms;
    const drainMs = this.#config.drainTimeoutMs;
    this.#io.log.event('info', 'node.stopping');
    await Promise.all([
      pbc.stop(drainMs),
      redis.stop(drainMs),
      ...this.#listeners.map((listener) => listener.close(drainMs)),
    ]);
    mapReduce.stop();
    readBudget.close();
    transactions.stop();
    reaper.stop();
    antiEntropy?.stop();
    wasm.stop();
    const moved = Promise.all([mover.stop(), refill.stop(), surplus.stop()]);
    await membership.stop();
    await plane.stop();
    await moved;
    await antiEntropy?.close();
    handoff?.hints.stop();
    publisher.stop();
    driver.close();
    await handoff?.store.close();
    await store.close();
    this.#io.log.event('info', 'node.stopped');
  }
}

/** Throws `ConfigInvalid` where TLS is asked for and the doors know of none: never plain by mistake. */
function mustBeSecured({ secured }: Io, { tls, peerTls }: NodeConfig): void {
  const plain = [
    ...(tls !== undefined && !secured.clients ? ['tls'] : []),
    ...(peerTls !== undefined && !secured.peers ? ['peer_tls'] : []),
  ];
  if (plain.length === 0) return;
  const detail = `${plain.join(' and ')}: the configuration asks for TLS, and the node was started without it`;
  throw new LockstepError('ConfigInvalid', detail);
}

/** Throws `ConfigInvalid` where credentials are asked for and there are none to compare with: never open by mistake. */
function gateOf({ log }: Io, config: NodeConfig, { credentials }: NodeSecrets): Gate {
  if (config.credentials === undefined) return new Gate(log, undefined);
  if (credentials !== undefined) return new Gate(log, credentials);
  const detail = `credentials is ${config.credentials}, and the node was started without them`;
  throw new LockstepError('ConfigInvalid', detail);
}

/**
 * A member has the tokens that its disk says it has, for it holds their keys: its file need not know them. Whom its file
 * still names with one of them is the one that it has replaced.
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

/** Opens what lies on the disk; what was opened is given up again when something fails. */
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
    // Hints are copies of what other nodes hold too: without them anti-entropy has more to do.
    const hints = config.hintedHandoff
      ? await openStore(openOrQuarantine(io, hintDirectory, hintStoreOptions(config)))
      : undefined;
    if (hints !== undefined) noteHints(io, files, hints);
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
    const properties = await StoredProperties.open(io, store, propertiesPath);
    if (properties.condition === 'lost' && isAlone(config, members.remembered))
      throw recordsLost('it has no peers');
    return { disk, store, hintStore: hints, identity, members, properties, files };
  } catch (error) {
    for (const store of stores.reverse()) await store.close();
    throw error;
  }
}

function noteHints(io: Io, files: DurableFiles, { recovery }: Store): void {
  if (recovery.created && files.has('hints')) {
    const detail = 'what was kept for other nodes is gone: anti-entropy brings it to them';
    io.log.event('warn', 'node.file.missing', { path: hintDirectory, detail });
  }
  files.noteHints();
}

/**
 * What a node held when it left is older than what was deleted and forgotten since, by everybody who was a member: it
 * would bring that back. Throws `StoreForeign`; not before the members know that it has left, which it goes on telling.
 */
function refuseLeaver(name: NodeConfig['name'], { isDeparted, remembered }: MemberFile): void {
  if (!isDeparted || !remembered.some(({ node, left }) => node === name && left)) return;
  const detail = `${name} has left its cluster, and deletions since then are not known here; move the directory away, and let the node join with an empty one (join: joining)`;
  throw new LockstepError('StoreForeign', detail);
}

/**
 * A node that begins to join holds nothing. One that does was a member of this name in a life that it knows nothing
 * of, and may have been replaced since, or have left: see `refuseLeaver`. Throws `StoreForeign`.
 */
function refuseLeftovers({ name, join }: NodeConfig, members: MemberFile, store: Store): void {
  const isKnown = members.remembered.some(({ node }) => node === name);
  if (join !== 'joining' || isKnown || isEmpty(store)) return;
  const detail = `${name} is to join, and the directory holds keys of an earlier time in a cluster; move the directory away, and let the node join with an empty one, or, if it is a member still, start it with join: member`;
  throw new LockstepError('StoreForeign', detail);
}

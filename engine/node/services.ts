/**
 * Composes a node's services, each over those below it, and the handlers of peers' requests. Starts none of them:
 * `node.ts` does. The stores are open already.
 */
import type { AntiEntropy } from '../anti-entropy/anti-entropy.ts';
import type { Publications } from '../api/redis/messages/publications.ts';
import type { ConsolePage } from '../api/http/console-routes.ts';
import type { Gate } from '../auth/gate.ts';
import { statsService } from '../api/stats/service.ts';
import { present } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { version } from '../base/version.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Coverage } from '../mapreduce/listing/coverage.ts';
import { ClusterDispatcher } from '../replication/cluster-dispatcher.ts';
import type { RoundDependencies } from '../replication/round-dependencies.ts';
import { lackingAt } from '../replication/round-dependencies.ts';
import type { Viewpoint } from '../replication/plan.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import { tellingLinks } from '../replication/peer-links.ts';
import type { Reaper } from '../replication/tombstones/reaper.ts';
import { PeerService, notKnowingSole } from '../replication/peer-service.ts';
import { ReadBudget } from '../replication/read-budget.ts';
import { ReadSpread } from '../replication/read-spread.ts';
import type { FlushedKeys } from '../replica/flushed-keys.ts';
import type { Replica } from '../replica/replica.ts';
import type { MapReduce } from '../mapreduce/mapreduce.ts';
import { ReplacementTakeover } from '../cluster/changes/replacement-takeover.ts';
import { RingChangeCoordinator } from '../cluster/changes/ring-change-coordinator.ts';
import { Rebuild } from '../cluster/changes/rebuild.ts';
import { RebuildMark } from '../cluster/changes/rebuild-mark.ts';
import type { RangeSource } from '../cluster/changes/range-source.ts';
import { Transfer } from '../cluster/changes/transfer.ts';
import type { HttpService } from '../io/http.ts';
import type { Io } from '../io/io.ts';
import { GossipHandler } from '../cluster/membership/gossip-handler.ts';
import type { Identity } from '../cluster/membership/identity.ts';
import type { MemberFile } from '../cluster/membership/member-file.ts';
import { Membership } from '../cluster/membership/membership.ts';
import { Fencing } from '../cluster/membership/fencing.ts';
import type { Actor } from '../replica/object/dots.ts';
import type { Admission } from '../peer/admission.ts';
import type { PeerObserver } from '../peer/observer.ts';
import { Plane } from '../peer/plane.ts';
import { Buckets } from '../buckets/buckets.ts';
import type { PropertyKeeper } from '../buckets/property-keeper.ts';
import { Router } from '../buckets/router.ts';
import { NodeStats } from '../metrics/node-stats.ts';
import { StatsPublisher } from '../metrics/publisher.ts';
import { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';
import type { Transactions } from '../transactions/transactions.ts';
import type { ClientListeners } from './client-listeners.ts';
import { answeredHosts, composeListeners } from './client-listeners.ts';
import { answerTree, composeAntiEntropy } from './anti-entropy.ts';
import { Health } from './health.ts';
import type { NodeSnapshots } from '../backup/node-snapshots.ts';
import { backupAdmin, composeSnapshots } from './backup.ts';
import type { CountedDisk } from './counted-disk.ts';
import { countPeers, countStore, handshakeFamily, provideGauges } from './observers.ts';
import { countMembership } from './membership-observer.ts';
import { clusterServers, gossipReply, helloOf, membershipLinks, membershipSettings } from './membership.ts';
import {
  answerTransfer,
  cleanupOf,
  leaveDrainOf,
  lostDataOf,
  rangeSourceOf,
  ringChangeFamilies,
  transferOptions,
} from './ring-changes.ts';
import type { RingChanges } from './ring-changes.ts';
import type { ClusterVersion } from './cluster-version.ts';
import type { Hello } from '../peer/wire/messages.ts';
import { answerInTask } from '../peer/wire/answer.ts';
import type { DurableFiles } from './durable-files.ts';
import type { StoredProperties } from './stored-properties.ts';
import { driverLimits, hintFamilies, storeFamilies } from './storage.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Handoff } from './hints.ts';
import { composeHandoff, takeHint } from './hints.ts';
import { composeReaper, isEmpty } from './tombstone-reaper.ts';
import { answerProperties, composeProperties, followEpochs } from './bucket-properties.ts';
import { composePublications, publicationFamilies } from './publications.ts';
import { planeOptions } from './topology.ts';
import { composeReplica } from './replica.ts';
import type { RequestHandlers } from './peer-requests.ts';
import { handlerOf, heardLinks, whenAgreed, whenHeard } from './peer-requests.ts';
import { composeListings, composeMapReduce } from './map-reduce.ts';
import { composeTransactions } from './transactions.ts';
import { tracedHandler, Tracer } from './tracer.ts';
import type { WasmServices } from './wasm.ts';
import { composeWasm } from './wasm.ts';

/** The name of the store driver in the statistics (label `server`). */
const serverName = 'store_local';

/** The services of one node, composed and not yet started. */
export interface NodeServices extends ClientListeners, RequestServices {
  readonly store: Store;
  readonly driver: StoreDriver;
  readonly gossip: GossipHandler;
  readonly publisher: StatsPublisher;
  readonly statistics: HttpService;
  readonly health: Health;
  /** This node's part in backups. */
  readonly snapshots: NodeSnapshots;
  /** Undefined if tracing is off. */
  readonly tracer: Tracer | undefined;
}

/** The open stores and files of the data directory. */
export interface Opened {
  /** The disk that holds all of them. */
  readonly disk: CountedDisk;
  readonly store: Store;
  /** Undefined if hinted handoff is off. */
  readonly hintStore: Store | undefined;
  readonly identity: Identity;
  readonly members: MemberFile;
  readonly properties: StoredProperties;
  readonly files: DurableFiles;
  readonly version: ClusterVersion;
}

/** Composes all services of a node over its open stores. Registers their metrics families. */
export function composeServices(
  io: Io,
  config: NodeConfig,
  opened: Opened,
  gate: Gate,
  consolePage?: ConsolePage,
): NodeServices {
  const { store } = opened;
  const stats = new NodeStats();
  stats.failures.startAt(config.datacenter, config.rack);
  for (const family of [
    ...storeFamilies(store, io),
    opened.disk.family,
    gate.family,
    gate.rateFamily,
    handshakeFamily(io),
  ])
    stats.register(family);
  const driver = new StoreDriver(io, store, countStore(stats, io), driverLimits(config));
  store.onFlushed((tookUs) => stats.flushDurations.record(tookUs));
  const tracer = Tracer.of(io, config);
  if (tracer !== undefined) stats.register(tracer.family);
  const epoch = io.random.fork('epoch').bytes(6).toString('hex');
  const actor = byteStringOf(`${config.name}.${epoch}`) as Actor;
  const buckets = new Buckets(config.bucketTypes, opened.properties.remembered);
  const replica = composeReplica(io, driver, actor, buckets, opened.version);
  const source = rangeSourceOf(config, store, driver, buckets);
  const foundation = { ...opened, stats, buckets, replica, driver, source, epoch, tracer };
  const dispatch = composeDispatch(io, config, foundation);
  provideGauges(stats, driver, dispatch.plane);
  stats.providePoolGauge('peer_forward_error', () => dispatch.dispatcher.failingForwards);
  const publisher = new StatsPublisher(io, stats, identityOf(config), config.statsIntervalMs);
  const health = new Health({ store, hintStore: opened.hintStore, ...dispatch });
  const statistics = statsService({
    stats,
    publisher,
    gate,
    hosts: answeredHosts(config, config.statsListen, gate),
    clock: io.clock,
    headerLinesMax: config.clientHeaderLinesMax,
    servers: () => clusterServers(dispatch.membership),
    health,
  });
  const backed = { store, replica, buckets, ...dispatch };
  const snapshots = composeSnapshots(io, config, backed);
  const backup = backupAdmin(io, config, snapshots, backed);
  return {
    ...dispatch,
    store,
    driver,
    gossip: new GossipHandler(dispatch.membership, stats.failures),
    publisher,
    statistics,
    health,
    snapshots,
    tracer,
    ...composeListeners({
      ...{ io, config, gate, stats, publisher, buckets, store, driver, backup, tracer },
      ...dispatch,
      version: opened.version,
      health,
      consolePage,
    }),
  };
}

interface Foundation extends Opened {
  readonly stats: NodeStats;
  readonly buckets: Buckets;
  readonly replica: Replica;
  readonly driver: StoreDriver;
  readonly source: RangeSource;
  readonly epoch: string;
  /** Undefined if tracing is off. */
  readonly tracer: Tracer | undefined;
}

/** What serves requests of clients and of peers, and what moves data when the cluster changes. */
interface RequestServices extends RingChanges {
  readonly dispatcher: ClusterDispatcher;
  readonly readBudget: ReadBudget;
  readonly plane: Plane;
  readonly membership: Membership;
  readonly transactions: Transactions;
  /** Keeps the bucket properties in agreement with the peers'. */
  readonly keeper: PropertyKeeper;
  readonly reaper: Reaper;
  /** Lists the cluster's keys and buckets. */
  readonly coverage: Coverage;
  readonly mapReduce: MapReduce;
  /** Hinted handoff and its store; undefined if hinted handoff is off. */
  readonly handoff: Handoff | undefined;
  /** Undefined if anti-entropy is off. */
  readonly antiEntropy: AntiEntropy | undefined;
  readonly wasm: WasmServices;
  readonly fencing: Fencing;
  readonly links: PeerLinks;
  readonly flushedKeys: FlushedKeys;
  readonly publications: Publications;
  /** Why this node leads no keys; undefined if it does. */
  readonly notReadyReason: () => string | undefined;
}

/**
 * A reference to a service that is composed after those that call it, because the two depend on each other. It is set
 * before the node starts, and read only from then on.
 */
class Later<T> {
  #set: { readonly value: T } | undefined;

  set<U extends T>(value: U): U {
    this.#set = { value };
    return value;
  }

  get(): T {
    return present(this.#set, 'a service that is composed before the node starts').value;
  }
}

interface LaterServices {
  readonly plane: Later<Plane>;
  readonly keeper: Later<PropertyKeeper>;
  readonly rebuild: Later<Rebuild>;
  readonly takeover: Later<ReplacementTakeover>;
  readonly handoff: Later<Handoff | undefined>;
}

/** Membership, and the services that send to members. */
interface ClusterServices {
  /** This node in the ring. Compared by reference, so there is only one such object. */
  readonly self: Member;
  readonly links: PeerLinks;
  readonly membership: Membership;
  readonly fencing: Fencing;
  readonly handoff: Handoff | undefined;
  readonly wasm: WasmServices;
}

/** Composes every service between the store and the listeners. */
function composeDispatch(io: Io, config: NodeConfig, foundation: Foundation): RequestServices {
  const { stats, buckets, store, driver } = foundation;
  const later: LaterServices = {
    plane: new Later(),
    keeper: new Later(),
    rebuild: new Later(),
    takeover: new Later(),
    handoff: new Later(),
  };
  const cluster = composeCluster(io, config, foundation, later);
  const { links, membership, handoff, wasm } = cluster;
  const parts = roundDependencies(io, config, foundation, cluster, later);
  const dispatcher = new ClusterDispatcher(parts);
  const transactions = composeTransactions(io, config, parts, foundation, membership, () =>
    later.rebuild.get(),
  );
  membership.publication.holdWhile(transactions.givenAway(() => membership.publication.refresh()));
  const reading = { ...parts, view: parts.readView };
  const coverage = composeListings(io, config, reading, store, driver);
  const mapReduce = composeMapReduce(io, config, {
    parts: reading,
    dispatcher,
    coverage,
    modules: wasm.phases,
    knowsType: (type) => buckets.knowsType(type),
  });
  const observer = countPeers(stats, cluster.self, (node) => {
    membership.linked(node);
    cluster.fencing.accepted(node);
    handoff?.hints.drain(node);
  });
  const reaper = composeReaper(io, config, parts, handoff?.hints, store, membership, () => later.plane.get());
  const isConnected = (peer: NodeId): boolean => later.plane.get().isConnected(peer);
  const keeper = later.keeper.set(
    composeProperties(io, config, foundation, links, membership, isConnected, parts.router),
  );
  const flushedKeys = followEpochs(io, foundation, keeper);
  const antiEntropy = composeAntiEntropy(io, config, links, membership, foundation);
  const publications = composePublications(io, config, links, membership);
  for (const family of publicationFamilies(publications)) stats.register(family);
  const served = {
    observer,
    parts,
    dispatcher,
    transactions,
    coverage,
    mapReduce,
    reaper,
    keeper,
    antiEntropy,
    publications,
  };
  const plane = later.plane.set(composePlane(io, config, foundation, cluster, served, later));
  const ringChanges = composeRingChanges(io, config, foundation, cluster, transactions, later);
  for (const family of ringChangeFamilies(ringChanges, membership)) stats.register(family);
  return {
    dispatcher,
    readBudget: parts.readBudget,
    plane,
    membership,
    transactions,
    keeper,
    reaper,
    handoff,
    antiEntropy,
    coverage,
    wasm,
    mapReduce,
    fencing: cluster.fencing,
    flushedKeys,
    links,
    publications,
    notReadyReason: parts.notReadyReason,
    ...ringChanges,
  };
}

/** Composes membership over the peer plane, hinted handoff, and the Wasm modules. */
function composeCluster(
  io: Io,
  config: NodeConfig,
  foundation: Foundation,
  later: LaterServices,
): ClusterServices {
  const { stats, store, hintStore, buckets, driver, identity, members, epoch } = foundation;
  const planeLinks: PeerLinks = {
    request: (peer, request, timeoutUs, onReply) =>
      later.plane.get().request(peer, request, timeoutUs, onReply),
  };
  const isConnected = (peer: NodeId): boolean => later.plane.get().isConnected(peer);
  const links = heardLinks(io, planeLinks, isConnected, () => later.keeper.get());
  const settings = membershipSettings(config, epoch);
  const membership = new Membership(
    io,
    settings,
    identity,
    members,
    membershipLinks(
      config,
      epoch,
      () => foundation.version.range,
      () => later.rebuild.get().unread,
      () => later.plane.get(),
    ),
    countMembership(stats, io, (node) => later.handoff.get()?.hints.drain(node)),
  );
  const fencing = new Fencing(io.log, () => membership.peers.some(({ node }) => isConnected(node)));
  const handoff = later.handoff.set(
    hintStore === undefined
      ? undefined
      : composeHandoff(io, config, links, membership, foundation, hintStore),
  );
  if (handoff !== undefined) for (const family of hintFamilies(handoff.hints)) stats.register(family);
  const wasm = composeWasm({ io, config, stats, store, driver, links, membership, buckets });
  return { self: settings.self, links, membership, fencing, handoff, wasm };
}

/** Collects the dependencies of rounds. */
function roundDependencies(
  io: Io,
  config: NodeConfig,
  { stats, store, buckets, replica }: Foundation,
  { self, links, membership, fencing, handoff, wasm }: ClusterServices,
  { plane, rebuild, takeover }: LaterServices,
): RoundDependencies {
  const viewOf = (isThisNodeUp: () => boolean): Viewpoint => ({
    self,
    rackCount: (datacenter) => membership.ring.rackCount(datacenter),
    isRoutable: (member) =>
      member === self ? fencing.isMember && isThisNodeUp() : membership.isRoutable(member.node),
    isStandby: ({ node }) => membership.isStandby(node),
  });
  return {
    self,
    ring: () => membership.ring,
    pending: (token) => membership.pending(token),
    handedOver: (token) => membership.handover.isOver(token),
    isFormer: (token) => membership.handover.isFormer(token),
    notReadyReason: () => rebuild.get().notReadyReason ?? takeover.get().notReadyReason,
    unread: () => rebuild.get().unread,
    member: (node) => membership.member(node),
    ownLife: () => membership.self.generation,
    lifeOf: membership.lifeOf,
    plane: tellingLinks(io.log, links),
    queueFull: (peer, bytes) => plane.get().isFull(peer, bytes),
    reads: (peer, kind) => plane.get().reads(peer, kind),
    replica,
    readBudget: new ReadBudget(io.log, config.clientReadBytesMax),
    spread: new ReadSpread(self, { hedgeMs: config.readHedgeMs, repairPercent: config.readRepairPercent }),
    stats,
    clock: io.clock,
    settings: {
      readLevel: config.readConsistency,
      writeLevel: config.writeConsistency,
      timeoutMs: config.requestTimeoutMs,
    },
    diskFull: () => store.lacksRoom,
    view: viewOf(() => store.state === 'open'),
    readView: viewOf(() => store.state !== 'closed'),
    rules: (key) => buckets.ofKey(key),
    router: new Router((type, bucket) => buckets.of(type, bucket), wasm.route, buckets.epochs),
    hints: handoff?.hints,
    peerIndex: (node) => membership.indexOf(node),
  };
}

/** The services that handle peers' requests, and the observer that counts them. */
interface PeerHandling {
  readonly observer: PeerObserver;
  readonly parts: RoundDependencies;
  readonly dispatcher: ClusterDispatcher;
  readonly transactions: Transactions;
  readonly coverage: Coverage;
  readonly mapReduce: MapReduce;
  readonly reaper: Reaper;
  readonly keeper: PropertyKeeper;
  readonly antiEntropy: AntiEntropy | undefined;
  readonly publications: Publications;
}

/** Composes the peer plane with one handler for every kind of request. */
function composePlane(
  io: Io,
  config: NodeConfig,
  { epoch, replica, driver, source, version, tracer }: Foundation,
  { membership, fencing, handoff, wasm }: ClusterServices,
  {
    observer,
    parts,
    dispatcher,
    transactions,
    coverage,
    mapReduce,
    reaper,
    keeper,
    antiEntropy,
    publications,
  }: PeerHandling,
  { rebuild }: LaterServices,
): Plane {
  const service = new PeerService(io, replica, dispatcher, parts.settings, transactions.names, parts.ownLife);
  const replicate = service.handle.bind(service);
  /** Whether this node has every write of the token that a client knows of. */
  const knowsAll = (token: Token): boolean =>
    lackingAt(parts, token) === undefined && membership.handover.awaited(token) === undefined;
  const handlers: RequestHandlers = {
    ping: replicate,
    readObject: (request, reply) => {
      const lacking = lackingAt(parts, request.token);
      if (lacking === undefined) service.handle(request, reply);
      else reply({ kind: 'failed', code: 'Overloaded', detail: lacking });
    },
    mergeObject: (request, reply) => {
      const isWhole = lackingAt(parts, request.token) === undefined;
      service.handle(request, isWhole ? reply : notKnowingSole(reply));
    },
    mergeBatch: replicate,
    mergeMany: ({ words }, reply) => service.mergeMany(words, knowsAll, reply),
    readMany: ({ words }, reply) => service.readMany(words, knowsAll, reply),
    coordinateWrite: (request, reply, from) => {
      service.coordinate(from, request, reply);
    },
    gossip: ({ words }, reply, from) => reply(gossipReply(membership, from, words)),
    transact: ({ words }, reply) => transactions.handle(words, reply),
    antiEntropy: ({ words }, reply, from) => answerTree(antiEntropy, from, words, reply),
    transferRange: ({ words }, reply, from) => {
      const { notReadyReason } = rebuild.get();
      if (notReadyReason === undefined || !membership.isJoining(from))
        answerTransfer(io, source, words, reply);
      // A joining node would treat this node's incomplete data as complete. A node that rebuilds asks others, too.
      else reply({ kind: 'failed', code: 'Overloaded', detail: notReadyReason });
    },
    listNames: ({ words }, reply) => coverage.answer(words, reply),
    mapPhase: ({ words }, reply) => mapReduce.answer(words, reply),
    properties: ({ words }, reply) => answerProperties(io, keeper, words, reply),
    reap: ({ words }, reply) => reaper.answer(words, reply),
    keepHint: ({ words }, reply) => takeHint(handoff?.hints, words, reply),
    wasmModules: ({ words }, reply) => wasm.answer(words, reply),
    pubsub: ({ words }, reply, from) => publications.answer(from, words, reply),
    upgrade: ({ words }, reply) => {
      const asked = Uint8Array.from(words);
      answerInTask(io, 'upgrade.answer', reply, () => version.answer(asked));
    },
  };
  const hello = (isBlank: boolean): Hello => {
    const { generation, state, address } = membership.self;
    const said = { generation, joining: state === 'JOINING', view: membership.view, address };
    return helloOf(config, epoch, version.range, said, isBlank);
  };
  const plane = new Plane(
    { ...io, network: io.peerNetwork },
    planeOptions(config, membership.peers, hello(false)),
    observer,
    admissionOf(membership, fencing, version, keeper, () => rebuild.get().notReadyReason !== undefined),
    tracedHandler(tracer, io.clock, whenHeard(io, keeper, whenAgreed(membership, handlerOf(handlers)))),
  );
  version.writeTo(driver, io.log, membership.topics, () => plane.introduce(hello(rebuild.get().unread)));
  return plane;
}

/** Composes joins, leaves and replacements, the rebuild of a lost disk, and the cleanup after a change. */
function composeRingChanges(
  io: Io,
  config: NodeConfig,
  { store, driver, replica, buckets, source, version }: Foundation,
  { self, links, membership, handoff }: ClusterServices,
  transactions: Transactions,
  later: LaterServices,
): RingChanges {
  const transfer = new Transfer(
    { clock: io.clock, links, replica, source, names: transactions.names },
    transferOptions(config),
  );
  const mark = new RebuildMark(driver, () => isEmpty(store));
  const askLegacy = transactions.legacyAt.bind(transactions);
  const onNewCluster = (): Promise<readonly NodeId[]> =>
    version.begin({ io, self: self.node, membership, links });
  const rebuild = later.rebuild.set(
    new Rebuild({ io, self, membership, transfer, mark, ask: askLegacy, onNewCluster }),
  );
  const left = new Deferred<void>();
  const drain = leaveDrainOf(io, config, transactions, handoff?.hints, later.keeper.get());
  const askInheritance = transactions.inheritanceAt.bind(transactions);
  const takeover = later.takeover.set(new ReplacementTakeover({ io, membership, ask: askInheritance }));
  const ringChangeCoordinator = new RingChangeCoordinator(
    io,
    membership,
    transfer,
    rebuild,
    drain,
    takeover,
    self,
    () => left.resolve(),
  );
  const cleanup = cleanupOf(io, config, { self, replica, links }, membership, store, buckets);
  const lostData = lostDataOf(io, config, { self, replica, links }, membership, transfer, store);
  source.guard(lostData.lostRecords);
  return { ringChangeCoordinator, rebuild, cleanup, ...lostData, transfer, left: left.promise };
}

function admissionOf(
  membership: Membership,
  fencing: Fencing,
  version: ClusterVersion,
  keeper: PropertyKeeper,
  isRebuilding: () => boolean,
): Admission {
  return {
    judge: (hello, rival) => membership.judge(hello, rival),
    admitted: (hello) => {
      version.heard(hello.messages.min);
      keeper.peers.connected(hello.node);
      membership.admitted(hello);
    },
    refused: (by, { reason, generation, tokens }) => {
      if (reason === 'unknown') {
        fencing.disowned(by);
        membership.disowned(by);
      }
      if (reason === 'oldLife' && generation !== undefined) membership.outlived(by, generation);
      if (reason === 'tokens' && tokens !== undefined)
        membership.tokenAssignment.told(by, tokens, isRebuilding());
    },
  };
}

function identityOf(config: NodeConfig): ConstructorParameters<typeof StatsPublisher>[2] {
  const { name: source, rack, datacenter: dc, pool } = config;
  return { source, version, rack, dc, pool, server: serverName };
}

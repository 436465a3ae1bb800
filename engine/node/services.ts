/** Builds a node's rooms, each handed what it needs of the ones below. Nothing is started here but the store. */
import type { AntiEntropy } from '../anti-entropy/anti-entropy.ts';
import type { Gate } from '../auth/gate.ts';
import { statsService } from '../api/stats/service.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { version } from '../base/version.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Coverage } from '../mapreduce/listing/coverage.ts';
import { ClusterDispatcher } from '../replication/cluster-dispatcher.ts';
import type { RoundDependencies, DispatchSettings } from '../replication/round-dependencies.ts';
import { lackAt } from '../replication/round-dependencies.ts';
import type { Viewpoint } from '../replication/plan.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import { tellingLinks } from '../replication/peer-links.ts';
import type { Reaper } from '../replication/tombstones/reaper.ts';
import { PeerService } from '../replication/peer-service.ts';
import { ReadBudget } from '../replication/read-budget.ts';
import { Replica } from '../replica/replica.ts';
import type { MapReduce } from '../mapreduce/mapreduce.ts';
import { ReplacementTakeover } from '../cluster/changes/replacement-takeover.ts';
import { RingChangeCoordinator } from '../cluster/changes/ring-change-coordinator.ts';
import type { Rebuild } from '../cluster/changes/rebuild.ts';
import { RebuildMark } from '../cluster/changes/rebuild-mark.ts';
import type { RangeSource } from '../cluster/changes/range-source.ts';
import type { Cleanup } from '../cluster/changes/cleanup.ts';
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
import { answerTree, buildAntiEntropy } from './anti-entropy.ts';
import { coverageOf } from './listings.ts';
import type { CountedDisk } from './counted-disk.ts';
import { countPeers, countStore, provideGauges } from './observers.ts';
import { countMembership } from './membership-observer.ts';
import { clusterServers, gossipReply, helloOf, membershipLinks, membershipSettings } from './membership.ts';
import {
  answerTransfer,
  estateOf,
  rangeSourceOf,
  refillOf,
  surplusOf,
  transferFamilies,
  transferOptions,
} from './ring-changes.ts';
import type { DurableFiles } from './durable-files.ts';
import { heardLinks, whenHeard } from './heard-requests.ts';
import type { StoredProperties } from './stored-properties.ts';
import { driverLimits, hintFamilies, storeFamilies } from './storage.ts';
import type { Handoff } from './hints.ts';
import { buildHandoff, takeHint } from './hints.ts';
import { buildReaper, isEmpty } from './tombstone-reaper.ts';
import { answerProperties, buildProperties } from './bucket-properties.ts';
import { planeOptions } from './topology.ts';
import { whenAgreed } from './agreed-requests.ts';
import { buildMapReduce } from './map-reduce.ts';
import { handshakeFamily } from './handshake-family.ts';
import { buildTransactions } from './transactions.ts';
import type { WasmServices } from './wasm.ts';
import { composeWasm } from './wasm.ts';

/** The store driver's name: the label `server`. */
const serverName = 'store_local';

/** The rooms of one node, not yet serving. */
export interface NodeServices extends ClientListeners {
  readonly store: Store;
  readonly driver: StoreDriver;
  /** The store of hints and what works with it; undefined when hinted handoff is off. */
  readonly handoff: Handoff | undefined;
  readonly plane: Plane;
  readonly membership: Membership;
  readonly readBudget: ReadBudget;
  readonly transactions: Transactions;
  readonly reaper: Reaper;
  /** Undefined when it is off. */
  readonly antiEntropy: AntiEntropy | undefined;
  readonly mapReduce: MapReduce;
  readonly mover: RingChangeCoordinator;
  readonly refill: Rebuild;
  readonly surplus: Cleanup;
  readonly wasm: WasmServices;
  /** Resolves once this node has left the cluster for good. */
  readonly left: Promise<void>;
  readonly objects: ClusterDispatcher;
  readonly gossip: GossipHandler;
  readonly publisher: StatsPublisher;
  readonly statistics: HttpService;
  /** What was set of buckets, here and at the peers. */
  readonly keeper: PropertyKeeper;
}

/** What was opened on the disk before. */
export interface Opened {
  /** The disk that everything below lies on. */
  readonly disk: CountedDisk;
  readonly store: Store;
  /** Undefined when hinted handoff is off. */
  readonly hintStore: Store | undefined;
  readonly identity: Identity;
  readonly members: MemberFile;
  readonly properties: StoredProperties;
  readonly files: DurableFiles;
}

export function composeServices(io: Io, config: NodeConfig, opened: Opened, gate: Gate): NodeServices {
  const { store } = opened;
  const stats = new NodeStats();
  stats.failures.startAt(config.datacenter, config.rack);
  for (const family of [...storeFamilies(store, io), opened.disk.family, gate.family, handshakeFamily(io)])
    stats.register(family);
  const driver = new StoreDriver(io, store, countStore(stats, io), driverLimits(config));
  const epoch = io.random.fork('epoch').bytes(6).toString('hex');
  const actor = byteStringOf(`${config.name}.${epoch}`) as Actor;
  const buckets = new Buckets(config.bucketTypes, opened.properties.remembered);
  const replica = new Replica(driver, io.clock, actor, (key) => buckets.ofKey(key));
  const source = rangeSourceOf(store, driver);
  const dispatch = buildDispatch(io, config, { ...opened, stats, buckets, replica, driver, source, epoch });
  provideGauges(stats, driver, dispatch.plane);
  stats.providePoolGauge('peer_forward_error', () => dispatch.dispatcher.failingForwards);
  const publisher = new StatsPublisher(io, stats, identityOf(config), config.statsIntervalMs);
  const statistics = statsService({
    stats,
    publisher,
    gate,
    hosts: answeredHosts(config, config.statsListen, gate),
    clock: io.clock,
    headerLinesMax: config.clientHeaderLinesMax,
    servers: () => clusterServers(dispatch.membership),
  });
  return {
    store,
    driver,
    handoff: dispatch.handoff,
    plane: dispatch.plane,
    membership: dispatch.membership,
    readBudget: dispatch.readBudget,
    transactions: dispatch.transactions,
    reaper: dispatch.reaper,
    antiEntropy: dispatch.antiEntropy,
    mapReduce: dispatch.mapReduce,
    mover: dispatch.mover,
    refill: dispatch.refill,
    surplus: dispatch.surplus,
    wasm: dispatch.wasm,
    keeper: dispatch.keeper,
    left: dispatch.left,
    objects: dispatch.dispatcher,
    gossip: new GossipHandler(dispatch.membership, stats.failures),
    publisher,
    statistics,
    ...composeListeners({ io, config, gate, stats, publisher, buckets, store, driver, ...dispatch }),
  };
}

interface Foundation extends Opened {
  readonly stats: NodeStats;
  readonly buckets: Buckets;
  readonly replica: Replica;
  readonly driver: StoreDriver;
  readonly source: RangeSource;
  readonly epoch: string;
}

interface Dispatch {
  readonly dispatcher: ClusterDispatcher;
  readonly readBudget: ReadBudget;
  readonly plane: Plane;
  readonly membership: Membership;
  readonly transactions: Transactions;
  readonly keeper: PropertyKeeper;
  readonly reaper: Reaper;
  readonly mover: RingChangeCoordinator;
  readonly refill: Rebuild;
  readonly surplus: Cleanup;
  readonly transfer: Transfer;
  /** Listings of what the cluster holds. */
  readonly coverage: Coverage;
  readonly mapReduce: MapReduce;
  readonly left: Promise<void>;
  readonly handoff: Handoff | undefined;
  readonly antiEntropy: AntiEntropy | undefined;
  readonly wasm: WasmServices;
}

/** The plane hands peers' requests to the service, which stands on the dispatcher, which asks through the plane. */
function buildDispatch(io: Io, config: NodeConfig, foundation: Foundation): Dispatch {
  const { stats, store, hintStore, buckets, replica, driver, source, identity, members, epoch } = foundation;
  const settings: DispatchSettings = {
    readLevel: config.readConsistency,
    writeLevel: config.writeConsistency,
    timeoutMs: config.requestTimeoutMs,
  };
  const planeLinks: PeerLinks = {
    request: (peer, request, timeoutUs, onReply) => plane.request(peer, request, timeoutUs, onReply),
  };
  const links = heardLinks(
    io,
    planeLinks,
    (peer) => plane.isConnected(peer),
    () => keeper,
  );
  const settled = membershipSettings(config, epoch);
  const { self } = settled;
  const membership: Membership = new Membership(
    io,
    settled,
    identity,
    members,
    membershipLinks(config, epoch, () => plane),
    countMembership(stats, io, (node) => handoff?.hints.drain(node)),
  );
  const standing = new Fencing(io.log, () => membership.peers.some(({ node }) => plane.isConnected(node)));
  const handoff =
    hintStore === undefined ? undefined : buildHandoff(io, config, links, membership, replica, hintStore);
  if (handoff !== undefined) for (const family of hintFamilies(handoff.hints)) stats.register(family);
  const wasm = composeWasm({ io, config, stats, store, driver, links, membership, buckets });
  const viewOf = (isThisNodeThere: () => boolean): Viewpoint => ({
    self,
    rackCount: (datacenter) => membership.ring.rackCount(datacenter),
    isRoutable: (member) =>
      member === self ? standing.isMember && isThisNodeThere() : membership.isRoutable(member.node),
    isStandby: ({ node }) => membership.isStandby(node),
  });
  const readBudget = new ReadBudget(io.log, config.clientReadBytesMax);
  const parts: RoundDependencies = {
    self,
    ring: () => membership.ring,
    pending: (token) => membership.pending(token),
    handedOver: (token) => membership.handover.isOver(token),
    isFormer: (token) => membership.handover.isFormer(token),
    refilling: () => refill.hindrance ?? inheritance.hindrance,
    unread: () => refill.unread,
    member: (node) => membership.member(node),
    plane: tellingLinks(io.log, links),
    queueFull: (peer, bytes) => plane.isFull(peer, bytes),
    replica,
    readBudget,
    stats,
    clock: io.clock,
    settings,
    diskFull: () => store.lacksRoom,
    view: viewOf(() => store.state === 'open'),
    readView: viewOf(() => store.state !== 'closed'),
    rules: (key) => buckets.ofKey(key),
    router: new Router((type, bucket) => buckets.of(type, bucket), wasm.route),
    hints: handoff?.hints,
    peerIndex: (node) => membership.indexOf(node),
  };
  const dispatcher = new ClusterDispatcher(parts);
  const transactions = buildTransactions(
    io,
    config,
    parts,
    stats,
    store,
    driver,
    epoch,
    membership,
    () => refill,
  );
  membership.publication.holdWhile(transactions.givenAway(() => membership.publication.refresh()));
  const reading = { ...parts, view: parts.readView };
  const coverage = coverageOf(io, reading, store, driver);
  const mapReduce = buildMapReduce(io, config, {
    parts: reading,
    dispatcher,
    coverage,
    modules: wasm.phases,
    knowsType: (type) => buckets.knowsType(type),
  });
  const service = new PeerService(io, replica, dispatcher, settings, transactions.names);
  const observer = countPeers(stats, self, (node) => {
    membership.linked(node);
    standing.accepted(node);
    handoff?.hints.drain(node);
  });
  const reaper = buildReaper(io, config, parts, handoff?.hints, store, membership, () => plane);
  const keeper: PropertyKeeper = buildProperties(io, config, foundation, links, membership, (peer) =>
    plane.isConnected(peer),
  );
  const antiEntropy = buildAntiEntropy(io, config, links, membership, foundation);
  const handle = whenHeard(
    io,
    keeper,
    whenAgreed(membership, (from, request, reply) => {
      const lacking = request.kind === 'readObject' ? lackAt(parts, request.token) : undefined;
      if (lacking !== undefined) reply({ kind: 'failed', code: 'Overloaded', detail: lacking });
      else if (request.kind === 'gossip') reply(gossipReply(membership, from, request.words));
      else if (request.kind === 'transact') transactions.handle(request.words, reply);
      else if (request.kind === 'antiEntropy') answerTree(antiEntropy, from, request.words, reply);
      else if (request.kind === 'transferRange' && isNoSourceFor(from, membership, refill))
        reply({ kind: 'failed', code: 'Overloaded', detail: refill.hindrance ?? '' });
      else if (request.kind === 'transferRange') answerTransfer(io, source, request.words, reply);
      else if (request.kind === 'listNames') coverage.answer(request.words, reply);
      else if (request.kind === 'mapPhase') mapReduce.answer(request.words, reply);
      else if (request.kind === 'properties') answerProperties(io, keeper, request.words, reply);
      else if (request.kind === 'reap') reaper.answer(request.words, reply);
      else if (request.kind === 'keepHint') takeHint(handoff?.hints, request.words, reply);
      else if (request.kind === 'wasmModules') wasm.answer(request.words, reply);
      else service.handle(request, reply);
    }),
  );
  const { generation, state } = membership.self;
  const { view } = membership;
  const hello = helloOf(config, epoch, { generation, joining: state === 'JOINING', view });
  const plane: Plane = new Plane(
    { ...io, network: io.peerNetwork },
    planeOptions(config, membership.peers, hello),
    observer,
    admissionOf(membership, standing, () => refill.hindrance !== undefined),
    handle,
  );
  const transfer = new Transfer(
    { clock: io.clock, links, replica, source, names: transactions.names },
    transferOptions(config),
  );
  const mark = new RebuildMark(driver, () => isEmpty(store));
  const refill: Rebuild = refillOf(io, self, membership, transfer, transactions, mark);
  const left = new Deferred<void>();
  const estate = estateOf(io, config, transactions, handoff?.hints);
  const ask = transactions.inheritanceAt.bind(transactions);
  const inheritance: ReplacementTakeover = new ReplacementTakeover({ io, membership, ask });
  const mover = new RingChangeCoordinator(io, membership, transfer, refill, estate, inheritance, self, () =>
    left.resolve(),
  );
  const surplus = surplusOf(io, config, { self, replica, links }, membership, store);
  for (const family of transferFamilies(transfer, mover, refill, surplus, membership)) stats.register(family);
  const moving = { mover, refill, surplus, transfer, left: left.promise };
  return {
    dispatcher,
    readBudget,
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
    ...moving,
  };
}

/** Whoever joins would take what is here for all that there is. One that fills its own disk asks others, too. */
function isNoSourceFor(asker: NodeId, membership: Membership, refill: Rebuild): boolean {
  const record = membership.members().find(({ node }) => node === asker);
  return refill.hindrance !== undefined && record?.state === 'JOINING';
}

function admissionOf(membership: Membership, standing: Fencing, isRefilling: () => boolean): Admission {
  return {
    judge: (hello, rival) => membership.judge(hello, rival),
    admitted: (hello) => membership.admitted(hello),
    refused: (by, { reason, generation, tokens }) => {
      if (reason === 'unknown') {
        standing.disowned(by);
        membership.disowned(by);
      }
      if (reason === 'oldLife' && generation !== undefined) membership.outlived(by, generation);
      if (reason === 'tokens' && tokens !== undefined) membership.heritage.told(by, tokens, isRefilling());
    },
  };
}

function identityOf(config: NodeConfig): ConstructorParameters<typeof StatsPublisher>[2] {
  const { name: source, rack, datacenter: dc, pool } = config;
  return { source, version, rack, dc, pool, server: serverName };
}

/**
 * Composes the client listeners: HTTP, the binary protocol and the Redis protocol, all over one dispatcher and one
 * budget of request bytes. `node.ts` starts and stops them.
 */
import type { AntiEntropy } from '../anti-entropy/anti-entropy.ts';
import { AnsweredHosts } from '../api/answered-hosts.ts';
import { antiEntropyRoutes } from '../api/http/anti-entropy-routes.ts';
import type { BackupAdmin } from '../api/http/backup-routes.ts';
import { backupRoutes } from '../api/http/backup-routes.ts';
import type { ClusterControl } from '../api/http/cluster-routes.ts';
import { clusterRoutes } from '../api/http/cluster-routes.ts';
import type { ConsolePage } from '../api/http/console-routes.ts';
import { consoleRoutes } from '../api/http/console-routes.ts';
import { httpService } from '../api/http/http-service.ts';
import type { GuardedRoute } from '../api/http-guard.ts';
import { riakStatsRoute } from '../api/http/riak-stats.ts';
import { mapReduceRoutes } from '../api/http/map-reduce-routes.ts';
import { transactionRoutes } from '../api/http/transaction-routes.ts';
import { upgradeRoutes } from '../api/http/upgrade-routes.ts';
import { wasmRoutes } from '../api/http/wasm-routes.ts';
import { PbcServer } from '../api/pbc/server.ts';
import { defaultSessionLimits } from '../api/pbc/session.ts';
import type { Publications } from '../api/redis/messages/publications.ts';
import { RequestBudget } from '../api/session/request-budget.ts';
import type { Gate } from '../auth/gate.ts';
import type { ByteString } from '../base/ids.ts';
import { riakVersion } from '../base/version.ts';
import { isLoopback } from '../config/addresses.ts';
import type { NodeConfig } from '../config/config.ts';
import type { Plane } from '../peer/plane.ts';
import type { PeerLinks } from '../replication/peer-links.ts';
import type { Handoff } from './hints.ts';
import type { ClusterVersion, MemberVersion } from './cluster-version.ts';
import { upgradeAdmin } from './cluster-version.ts';
import type { Coverage } from '../mapreduce/listing/coverage.ts';
import type { ClusterDispatcher } from '../replication/cluster-dispatcher.ts';
import type { HttpService } from '../io/http.ts';
import type { Io } from '../io/io.ts';
import type { Address } from '../io/network.ts';
import type { MapReduce } from '../mapreduce/mapreduce.ts';
import type { Membership } from '../cluster/membership/membership.ts';
import type { Buckets } from '../buckets/buckets.ts';
import type { PropertyKeeper } from '../buckets/property-keeper.ts';
import type { NodeStats } from '../metrics/node-stats.ts';
import type { StatsPublisher } from '../metrics/publisher.ts';
import type { StatsSnapshot } from '../metrics/snapshot.ts';
import type { StoreDriver } from '../storage/driver.ts';
import type { Store } from '../storage/store.ts';
import type { RingChangeCoordinator } from '../cluster/changes/ring-change-coordinator.ts';
import type { Rebuild } from '../cluster/changes/rebuild.ts';
import type { Transfer } from '../cluster/changes/transfer.ts';
import type { Transactions, TransactionService } from '../transactions/transactions.ts';
import { antiEntropyAdmin } from './anti-entropy.ts';
import { jobLimits } from './map-reduce.ts';
import { countClients } from './observers.ts';
import { bucketAdmin } from './bucket-properties.ts';
import { consoleSource } from './console.ts';
import type { Health } from './health.ts';
import type { RedisListener } from './redis-listener.ts';
import { buildRedis } from './redis-listener.ts';
import { OverloadGate } from '../api/session/overload-gate.ts';
import { epochsSince, objectFormat2Since } from '../peer/wire/versions.ts';
import { recordName } from '../buckets/property-codec.ts';
import type { RedisDependencies } from '../api/redis/listener-dependencies.ts';
import {
  openDispatcher,
  openJobs,
  openLister,
  openTransactions,
  admissionCheck,
} from './standby-services.ts';
import { bodyBytesMax, contentLimits, messageBytesMax } from './topology.ts';
import { transactionLimits } from './transactions.ts';
import { clusterControl } from './ring-changes.ts';
import { SlowRequests } from './slow-requests.ts';
import type { Tracer } from './tracer.ts';
import type { WasmServices } from './wasm.ts';

/** The services that the client listeners call. */
export interface ListenerDependencies {
  readonly io: Io;
  readonly config: NodeConfig;
  readonly gate: Gate;
  readonly stats: NodeStats;
  /** Started before clients are served. */
  readonly publisher: Pick<StatsPublisher, 'current'>;
  readonly buckets: Buckets;
  readonly store: Store;
  readonly driver: StoreDriver;
  readonly dispatcher: ClusterDispatcher;
  readonly membership: Membership;
  readonly ringChangeCoordinator: RingChangeCoordinator;
  readonly rebuild: Rebuild;
  readonly transfer: Transfer;
  readonly transactions: Transactions;
  readonly keeper: PropertyKeeper;
  /** Undefined if anti-entropy is off. */
  readonly antiEntropy: AntiEntropy | undefined;
  /** Lists the cluster's keys and buckets. */
  readonly coverage: Coverage;
  readonly wasm: WasmServices;
  readonly mapReduce: MapReduce;
  readonly backup: BackupAdmin;
  readonly publications: Publications;
  readonly links: PeerLinks;
  readonly plane: Pick<Plane, 'isConnected' | 'refusals'>;
  /** Undefined if hinted handoff is off. */
  readonly handoff: Pick<Handoff, 'store'> | undefined;
  readonly version: ClusterVersion;
  /** Undefined if tracing is off. */
  readonly tracer: Tracer | undefined;
  readonly health: Health;
  /** Undefined: the node serves the console's facts without its page. */
  readonly consolePage: ConsolePage | undefined;
}

/** The client listeners of one node, not yet listening. */
export interface ClientListeners {
  readonly http: HttpService;
  readonly pbc: PbcServer;
  readonly redis: RedisListener;
  /** Stopped once all listeners are closed. */
  readonly overload: OverloadGate;
}

/** Composes the client listeners, and registers their metrics families. */
export function composeListeners(parts: ListenerDependencies): ClientListeners {
  const { io, config, gate, stats, buckets, store, keeper, wasm } = parts;
  const { membership, ringChangeCoordinator, rebuild, transfer } = parts;
  const overload = new OverloadGate(io.clock, config.clientWaitMsMax);
  const check = admissionCheck(membership, overload);
  // The listeners count the requests that they answer, so the dispatcher must not count them again.
  const dispatcher = openDispatcher(parts.dispatcher.uncounted, check);
  const transactions = openTransactions(parts.transactions, check);
  const coverage = openLister(parts.coverage, check);
  const mapReduce = openJobs(parts.mapReduce, check);
  const { datacenter, rack, readConsistency: readLevel, writeConsistency: writeLevel } = config;
  const terms = { datacenter, rack, readLevel, writeLevel };
  const observer = countClients(stats, terms, new SlowRequests(io.log, config.slowRequestMs), parts.tracer);
  const requests = new RequestBudget(config.clientRequestBytesMax);
  for (const family of requests.families()) stats.register(family);
  const shared = {
    io,
    gate,
    requests,
    limits: contentLimits(config),
    terms: {
      readLevel,
      writeLevel,
      replicaCount: () => membership.ring.rackCount(config.datacenter),
    },
    knowsType: (type: ByteString) => buckets.knowsType(type),
    buckets: bucketAdmin(buckets, keeper, wasm.checkRouting),
    lister: coverage,
  };
  const stores = { store, hintStore: parts.handoff?.store };
  const cluster = clusterControl(membership, ringChangeCoordinator, rebuild, transfer, stores, parts.plane);
  const limits = transactionLimits(config, shared.limits, shared.knowsType);
  const http = httpService(dispatcher, observer, {
    ...shared,
    hosts: answeredHosts(config, config.listen, gate),
    bodyBytesMax: bodyBytesMax(config),
    ownersOf: (key) => parts.dispatcher.locate(key).nodes,
    connectionCountMax: config.clientConnectionsMax,
    headerLinesMax: config.clientHeaderLinesMax,
    requestTimeoutMs: config.clientReadTimeoutMs,
    answerTimeoutMs: config.clientWriteTimeoutMs,
    ownRoutes: [
      ...operatorRoutes(parts, cluster, transactions),
      ...transactionRoutes({ io, transactions, observer, limits }),
      ...mapReduceRoutes({ io, mapReduce, limits: jobLimits(config), observer }),
      ...wasmRoutes(io.log, wasm.desk),
    ],
  });
  const pbc = new PbcServer(
    {
      ...shared,
      dispatcher,
      transactions,
      transactionLimits: limits,
      observer,
      preflist: (key) => parts.dispatcher.locate(key),
      mapReduce,
      jobLimits: jobLimits(config),
      serverInfo: { node: config.name, version: riakVersion },
    },
    {
      ...defaultSessionLimits,
      frameBytesMax: messageBytesMax(config),
      messageUsMax: config.clientReadTimeoutMs * 1000,
      takingUsMax: config.clientWriteTimeoutMs * 1000,
      connectionCountMax: config.clientConnectionsMax,
    },
  );
  const beginEpochs: RedisDependencies['beginEpochs'] = async (type, buckets) => {
    if (parts.version.minimum < epochsSince) return false;
    await parts.keeper.flush(buckets.map((bucket) => recordName(type, bucket)));
    return true;
  };
  const mayReplace = (): boolean => parts.version.minimum >= objectFormat2Since;
  const services = { ...shared, dispatcher, transactions, observer, beginEpochs, mayReplace };
  const messaging = { publications: parts.publications, admit: check };
  return { http, pbc, redis: buildRedis(services, config, stats, coverage, parts, messaging), overload };
}

/** The operator's endpoints, and the console over them. */
function operatorRoutes(
  parts: ListenerDependencies,
  cluster: ClusterControl,
  transactions: TransactionService,
): readonly GuardedRoute[] {
  const { io, membership, health, antiEntropy, publisher } = parts;
  const versioned = { ...parts, self: parts.config.name };
  const swept = antiEntropy === undefined ? undefined : antiEntropyAdmin(antiEntropy);
  const snapshot = (): StatsSnapshot => publisher.current.snapshot;
  const versions = (): Promise<readonly MemberVersion[]> => parts.version.survey(versioned);
  const shown = { io, membership, cluster, transactions, health, antiEntropy: swept, snapshot, versions };
  return [
    ...clusterRoutes(cluster),
    ...consoleRoutes(consoleSource(shown), parts.consolePage),
    ...backupRoutes(parts.backup),
    ...upgradeRoutes(upgradeAdmin(parts.version, versioned)),
    riakStatsRoute({ snapshot, describe: () => cluster.describe() }),
    ...antiEntropyRoutes(swept),
  ];
}

/**
 * The host names that the listener at `listen` accepts in the `Host` header. Without credentials a loopback listener
 * accepts only IP addresses, `localhost` and the configured `client_hosts`.
 */
export function answeredHosts(
  { clientHosts }: NodeConfig,
  listen: Address | undefined,
  gate: Gate,
): AnsweredHosts {
  return new AnsweredHosts(clientHosts, listen !== undefined && isLoopback(listen), gate);
}

/**
 * Observes a run: for every incarnation of every node it counts what passes the node's ports. The world calls it within
 * the events themselves, so between two events its sums are those of that instant.
 */
import type { NodeConfig } from '../../engine/config/config.ts';
import { configKeys } from '../../engine/config/keys.ts';
import type { LogFields } from '../../engine/io/log.ts';
import type { CloseReason } from '../../engine/io/network.ts';
import { requestBytesMax } from '../../engine/node/topology.ts';
import { branchSteps, coordinatorSteps } from '../../engine/transactions/formats/steps.ts';
import type {
  IncarnationAccount,
  IncarnationTruth,
  Moment,
  CountedSample,
} from '../check/metrics/reconcile/account.ts';
import { roleOf } from '../plan/file-roles.ts';
import type { Plan } from '../plan/plan.ts';
import type { PlanNode } from '../plan/plan-node.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import { clusterPorts } from '../world/cluster/node-config.ts';
import type { ConnectionEnd, ConnectionWatcher, DiskWatcher } from '../world/core/watchers.ts';
import type { World } from '../world/world.ts';
import type { AnswerTime } from '../check/cluster/answer-times.ts';
import { AnswerTimes, RunningClocks } from './answer-times.ts';
import { AntiEntropyObserver } from './anti-entropy-observer.ts';
import { ClientObserver } from './client-observer.ts';
import { Disturbances } from './disturbances.ts';
import type { ExchangeObserver } from './exchange-observer.ts';
import { ListenerObserver } from './listener-observer.ts';
import { AnsweringPeerObserver, RequestingPeerObserver } from './peer-observer.ts';
import { RedisObserver } from './redis-observer.ts';
import { RefusalObserver } from './refusal-observer.ts';
import { sizesOf } from './store-sizes.ts';
import { KnownBatches, StoreObserver } from './store-observer.ts';
import { Tallies } from './tallies.ts';
import { TransactionRecords } from './transaction-records.ts';
import { transactionEvents, TransactionObserver } from './transaction-observer.ts';
import { WasmObserver } from './wasm-observer.ts';
import type { CollectedFamily } from '../../engine/metrics/family.ts';
import { familiesOf } from '../../engine/metrics/snapshot-families.ts';
import type { StatsSnapshot } from '../../engine/metrics/snapshot.ts';

/** All observers and sums of one incarnation. */
class LifeBook {
  readonly clients: ClientObserver;
  readonly redis = new RedisObserver();
  readonly beside = new RequestingPeerObserver();
  readonly near = new RequestingPeerObserver();
  readonly far = new RequestingPeerObserver();
  readonly asked = new AnsweringPeerObserver();
  readonly listener = new ListenerObserver();
  readonly wasm = new WasmObserver();
  readonly refusals = new RefusalObserver();
  readonly moves = new Tallies();
  readonly indexes: Record<string, { readonly peer: string; readonly datacenter: string }> = {};
  readonly store: StoreObserver;
  readonly transactions: TransactionObserver;
  failedOperations = 0;
  readonly diskErrors = new Tallies();

  constructor(
    life: number,
    known: KnownBatches,
    transactions: TransactionObserver,
    config: NodeConfig,
    times: AnswerTimes,
  ) {
    this.clients = new ClientObserver(requestBytesMax(config), times);
    this.store = new StoreObserver(life, known);
    this.transactions = transactions;
  }
}

/** The observer of one connection. */
interface ConnectionBook {
  opened(id: number, http: boolean, peer: string): void;
  wrote(id: number, bytes: Uint8Array): void;
  heard(id: number, bytes: Uint8Array): void;
  toldEnd(id: number): void;
  left(id: number): void;
  closed(id: number, reason: CloseReason): void;
}

/** Owns the observers of a run and takes the accounts that `metrics-reconcile` compares. */
export class RunObserver {
  readonly accounts: IncarnationAccount[] = [];
  /** How long nodes took for clients' requests that state a time. */
  readonly answerTimes: AnswerTime[] = [];
  readonly #clocks: RunningClocks;
  readonly antiEntropy: AntiEntropyObserver;
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #nodes: ReadonlyMap<string, PlanNode>;
  readonly #books = new Map<string, LifeBook>();
  readonly #batches = new Map<string, KnownBatches>();
  readonly #records: ReadonlyMap<string, TransactionRecords>;
  /** Transactions whose commit decision lies on their coordinator's disk. */
  readonly #committed = new Set<string>();
  readonly #alteredPlaces = new Map<string, number>();
  readonly #known = new Map<string, Set<string>>();
  readonly #counted = new CountedSamples();
  /** Number of ring changes, by node and incarnation. */
  readonly #ringChanges = new Map<string, number>();
  /** Number of members at the start of the run. */
  readonly #bornCount: number;
  /** The plan changes the membership. */
  readonly #moving: boolean;
  readonly #disturbances: Disturbances;
  #missed = 0;
  /** An incarnation has ended, or is about to end. */
  #ended = false;
  /** Nodes that have left the ring. */
  readonly #left = new Set<string>();

  constructor(
    world: World,
    cluster: Cluster,
    plan: Pick<Plan, 'nodes' | 'settings' | 'faults' | 'paces' | 'backups'>,
    exchanges: ExchangeObserver,
  ) {
    const { nodes, settings, faults } = plan;
    this.#world = world;
    this.antiEntropy = new AntiEntropyObserver(world, cluster, nodes, exchanges, segmentsOf(settings));
    this.#cluster = cluster;
    this.#clocks = new RunningClocks(world, cluster);
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#records = new Map(nodes.map(({ name }) => [name, new TransactionRecords()]));
    this.#bornCount = nodes.filter(({ spare }) => spare !== true).length;
    this.#disturbances = new Disturbances(plan);
    this.#moving = faults.some(({ kind }) => kind === 'membership-change');
    if (this.#moving) this.#followMembers();
    world.trace.on('membership.ring.changed', ({ host }) => {
      const life = `${host}/${cluster.host(host).lives}`;
      this.#ringChanges.set(life, (this.#ringChanges.get(life) ?? 0) + 1);
    });
    world.network.watch(this.#connections());
    for (const { name } of nodes) cluster.host(name).disk.watch(this.#disks());
    for (const name of ['wasm.called', 'wasm.call.failed']) {
      world.trace.on(name, ({ host, fields }) => {
        const { role, failure } = fields;
        this.#bookOf(host, cluster.host(host).lives).wasm.called(String(role), String(failure ?? 'ok'));
      });
    }
    this.#followTransactions();
    this.#followPeers();
    // The node notifies its peers before its incarnation is over.
    world.trace.on('node.stopping', ({ host }) => {
      this.#ended = true;
      if (this.#nodes.has(host)) this.#refusalsOf(host).stopping();
    });
    cluster.onLifeEnding((name, how) => {
      this.look(name, how);
      this.#ended = true;
    });
  }

  /** Samples of nodes that did not serve. */
  get missed(): number {
    return this.#missed;
  }

  /** Takes the account of the node's current incarnation. */
  look(node: string, moment: Moment): void {
    const snapshot = this.#cluster.statistics(node);
    if (snapshot === undefined) {
      this.#missed += 1;
      return;
    }
    const life = this.#cluster.host(node).lives;
    this.accounts.push({
      node,
      life,
      atUs: this.#world.nowUs,
      moment,
      counted: this.#counted.of(snapshot),
      recorded: snapshot.recorded,
      truth: this.#truthOf(node, life, moment),
    });
  }

  #truthOf(node: string, life: number, moment: Moment): IncarnationTruth {
    const book = this.#bookOf(node, life);
    const { ledger } = this.#world;
    return {
      transactions: book.transactions.truth(this.#world.nowUs, this.#cluster.host(node).clock),
      refusals: book.refusals.truth({ ...book.indexes }),
      moves: book.moves.under(''),
      wasm: book.wasm.truth([...this.#books.values()].map(({ wasm }) => wasm)),
      clients: book.clients.truth,
      redis: book.redis.truth(
        [...this.#books.values()].some(({ redis }) => redis.mortal),
        [...this.#books.values()].some(({ redis }) => redis.flushes),
      ),
      beside: book.beside.truth,
      near: book.near.truth,
      far: book.far.truth,
      asked: book.asked.truth,
      listener: book.listener.truth,
      store: book.store.truth,
      sizes: this.#sizesOf(node, book, moment),
      antiEntropy: this.antiEntropy.truthOf(node),
      failedOperations: book.failedOperations,
      diskErrors: book.diskErrors.under(''),
      alteredPlaces: this.#alteredPlaces.get(node) ?? 0,
      failedTasks: this.#cluster.host(node).io.failedTasks(),
      undisturbed: this.#disturbances.areNone({
        nowUs: this.#world.nowUs,
        ended: this.#ended,
        left: this.#left.has(node),
        injected: ledger.total({ effect: 'injected' }),
        full: [...this.#books.values()].some(({ refusals }) => refusals.full > 0),
      }),
      shortReadWait: this.#disturbances.shortReadWait,
      ringChanges: this.#ringChanges.get(`${node}/${life}`) ?? 0,
      joins: this.#nodes.get(node)?.spare === true,
      ...this.#peersOf(node, life, moment),
    };
  }

  #sizesOf(node: string, { failedOperations }: LifeBook, moment: Moment): IncarnationTruth['sizes'] {
    const altered = this.#alteredPlaces.get(node) ?? 0;
    const calm = moment === 'settled' || moment === 'stopped';
    if (!calm || failedOperations + altered > 0) return { store: undefined, hints: undefined };
    const files = this.#cluster.host(node).disk.durableFiles();
    return { store: sizesOf(files, 'store'), hints: sizesOf(files, 'hints') };
  }

  #peersOf(
    node: string,
    life: number,
    moment: Moment,
  ): Pick<IncarnationTruth, 'peersMin' | 'peersMax' | 'peersDead' | 'moving' | 'moved'> {
    const all = this.#nodes.size - 1;
    const { members } = this.#cluster;
    if (!this.#moving) {
      const born = this.#bornCount;
      return {
        peersMin: born - 1,
        peersMax: born - 1,
        peersDead: born - members.length,
        moving: false,
        moved: false,
      };
    }
    const moved =
      members.some((name) => this.#nodes.get(name)?.spare === true) || members.length !== this.#bornCount;
    // A node that has left the cluster is about to stop and learns no more of it.
    if (moment === 'settled' && members.includes(node)) {
      const peers = members.length - 1;
      return { peersMin: peers, peersMax: peers, peersDead: 0, moving: true, moved };
    }
    const known = this.#known.get(`${node}/${life}`)?.size ?? 0;
    return { peersMin: known, peersMax: all, peersDead: 0, moving: true, moved };
  }

  /** Follows which peers each incarnation has heard of. */
  #followMembers(): void {
    const { trace } = this.#world;
    const known = (host: string): Set<string> => {
      const life = `${host}/${this.#cluster.host(host).lives}`;
      const peers = this.#known.get(life) ?? new Set<string>();
      this.#known.set(life, peers);
      return peers;
    };
    trace.on('membership.peer.state.changed', ({ host, fields }) => {
      if (this.#nodes.has(host)) known(host).add(String(fields['peer']));
    });
    trace.on('membership.peer.left', ({ host, fields }) => {
      if (this.#nodes.has(host)) known(host).delete(String(fields['peer']));
    });
  }

  /** Follows each incarnation's opinion of its peers, and the requests that it could not send them. */
  #followPeers(): void {
    const { trace } = this.#world;
    trace.on('membership.peer.state.changed', ({ host, fields }) => {
      if (!this.#nodes.has(host)) return;
      const { peer, index, from, to } = fields;
      const { moves, indexes } = this.#bookOf(host, this.#cluster.host(host).lives);
      moves.add(`${String(index)} ${String(from)} ${String(to)}`);
      const datacenter = this.#nodes.get(String(peer))?.datacenter ?? '';
      indexes[String(index)] = { peer: String(peer), datacenter };
    });
    const drop = (fields: LogFields): { peer: string; kind: string; outcome: string } => {
      return {
        peer: String(fields['peer']),
        kind: String(fields['kind']),
        outcome: String(fields['outcome']),
      };
    };
    trace.on('peer.request.dropped', ({ host, fields }) => {
      const here = this.#nodes.get(host);
      if (here === undefined) return;
      const { lives } = this.#cluster.host(host);
      const told = drop(fields);
      const local = this.#nodes.get(told.peer)?.datacenter === here.datacenter;
      const up = this.#askingBook(host, lives, told.peer)?.isUp(told.peer) === true;
      this.#bookOf(host, lives).refusals.dropped(told, local, up);
    });
    trace.on('dispatch.peer.refused', ({ host, fields }) => {
      if (this.#nodes.has(host)) this.#refusalsOf(host).refused(drop(fields));
    });
    trace.on('store.request.refused', ({ host, fields }) => {
      if (!this.#nodes.has(host) || fields['directory'] !== 'store') return;
      this.#refusalsOf(host).refusedByStore(String(fields['outcome']));
    });
  }

  #refusalsOf(host: string): RefusalObserver {
    return this.#bookOf(host, this.#cluster.host(host).lives).refusals;
  }

  #followTransactions(): void {
    const { trace } = this.#world;
    // A store that opens syncs the records that it has found.
    trace.on('store.opened', ({ host }) => {
      if (!this.#nodes.has(host)) return;
      const { disk, lives } = this.#cluster.host(host);
      this.#records.get(host)?.opened(disk.durableFiles());
      this.#bookOf(host, lives).transactions.opened();
    });
    trace.on('membership.left', ({ host }) => this.#left.add(host));
    trace.on('node.started', ({ host }) => {
      if (this.#nodes.has(host)) this.#bookOf(host, this.#cluster.host(host).lives).transactions.started();
    });
    for (const name of ['xa.c.decision.synced', 'xa.decision.recovered'])
      trace.on(name, ({ fields }) => this.#committed.add(String(fields['xid'])));
    const steps = [...coordinatorSteps, ...branchSteps].map((step) => `xa.${step}`);
    for (const name of [...steps, ...transactionEvents]) {
      trace.on(name, ({ host, atUs, fields }) => {
        if (!this.#nodes.has(host)) return;
        const { clock, lives } = this.#cluster.host(host);
        this.#bookOf(host, lives).transactions.happened(name, fields, atUs, clock);
      });
    }
  }

  #connections(): ConnectionWatcher {
    const book = (end: ConnectionEnd): ConnectionBook | undefined => this.#connectionBook(end);
    return {
      opened: (end) => book(end)?.opened(end.id, end.port === clusterPorts.http, end.peer),
      wrote: (end, bytes) => book(end)?.wrote(end.id, bytes),
      full: (end) => this.#redisBook(end)?.full(end.id),
      heard: (end, bytes) => book(end)?.heard(end.id, bytes),
      toldEnd: (end) => book(end)?.toldEnd(end.id),
      left: (end) => book(end)?.left(end.id),
      closed: (end, reason) => book(end)?.closed(end.id, reason),
      listenerClosed: (host, life, port) => this.#listenerClosed(host, life, port),
      connectFailed: (host, life, peer, port, failure) => {
        if (port === clusterPorts.peer) this.#askingBook(host, life, peer)?.connectFailed(failure);
      },
    };
  }

  #disks(): DiskWatcher {
    return {
      writes: (host, life, path, chunks, offset) =>
        this.#bookOf(host, life).store.writes(path, chunks, offset),
      wrote: (host, life, path, content, from, whole) => {
        this.#bookOf(host, life).store.wrote(path, content, from);
        this.#records.get(host)?.wrote(path, whole, from);
      },
      failed: (host, life, operation, path, failure) => {
        if (failure !== 'fault' && failure !== 'noSpace') return;
        const book = this.#bookOf(host, life);
        book.failedOperations += 1;
        book.diskErrors.add(`${operation} ${roleOf(path)} ${failure}`);
      },
      altered: (host, path, _from, _to, kind) => {
        this.#alteredPlaces.set(host, (this.#alteredPlaces.get(host) ?? 0) + 1);
        if (path === '' && kind === 'disk-rollback') this.#batchesOf(host).rolledBack = true;
      },
    };
  }

  #listenerClosed(host: string, life: number, port: number): void {
    if (!this.#nodes.has(host)) return;
    const { redis, clients } = this.#bookOf(host, life);
    if (port === clusterPorts.redis) redis.letGo();
    else if (port === clusterPorts.http) clients.letGoOfHttp();
    else if (port === clusterPorts.pb) clients.letGo();
  }

  #redisBook({ side, host, life, port }: ConnectionEnd): RedisObserver | undefined {
    if (side === 'client' || port !== clusterPorts.redis || !this.#nodes.has(host)) return undefined;
    return this.#bookOf(host, life).redis;
  }

  /** Undefined for connections whose other side is not a node. */
  #connectionBook({ side, host, life, peer, port }: ConnectionEnd): ConnectionBook | undefined {
    if (!this.#nodes.has(host)) return undefined;
    if (side === 'client') return port === clusterPorts.peer ? this.#askingBook(host, life, peer) : undefined;
    const book = this.#bookOf(host, life);
    if (port === clusterPorts.peer) return book.asked;
    if (port === clusterPorts.redis) return book.redis;
    return port === clusterPorts.stats ? book.listener : book.clients;
  }

  #askingBook(host: string, life: number, peer: string): RequestingPeerObserver | undefined {
    const here = this.#nodes.get(host);
    const there = this.#nodes.get(peer) ?? this.#nodes.get(this.#posesAs(peer));
    if (here === undefined) return undefined;
    const book = this.#bookOf(host, life);
    if (here.datacenter !== there?.datacenter) return book.far;
    return here.rack === there.rack ? book.beside : book.near;
  }

  /** An impostor claims its victim's ring position; peers believe it while the victim is absent. */
  #posesAs(host: string): string {
    return this.#cluster.impostors.impositions.find(({ name }) => name === host)?.victim ?? '';
  }

  #batchesOf(node: string): KnownBatches {
    const known = this.#batches.get(node) ?? new KnownBatches();
    this.#batches.set(node, known);
    return known;
  }

  #bookOf(node: string, life: number): LifeBook {
    const name = `${node}/${life}`;
    const known = this.#books.get(name);
    if (known !== undefined) return known;
    const records = this.#records.get(node) ?? new TransactionRecords();
    const transactions = new TransactionObserver(records, this.#committed);
    const times = new AnswerTimes(node, () => this.#clocks.of(node), this.answerTimes);
    const config = this.#cluster.configOf(node);
    const book = new LifeBook(life, this.#batchesOf(node), transactions, config, times);
    this.#books.set(name, book);
    return book;
  }
}

/** Number of segments of every node's hash tree; 0 where anti-entropy is off. */
function segmentsOf(settings: Plan['settings']): number {
  if (settings['aae_enabled'] === false) return 0;
  return Number(settings['aae_segments'] ?? configKeys.aaeSegments.fallback);
}

/** Converts snapshots to samples; families that did not change between two snapshots are converted once. */
export class CountedSamples {
  /** Snapshots share unchanged families with their predecessors; the cache lets accounts share their samples too. */
  readonly #known = new WeakMap<CollectedFamily, readonly CountedSample[]>();

  of(snapshot: StatsSnapshot): readonly CountedSample[] {
    const counted: CountedSample[] = [];
    for (const collected of familiesOf(snapshot)) {
      for (const sample of this.#of(collected)) counted.push(sample);
    }
    return counted;
  }

  #of(collected: CollectedFamily): readonly CountedSample[] {
    const known = this.#known.get(collected);
    if (known !== undefined) return known;
    const { family, samples } = collected;
    const counted: CountedSample[] = [];
    // Every value of a histogram only grows, as a counter does.
    const type = family.type === 'gauge' ? 'gauge' : 'counter';
    for (const { labels, value, suffix = '' } of samples) {
      counted.push({ family: `${family.name}${suffix}`, type, labels, value });
    }
    this.#known.set(collected, counted);
    return counted;
  }
}

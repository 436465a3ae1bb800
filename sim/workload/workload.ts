/**
 * The load of a run: everything outside the cluster. That is clients, a sender of malformed input, the operator who
 * scrapes the statistics, and the readers after the calm. Each is a host of the world and speaks over its network.
 */
import { present } from '../../engine/base/assert.ts';
import type { ConsistencyLevel } from '../../engine/replication/requests.ts';
import { consistencyLevels } from '../../engine/replication/requests.ts';
import type { Io } from '../../engine/io/io.ts';
import { levelReach } from '../evidence/level-reach.ts';
import { syncLagUs } from '../evidence/sync-lag.ts';
import type { RedisRecord } from '../evidence/redis.ts';
import type { MalformedInputRecord, NodeRecord } from '../check/protocols/malformed-input.ts';
import type { RingRecord } from '../check/cluster/ring-agreement.ts';
import type { Plan, PlanFault, PlanScrape, PlanOperation } from '../plan/plan.ts';
import { nodesExcepted } from '../plan/swarm/fault-contract.ts';
import { bucketNeedsOf } from '../plan/bucket-needs.ts';
import type { ClusterPort } from '../world/cluster/node-config.ts';
import { worldTokens } from '../world/cluster/world-credentials.ts';
import { HttpClient } from '../world/http/http-client.ts';
import type { BucketEvidence } from '../evidence/bucket-changes.ts';
import { bucketOperator, bucketReader, markedName } from '../evidence/bucket-changes.ts';
import type { BackupRecord } from '../evidence/backups.ts';
import { backupOperator } from '../evidence/backups.ts';
import { BackupOperator } from './backup-operator.ts';
import { BucketOperator } from './bucket-operator.ts';
import type { ClientLevels, ClientTarget } from './client.ts';
import { Client } from './client.ts';
import { ClientKeys, laterHoldersIn } from './client-keys.ts';
import type { DurableTags } from './durable-tags.ts';
import { pingNode, readAll } from './final-reads.ts';
import { RequestTimes } from './request-times.ts';
import { RingReads } from './ring-reads.ts';
import { sendMalformedInput } from './malformed-input.ts';
import type { HistoryRecorder } from './history-recorder.ts';
import type { Impatience } from './impatient-client.ts';
import { sumGivenUp } from './impatient-client.ts';
import type { JobRecord, ListingRecord } from '../evidence/jobs.ts';
import type { JobLoadContext } from './job-load.ts';
import { JobLoad } from './job-load.ts';
import type { LoadCluster, LoadWorld, Pacing } from './load-world.ts';
import { RedisLoad } from './redis-load.ts';
import type { ScrapeRecord } from './scrape.ts';
import { scrapeNode, untilSeen } from './scrape.ts';
import type { SlowReading } from '../evidence/slow-reading.ts';
import { readSlowly } from './slow-reader.ts';
import { UnauthenticatedClients } from './unauthenticated-clients.ts';
import { TransactionClient } from './transaction-client.ts';
import type { Finals } from './transaction-finals.ts';
import { finishTransactions } from './transaction-finals.ts';
import { TransactionKeys } from './transaction-keys.ts';
import { TransactionRecorder } from './transaction-recorder.ts';
import { sleep } from '../../engine/io/clock.ts';
import { pick } from '../../engine/io/random.ts';

/** How long clients wait for a connection, in microseconds. */
const connectTimeoutUs = 500_000;
/** How long clients wait for an answer, in microseconds. */
export const answerTimeoutUs = 2_000_000;
/** Longer than for other requests: a job waits some seconds for a silent replica before it asks the next. */
const jobTimeoutUs = 12_000_000;

type ClientContext = Pick<JobLoadContext, 'nowUs' | 'connectTimeoutUs' | 'answerTimeoutUs' | 'spawn'>;

/** The load of one run and its records. */
export class Load {
  readonly malformedInput: MalformedInputRecord[] = [];
  readonly scrapes: ScrapeRecord[] = [];
  readonly pings: NodeRecord[] = [];
  readonly #rings = new RingReads();
  readonly transactions = new TransactionRecorder();
  readonly slowReadings: SlowReading[] = [];
  finals: Finals = { dangling: [], liveness: [], heard: [], forgotten: [] };
  readonly #buckets: BucketOperator;
  /** Undefined: the plan has no backups. */
  #backups: BackupOperator | undefined;
  readonly #redis: RedisLoad;
  readonly #jobs: JobLoad;
  readonly #world: LoadWorld;
  readonly #cluster: LoadCluster;
  readonly #plan: Plan;
  readonly #recorder: HistoryRecorder;
  readonly #durable: DurableTags;
  readonly #onScraped: (node: string) => void;
  readonly #keys: ClientKeys;
  readonly #transactionKeys: TransactionKeys;
  /** The datacenter of each node, by its name. */
  readonly #datacenters: ReadonlyMap<string, string>;
  readonly #impatience = new Map<string, Impatience>();
  /** The clients' credentials, if nodes demand any. */
  readonly #token: string | undefined;
  readonly #unauthenticated: UnauthenticatedClients;
  /** Undefined: clients begin an operation as soon as its time to think is over. */
  readonly #pacing: Pacing | undefined;
  #ended = false;
  #busy = 0;

  /** `onScraped` is called after every scrape of a node. `pacing`: what clients of single keys wait for. */
  constructor(
    world: LoadWorld,
    cluster: LoadCluster,
    plan: Plan,
    recorder: HistoryRecorder,
    durable: DurableTags,
    onScraped: (node: string) => void,
    pacing?: Pacing,
  ) {
    this.#onScraped = onScraped;
    this.#pacing = pacing;
    this.#world = world;
    this.#cluster = cluster;
    this.#plan = plan;
    this.#recorder = recorder;
    this.#durable = durable;
    this.#keys = new ClientKeys(plan, cluster.ring);
    this.#token = plan.settings['credentials'] === undefined ? undefined : worldTokens.admin;
    this.#unauthenticated = new UnauthenticatedClients(world, cluster, this.#token);
    this.#redis = this.#redisLoad();
    this.#jobs = this.#jobLoad();
    this.#datacenters = new Map(plan.nodes.map(({ name, datacenter }) => [name, datacenter]));
    this.#buckets = new BucketOperator({
      ...{ cluster, token: this.#token, nowUs: () => world.nowUs },
      seesAtOnce: new Set(this.#datacenters.values()).size === 1 && levelReach(plan.settings).meets,
      forgetful: [...nodesExcepted(plan.faults, 'hint-delivery')],
    });
    const members = plan.nodes.filter(({ spare }) => spare !== true).map((node) => node.name);
    const structured = plan.transactionClients > 0;
    this.#transactionKeys = new TransactionKeys(
      cluster.ring,
      structured ? members : [],
      plan.structures,
      laterHoldersIn(plan),
    );
  }

  /** What Redis clients did and saw. */
  get redis(): readonly RedisRecord[] {
    return this.#redis.records;
  }

  /** What MapReduce clients asked and were answered. */
  get jobs(): readonly JobRecord[] {
    return this.#jobs.records;
  }

  /** What clients were answered that listed the keys of buckets. */
  get listings(): readonly ListingRecord[] {
    return this.#jobs.listings;
  }

  /** What the operator changed of buckets, and what nodes stated of them. */
  get bucketChanges(): BucketEvidence {
    return this.#buckets;
  }

  /** Called when a node's hold for a backup ends with its lease. */
  backupLeaseEnded(node: string, id: string): void {
    this.#backups?.leaseEnded(node, id);
  }

  /** The backups that the operator took, with what they hold. */
  get backups(): readonly BackupRecord[] {
    return this.#backups?.records ?? [];
  }

  /** Runs jobs that read every key, at every node. */
  lookAtAll(stopped: () => boolean): void {
    this.#jobs.lookAtAll(stopped);
  }

  /** Whether no client has anything under way. */
  get idle(): boolean {
    return this.#busy === 0;
  }

  /** Starts everything that the plan holds; its instants count from `startUs`. */
  begin(startUs: number): void {
    const plan = this.#plan;
    for (let index = 0; index < plan.clients; index++) this.#beginClient(index);
    for (let index = 0; index < plan.transactionClients; index++) this.#beginTransactions(index);
    this.#redis.begin(() => this.#ended);
    this.#jobs.begin(() => this.#ended);
    this.#beginMalformedInput(startUs);
    this.#beginOperator(startUs);
    this.#beginBucketChanges(startUs);
    this.#beginBackups(startUs);
  }

  /** How many requests clients gave up because of a fault, by the fault's kind. */
  get givenUp(): ReturnType<typeof sumGivenUp> {
    const patience = [...this.#impatience.values(), ...this.#jobs.impatience.values()];
    return sumGivenUp([...patience, ...this.#redis.impatience]);
  }

  /** The impatience of the client of that name; undefined if there is none. */
  impatienceOf(name: string): Impatience | undefined {
    return this.#impatience.get(name) ?? this.#redis.impatienceOf(name) ?? this.#jobs.impatience.get(name);
  }

  /**
   * Makes that many new clients access one key at once: a list, a counter, or both. Returns false if the plan has
   * neither.
   */
  crowd(id: string, clients: number): boolean {
    const counted = this.#redis.crowd(id, clients);
    if (this.#plan.structures.lists === 0) return counted;
    const wish = { kind: 'append', places: [0], amount: 1, forced: false, level: 'DC_QUORUM' } as const;
    for (let index = 0; index < clients; index++) {
      const name = `${id}.x${index}`;
      const planned = { ...wish, id: name, client: index, thinkUs: 0, named: index % 2 === 0 };
      this.#hosted(name, (io) => this.#transactionClient(name, io).work([planned], () => false));
    }
    return true;
  }

  /**
   * Starts a client that sends `node` many requests and reads nothing for `forUs`. Returns false if the node does not
   * serve.
   */
  readSlowly(id: string, node: string, requests: number, bytes: number, forUs: number): boolean {
    if (!this.#cluster.serves(node)) return false;
    const address = this.#cluster.address(node, 'redis');
    const reader = {
      node,
      address,
      token: this.#token,
      requests,
      bytes,
      forUs,
      nowUs: () => this.#world.nowUs,
    };
    this.#hosted(`${id}.slow`, async (io) => {
      const reading = await readSlowly(reader, io);
      if (reading !== undefined) this.slowReadings.push(reading);
    });
    return true;
  }

  /** `sticky-clients`: starts clients that stay with `node` for `forUs`. */
  keepTo(id: string, node: string, clients: number, forUs: number): void {
    const { datacenter } = this.#cluster.configOf(node);
    const endUs = this.#world.nowUs + forUs;
    const stopped = (): boolean => this.#ended || this.#world.nowUs >= endUs;
    for (let index = 0; index < clients; index++) {
      const name = `${id}.c${index}`;
      this.#hosted(name, (io) =>
        stayLoyal(this.#client(name, io, datacenter, node), this.#plan.keys, io, stopped),
      );
    }
  }

  /** Sends a request without sufficient credentials. Returns false if the nodes demand none. */
  askUnauthorized(id: string, node: string, params: PlanFault['params']): boolean {
    return this.#unauthenticated.ask(id, node, params, (io, task) => this.#spawn(io, id, task));
  }

  /** What each node named as its ring after the calm. */
  get rings(): readonly RingRecord[] {
    return this.#rings.records;
  }

  get unauthorized(): Pick<UnauthenticatedClients, 'records' | 'untouched'> {
    return this.#unauthenticated;
  }

  /** Clients begin no further operation. */
  end(): void {
    this.#ended = true;
  }

  /** Reads every key in every datacenter, and asks every node, until all have answered or `stopped` returns true. */
  readBack(stopped: () => boolean): void {
    this.#redis.readBack(stopped);
    this.#lookAtBuckets(stopped);
    this.#unauthenticated.lookAfter(stopped, (io, task) => this.#spawn(io, 'strangers', task));
    const datacenters = new Set(this.#plan.nodes.map((node) => node.datacenter));
    const count = this.#plan.nodes.filter(({ name }) => this.#cluster.members.includes(name)).length;
    for (const datacenter of datacenters) {
      const name = `reader-${datacenter}`;
      const io = this.#world.addHost(name).boot();
      const http = new HttpClient(io, this.#token);
      const targets = this.#targetsIn(datacenter);
      const client = this.#client(name, io, datacenter);
      this.#spawn(io, name, () => readAll(client, targets, this.#plan.keys, io, stopped));
      for (const target of targets) {
        this.#spawn(io, `ping ${target.node}`, async () => {
          this.pings.push(await pingNode(target, io, () => this.#world.nowUs, stopped));
        });
        this.#spawn(io, `ring ${target.node}`, async () => {
          await this.#rings.ask(target.node, count, {
            ...{ http, io, stopped },
            addressOf: (node) => this.#cluster.address(node, 'http'),
            nowUs: () => this.#world.nowUs,
          });
        });
        this.#spawn(io, `scrape ${target.node}`, async () => {
          const look = (): Promise<ScrapeRecord> =>
            this.#scrape({ id: 'after the calm', node: target.node }, http);
          this.scrapes.push(await untilSeen(look, io.clock, stopped));
        });
      }
    }
  }

  /**
   * Resolves and reads transactions after the calm; does nothing for a plan without any. `forgetful`: nodes
   * whose disks lost records.
   */
  finish(forgetful: readonly string[], stopped: () => boolean): void {
    const { transactionClients } = this.#plan;
    if (transactionClients === 0) return;
    const name = 'x-after';
    const io = this.#world.addHost(name).boot();
    const { members, gone } = this.#cluster;
    const client = this.#transactionClient(name, io);
    const nowUs = (): number => this.#world.nowUs;
    this.#spawn(io, name, async () => {
      const who = { members, ...gone, forgetful };
      const setup = { client, io, keys: this.#transactionKeys, ...who, nowUs, stopped };
      this.finals = await finishTransactions(setup, this.transactions.history);
    });
  }

  #beginClient(index: number): void {
    const name = `c${index}`;
    const io = this.#world.addHost(name).boot();
    const datacenters = [...new Set(this.#plan.nodes.map((node) => node.datacenter))];
    const datacenter = present(datacenters[index % datacenters.length], 'a datacenter');
    const operations = this.#plan.operations.filter((operation) => operation.client === index);
    const client = this.#client(name, io, datacenter);
    this.#impatience.set(name, client.impatience);
    this.#spawn(io, name, () => client.work(operations, () => this.#ended));
  }

  #beginTransactions(index: number): void {
    const name = `x${index}`;
    const transactions = this.#plan.transactions.filter(({ client }) => client === index);
    this.#hosted(name, (io) => {
      const client = this.#transactionClient(name, io);
      this.#impatience.set(name, client.impatience);
      return client.work(transactions, () => this.#ended);
    });
  }

  #transactionClient(name: string, io: Io): TransactionClient {
    const datacenters = [...new Set(this.#datacenters.values())];
    return new TransactionClient({
      name,
      io,
      targets: datacenters.flatMap((datacenter) => this.#targetsIn(datacenter)),
      keys: this.#transactionKeys,
      recorder: this.transactions,
      durable: this.#durable,
      datacenterOf: (node) => this.#datacenters.get(node) ?? '',
      nowUs: () => this.#world.nowUs,
      connectTimeoutUs,
      answerTimeoutUs,
      times: this.#requestTimes(),
    });
  }

  #redisLoad(): RedisLoad {
    return new RedisLoad({
      operations: this.#plan.redisOperations ?? [],
      targets: () => this.#targetsAt('redis'),
      ...this.#clientContext(answerTimeoutUs),
    });
  }

  #jobLoad(): JobLoad {
    const { datacenter } = present(this.#plan.nodes[0], 'a node');
    return new JobLoad({
      jobs: this.#plan.jobs ?? [],
      targets: () => this.#targetsAt('pb'),
      keys: () => this.#keys.of(datacenter),
      ...this.#clientContext(jobTimeoutUs),
    });
  }

  #clientContext(timeoutUs: number): ClientContext {
    return {
      nowUs: () => this.#world.nowUs,
      connectTimeoutUs,
      answerTimeoutUs: timeoutUs,
      spawn: (name, task) => this.#hosted(name, task),
    };
  }

  #targetsAt(port: ClusterPort): readonly ClientTarget[] {
    const { members } = this.#cluster;
    const nodes = this.#plan.nodes.filter(({ name }) => members.includes(name));
    return nodes.map(({ name, datacenter }) => {
      const [address, http] = [this.#cluster.address(name, port), this.#cluster.address(name, 'http')];
      return { node: name, datacenter, address, http, token: this.#token };
    });
  }

  #beginMalformedInput(startUs: number): void {
    const io = this.#world.addHost('stranger').boot();
    for (const burst of this.#plan.malformedInput) {
      this.#world.at(startUs + burst.atUs, `garbage ${burst.id}`, () => {
        const address = this.#cluster.address(burst.node, burst.listener);
        const life = (): string => this.#lifeOf(burst.node);
        const still = (): boolean => this.#cluster.host(burst.node).paused;
        this.#spawn(io, burst.id, async () => {
          this.malformedInput.push(
            await sendMalformedInput(burst, io, address, () => this.#world.nowUs, life, still),
          );
        });
      });
    }
  }

  #beginOperator(startUs: number): void {
    const io = this.#world.addHost('operator').boot();
    const http = new HttpClient(io, this.#token);
    for (const scrape of this.#plan.scrapes) {
      this.#world.at(startUs + scrape.atUs, `scrape ${scrape.id}`, () => {
        this.#spawn(io, scrape.id, async () => {
          this.scrapes.push(await this.#scrape(scrape, http));
        });
      });
    }
  }

  #beginBucketChanges(startUs: number): void {
    const { bucketChanges = [] } = this.#plan;
    if (bucketChanges.length === 0) return;
    const io = this.#world.addHost(bucketOperator).boot();
    for (const change of bucketChanges)
      this.#world.at(startUs + change.atUs, `bucket ${change.id}`, () =>
        this.#spawn(io, change.id, () => this.#buckets.change(change, io)),
      );
  }

  #beginBackups(startUs: number): void {
    const { backups = [] } = this.#plan;
    if (backups.length === 0) return;
    const io = this.#world.addHost(backupOperator).boot();
    const { datacenter } = present(this.#plan.nodes[0], 'a node');
    const operator = new BackupOperator(
      {
        ...{ cluster: this.#cluster, token: this.#token, nowUs: () => this.#world.nowUs },
        objects: new Map(this.#keys.of(datacenter).map(({ name, siblings }) => [name, siblings])),
        transactionKeys: this.#transactionKeys.all.map(({ name }) => name),
      },
      io,
    );
    this.#backups = operator;
    for (const backup of backups)
      this.#world.at(startUs + backup.atUs, `backup ${backup.id}`, () =>
        this.#spawn(io, backup.id, () => operator.take(backup)),
      );
  }

  #lookAtBuckets(stopped: () => boolean): void {
    const buckets = [...new Set((this.#plan.bucketChanges ?? []).map(markedName))];
    if (buckets.length === 0) return;
    this.#hosted(bucketReader, (io) => this.#buckets.lookAfter(buckets, io, stopped));
  }

  async #scrape(scrape: Pick<PlanScrape, 'id' | 'node'>, http: HttpClient): Promise<ScrapeRecord> {
    const address = this.#cluster.address(scrape.node, 'stats');
    const life = (): string => this.#lifeOf(scrape.node);
    const record = await scrapeNode(scrape, http, address, () => this.#world.nowUs, life);
    this.#onScraped(scrape.node);
    return record;
  }

  /** Requests after the load state no brief time: what they read must be answered. */
  #requestTimes(): RequestTimes {
    return new RequestTimes(answerTimeoutUs, this.#ended ? {} : this.#plan.settings);
  }

  /** `only`: the node that the client stays with. */
  #client(name: string, io: Io, datacenter: string, only?: string): Client {
    return new Client({
      name,
      io,
      targets: only === undefined ? this.#targetsIn(datacenter) : [this.#targetAt(only, datacenter)],
      keys: this.#keys.of(datacenter),
      recorder: this.#recorder,
      durable: this.#durable,
      // Clients wait for the syncs only where the durable copies are compared.
      syncLagUs: this.#plan.floors['durable-before-ack'] === undefined ? 0 : syncLagUs(this.#plan.settings),
      levels: levelsOf(this.#plan),
      bucketNeeds: bucketNeedsOf(this.#plan.settings),
      described: (this.#plan.jobs ?? []).length > 0,
      pacing: this.#pacing,
      nowUs: () => this.#world.nowUs,
      connectTimeoutUs,
      answerTimeoutUs,
      times: this.#requestTimes(),
    });
  }

  #targetsIn(datacenter: string): readonly ClientTarget[] {
    const { members } = this.#cluster;
    const nodes = this.#plan.nodes.filter(
      (node) => node.datacenter === datacenter && members.includes(node.name),
    );
    return nodes.map(({ name }) => this.#targetAt(name, datacenter));
  }

  #targetAt(node: string, datacenter: string): ClientTarget {
    const http = this.#cluster.address(node, 'http');
    return { node, datacenter, address: this.#cluster.address(node, 'pb'), http, token: this.#token };
  }

  #lifeOf(node: string): string {
    return this.#cluster.isUp(node) ? `life ${this.#cluster.host(node).lives}` : '';
  }

  /** Runs a task on a host of its own. */
  #hosted(name: string, task: (io: Io) => Promise<void>): void {
    const io = this.#world.addHost(name).boot();
    this.#spawn(io, name, () => task(io));
  }

  #spawn(io: Io, name: string, task: () => Promise<void>): void {
    this.#busy += 1;
    io.spawn(name, async () => {
      try {
        await task();
      } finally {
        this.#busy -= 1;
      }
    });
  }
}

/** The consistency levels that the plan's nodes are configured with. */
function levelsOf({ settings, nodes }: Plan): ClientLevels {
  const named = (name: string): ConsistencyLevel =>
    consistencyLevels.find((level) => level === settings[name]) ?? 'DC_QUORUM';
  const several = new Set(nodes.map(({ datacenter }) => datacenter)).size > 1;
  return { read: named('read_consistency'), write: named('write_consistency'), several };
}

const thinkUsMax = 40_000;
const valueBytesMax = 500;
const kinds: readonly PlanOperation['kind'][] = ['put', 'put', 'put', 'get', 'get', 'delete'];

/** Performs random operations on keys below `keyCount` until `stopped` returns true. */
export async function stayLoyal(
  client: Client,
  keyCount: number,
  { clock, random }: Pick<Io, 'clock' | 'random'>,
  stopped: () => boolean,
): Promise<void> {
  for (;;) {
    await sleep(clock, random.below(thinkUsMax));
    if (stopped()) return client.leave();
    await client.perform({
      id: '',
      client: 0,
      thinkUs: 0,
      kind: pick(random, kinds),
      key: random.below(keyCount),
      valueBytes: 16 + random.below(valueBytesMax),
      need: 'one',
      context: pick(random, ['none', 'last'] as const),
    });
  }
}

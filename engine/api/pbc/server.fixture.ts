/** The binary protocol's server over maps and a network under a test's control. */
import type { Credential } from '../../auth/credentials.ts';
import { Gate } from '../../auth/gate.ts';
import { RequestBudget } from '../session/request-budget.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { defaultContentLimits } from '../content-limits.ts';
import { defaultJobLimits } from '../../mapreduce/job.ts';
import { MapLister } from '../testing/map-lister.fixture.ts';
import { ScriptedJobs } from '../testing/scripted-jobs.fixture.ts';
import { MapBuckets } from '../testing/map-buckets.fixture.ts';
import { MapDispatcher, replicaCount } from '../testing/map-dispatcher.fixture.ts';
import { ScriptedTransactions } from '../testing/scripted-transactions.fixture.ts';
import { TallyingObserver } from '../testing/tallying-observer.fixture.ts';
import { CountingRandom, TestClock, TestLog } from '../testing/test-io.fixture.ts';
import { TestingNetwork } from '../testing/connection-pair.fixture.ts';
import type { PbcLimits } from './server.ts';
import { PbcServer } from './server.ts';
import { PbcPeer } from './peer.fixture.ts';

/** A server with everything that it works with. */
export class TestingServer {
  readonly dispatcher = new MapDispatcher();
  readonly buckets = new MapBuckets(['default', 'maps']);
  readonly lister = new MapLister();
  readonly jobs = new ScriptedJobs();
  readonly observer = new TallyingObserver();
  readonly transactions = new ScriptedTransactions();
  readonly clock = new TestClock();
  readonly log = new TestLog();
  readonly network = new TestingNetwork((highWaterBytes) => new PbcPeer(highWaterBytes));
  readonly gate: Gate;
  /** The smallest budget: large requests take turns. */
  readonly requests = new RequestBudget(256 * 1024);
  readonly server: PbcServer;
  /** Names of spawned tasks that failed. */
  readonly failed: string[] = [];
  #running = 0;

  private constructor(limits: Partial<PbcLimits>, credentials: readonly Credential[] | undefined) {
    this.gate = new Gate(this, credentials);
    this.server = new PbcServer(
      {
        io: {
          clock: this.clock,
          log: this.log,
          network: this.network,
          random: new CountingRandom(),
          spawn: (name, task) => this.#spawn(name, task),
        },
        dispatcher: this.dispatcher,
        transactions: this.transactions,
        transactionLimits: {
          operationCountMax: 4,
          bytesMax: 1000,
          content: { ...defaultContentLimits, valueBytesMax: 500 },
          knowsType: (type) => type === 'maps',
        },
        observer: this.observer,
        terms: { readLevel: 'DC_QUORUM', writeLevel: 'DC_QUORUM', replicaCount: () => replicaCount },
        gate: this.gate,
        requests: this.requests,
        limits: { ...defaultContentLimits, valueBytesMax: 10_000 },
        knowsType: (type) => type === 'maps',
        buckets: this.buckets,
        lister: this.lister,
        mapReduce: this.jobs,
        jobLimits: defaultJobLimits,
        preflist: () => ({ token: 7 as Token, nodes: ['n2' as NodeId, 'n1' as NodeId] }),
        serverInfo: { node: 'n1', version: '0.1.0' },
      },
      {
        frameBytesMax: 20_000,
        inFlightMax: 4,
        owedBytesMax: 50_000,
        messageUsMax: 60_000_000,
        takingUsMax: 30_000_000,
        connectionCountMax: 3,
        ...limits,
      },
    );
  }

  /** Starts a server with small limits; without credentials everyone has access. */
  static async start(
    limits: Partial<PbcLimits> = {},
    credentials?: readonly Credential[],
  ): Promise<TestingServer> {
    const testing = new TestingServer(limits, credentials);
    await testing.server.start('server:8087');
    return testing;
  }

  /** Connects a client. */
  join(): PbcPeer {
    return this.network.join();
  }

  /** Requests under way. */
  get running(): number {
    return this.#running;
  }

  #spawn(name: string, task: () => Promise<void>): void {
    this.#running += 1;
    task().then(
      () => (this.#running -= 1),
      () => this.failed.push(name),
    );
  }
}

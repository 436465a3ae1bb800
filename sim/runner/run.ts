/**
 * Runs one plan: starts the cluster, injects the storm's faults while clients work, heals everything, lets the cluster
 * settle, and makes the checks. All of it happens in virtual time; the same plan gives the same run.
 */
import { levelReach } from '../evidence/level-reach.ts';
import { syncLagOf } from '../evidence/sync-lag.ts';
import type { Token } from '../../engine/base/ids.ts';
import { expositionReader } from '../check/metrics/exposition-text.ts';
import type { StopRecord } from '../check/bounds/leaks.ts';
import { diskLossesOf } from '../check/objects/disk-losses.ts';
import { seedNameOf } from '../plan/former-names.ts';
import { boundsOf, bytesHeldMax } from './bounds.ts';
import type { Plan } from '../plan/plan.ts';
import { isRepairedFirst } from '../plan/plan.ts';
import { mustLeaveMembers } from '../plan/survivors.ts';
import { nodesExcepted, sparesConnections } from '../plan/swarm/fault-contract.ts';
import { DurableTags } from '../workload/durable-tags.ts';
import { DurableFlushes, hasEpochs } from '../workload/durable-flushes.ts';
import { DurableValues } from '../workload/durable-values.ts';
import { HistoryRecorder } from '../workload/history-recorder.ts';
import { answerTimeoutUs, Load } from '../workload/workload.ts';
import { branchesLeft, recordsRemembered } from '../observe/branches-left.ts';
import { intactCopies, StoreDumps, withBuriedKeys } from '../observe/store-dump.ts';
import { TransactionSteps, tracesSteps } from '../observe/transaction-steps.ts';
import { ExchangeObserver } from '../observe/exchange-observer.ts';
import { RunObserver } from '../observe/observer.ts';
import { CoverageObserver } from '../coverage/coverage-observer.ts';
import { Cluster } from '../world/cluster/cluster.ts';
import { typesAtRunTime } from '../world/cluster/node-config.ts';
import { worldTokens } from '../world/cluster/world-credentials.ts';
import { World } from '../world/world.ts';
import { TypeMaker } from './type-maker.ts';
import { workFiles } from '../workload/work-modules.ts';
import { DiskHistory } from '../observe/disk-history.ts';
import { Faults } from '../faults/faults.ts';
import { startsOf, stopsOf } from './starts.ts';
import { OperatorWork } from '../workload/operator-work.ts';
import { ModuleWork } from '../workload/module-work.ts';
import { Samples } from '../observe/samples.ts';
import { blameFor } from './simulator-fault.ts';
import { SnapshotSaves } from '../observe/snapshot-saves.ts';
import { Monitor } from '../observe/monitor.ts';
import { countOutcomes } from './result.ts';
import type { RunOutcome, RunSettings } from './run-outcome.ts';
import type { Death, ReplicaDump, ReplicaEvidence } from '../check/objects/convergence.ts';
import {
  convergenceRow,
  HintlessDeaths,
  keysInFlight,
  noHintlessDeaths,
} from '../check/objects/convergence.ts';
import type { RunSize } from '../check/invariant.ts';
import type { RunEvidence } from '../check/invariants.ts';
import { grownFloors, needsAny, reportsOf } from '../check/invariants.ts';
import type { SnapshotRejectionRecord } from '../check/anti-entropy/snapshot-rejection.ts';
import type { BranchesLeft, TransactionFindings } from '../check/transactions/transactions.ts';
import type { RecordsKept } from '../check/transactions/remembered.ts';
import { transactionFindings } from '../check/transactions/transactions.ts';
import { attemptsMax, firstBalance } from '../workload/transaction-client.ts';
import { LockstepError } from '../../engine/base/errors.ts';
import { messageVersions } from '../../engine/peer/wire/versions.ts';

/** Most events of a run: beyond them it is aborted with the verdict `unknown`. */
const eventsMax = 20_000_000;

/** Time limit of the nodes' start, and of their stop, in virtual microseconds. */
const startUsMax = 10_000_000;
const stopUsMax = 30_000_000;

/**
 * The nodes of a new cluster find each other within this time, in virtual microseconds; the storm starts afterwards.
 */
export const acquaintanceUs = 500_000;

/** Interval at which the replicas are compared during repair, and the limit of the repair, in virtual microseconds. */
const dumpEveryUs = 500_000;
const convergenceUsMax = 60_000_000;
/** Time limit until the cluster is quiet, in virtual microseconds. */
const quietUsMax = 60_000_000;

/** Time limit until no branch record is left, in virtual microseconds. */
const forgetUsMax = 20_000_000;
/** A run waits until nodes drop outcomes if they remember them no longer than this, in virtual microseconds. */
const retentionUsMax = 10_000_000;

/** A transaction client's attempts, the reads before them and the pauses between them, in virtual microseconds. */
const answerUsMax = (attemptsMax + 4) * 2 * answerTimeoutUs;

/** A hint that a coordinator writes is durable within this time, in virtual microseconds, slow disks included. */
const hintUsMax = 1_000_000;

/**
 * Requests that are in progress when the settling ends have their answer or deadline within this time, in virtual
 * microseconds.
 */
const lastWordsUs = 5_000_000;

/**
 * Runs the plan. Throws `PlanInvalid` if its settings are no configuration or a datacenter could lose its last member,
 * `SimulatorFault` if a run cannot continue.
 */
export async function runPlan(plan: Plan, settings: RunSettings = {}): Promise<RunOutcome> {
  mustLeaveMembers(plan);
  try {
    return await performRun(plan, settings);
  } catch (error) {
    throw blameFor(plan, error);
  }
}

async function performRun(plan: Plan, settings: RunSettings): Promise<RunOutcome> {
  const run = new Run(plan, settings);
  await run.begin();
  await run.storm();
  await run.calm();
  if (plan.repairedBy === 'sweeps') await run.converge();
  await run.settle();
  if (plan.repairedBy === undefined) await run.converge();
  await run.lookAgain();
  await run.quieten();
  await run.forget();
  await run.stop();
  return run.outcome();
}

class Run {
  readonly #plan: Plan;
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #faults: Faults;
  readonly #disks: DiskHistory;
  readonly #load: Load;
  readonly #modules: ModuleWork;
  readonly #operators: OperatorWork;
  readonly #monitor: Monitor;
  /** Undefined if the plan asks for nothing that it observes, or with `unobserved`. */
  readonly #observer: RunObserver | undefined;
  /** Undefined for a plan without transactions and operators' decisions, or with `unobserved`. */
  readonly #steps: TransactionSteps | undefined;
  readonly #exchanges: ExchangeObserver | undefined;
  /** Undefined with `unobserved` or `uncovered`. */
  readonly #coverage: CoverageObserver | undefined;
  /** Undefined for a plan without pipelines. */
  readonly #values: DurableValues | undefined;
  /** Undefined if no client flushes a database. */
  readonly #flushes: DurableFlushes | undefined;
  readonly #recorder = new HistoryRecorder();
  readonly #trace: string[] = [];
  readonly #observed: boolean;
  /** Nodes that did not stop at the end. */
  readonly #stuck: StopRecord[] = [];
  readonly #rejections: SnapshotRejectionRecord[] = [];
  readonly #saves: SnapshotSaves;
  readonly #deaths: Death[] = [];
  #dumps: readonly ReplicaDump[] = [];
  #left: readonly BranchesLeft[] = [];
  #kept: readonly RecordsKept[] = [];
  readonly #looks: Samples;
  #unfinished = '';

  constructor(plan: Plan, settings: RunSettings) {
    this.#plan = plan;
    this.#observed = settings.unobserved !== true;
    const record = (line: string): void => void this.#trace.push(line);
    this.#world = new World({
      seed: `${seedNameOf(plan.scenario)}/${plan.seed}`,
      // The named steps of transactions are logged at level trace.
      ...(tracesSteps(plan) ? { logLevel: 'trace' } : {}),
      wasm: { files: workFiles },
      ...(settings.trace === true ? { record } : {}),
    });
    for (const { host, packet } of plan.steadyFrom ?? []) this.#world.network.steady([host], packet);
    this.#world.network.steady(plan.steadyHosts ?? []);
    const paces = (plan.paces ?? []).toSorted((left, right) => left.packet - right.packet);
    for (const name of new Set(paces.map(({ host }) => host)))
      this.#world.network.pace(
        name,
        paces.filter(({ host }) => host === name),
      );
    this.#cluster = makeCluster(this.#world, plan);
    settings.attach?.(this.#world, this.#cluster);
    const token = plan.settings['credentials'] === undefined ? undefined : worldTokens.admin;
    this.#modules = new ModuleWork(this.#world, this.#cluster, token);
    this.#operators = operatorsOf(this.#world, this.#cluster, plan, token);
    this.#exchanges =
      this.#observed && needsAny(plan.floors, 'exchanges', 'accounts')
        ? new ExchangeObserver(this.#world, this.#cluster)
        : undefined;
    const watched = this.#observed ? this.#cluster.names : [];
    this.#disks = new DiskHistory(this.#world, this.#cluster, watched);
    this.#world.trace.on('aae.snapshot.rejected', ({ host, atUs, fields }) => {
      this.#rejections.push({ node: host, atUs, reason: String(fields['reason']) });
    });
    this.#saves = new SnapshotSaves(this.#world, this.#cluster);
    this.#world.trace.on('backup.lease.ended', ({ host, fields }) =>
      this.#load.backupLeaseEnded(host, String(fields['id'])),
    );
    this.#world.trace.on('host.crashed', ({ host: node, atUs }) => void this.#deaths.push({ node, atUs }));
    const pipes = plan.redisOperations?.some(({ kind }) => kind === 'pipeline' || kind === 'sets') === true;
    this.#values = pipes
      ? new DurableValues(this.#cluster.ring, plan, (node) => this.#cluster.hasReturned(node))
      : undefined;
    this.#flushes = hasEpochs(plan) ? new DurableFlushes(plan) : undefined;
    const durable = new DurableTags((node) => this.#cluster.hasReturned(node));
    for (const name of watched) {
      const { disk } = this.#cluster.host(name);
      disk.onDurable(({ path, image, from, to }) => {
        durable.becameDurable(name, image, from, to);
        this.#values?.becameDurable(name, path, image, from, to, this.#world.nowUs);
        this.#flushes?.becameDurable(name, path, image, from, to, this.#world.nowUs);
      });
    }
    const exchanges = this.#exchanges;
    const observer =
      needsAny(plan.floors, 'accounts') && exchanges !== undefined
        ? new RunObserver(this.#world, this.#cluster, plan, exchanges)
        : undefined;
    this.#looks = new Samples(this.#world, this.#cluster, observer);
    this.#observer = observer;
    const onAltered = (node: string, bytes: Buffer): void => {
      exchanges?.altered(node);
      observer?.antiEntropy.altered(node, bytes);
    };
    this.#faults = new Faults(
      this.#world,
      this.#cluster,
      this.#modules,
      this.#operators,
      () => this.#load,
      onAltered,
    );
    if (plan.faults.some(({ kind }) => kind === 'membership-change')) exchanges?.ringMoves();
    this.#monitor = new Monitor(this.#world, this.#cluster, plan, this.#faults, this.#observed);
    const onScraped = (node: string): void => this.#looks.at(node, 'running');
    this.#steps = this.#stepsOf(plan);
    this.#load = new Load(this.#world, this.#cluster, plan, this.#recorder, durable, onScraped);
    this.#coverage = this.#observed && settings.uncovered !== true ? this.#cover() : undefined;
  }

  #stepsOf({ transactionClients, faults }: Plan): TransactionSteps | undefined {
    // The steps also say what an operator decides of a Redis command's transaction.
    const isFollowed = transactionClients > 0 || faults.some(({ kind }) => kind === 'heuristic-decision');
    return this.#observed && isFollowed ? new TransactionSteps(this.#world, this.#cluster) : undefined;
  }

  #cover(): CoverageObserver {
    const coverage = new CoverageObserver(this.#world, this.#cluster, this.#recorder);
    this.#faults.onStruck((fault) => coverage.struck(fault));
    return coverage;
  }

  async begin(): Promise<void> {
    const { members } = this.#cluster;
    for (const name of members) this.#cluster.start(name);
    await this.#until(() => members.every((name) => this.#cluster.serves(name)), startUsMax);
    await this.#pass(acquaintanceUs);
    if (this.#plan.settings[typesAtRunTime] === true) {
      const made = new TypeMaker(this.#world, this.#cluster).make();
      await this.#until(() => made.over, startUsMax);
    }
  }

  async storm(): Promise<void> {
    const startUs = this.#world.nowUs;
    this.#world.trace.note('run.storm.began');
    this.#faults.arrange(this.#plan.faults, startUs);
    this.#load.begin(startUs);
    this.#looks.atRandom(this.#plan.stormUs);
    await this.#pass(this.#plan.stormUs);
  }

  async calm(): Promise<void> {
    this.#world.trace.note('run.calm.began');
    this.#faults.calm();
    this.#world.network.unpace();
    this.#load.end();
    await this.#pass(this.#plan.calmUs);
  }

  async settle(): Promise<void> {
    this.#world.trace.note('run.settling.began');
    this.#monitor.settles();
    const endUs = this.#world.nowUs + this.#plan.settleUsMax;
    // A node that is asked while it leaves stops before it has answered.
    await this.#until(() => this.#load.idle && !this.#cluster.hasLeaving, this.#plan.settleUsMax);
    this.#load.readBack(() => this.#world.nowUs >= endUs);
    this.#load.finish(this.#forgetful(), () => this.#world.nowUs >= endUs);
    if (needsAny(this.#plan.floors, 'listed-modules'))
      this.#modules.readBack(() => this.#world.nowUs >= endUs);
    this.#operators.readBack(() => this.#world.nowUs >= endUs);
    await this.#until(
      () => this.#load.idle && this.#modules.idle && this.#operators.idle,
      this.#plan.settleUsMax + lastWordsUs,
    );
  }

  /**
   * Lets the replicas repair themselves until they are equal or the time is up, and records their dumps then. Members
   * that leave go first: the copies of those that are left count.
   */
  async converge(): Promise<void> {
    if (!needsAny(this.#plan.floors, 'equal-replicas')) return;
    this.#world.trace.note('run.converging.began');
    const endUs = this.#world.nowUs + convergenceUsMax;
    const dumps = new StoreDumps();
    for (;;) {
      this.#dumps = dumps.take(this.#cluster, this.#world.nowUs);
      const isEqual = convergenceRow.check?.({ replicas: this.#replicas() })?.ok === true;
      if ((isEqual && !this.#cluster.hasLeaving) || this.#world.nowUs >= endUs || this.#unfinished !== '')
        return;
      await this.#pass(dumpEveryUs);
    }
  }

  /** Runs jobs over everything, once the replicas have had their time to become equal. */
  async lookAgain(): Promise<void> {
    if (this.#plan.jobs === undefined || this.#unfinished !== '') return;
    const endUs = this.#world.nowUs + this.#plan.settleUsMax;
    this.#load.lookAtAll(() => this.#world.nowUs >= endUs);
    await this.#until(() => this.#load.idle, this.#plan.settleUsMax + lastWordsUs);
  }

  /** Lets the nodes reconnect and hand over their hints, until they are quiet or the time is up. */
  async quieten(): Promise<void> {
    if (needsAny(this.#plan.floors, 'quiet-cluster')) {
      const endUs = this.#world.nowUs + quietUsMax;
      while (!this.#monitor.isQuiet() && this.#world.nowUs < endUs && this.#unfinished === '') {
        await this.#pass(dumpEveryUs);
      }
      this.#monitor.weighReads();
    }
    this.#world.after(1, 'look', () => this.#looks.atAll('settled'));
    await this.#pass(1);
    if (this.#observed) this.#monitor.weighHints();
  }

  /**
   * Lets the nodes drop finished transactions until no branch record is left or the time is up, and records the rest.
   */
  async forget(): Promise<void> {
    if (this.#plan.transactionClients === 0 || !needsAny(this.#plan.floors, 'finished-branches')) return;
    const endUs = this.#world.nowUs + forgetUsMax;
    for (;;) {
      this.#left = branchesLeft(this.#cluster, this.#world.nowUs);
      // It takes as long with `unobserved`.
      const none = this.#left.every(({ branches }) => branches.length === 0);
      if (none || this.#world.nowUs >= endUs || this.#unfinished !== '') break;
      await this.#pass(dumpEveryUs);
    }
    await this.#outlastRetention();
  }

  /** Where nodes remember transactions for a short time alone: waits until they need none, and records the rest. */
  async #outlastRetention(): Promise<void> {
    const retentionUs = this.#retentionUs ?? Infinity;
    if (retentionUs > retentionUsMax) return;
    const endUs = this.#world.nowUs + retentionUs + forgetUsMax;
    do {
      await this.#pass(dumpEveryUs);
      this.#kept = recordsRemembered(this.#cluster, this.#world.nowUs);
    } while (
      this.#kept.some(({ names }) => names.length > 0) &&
      this.#world.nowUs < endUs &&
      this.#unfinished === ''
    );
  }

  /** How long nodes remember outcomes at least; undefined if a number of newer ones may replace them. */
  get #retentionUs(): number | undefined {
    const { settings } = this.#plan;
    if (settings['transaction_remembered_max'] !== undefined) return undefined;
    const seconds = settings['transaction_retention_seconds'];
    return seconds === undefined ? undefined : Number(seconds) * 1_000_000;
  }

  #replicas(): ReplicaEvidence {
    const ring = this.#cluster.owners();
    return {
      dumps: this.#dumps,
      ownersOf: (token) => ring.placement(token as Token).map(({ node }) => node),
      inFlight: keysInFlight(this.#recorder.history, this.#dumps[0]?.atUs ?? 0),
      deaths: this.#hintlessDeaths(),
    };
  }

  /**
   * Where hints alone repair, a dying coordinator loses its knowledge of missed replicas for which it has no hint yet.
   */
  #hintlessDeaths(): HintlessDeaths {
    if (this.#plan.repairedBy === undefined) return noHintlessDeaths;
    const { members } = this.#cluster;
    const configs = members.map((name) => this.#cluster.configOf(name));
    if (configs.some(({ aaeEnabled }) => aaeEnabled)) return noHintlessDeaths;
    const patienceMs = Math.max(...configs.map(({ requestTimeoutMs }) => requestTimeoutMs));
    return new HintlessDeaths(this.#recorder.history, this.#deaths, patienceMs * 1000 + hintUsMax, members);
  }

  async stop(): Promise<void> {
    if (this.#unfinished !== '') return;
    this.#world.trace.note('run.stop.began');
    const left = await this.#cluster.stopAll(stopUsMax);
    for (const [node, leaks] of left)
      if (leaks === 'stuck') this.#stuck.push({ node, atUs: this.#world.nowUs, stopped: false, left: [] });
  }

  outcome(): RunOutcome {
    const { history } = this.#recorder;
    const done = {
      history,
      transactions: this.#load.transactions.history,
      redis: this.#load.redis,
      jobs: this.#load.jobs,
      listings: this.#load.listings,
    };
    return {
      reports: this.#observed ? reportsOf(this.#evidence(), this.#plan.floors) : [],
      digest: this.#world.digest(),
      events: this.#world.eventCount,
      nodeEvents: this.#world.eventCountOf(this.#cluster.names),
      virtualUs: this.#world.nowUs,
      outcomes: countOutcomes([...history, ...done.transactions]),
      ...done,
      bucketChanges: this.#load.bucketChanges,
      backups: this.#load.backups,
      reached: this.#coverage?.reached(this.#plan, done) ?? [],
      accounts: this.#observer?.accounts ?? [],
      floors: grownFloors(this.#plan.floors, this.#size()),
      struck: { ...this.#faults.struck, ...this.#load.givenUp },
      missed: this.#faults.missed,
      unfinished: this.#unfinished,
      trace: this.#trace,
    };
  }

  #size(): RunSize {
    const { perLife } = this.#looks;
    return {
      samples: perLife.reduce((sum, count) => sum + count, 0),
      incarnations: perLife.length,
      scrapes: this.#load.scrapes.filter(({ seen }) => seen !== undefined).length,
    };
  }

  /** Everything that the checks read. */
  #evidence(): RunEvidence {
    const { history } = this.#recorder;
    const load = this.#load;
    const known = new Map(this.#cluster.names.map((name) => [name, boundsOf(this.#cluster.configOf(name))]));
    const { exchanges = [], leaves = [], successions = [], sweeps = [] } = this.#exchanges ?? {};
    const syncLag = syncLagOf(this.#plan.settings, this.#cluster.lives());
    return {
      ...this.#monitor.evidence(load.idle ? 0 : 1),
      history,
      transactions: this.#transactions(),
      redis: load.redis,
      pipelineCopies: this.#values,
      flushCopies: this.#flushes,
      levelReach: levelReach(this.#plan.settings, isRepairedFirst(this.#plan)),
      flushesByKey: startsWithOlderBuilds(this.#plan),
      syncLag,
      clockErrors: new Map(
        this.#cluster.names.map((name) => [name, this.#cluster.host(name).clock.error] as const),
      ),
      jobs: load.jobs,
      listings: load.listings,
      diskLosses: diskLossesOf(
        this.#disks.losses,
        isRepairedFirst(this.#plan),
        intactCopies(this.#dumps, this.#replicas().ownersOf),
        syncLag,
      ),
      corruption: this.#disks.records(),
      replicas: { ...this.#replicas(), dumps: withBuriedKeys(this.#dumps, this.#disks.damagedNodes) },
      exchanges: { exchanges, leaves, successions, sweeps },
      snapshots: {
        tampers: this.#faults.tampers,
        rejections: this.#rejections,
        saves: this.#saves.records,
        damaged: nodesExcepted(this.#plan.faults, 'snapshot-rejection'),
        gone: new Set(this.#cluster.gone.lost),
      },
      malformedInput: {
        bursts: load.malformedInput,
        nodes: load.pings,
        starts: startsOf(this.#cluster, this.#faults.foreignStarts, this.#disks, (atUs, version) =>
          this.#operators.mayRefuseBuild(atUs, version),
        ),
      },
      rings: load.rings,
      members: this.#cluster.members,
      accounts: this.#observer?.accounts ?? [],
      answerTimes: this.#observer?.answerTimes ?? [],
      samplesMissed: this.#observer?.missed ?? 0,
      scrapes: load.scrapes,
      reader: expositionReader(),
      stops: [...stopsOf(this.#cluster), ...this.#stuck],
      boundsOf: (node) => known.get(node) ?? [],
      slowReadings: load.slowReadings,
      bytesHeldMax: bytesHeldMax(),
      modules: this.#modules.records,
      clockUses: this.#clockUses(),
      incarnations: this.#cluster.lives(),
      failures: [
        ...this.#world.failures.map(({ atUs, host, what, error }) => ({
          atUs,
          text: `${host === '' ? 'the world' : host}: ${what}: ${error instanceof Error ? error.message : String(error)}`,
        })),
        ...this.#disks.unfounded,
      ],
      bucketChanges: load.bucketChanges,
      backups: load.backups,
      leases: this.#operators.leases,
      upgrades: this.#operators.upgrades,
      unauthorized: {
        ...{ requests: load.unauthorized.records, untouched: load.unauthorized.untouched },
        changed: this.#operators.credentialAnswers,
        steady: sparesConnections(this.#plan.faults),
      },
    };
  }

  #transactions(): TransactionFindings | undefined {
    if (this.#steps === undefined) return undefined;
    const { finals, transactions } = this.#load;
    return transactionFindings({
      steps: this.#steps.steps,
      history: transactions.history,
      heard: finals.heard,
      dangling: finals.dangling,
      liveness: finals.liveness,
      left: this.#left,
      kept: this.#kept,
      decisions: this.#operators.decisions,
      forgotten: finals.forgotten,
      retentionUs: this.#retentionUs,
      accounts: this.#plan.structures.accounts,
      firstBalance,
      answerUsMax,
      ...this.#cluster.gone,
      wipes: this.#faults.wipes,
      shortened: this.#disks.shortened,
      forgetful: this.#forgetful(),
    });
  }

  /** Nodes of which transactions may wait for an operator, because of what their disks lost. */
  #forgetful(): readonly string[] {
    const wiped = this.#faults.wipes.map(({ node }) => node);
    return [...new Set([...wiped, ...nodesExcepted(this.#plan.faults, 'no-dangling-transactions')])];
  }

  /** Clients have clocks of their own; their use is not checked. */
  #clockUses(): ReturnType<World['clockUses']> {
    const { names } = this.#cluster;
    return this.#world.clockUses().filter(({ node }) => names.includes(node));
  }

  /** Lets `us` of virtual time pass. */
  async #pass(us: number): Promise<void> {
    const endUs = this.#world.nowUs + us;
    // An event at the end of the phase; without one, a quiet world would end it early.
    this.#world.at(endUs, 'phase', () => undefined);
    await this.#until(() => this.#world.nowUs >= endUs, us);
  }

  /** Lets time pass until the goal is reached or the budget is spent; aborts the run if it takes too many events. */
  async #until(goal: () => boolean, budgetUs: number): Promise<void> {
    const world = this.#world;
    if (this.#unfinished !== '' || goal()) return;
    await world.runUntil(() => goal() || world.eventCount > eventsMax, budgetUs);
    if (world.eventCount > eventsMax) this.#unfinished = `the run was broken off after ${eventsMax} events`;
  }
}

/** A cluster whose builds change has begun with the older one: there is no way back from a new cluster's version. */
function startsWithOlderBuilds({ faults }: Plan): boolean {
  return faults.some(({ kind }) => kind === 'build-change' || kind === 'upgrade');
}

function firstBuild(plan: Plan): Plan['settings'] {
  return startsWithOlderBuilds(plan) ? { peer_version: messageVersions.min } : {};
}

function operatorsOf(world: World, cluster: Cluster, plan: Plan, token: string | undefined): OperatorWork {
  return new OperatorWork({
    ...{ world, cluster, token, members: cluster.members },
    first: Number({ ...firstBuild(plan), ...plan.settings }['peer_version'] ?? messageVersions.max),
    forgetful: [...nodesExcepted(plan.faults, 'hint-delivery')],
  });
}

/** A cluster with the plan's settings. Throws `PlanInvalid` for settings that the configuration refuses. */
function makeCluster(world: World, plan: Plan): Cluster {
  try {
    return new Cluster(world, plan.nodes, { ...firstBuild(plan), ...plan.settings });
  } catch (cause) {
    if (!(cause instanceof LockstepError) || cause.code !== 'ConfigInvalid') throw cause;
    throw new LockstepError('PlanInvalid', `plan.settings: ${cause.message}`, { cause });
  }
}

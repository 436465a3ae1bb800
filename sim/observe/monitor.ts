/**
 * Records facts of a run that neither clients nor metrics show: what nodes thought of their peers, which faults
 * affected which node, which node answered which on the wire, and which dots lie on which disk.
 */
import type { Token } from '../../engine/base/ids.ts';
import { Ring } from '../../engine/cluster/ring/ring.ts';
import type { StatsSnapshot } from '../../engine/metrics/snapshot.ts';
import type { Sample } from '../../engine/metrics/family.ts';
import type { DetectorDisturbance } from '../check/cluster/failure-detector.ts';
import type { HintBalance } from '../check/disks/hints.ts';
import type { TransferRecords } from '../check/disks/transfers.ts';
import type { ForbiddenStart } from '../check/cluster/identity.ts';
import type { StandbyPeriod } from '../check/cluster/standby.ts';
import type { QuietRecord } from '../check/cluster/quiet.ts';
import { isQuiet } from '../check/cluster/quiet.ts';
import type { IncarnationStart, OpinionMove } from '../evidence/opinions.ts';
import { Opinions } from '../evidence/opinions.ts';
import type { RunEvidence } from '../check/invariants.ts';
import { needsAny } from '../check/invariants.ts';
import { pruningsOf } from '../evidence/prunings.ts';
import { siblingContexts } from '../world/cluster/node-config.ts';
import { readTermsOf } from './read-terms.ts';
import type { ReadTerms } from '../check/protocols/redis-reads.ts';
import type { Plan } from '../plan/plan.ts';
import { hidesAnswers, hinderedInReads, hinderedNodes, nodesExcepted } from '../plan/swarm/fault-contract.ts';
import { ClaimObserver } from './claim-observer.ts';
import { PrunedEntries } from './context-pruning.ts';
import { CleanupPace } from './cleanup-pace.ts';
import { DateObserver } from './date-observer.ts';
import { GreetingObserver } from './greeting-observer.ts';
import { HandoverObserver } from './handover-observer.ts';
import { HintSends } from './hint-sends.ts';
import { HintAges } from './hint-ages.ts';
import type { DiskExceptions, Owners } from './object-observer.ts';
import { ObjectObserver } from './object-observer.ts';
import { ReadMemoryObserver } from './read-memory-observer.ts';
import { RouteObserver } from './route-observer.ts';
import { StoreSyncs } from './store-syncs.ts';
import { SyncedRecords } from './synced-records.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';
import type { Faults } from '../faults/faults.ts';
import type { FaultKind } from '../faults/fault-table.ts';
import { answerTimeoutUs } from '../workload/workload.ts';

/** Peer states by their code in the metric (spec: peer_state_current). */
const states: readonly string[] = ['UNKNOWN', 'JOINING', 'NORMAL', 'STANDBY', 'DOWN', 'RESET', 'LEAVING'];

/** Time that a node needs to recover after its start or after a period of silence, in virtual microseconds. */
const recoveryUs = 5_000_000;
/** Allowance for a message's way and for the interval at which nodes form their opinions, in virtual microseconds. */
const slackUs = 1_000_000;
/** Defaults of the settings that determine how long a node tolerates silence (engine/config/keys.ts). */
/** Events of a node that asks a peer whose gossip carries another digest, and for what it asks. */
const askingEvents = [
  ['props.fetch.began', 'bucket properties'],
  ['wasm.compare.began', 'modules'],
] as const;
/** In so many rounds of gossip without a question a cluster counts as agreed. */
const askingRounds = 3;
const detectorDefaults = { phi_threshold_milli: 8000, phi_mean_ms_min: 1000, gossip_interval_ms: 1000 };
const intervalsMax = 5;
/** Room for all hints of a run. */
const hintRoomBytes = 64 * 1024 * 1024;
/** Kinds after which other nodes own a key. */
const movingKinds: readonly FaultKind[] = [
  'membership-change',
  'permanent-node-loss',
  'removed-node-restart',
];

/** The facts of a run, under the names by which the checks take them. */
export type MonitorEvidence = Pick<
  RunEvidence,
  | 'dots'
  | 'coordinated'
  | 'prunings'
  | 'dates'
  | 'readAnswers'
  | 'opinions'
  | 'nodes'
  | 'undisturbed'
  | 'quietFromUs'
  | 'hindered'
  | 'redisReads'
  | 'identities'
  | 'greetings'
  | 'forbiddenStarts'
  | 'disturbances'
  | 'horizonUs'
  | 'quiet'
  | 'readMemory'
  | 'standbyPeriods'
  | 'hints'
  | 'hintBalances'
  | 'transfers'
  | 'claims'
>;

/** Follows one run from its start and records the facts that its checks need. */
export class Monitor {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #plan: Plan;
  readonly #faults: Faults;
  readonly #dates: DateObserver;
  readonly #objects: ObjectObserver;
  readonly #synced = new SyncedRecords();
  readonly #pruned: PrunedEntries;
  readonly #handovers: HandoverObserver;
  readonly #pace: CleanupPace;
  readonly #sends: HintSends;
  readonly #greetings: GreetingObserver;
  readonly #claims: ClaimObserver;
  readonly #routes: RouteObserver;
  readonly #readRoom: ReadMemoryObserver;
  readonly #moves: OpinionMove[] = [];
  readonly #begins: IncarnationStart[] = [];
  readonly #absences: DetectorDisturbance[] = [];
  /** Virtual time since when each host has been silent. */
  readonly #silent = new Map<string, number>();
  /** Nodes that have left durably; the cluster counts one as a member until its process has ended. */
  readonly #left = new Set<string>();
  /** The ring that each node's incarnation has, as its log names the members. */
  readonly #rings = new Map<string, Ring>();
  #quiet: readonly QuietRecord[] = [];
  #settledUs = Infinity;
  /** What each node last asked a peer for because of a digest in gossip, and when. */
  readonly #asked = new Map<string, { readonly what: string; readonly atUs: number }>();
  #balances: readonly HintBalance[] = [];

  /** With `observed` false the monitor only answers `isQuiet`, on which the run's phases depend; it records no facts. */
  constructor(world: World, cluster: Cluster, plan: Plan, faults: Faults, observed = true) {
    this.#world = world;
    this.#cluster = cluster;
    this.#plan = plan;
    this.#faults = faults;
    const nowUs = (): number => world.nowUs;
    this.#dates = new DateObserver(nowUs);
    const owners: Owners = {
      replacing: (peer, token) => {
        if (cluster.members.includes(peer) && !this.#left.has(peer)) return undefined;
        const present = cluster
          .owners()
          .members.filter(({ node }) => !this.#left.has(node) && this.#hasJoined(node));
        return new Ring(present).placement(token as Token).map(({ node }) => node);
      },
      seenBy: (host, token) =>
        (this.#rings.get(host) ?? cluster.ring).placement(token as Token).map(({ node }) => node),
    };
    this.#pace = new CleanupPace(nowUs, (host) => cluster.configOf(host).transferBytesPerSecond);
    this.#pruned = new PrunedEntries((host) => cluster.configOf(host).bucketTypes);
    this.#objects = new ObjectObserver(
      nowUs,
      owners,
      needsAny(plan.floors, 'dates') ? this.#dates : undefined,
      {
        mayBeUnreadable:
          nodesExcepted(plan.faults, 'causality').size > 0 ||
          plan.faults.some(({ kind }) => kind === 'read-error'),
        forgetful: nodesExcepted(plan.faults, 'hint-delivery'),
        hintAges: this.#hintAges(),
        removed: (host, bytes) => this.#pace.removed(host, bytes),
        pruned: this.#pruned,
        ...this.#spread(),
      },
    );
    const forgetful = nodesExcepted(plan.faults, 'hint-delivery');
    this.#handovers = new HandoverObserver(nowUs, this.#objects, forgetful);
    this.#sends = this.#hintSends(forgetful, owners);
    const sends = needsAny(plan.floors, 'disk-records') ? this.#sends : undefined;
    this.#greetings = new GreetingObserver(nowUs, (host) => cluster.host(host).disk);
    const isNode = (host: string): boolean => cluster.names.includes(host);
    this.#claims = new ClaimObserver(nowUs, (host) => this.#rings.get(host) ?? cluster.ring);
    const listeners = { greetings: this.#greetings, sends, claims: this.#claims };
    this.#routes = new RouteObserver(nowUs, isNode, listeners);
    this.#readRoom = new ReadMemoryObserver(world, cluster);
    this.#followQuestions();
    if (!observed) return;
    if (needsAny(plan.floors, 'dates')) this.#watchClocks();
    // Where contexts are pruned, the checks of values read need to know which.
    const follows = needsAny(plan.floors, 'disk-records') || siblingContexts in plan.settings;
    if (follows) this.#watchDisks();
    if (follows || needsAny(plan.floors, 'routes')) this.#watchRingChanges();
    if (needsAny(plan.floors, 'routes')) this.#watchRoutes();
    this.#listen();
  }

  #watchRoutes(): void {
    const altered = (host: string, path: string): void => this.#greetings.altered(host, path);
    for (const name of this.#cluster.names) this.#cluster.host(name).disk.watch({ altered });
    this.#world.network.watch(this.#routes.watcher);
    const { trace } = this.#world;
    trace.on('xa.p.vote.sent', ({ host, fields }) => {
      if (fields['vote'] === 'commit') this.#claims.promised(host, String(fields['xid']));
    });
    trace.on('xa.p.applied', ({ host, fields }) => this.#claims.promised(host, String(fields['xid'])));
  }

  #watchDisks(): void {
    const [world, cluster] = [this.#world, this.#cluster];
    for (const name of cluster.names) cluster.host(name).disk.watch(this.#objects.watcher);
    world.trace.on('host.booted', ({ host }) => {
      if (!cluster.names.includes(host)) return;
      // What a process that died has not synced is there still, and what it has cut off is gone.
      this.#objects.relearn(host, cluster.host(host).disk.copy().files);
      this.#handovers.started(host);
      this.#pace.started(host);
    });
    const syncs = new StoreSyncs(world);
    world.trace.on('store.failed', ({ host }) => this.#handovers.failed(host, syncs.unsyncedSinceUs(host)));
    world.trace.on('store.damage.found', ({ host, fields }) => {
      // An operator's copy of a store may be damaged, too.
      if (!cluster.names.includes(host)) return;
      const from = Number(fields['offset']);
      this.#objects.damaged(host, String(fields['path']), from, from + Number(fields['bytes']));
    });
    world.trace.on('store.segments.merged', ({ host }) => {
      if (cluster.names.includes(host)) this.#objects.merged(host, cluster.host(host).disk.copy().files);
    });
    world.trace.on('replica.context.pruned', (event) => this.#pruned.logged(event));
    this.#watchSyncs();
    world.trace.on('store.tail.cut', ({ host, fields }) => {
      if (!cluster.names.includes(host)) return;
      const { files } = cluster.host(host).disk.copy();
      this.#objects.cut(host, String(fields['path']), Number(fields['offset']), files);
    });
    for (const name of ['host.crashed', 'host.stopped', 'host.paused', 'node.stopping'])
      world.trace.on(name, ({ host }) => this.#objects.ended(host));
  }

  /** What each disk holds durably, whenever a manifest has become so. */
  #watchSyncs(): void {
    const [world, cluster, synced] = [this.#world, this.#cluster, this.#synced];
    const altered = (host: string, path: string): void => {
      if (path === '' || path.startsWith('store/') || path.startsWith('hints/')) synced.altered(host);
    };
    for (const name of cluster.names) cluster.host(name).disk.watch({ altered });
    const durable = (host: string): ReadonlyMap<string, Buffer> => cluster.host(host).disk.durableFiles();
    for (const name of ['host.booted', 'host.crashed', 'host.stopped', 'store.tail.cut'])
      world.trace.on(name, ({ host }) => synced.ended(host));
    world.trace.on('store.opened', ({ host }) => {
      if (cluster.names.includes(host)) synced.opened(host, durable(host));
    });
    world.trace.on('disk.directory.synced', ({ host, fields }) => {
      const what = String(fields['what']);
      if (cluster.names.includes(host) && (what === 'store' || what === 'hints'))
        synced.named(host, durable(host), world.nowUs);
    });
  }

  /** Whether the node owns its ranges; one that replaces another node takes over that one's when it starts. */
  #hasJoined(node: string): boolean {
    const isReplacement = this.#cluster.memberOf(node) === undefined;
    return isReplacement || this.#rings.get(node)?.members.some((one) => one.node === node) !== false;
  }

  #watchRingChanges(): void {
    const [world, cluster] = [this.#world, this.#cluster];
    world.trace.on('membership.ring.changed', ({ host, fields }) => {
      const members = String(fields['members']).split(' ');
      const ring = cluster.ringOf(members);
      this.#rings.set(host, ring);
      const member = cluster.memberOf(host);
      if (member !== undefined) this.#handovers.ringChanged(member, ring);
    });
    world.trace.on('membership.move.declared', ({ host, fields }) => {
      if (fields['move'] === 'copying') this.#handovers.began(host);
    });
    world.trace.on('transfer.done', ({ host }) => {
      const member = cluster.memberOf(host);
      if (member !== undefined) this.#handovers.ended(member, this.#rings.get(host) ?? cluster.ring);
    });
    world.trace.on('transfer.rebuild.done', ({ host }) => {
      const member = cluster.memberOf(host);
      if (member !== undefined) this.#handovers.rebuilt(member, this.#rings.get(host) ?? cluster.ring);
    });
    world.trace.on('membership.left', ({ host }) => {
      this.#left.add(host);
      this.#objects.departed(host);
    });
    // The name comes back as a new member.
    world.trace.on('membership.started', ({ host, fields }) => {
      if (fields['state'] === 'JOINING') this.#left.delete(host);
    });
  }

  /** All opinions are NORMAL, no hint is pending, no node asks for what it lacks, and no large read is in progress. */
  isQuiet(): boolean {
    this.#quiet = this.#cluster.members.map((name) => this.#quietRecord(name));
    return isQuiet(this.#quiet) && this.#readRoom.isAtRest;
  }

  /** Compares the hints on every disk with the hints that the nodes count, now. */
  weighHints(): void {
    this.#balances = this.#cluster.members.flatMap((node) => {
      const snapshot = this.#cluster.statistics(node);
      if (snapshot === undefined) return [];
      const totals = samplesOf(snapshot, 'svc_hints_total');
      const count = (...outcomes: readonly string[]): number =>
        totals.reduce(
          (sum, { labels, value }) => sum + (outcomes.includes(String(labels['outcome'])) ? value : 0),
          0,
        );
      return [
        {
          node,
          atUs: this.#world.nowUs,
          onDisk: this.#objects.hintsOnDisk(node),
          counted: sumOf(snapshot, 'svc_hints_kept'),
          ...this.#objects.hintWrites(node),
          stored: count('stored'),
          ended: count('delivered', 'handed_on', 'expired'),
          exact: !hidesAnswers(this.#plan.faults.map(({ kind }) => kind)),
        },
      ];
    });
  }

  /** The calm is over: from now on nothing goes wrong, and no client writes. */
  settles(): void {
    this.#settledUs = this.#world.nowUs;
  }

  #quietFromUs(): number {
    const { faults } = this.#plan;
    if (isUndisturbed(this.#plan)) return 0;
    // Copies on a damaged disk may be unreadable, and copies on their way to new owners may be missing.
    const isMoving = faults.some(({ kind }) => movingKinds.includes(kind));
    // A backup holds writes back, those of a read repair, too.
    const isHeld = this.#plan.backups !== undefined;
    const isDamaged = nodesExcepted(faults, 'snapshot-rejection').size > 0;
    return isMoving || isHeld || isDamaged ? Infinity : this.#settledUs;
  }

  /** Records the memory that reads hold when the cluster is quiet; it should be none. */
  weighReads(): void {
    this.#readRoom.rest();
  }

  /** The facts of this run, for the checks. `clientsBusy`: number of client conversations that never ended. */
  evidence(clientsBusy: number): MonitorEvidence {
    const { entries, rests } = this.#readRoom;
    return {
      dots: this.#pruned.added(this.#synced.added(this.#objects.dots)),
      coordinated: this.#objects.coordinated,
      prunings: pruningsOf(this.#pruned.entries, this.#objects.coordinated),
      dates: this.#dates.dates,
      readAnswers: this.#routes.answers,
      opinions: new Opinions(this.#moves, this.#begins),
      nodes: this.#cluster.names,
      undisturbed: isUndisturbed(this.#plan),
      quietFromUs: this.#quietFromUs(),
      hindered: this.#hinderedInReads(),
      redisReads: this.#redisReads(),
      identities: this.#routes.identities,
      greetings: this.#greetings.records,
      forbiddenStarts: this.#forbiddenStarts(),
      disturbances: this.#troubles(),
      horizonUs: this.#horizonUs(),
      quiet: { nodes: this.#quiet, clientsBusy },
      readMemory: { entries, rests, answers: this.#routes.largeAnswers },
      standbyPeriods: this.#standbyPeriods(),
      hints: { ...this.#objects.hints, sends: this.#sends.records },
      hintBalances: this.#balances,
      claims: this.#claims.records,
      transfers: joined(joined(this.#objects.cleanups, this.#handovers.records), this.#pace.records),
    };
  }

  /** The periods of STANDBY; one that its node's disk may have lost ends with the next start. */
  #standbyPeriods(): readonly StandbyPeriod[] {
    const excepted = nodesExcepted(this.#plan.faults, 'standby-routing');
    return this.#faults.standbyPeriods.map((period) => {
      const { node, fromUs, toUs } = period;
      const start = this.#begins.find((one) => one.observer === node && one.atUs > fromUs && one.atUs < toUs);
      if (start === undefined || !excepted.has(node)) return period;
      return { node, fromUs, toUs: start.atUs, forgotten: true };
    });
  }

  #hintSends(forgetful: ReadonlySet<string>, { seenBy }: Owners): HintSends {
    return new HintSends({
      nowUs: () => this.#world.nowUs,
      patienceUs: this.#requestUs() + slackUs,
      answerUs: this.#requestUs(),
      hintOf: (host, peer, key) => this.#objects.hintAt(host, peer, key),
      isForgetful: (node) => forgetful.has(node),
      handsOver: (host, key) => {
        const token = this.#objects.tokenAt(host, key);
        if (token !== undefined && !seenBy(host, token).includes(host)) return true;
        const { names, members } = this.#cluster;
        const former = names.filter((name) => !members.includes(name));
        return former.some((name) => this.#objects.hintAt(host, name, key) !== undefined);
      },
    });
  }

  #hintAges(): HintAges {
    const { faults } = this.#plan;
    const unsure = nodesExcepted(faults, 'hint-delivery');
    const failing = new Set(faults.flatMap(({ kind, targets }) => (kind === 'read-error' ? targets : [])));
    return new HintAges(
      (host) => this.#cluster.host(host).clock,
      (host) => {
        const { hintAgeSecondsMax, tombstoneGraceSeconds } = this.#cluster.configOf(host);
        // Where a newer record may be lost, a hint older than the grace is given up.
        return (
          1000 * (unsure.has(host) ? Math.min(hintAgeSecondsMax, tombstoneGraceSeconds) : hintAgeSecondsMax)
        );
      },
      (host) => unsure.has(host) || failing.has(host),
    );
  }

  /**
   * A coordinator keeps a hint of every replica that it missed, where the ring stands still, disks answer at once, and
   * hints are on and have room.
   */
  #spread(): Pick<DiskExceptions, 'spread'> {
    const { faults } = this.#plan;
    const kinds = faults.map(({ kind }) => kind);
    const moves = kinds.some((kind) => movingKinds.includes(kind));
    const configs = this.#cluster.members.map((name) => this.#cluster.configOf(name));
    const hints = configs.every(
      ({ hintedHandoff, hintBytesMax }) => hintedHandoff && hintBytesMax >= hintRoomBytes,
    );
    const hindered = hinderedNodes(faults);
    if (moves || hindered === undefined || !hints) return {};
    const patienceUs = Math.max(this.#requestUs(), answerTimeoutUs) + slackUs;
    const ring = this.#cluster.owners();
    return {
      spread: {
        patienceUs,
        isHindered: (node) => hindered.has(node),
        ownersOf: (token) => ring.placement(token as Token).map(({ node }) => node),
      },
    };
  }

  /** The longest time that any node gives a request, in virtual microseconds. */
  #requestUs(): number {
    const configs = this.#cluster.members.map((name) => this.#cluster.configOf(name));
    return 1000 * Math.max(...configs.map(({ requestTimeoutMs }) => requestTimeoutMs));
  }

  /** Undefined also if a node may learn too late that a replica is silent. */
  #hinderedInReads(): ReadonlySet<string> | undefined {
    const configs = this.#cluster.members.map((name) => this.#cluster.configOf(name));
    const isPrompt = configs.every(
      ({ readHedgeMs, requestTimeoutMs }) => 4 * readHedgeMs <= requestTimeoutMs,
    );
    return isPrompt ? hinderedInReads(this.#plan, this.#cluster.names) : undefined;
  }

  #redisReads(): ReadTerms | undefined {
    const hindered = this.#hinderedInReads();
    return hindered === undefined ? undefined : readTermsOf(this.#cluster, hindered);
  }

  #watchClocks(): void {
    for (const name of this.#cluster.names) {
      this.#cluster.host(name).clock.watch((wallMs) => this.#dates.told(name, wallMs));
    }
  }

  #followQuestions(): void {
    for (const [name, what] of askingEvents)
      this.#world.trace.on(name, ({ host, atUs }) => this.#asked.set(host, { what, atUs }));
  }

  #listen(): void {
    const { trace } = this.#world;
    trace.on('membership.peer.state.changed', ({ host, atUs, fields }) => {
      if (!this.#cluster.names.includes(host)) return;
      const [peer, from, to] = [fields['peer'], fields['from'], fields['to']].map(String);
      const { lives } = this.#cluster.host(host);
      this.#moves.push({
        observer: host,
        life: lives,
        peer: peer ?? '',
        from: from ?? '',
        to: to ?? '',
        atUs,
      });
    });
    trace.on('host.booted', ({ host, atUs }) => {
      if (this.#cluster.names.includes(host)) this.#begins.push({ observer: host, atUs });
    });
    const endings = ['host.crashed', 'host.stopped', 'host.paused', 'node.stopping', 'membership.left'];
    for (const name of endings) {
      trace.on(name, ({ host, atUs }) => {
        if (!this.#silent.has(host)) this.#silent.set(host, atUs);
      });
    }
    for (const name of ['host.booted', 'host.resumed']) {
      trace.on(name, ({ host, atUs }) => this.#heardAgain(host, atUs));
    }
  }

  #heardAgain(node: string, atUs: number): void {
    const fromUs = this.#silent.get(node);
    this.#silent.delete(node);
    if (fromUs === undefined) return;
    this.#absences.push({ node, fromUs, toUs: atUs, away: true });
    this.#absences.push({ node, fromUs: atUs, toUs: atUs + recoveryUs, away: false });
  }

  #troubles(): readonly DetectorDisturbance[] {
    const still = [...this.#silent].map(([node, fromUs]) => {
      return { node, fromUs, toUs: this.#world.nowUs, away: true };
    });
    const paced = new Set((this.#plan.paces ?? []).map(({ host }) => host));
    const late = [...paced].map((node) => {
      return { node, fromUs: 0, toUs: this.#world.nowUs, away: false };
    });
    return [...this.#faults.troubles, ...this.#absences, ...still, ...late];
  }

  /** Longest time from a node's last message until its peers have judged its silence, in virtual microseconds. */
  #horizonUs(): number {
    const setting = (name: keyof typeof detectorDefaults): number => {
      return Number(this.#plan.settings[name] ?? detectorDefaults[name]);
    };
    const meanMs = intervalsMax * Math.max(setting('phi_mean_ms_min'), setting('gossip_interval_ms'));
    // Thousandths of phi times milliseconds are microseconds.
    return Math.ceil(setting('phi_threshold_milli') * Math.LN10 * meanMs) + slackUs;
  }

  #forbiddenStarts(): readonly ForbiddenStart[] {
    const { doubleStarts, impostors } = this.#cluster;
    return [
      ...doubleStarts
        .filter(({ cutOff }) => !cutOff)
        .map(({ node, atUs, refused }) => {
          return { what: `a second start of ${node}`, atUs, refused, expected: 'DirectoryLocked' };
        }),
      ...impostors.impositions
        .filter(({ claim }) => claim === 'hugeToken')
        .map(({ name, refused }) => {
          const expected = 'ConfigInvalid';
          return { what: `${name} with a token beyond 32 bits`, atUs: 0, refused, expected };
        }),
    ];
  }

  #quietRecord(node: string): QuietRecord {
    const snapshot = this.#cluster.statistics(node);
    const { members, gone } = this.#cluster;
    const asked = this.#asked.get(node);
    const gossipMs = this.#plan.settings['gossip_interval_ms'] ?? detectorDefaults.gossip_interval_ms;
    const restUs = askingRounds * Number(gossipMs) * 1000;
    const isAsking = asked !== undefined && this.#world.nowUs - asked.atUs < restUs;
    const expected = {
      node,
      atUs: this.#world.nowUs,
      asking: isAsking ? asked.what : undefined,
      peersExpected: members.length - 1,
      peersLost: gone.missed.length,
    };
    if (snapshot === undefined) return { ...expected, peers: undefined, hintsKept: 0 };
    const peers = new Map(
      samplesOf(snapshot, 'peer_state_current').map(({ labels, value }) => {
        return [String(labels['peer_idx']), states[value] ?? String(value)];
      }),
    );
    return { ...expected, peers, hintsKept: sumOf(snapshot, 'svc_hints_kept') };
  }
}

function joined(one: TransferRecords, other: TransferRecords): TransferRecords {
  return {
    compared: one.compared + other.compared,
    skipped: one.skipped + other.skipped,
    lost: [...one.lost, ...other.lost].sort((left, right) => left.atUs - right.atUs),
  };
}

function sumOf(snapshot: StatsSnapshot, name: string): number {
  return samplesOf(snapshot, name).reduce((sum, { value }) => sum + value, 0);
}

/** The samples of a registered metric family. */
function samplesOf({ families }: StatsSnapshot, name: string): readonly Sample[] {
  return families.find(({ family }) => family.name === name)?.samples ?? [];
}

/** Nothing goes wrong in such a run, and no backup makes writes wait. */
function isUndisturbed({ faults, paces, backups }: Plan): boolean {
  return faults.length === 0 && paces === undefined && backups === undefined;
}

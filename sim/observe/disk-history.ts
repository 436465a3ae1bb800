/**
 * Records what happened to the nodes' disks and what the nodes reported of it: which data disks lost, which
 * incarnations read altered bytes, and which damage those incarnations reported.
 */
import type { Loss } from '../check/objects/disk-losses.ts';
import type {
  CorruptionRecords,
  DamageReport,
  FailedRead,
  FileRange,
  HandedRange,
} from '../check/disks/corruption.ts';
import type { BadEvent } from '../check/report.ts';
import { roleOf } from '../plan/file-roles.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { FaultId } from '../world/core/fault-log.ts';
import type { World } from '../world/world.ts';
import { DiskComplaints } from './disk-complaints.ts';
import type { WrongStart } from './served-starts.ts';
import { ServedStarts } from './served-starts.ts';
import { StartChanges } from './start-changes.ts';

/** Files whose damage can cost data; damage to any other file costs a start or a read alone. */
const roles: readonly string[] = ['log', 'manifest'];

/** Events of the engine's log by which a node reports that a file is damaged. */
const reportEvents: readonly string[] = [
  'store.damage.found',
  'store.tail.cut',
  'store.hint.ignored',
  'store.manifest.mended',
  'membership.identity.rejected',
  'membership.members.rejected',
];

/** Kinds of faults by which a disk loses its newest records at once, of which its node cannot know. */
const silentKinds: readonly FaultId[] = ['disk-rollback', 'log-truncation'];

/** Kinds of faults by which a disk loses single records that its running node goes on to count on. */
const damageKinds: readonly FaultId[] = ['misdirected-io', 'bit-rot', 'lying-sync'];

/** A loss that a node must notice until it has cut the file. */
interface PlacedLoss extends Loss {
  readonly path: string;
  noticed: boolean;
}

type Handed = Omit<HandedRange, 'endedUs'>;

/** The record of one run's disk faults and damage reports; input of `durability` and `data-integrity`. */
export class DiskHistory {
  readonly #losses: PlacedLoss[] = [];
  /** Starts on disks that had lost their newest records, of which the nodes cannot know. */
  readonly shortened: Loss[] = [];
  /** Nodes whose next start is one of `shortened`. */
  readonly #shortenedNow = new Set<string>();
  /** Nodes whose disks lied about a sync: every later crash may show that. */
  readonly #liars = new Set<string>();
  readonly #cluster: Cluster;
  readonly #altered: FileRange[] = [];
  /** Nodes whose disks may have lost records that they had acknowledged. */
  readonly damagedNodes = new Set<string>();
  /** Bytes that rotted, as `n1:path@offset`. */
  readonly #rotten = new Set<string>();
  readonly #handed = new Map<string, Handed>();
  readonly #reports: DamageReport[] = [];
  /** Torn tails that nodes cut when they started. */
  readonly #cuts: DamageReport[] = [];
  readonly #failedReads = new Map<string, FailedRead>();
  /** Incarnations whose disk failed an operation or returned altered bytes, as `n1/3`. */
  readonly #troubled = new Set<string>();
  readonly #world: World;
  readonly #complaints: DiskComplaints;
  readonly #starts: StartChanges;
  readonly #served: ServedStarts;

  /** Follows the disks of `names` only. */
  constructor(world: World, cluster: Cluster, names: readonly string[] = cluster.names) {
    this.#world = world;
    this.#cluster = cluster;
    const lifeOf = (host: string): number => world.mustGetHost(host).lives;
    this.#starts = new StartChanges(world.trace, lifeOf);
    this.#served = new ServedStarts(world.trace, lifeOf, (host, path) => {
      return names.includes(host) ? cluster.host(host).disk.durableFile(path) : undefined;
    });
    for (const name of names) this.#watch(name);
    world.trace.on('host.booted', ({ host: node, atUs }) => {
      if (this.#shortenedNow.delete(node) || this.#liars.has(node)) this.shortened.push({ node, atUs });
    });
    this.#complaints = new DiskComplaints(world.trace, (node) => {
      return !names.includes(node) || this.isTroubled(node, cluster.host(node).lives);
    });
    for (const event of reportEvents) {
      world.trace.on(event, ({ host: node, atUs, fields }) => {
        // An operator's copy of a store may be damaged, too.
        if (!cluster.names.includes(node)) return;
        // A report without an offset is of the whole file.
        const from = Number(fields['offset'] ?? 0);
        const bytes = Number(fields['bytes'] ?? Infinity);
        const path = String(fields['path']);
        const { lives: life } = cluster.host(node);
        // Every crash may leave a torn tail: a cut explains bit rot within it and needs no fault as its cause.
        if (event === 'store.tail.cut') {
          this.#cuts.push({ node, life, path, from, to: Infinity, atUs });
          for (const loss of this.#losses) if (loss.node === node && loss.path === path) loss.noticed = false;
        } else this.#reports.push({ node, life, path, from, to: from + bytes, atUs });
      });
    }
  }

  /** What the disks lost so far. */
  get losses(): readonly Loss[] {
    return this.#losses;
  }

  /** Reports of failing disks that had failed nothing. */
  get unfounded(): readonly BadEvent[] {
    return this.#complaints.unfounded;
  }

  /** The first file of its store that the incarnation changed before the store was open; undefined: none. */
  changedAtStart(node: string, life: number): string | undefined {
    return this.#starts.changed(node, life);
  }

  /** What nodes did wrong in starts that served. */
  get wrongStarts(): readonly WrongStart[] {
    return this.#served.wrong;
  }

  isTroubled(node: string, life: number): boolean {
    return this.#troubled.has(`${node}/${life}`);
  }

  /** The records for `data-integrity`, complete once the run is over. */
  records(): CorruptionRecords {
    const lives = this.#cluster.lives();
    const handed = [...this.#handed.values()].map((range) => ({
      ...range,
      endedUs: lives.find(({ node, life }) => node === range.node && life === range.life)?.atUs,
    }));
    // A start cuts what a crash left after the last whole batch, rotten or not.
    const open = handed.filter((range) => !this.#cuts.some((cut) => covers(cut, range)));
    const failedReads = [...this.#failedReads.values()];
    return { altered: this.#altered, handed: open, reports: this.#reports, failedReads };
  }

  #watch(name: string): void {
    this.#cluster.host(name).disk.watch({
      altered: (node, path, from, to, kind) =>
        this.#alter({ node, path, from, to, atUs: this.#world.nowUs }, kind),
      failed: (node, life, operation, path, failure) => {
        if (failure === 'fault' || failure === 'noSpace') this.#troubled.add(`${node}/${life}`);
        if (failure !== 'fault' || operation !== 'read') return;
        this.#served.refusedRead(node, path);
        const key = `${node}/${life}:${path}`;
        if (!this.#failedReads.has(key))
          this.#failedReads.set(key, { node, life, path, atUs: this.#world.nowUs });
      },
      writes: (node, _life, path) => this.#starts.changes(node, path),
      handed: (node, life, path, from, to) =>
        this.#hand({ node, life, path, from, to, atUs: this.#world.nowUs }),
    });
  }

  #alter(range: FileRange, kind: FaultId): void {
    const { node, path, from, atUs } = range;
    this.#altered.push(range);
    this.#served.altered(node, path);
    if (damageKinds.includes(kind)) this.damagedNodes.add(node);
    if (kind === 'bit-rot') this.#rotten.add(`${node}:${path}@${from}`);
    if (!isLoss(path, kind)) return;
    this.#losses.push({ node, atUs, path, noticed: kind === 'bit-rot' && roleOf(path) === 'log' });
    if (kind === 'lying-sync') this.#liars.add(node);
    else if (silentKinds.includes(kind)) this.#shortenedNow.add(node);
  }

  #hand(range: Handed): void {
    const { node, life, path, from } = range;
    this.#troubled.add(`${node}/${life}`);
    if (roleOf(path) !== 'log' || !this.#rotten.has(`${node}:${path}@${from}`)) return;
    const key = `${node}/${life}:${path}@${from}`;
    if (!this.#handed.has(key)) this.#handed.set(key, range);
  }
}

function covers(report: DamageReport, { node, life, path, from }: Handed): boolean {
  return report.node === node && report.life === life && report.path === path && report.from <= from;
}

function isLoss(path: string, kind: FaultId): boolean {
  // The node's own disk returns with its earlier content.
  if (path === '') return kind !== 'foreign-disk';
  return path.startsWith('store/') && roles.includes(roleOf(path));
}

/**
 * Faults of disks, and the crash loop, acted out: each is injected into a node's disk, or
 * done to it between two lives. What was done is undone by `later`, and by `calm` at the end of the storm.
 *
 * A node whose store has given up writing (a failed write or sync) is restarted in order when its disk is well again,
 * as its operator would do; one whose disk was full has to see by itself that there is room again.
 */
import type { Wipe } from '../check/transactions.ts';
import type { DiskFaultKind } from './kinds/disk-fault-kinds.ts';
import { diskFaultNames } from './kinds/disk-fault-kinds.ts';
import type { PlanFault } from '../plan/plan.ts';
import type { DiskCopy } from '../world/disk/disk-copy.ts';
import type { HostDisk } from '../world/disk/disk.ts';
import type { DiskFault } from '../world/disk/disk-fault.ts';
import type { Survival } from '../world/cluster/host.ts';
import type { Subscription } from '../world/core/trace.ts';
import { playsRole } from '../plan/file-roles.ts';
import type { Stage } from './fault-context.ts';

export type DiskFaultOfPlan = PlanFault & { readonly kind: DiskFaultKind };

export function isDiskFault(fault: PlanFault): fault is DiskFaultOfPlan {
  return (diskFaultNames as readonly string[]).includes(fault.kind);
}

/** What the strikes ask of the run's faults, beside the stage. */
export interface Strength {
  /** The storm is over. */
  calm(): boolean;
  /** Ends a node's life and starts it again after `forUs`; `meanwhile` acts on the disk between. False: it is down. */
  crash(fault: PlanFault, survival: Survival, meanwhile: (disk: HostDisk) => void): boolean;
}

/** Operations of the disk that a crash loop may strike after. */
const diskSteps: readonly string[] = [
  'disk.looked',
  'disk.locked',
  'disk.directory.made',
  'disk.directory.synced',
  'disk.file.opened',
  'disk.file.read',
  'disk.file.written',
  'disk.file.synced',
  'disk.file.truncated',
  'disk.name.renamed',
  'disk.name.removed',
];

/** A start on a disk that is another node's, or not the node's own any more (`removed-node-restart`). */
export interface ForeignStart {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  served: boolean;
}

export class DiskStrikes {
  readonly foreignStarts: ForeignStart[] = [];
  /** Disks that were replaced by empty ones. */
  readonly wipes: Wipe[] = [];
  readonly #stage: Stage;
  readonly #strength: Strength;
  /** Lives whose store gave up writing, though there was room, as `n1/3`. */
  readonly #givenUp = new Set<string>();
  /** The own disks of nodes that another one's is mounted on. */
  readonly #ownDisks = new Map<string, DiskCopy>();
  /** Nodes whose disk's syncs lie, or lied since the power last went. */
  readonly #liars = new Set<string>();
  #subscriptions: Subscription[] = [];

  constructor(stage: Stage, strength: Strength) {
    this.#stage = stage;
    this.#strength = strength;
    const { world, cluster } = stage;
    world.trace.on('store.failed', ({ host, fields }) => {
      if (fields['full'] !== true) this.#givenUp.add(`${host}/${cluster.host(host).lives}`);
    });
  }

  /** Another node's disk is mounted on this node: a start must be refused, and is not tried again before it is undone. */
  isForeign(name: string): boolean {
    return this.#ownDisks.has(name);
  }

  /** False: there was nothing to strike. */
  inject(fault: DiskFaultOfPlan, name: string): boolean {
    const { params } = fault;
    const role = String(params['role']);
    const rule = {
      chance: [1, Number(params['oneIn'])],
      matches: (path: string) => playsRole(path, role),
    } as const;
    switch (fault.kind) {
      case 'read-error':
      case 'write-error':
      case 'sync-error':
        return this.#last(fault, name, { ...rule, kind: fault.kind });
      case 'lying-sync':
        this.#liars.add(name);
        return this.#last(fault, name, { ...rule, kind: 'lying-sync' });
      case 'slow-disk':
        return this.#last(fault, name, { kind: 'slow-disk', delay: delayOf(fault) });
      case 'misdirected-io': {
        const operation = params['what'] === 'read' ? 'read' : 'write';
        const count = Number(params['count']);
        return this.#last(fault, name, {
          kind: 'misdirected-io',
          operations: [operation],
          count,
          matches: rule.matches,
        });
      }
      case 'disk-full':
        return this.#fill(fault, name);
      case 'bit-rot':
        return this.#rot(fault, name, role);
      case 'lost-directory-entries':
        return this.#strength.crash(fault, 'namesLost', () => undefined);
      case 'disk-wipe':
        return this.#strength.crash(fault, 'dropAll', (disk) => {
          disk.wipe();
          this.wipes.push({ node: name, atUs: this.#stage.world.nowUs });
        });
      case 'disk-rollback':
        return this.#rollBack(fault, name);
      case 'foreign-disk':
        return this.#mountForeign(fault, name);
      case 'log-truncation':
        return this.#strength.crash(fault, 'keepAll', (disk) => {
          cutNewestLog(disk, Number(params['permille']));
        });
      case 'file-loss':
        return this.#strength.crash(fault, 'keepAll', (disk) => loseOneFile(disk, params));
      case 'crash-loop':
        return this.#loop(fault, name);
    }
  }

  /** Disks hold their own again, crash loops end, and nodes whose store gave up for a fault are restarted. */
  heal(): void {
    const { cluster } = this.#stage;
    for (const subscription of this.#subscriptions) subscription.cancel();
    this.#subscriptions = [];
    for (const name of [...this.#ownDisks.keys()]) this.#remount(name);
    for (const name of cluster.members) {
      cluster.host(name).disk.heal();
      this.#exposeLies(name);
      this.#restartGivenUp(name);
    }
  }

  /** Injects a rule until `forUs` is over. */
  #last(fault: PlanFault, name: string, rule: DiskFault): boolean {
    const lasting = this.#stage.cluster.host(name).disk.inject(rule);
    this.#stage.later(fault.forUs, `heal ${fault.id}`, () => {
      lasting.lift();
      this.#exposeLies(name);
      this.#restartGivenUp(name);
    });
    return true;
  }

  /** The power goes. While it does not, nothing shows what a lying sync has lost, and nobody can mend it. */
  #exposeLies(name: string): void {
    const { cluster } = this.#stage;
    if (!this.#liars.delete(name) || this.isForeign(name) || !cluster.isUp(name)) return;
    cluster.crash(name, 'dropAll', 'silent');
    cluster.start(name);
  }

  #fill(fault: PlanFault, name: string): boolean {
    const { disk } = this.#stage.cluster.host(name);
    disk.setCapacity(disk.usedBytes + Number(fault.params['roomBytes']));
    this.#stage.later(fault.forUs, `heal ${fault.id}`, () => {
      disk.setCapacity(undefined);
    });
    return true;
  }

  /** A bit of one of the files of the role; the place is a share of all their bytes. */
  #rot({ params }: PlanFault, name: string, role: string): boolean {
    const { disk } = this.#stage.cluster.host(name);
    const files = [...disk.durableFiles()].filter(([path]) => playsRole(path, role));
    const bytes = files.reduce((sum, [, content]) => sum + content.length, 0);
    let place = Math.floor((bytes * Number(params['permille'])) / 1000);
    for (const [path, content] of files) {
      if (place < content.length) return disk.rot(path, place, Number(params['bit']));
      place -= content.length;
    }
    return false;
  }

  /** Takes the image now; the node dies `ageMs` later. */
  #rollBack(fault: PlanFault, name: string): boolean {
    // The image would be another node's.
    if (this.isForeign(name)) return false;
    const copy = this.#stage.cluster.host(name).disk.durableCopy();
    if (copy.files.size === 0) return false;
    this.#stage.later(Number(fault.params['ageMs']) * 1000, `roll back ${fault.id}`, () => {
      if (this.isForeign(name)) return;
      this.#strength.crash(fault, 'dropAll', (disk) => disk.mount('disk-rollback', copy));
    });
    return true;
  }

  /** Started at once on the other's disk; on its own after `forUs`. */
  #mountForeign(fault: PlanFault, name: string): boolean {
    const { cluster } = this.#stage;
    const others = cluster.names.filter((other) => other !== name && !this.isForeign(other));
    const donor = others[Number(fault.params['donor']) % Math.max(1, others.length)];
    if (donor === undefined || this.isForeign(name) || !cluster.isUp(name)) return false;
    const copy = cluster.host(donor).disk.durableCopy();
    if (copy.files.size === 0) return false;
    cluster.crash(name, 'dropAll', 'silent');
    const { disk } = cluster.host(name);
    this.#ownDisks.set(name, disk.copy());
    disk.mount('foreign-disk', copy);
    cluster.start(name);
    const life = cluster.host(name).lives;
    this.foreignStarts.push({ node: name, life, atUs: this.#stage.world.nowUs, served: false });
    this.#stage.later(fault.forUs, `remount ${fault.id}`, () => {
      this.#remount(name);
      cluster.start(name);
    });
    return true;
  }

  #remount(name: string): void {
    const own = this.#ownDisks.get(name);
    if (own === undefined) return;
    const { cluster } = this.#stage;
    const start = this.foreignStarts.findLast(({ node }) => node === name);
    if (start !== undefined) start.served = cluster.serves(name);
    cluster.crash(name, 'keepAll', 'silent');
    cluster.host(name).disk.restore(own);
    this.#ownDisks.delete(name);
  }

  /** `crash-loop`. Each life of the loop ends at a drawn step of its disk, or when it serves before. */
  #loop(fault: PlanFault, name: string): boolean {
    const { params, id } = fault;
    const random = this.#stage.world.random.fork(`crash-loop/${id}`);
    const survival = survivalOf(String(params['keeps']));
    let left = Number(params['crashes']);
    const dieAgain = (): void => {
      if (left === 0) return;
      left -= 1;
      let steps = 1 + random.below(Number(params['stepMax']));
      // Told within the step: what it answers never reaches the life.
      this.#onSteps(name, () => {
        if (this.#stage.cluster.serves(name)) return true;
        steps -= 1;
        if (steps > 0) return false;
        this.#strength.crash(fault, survival, dieAgain);
        return true;
      });
    };
    return this.#strength.crash(fault, survival, dieAgain);
  }

  /** Calls `step` at each step of a node's disk until it answers true. */
  #onSteps(name: string, step: () => boolean): void {
    const subscriptions: Subscription[] = [];
    const hear = ({ host }: { readonly host: string }): void => {
      if (host !== name || this.#strength.calm()) return;
      if (subscriptions.length === 0 || !step()) return;
      for (const subscription of subscriptions.splice(0)) subscription.cancel();
    };
    for (const event of diskSteps) subscriptions.push(this.#stage.world.trace.on(event, hear));
    this.#subscriptions.push(...subscriptions);
  }

  #restartGivenUp(name: string): void {
    const { cluster } = this.#stage;
    if (!cluster.isUp(name) || !this.#givenUp.has(`${name}/${cluster.host(name).lives}`)) return;
    cluster.beginStop(name, () => cluster.start(name));
  }
}

function delayOf({ params }: PlanFault): NonNullable<DiskFault['delay']> {
  const tailUs = Number(params['tailUs']);
  return { minUs: 0, meanUs: Number(params['meanUs']), tailOneIn: tailUs === 0 ? 0 : 50, tailUs };
}

function survivalOf(keeps: string): Survival {
  if (keeps === 'torn') return 'torn';
  return keeps === 'some' ? 'subset' : 'dropAll';
}

/** Of the newest log of the store only the first part is left. */
/** One of the files of the role; of the store of hints any one. */
function loseOneFile(disk: HostDisk, { role, how, permille }: PlanFault['params']): void {
  const paths = [...disk.durableFiles().keys()].filter((path) =>
    role === 'hints' ? path.startsWith('hints/') : playsRole(path, String(role)),
  );
  const path = paths[Math.floor((paths.length * Number(permille)) / 1000)];
  if (path !== undefined) disk.loseFile(path, how === 'removed' ? 'removed' : 'emptied');
}

function cutNewestLog(disk: HostDisk, permille: number): void {
  const logs = [...disk.durableFiles()].filter(([path]) => /^store\/\d+\.log$/.test(path));
  const newest = logs.at(-1);
  if (newest !== undefined) disk.cutShort(newest[0], Math.floor((newest[1].length * permille) / 1000));
}

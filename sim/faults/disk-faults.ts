/**
 * Injects faults of disks, and the crash loop: each into the disk of a running node, or between two of its
 * incarnations. `later` undoes each when its time is over, and `heal` undoes all at the calm.
 *
 * When the disk of a node is healed whose store gave up writing (after a failed write or sync), the node is restarted
 * in order, as its operator would do. A node whose disk was full must notice by itself that there is space again.
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

/** A plan's fault of a disk. */
export type DiskFaultOfPlan = PlanFault & { readonly kind: DiskFaultKind };

/** Narrows a plan's fault to one of a disk. */
export function isDiskFault(fault: PlanFault): fault is DiskFaultOfPlan {
  return (diskFaultNames as readonly string[]).includes(fault.kind);
}

/** What disk faults need of `faults.ts`, beside the stage. */
export interface Strength {
  /** Whether the storm is over. */
  calm(): boolean;
  /**
   * Crashes the node and starts it again after `forUs`; `meanwhile` acts on its disk in between. Returns false if the
   * node is down.
   */
  crash(fault: PlanFault, survival: Survival, meanwhile: (disk: HostDisk) => void): boolean;
}

/** Trace events of the disk after which a crash loop may crash the node. */
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

/**
 * A start that the node must refuse: on another node's disk, or on its own disk after it left (`removed-node-restart`).
 */
export interface ForeignStart {
  readonly node: string;
  readonly life: number;
  readonly atUs: number;
  served: boolean;
}

/** Injects the disk faults of one run and records what they did. */
export class DiskStrikes {
  readonly foreignStarts: ForeignStart[] = [];
  /** Disks that were replaced by empty ones. */
  readonly wipes: Wipe[] = [];
  readonly #stage: Stage;
  readonly #strength: Strength;
  /** Incarnations whose store gave up writing although there was space, as `n1/3`. */
  readonly #givenUp = new Set<string>();
  /** The own disks of nodes on which another node's disk is mounted. */
  readonly #ownDisks = new Map<string, DiskCopy>();
  /** Nodes whose disk lies about syncs, or has lied since its last power loss. */
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

  /**
   * Whether another node's disk is mounted on this node. A start must be refused, and is not retried before `#remount`.
   */
  isForeign(name: string): boolean {
    return this.#ownDisks.has(name);
  }

  /** Injects the fault into the node's disk. Returns false if there was nothing to strike. */
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

  /**
   * Mounts every node's own disk again, ends crash loops, and restarts nodes whose store gave up because of a fault.
   */
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

  /** Injects a rule for `forUs` microseconds. */
  #last(fault: PlanFault, name: string, rule: DiskFault): boolean {
    const lasting = this.#stage.cluster.host(name).disk.inject(rule);
    this.#stage.later(fault.forUs, `heal ${fault.id}`, () => {
      lasting.lift();
      this.#exposeLies(name);
      this.#restartGivenUp(name);
    });
    return true;
  }

  /**
   * Cuts the power of a node whose syncs lied. Without a power loss nothing shows what was lost, so no repair starts.
   */
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

  /** Flips one bit in one of the files of the role; the place is a share of all their bytes. */
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

  /** Copies the durable state now; the node crashes `ageMs` later and gets the copy as its disk. */
  #rollBack(fault: PlanFault, name: string): boolean {
    // The copy would be that of another node.
    if (this.isForeign(name)) return false;
    const copy = this.#stage.cluster.host(name).disk.durableCopy();
    if (copy.files.size === 0) return false;
    this.#stage.later(Number(fault.params['ageMs']) * 1000, `roll back ${fault.id}`, () => {
      if (this.isForeign(name)) return;
      this.#strength.crash(fault, 'dropAll', (disk) => disk.mount('disk-rollback', copy));
    });
    return true;
  }

  /** Starts the node at once on another node's disk, and after `forUs` on its own again. */
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

  /**
   * `crash-loop`: ends each incarnation of the loop after a drawn number of disk steps, or as soon as the node serves.
   */
  #loop(fault: PlanFault, name: string): boolean {
    const { params, id } = fault;
    const random = this.#stage.world.random.fork(`crash-loop/${id}`);
    const survival = survivalOf(String(params['keeps']));
    let left = Number(params['crashes']);
    const dieAgain = (): void => {
      if (left === 0) return;
      left -= 1;
      let steps = 1 + random.below(Number(params['stepMax']));
      // The listener runs within the disk step: the incarnation never sees the step's result.
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

  /** Calls `step` at each disk step of a node until it returns true. */
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

/** Loses one of the files of the role; the role `hints` means any file of the hint store. */
function loseOneFile(disk: HostDisk, { role, how, permille }: PlanFault['params']): void {
  const paths = [...disk.durableFiles().keys()].filter((path) =>
    role === 'hints' ? path.startsWith('hints/') : playsRole(path, String(role)),
  );
  const path = paths[Math.floor((paths.length * Number(permille)) / 1000)];
  if (path !== undefined) disk.loseFile(path, how === 'removed' ? 'removed' : 'emptied');
}

/** Cuts the newest segment of the store to the first `permille` thousandths of its bytes. */
function cutNewestLog(disk: HostDisk, permille: number): void {
  const logs = [...disk.durableFiles()].filter(([path]) => /^store\/\d+\.log$/.test(path));
  const newest = logs.at(-1);
  if (newest !== undefined) disk.cutShort(newest[0], Math.floor((newest[1].length * permille) / 1000));
}

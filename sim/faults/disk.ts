/**
 * Faults of disks, and the crash loop: each strikes the disk of a running node, or acts between two of its
 * incarnations. `later` undoes each when its time is over, and `heal` undoes all at the calm.
 *
 * When the disk of a node is healed whose store gave up writing (after a failed write or sync), the node is restarted
 * in order, as its operator would do. A node whose disk was full must notice by itself that there is space again.
 */
import { segmentHeadBytes } from '../../engine/storage/log/record.ts';
import { playsRole } from '../plan/file-roles.ts';
import type { Wipe } from '../check/transactions/transactions.ts';
import type { Survival } from '../world/cluster/host.ts';
import type { Subscription } from '../world/core/trace.ts';
import type { DiskCopy } from '../world/disk/disk-copy.ts';
import type { DiskFault } from '../world/disk/disk-fault.ts';
import type { HostDisk } from '../world/disk/disk.ts';
import type { FaultContext, ForeignStart } from './fault-context.ts';
import type { Fault } from './fault.ts';
import type { FaultFamily, ParameterRange } from './fault-row.ts';
import { targetOf } from './fault.ts';

const ms = 1000;

/** Which of a node's files a disk fault touches (`plan/file-roles.ts` maps roles to paths). */
const role = {
  kind: 'choice',
  of: ['any', 'log', 'hint', 'manifest', 'identity', 'members', 'snapshot'],
  named: ['objects', 'hints'],
} as const satisfies ParameterRange;
/** All of a log but its head: a start that has found a log to be its own cannot go on to read it. */
const logRecords = 'log-records';
/** One in so many operations is struck. */
const oneIn: ParameterRange = { kind: 'integer', min: 1, max: 50 };

/** The rows by name. */
export const diskFaults = {
  'crash-loop': {
    code: 'FP3',
    description: 'the power goes again and again during recovery',
    aim: 'node',
    lasting: true,
    params: {
      crashes: { kind: 'integer', min: 1, max: 8 },
      stepMax: { kind: 'integer', min: 1, max: 400 },
      keeps: { kind: 'choice', of: ['nothing', 'some', 'torn'] },
    },
    strike: (fault, context) => context.state(diskFaultsOf).loop(fault),
  },
  'read-error': {
    code: 'FD1',
    description: 'some reads of a disk fail',
    aim: 'node',
    lasting: true,
    params: { oneIn, role: { ...role, named: [...role.named, logRecords] } },
    strike: (fault, context) =>
      context.state(diskFaultsOf).last(fault, { ...ruleOf(fault), kind: 'read-error' }),
  },
  'write-error': {
    code: 'FD2',
    description: 'some writes to a disk fail in the middle',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
    strike: (fault, context) =>
      context.state(diskFaultsOf).last(fault, { ...ruleOf(fault), kind: 'write-error' }),
  },
  'disk-full': {
    code: 'FD3',
    description: 'a disk has no room, then it has again',
    aim: 'node',
    lasting: true,
    params: { roomBytes: { kind: 'integer', min: 0, max: 256 * 1024 } },
    strike: (fault, context) => context.state(diskFaultsOf).fill(fault),
  },
  'sync-error': {
    code: 'FD4',
    description: 'some syncs fail and lose what they covered',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
    strike: (fault, context) =>
      context.state(diskFaultsOf).last(fault, { ...ruleOf(fault), kind: 'sync-error' }),
  },
  'slow-disk': {
    code: 'FD5',
    description: 'a disk takes longer, now and then very long',
    aim: 'node',
    lasting: true,
    params: {
      meanUs: { kind: 'integer', min: 1 * ms, max: 1000 * ms },
      tailUs: { kind: 'integer', min: 0, max: 60_000 * ms },
    },
    strike: (fault, context) =>
      context.state(diskFaultsOf).last(fault, { kind: 'slow-disk', delay: delayOf(fault) }),
  },
  'lying-sync': {
    code: 'FD8',
    description: 'some syncs of a disk succeed and do nothing',
    aim: 'node',
    lasting: true,
    params: { oneIn, role },
    strike: (fault, context) => context.state(diskFaultsOf).lie(fault),
  },
  'bit-rot': {
    code: 'FD9',
    description: 'a bit of a file flips on the disk',
    aim: 'node',
    lasting: false,
    params: {
      role,
      permille: { kind: 'integer', min: 0, max: 999 },
      bit: { kind: 'integer', min: 0, max: 7 },
    },
    strike: (fault, context) => context.state(diskFaultsOf).rot(fault),
  },
  'misdirected-io': {
    code: 'FD10',
    description: 'some writes or reads go to the wrong place',
    aim: 'node',
    lasting: true,
    params: {
      what: { kind: 'choice', of: ['read', 'write'] },
      count: { kind: 'integer', min: 1, max: 5 },
      role,
    },
    strike: (fault, context) =>
      context.state(diskFaultsOf).last(fault, {
        kind: 'misdirected-io',
        operations: [fault.params['what'] === 'read' ? 'read' : 'write'],
        count: Number(fault.params['count']),
        matches: (path) => playsRole(path, String(fault.params['role'])),
      }),
  },
  'lost-directory-entries': {
    code: 'FD11',
    description: 'a node dies; names without a directory sync go',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => context.crash(fault, 'namesLost', 'silent'),
  },
  'disk-wipe': {
    code: 'FD12',
    description: 'a node dies and returns with an empty disk',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => context.state(diskFaultsOf).wipe(fault),
  },
  'disk-rollback': {
    code: 'FD13',
    description: 'a node returns on an old image of its disk',
    aim: 'node',
    lasting: true,
    params: { ageMs: { kind: 'integer', min: 1, max: 10_000 } },
    strike: (fault, context) => context.state(diskFaultsOf).rollBack(fault),
  },
  'foreign-disk': {
    code: 'FD14',
    description: 'a node is started on the disk of another one',
    aim: 'node',
    lasting: true,
    params: { donor: { kind: 'integer', min: 0, max: 63 } },
    strike: (fault, context) => context.state(diskFaultsOf).mountForeign(fault),
  },
  'log-truncation': {
    code: 'FD15',
    description: 'a node dies; its newest log is cut short',
    aim: 'node',
    lasting: true,
    params: { permille: { kind: 'integer', min: 0, max: 999 } },
    strike: (fault, context) =>
      context.crash(fault, 'keepAll', 'silent', (disk) =>
        cutNewestLog(disk, Number(fault.params['permille'])),
      ),
  },
  'file-loss': {
    code: 'FD16',
    description: 'a node dies; one of its files is gone or empty',
    aim: 'node',
    lasting: true,
    params: {
      permille: { kind: 'integer', min: 0, max: 999 },
      how: { kind: 'choice', of: ['removed', 'emptied'] },
      role: {
        kind: 'choice',
        of: ['identity', 'members', 'hint', 'hints', 'snapshot'],
      },
    },
    strike: (fault, context) =>
      context.crash(fault, 'keepAll', 'silent', (disk) => loseOneFile(disk, fault.params)),
  },
} satisfies FaultFamily;

/** The disk faults of one run. */
export function diskFaultsOf(context: FaultContext): DiskFaults {
  return new DiskFaults(context);
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

/** After which a node is restarted whose store gave up after the heal: its operator reads the log. */
const restartDelayUs = 100_000;

/** The manifest of a node's own store. */
const manifest = 'store/MANIFEST';

/** Injects the disk faults of one run and records what they did. */
export class DiskFaults {
  readonly foreignStarts: ForeignStart[] = [];
  /** Disks that were replaced by empty ones. */
  readonly wipes: Wipe[] = [];
  readonly #context: FaultContext;
  /** Incarnations whose store gave up writing although there was space, as `n1/3`. */
  readonly #givenUp = new Set<string>();
  /** The own disks of nodes on which another node's disk is mounted. */
  readonly #ownDisks = new Map<string, DiskCopy>();
  /** Nodes whose disk lies about syncs, or has lied since its last power loss. */
  readonly #liars = new Set<string>();
  /** Nodes with a manifest of which bits have flipped: their starts may be refused until an operator acts. */
  readonly #rottenManifests = new Set<string>();
  /** Per node, the number of `lying-sync` faults in effect. */
  readonly #lying = new Map<string, number>();
  #subscriptions: Subscription[] = [];
  #isHealed = false;

  constructor(context: FaultContext) {
    this.#context = context;
    const { world, cluster } = context;
    world.trace.on('store.failed', ({ host, fields }) => {
      if (fields['full'] === true) return;
      this.#givenUp.add(`${host}/${cluster.host(host).lives}`);
      // An operation that failed before the heal may make the store give up after it.
      if (this.#isHealed) context.later(restartDelayUs, `restart ${host}`, () => this.#restartGivenUp(host));
    });
  }

  /**
   * Whether another node's disk is mounted on this node. A start must be refused, and is not retried before `#remount`.
   */
  isForeign(name: string): boolean {
    return this.#ownDisks.has(name);
  }

  /**
   * Mounts every node's own disk again, ends crash loops, and restarts nodes whose store gave up because of a fault.
   */
  heal(): void {
    const { cluster } = this.#context;
    this.#isHealed = true;
    for (const subscription of this.#subscriptions) subscription.cancel();
    this.#subscriptions = [];
    for (const name of [...this.#ownDisks.keys()]) this.#remount(name);
    this.#lying.clear();
    for (const name of cluster.members) {
      cluster.host(name).disk.heal();
      this.#exposeLies(name);
      this.#restartGivenUp(name);
    }
  }

  /** Applies a rule to the operations of the node's disk for `forUs` microseconds. */
  last(fault: Fault, rule: DiskFault): boolean {
    const name = targetOf(fault);
    const lasting = this.#context.cluster.host(name).disk.inject(rule);
    this.#context.later(fault.forUs, `heal ${fault.id}`, () => {
      lasting.lift();
      this.#exposeLies(name);
      this.#restartGivenUp(name);
    });
    return true;
  }

  /** The disk lies about some of its syncs; the next power loss shows it. */
  lie(fault: Fault): boolean {
    const name = targetOf(fault);
    this.#liars.add(name);
    this.#lying.set(name, (this.#lying.get(name) ?? 0) + 1);
    this.#context.later(fault.forUs, `truth ${fault.id}`, () => {
      this.#lying.set(name, Math.max(0, (this.#lying.get(name) ?? 0) - 1));
    });
    return this.last(fault, { ...ruleOf(fault), kind: 'lying-sync' });
  }

  /** The node dies and returns with an empty disk. */
  wipe(fault: Fault): boolean {
    return this.#context.crash(fault, 'dropAll', 'silent', (disk) => {
      disk.wipe();
      this.wipes.push({ node: targetOf(fault), atUs: this.#context.world.nowUs });
    });
  }

  /**
   * Cuts the power of a node whose syncs lied. Without a power loss nothing shows what was lost, so no repair starts. A
   * node that is down starts on what its disk holds.
   */
  #exposeLies(name: string): void {
    const { cluster } = this.#context;
    if (!this.#liars.has(name)) return;
    if ((this.#lying.get(name) ?? 0) === 0) this.#liars.delete(name);
    // Its own disk lost power before the other one was mounted.
    if (this.isForeign(name)) return;
    if (!cluster.isUp(name)) {
      cluster.host(name).disk.endLife('dropAll', 'power-loss');
      return;
    }
    cluster.crash(name, 'dropAll', 'silent');
    cluster.start(name);
  }

  /** Leaves the disk only `roomBytes` of free space for `forUs` microseconds. */
  fill(fault: Fault): boolean {
    const name = targetOf(fault);
    const { disk } = this.#context.cluster.host(name);
    disk.setCapacity(disk.usedBytes + Number(fault.params['roomBytes']));
    this.#context.later(fault.forUs, `heal ${fault.id}`, () => {
      disk.setCapacity(undefined);
    });
    return true;
  }

  /** Flips one bit in one of the files of the role; the place is a share of all their bytes. */
  rot(fault: Fault): boolean {
    const name = targetOf(fault);
    const { params } = fault;
    const { disk } = this.#context.cluster.host(name);
    const files = [...disk.durableFiles()].filter(([path]) => playsRole(path, String(params['role'])));
    const bytes = files.reduce((sum, [, content]) => sum + content.length, 0);
    let place = Math.floor((bytes * Number(params['permille'])) / 1000);
    for (const [path, content] of files) {
      if (place < content.length) {
        if (path === manifest) this.#rottenManifests.add(name);
        return disk.rot(path, place, Number(params['bit']));
      }
      place -= content.length;
    }
    return false;
  }

  /**
   * After the heal, an operator moves the disk of a node away that refuses its rotten manifest; the node starts on an
   * empty one.
   */
  moveAway(name: string): void {
    if (!this.#isHealed || !this.#rottenManifests.delete(name)) return;
    const { cluster, world } = this.#context;
    cluster.host(name).disk.wipe();
    this.wipes.push({ node: name, atUs: world.nowUs });
  }

  /** Copies the durable state now; the node crashes `ageMs` later and gets the copy as its disk. */
  rollBack(fault: Fault): boolean {
    const name = targetOf(fault);
    // The copy would be that of another node.
    if (this.isForeign(name)) return false;
    const copy = this.#context.cluster.host(name).disk.durableCopy();
    if (copy.files.size === 0) return false;
    this.#context.later(Number(fault.params['ageMs']) * 1000, `roll back ${fault.id}`, () => {
      if (this.isForeign(name)) return;
      this.#context.crash(fault, 'dropAll', 'silent', (disk) => disk.mount('disk-rollback', copy));
    });
    return true;
  }

  /** Starts the node at once on another node's disk, and after `forUs` on its own again. */
  mountForeign(fault: Fault): boolean {
    const name = targetOf(fault);
    const { cluster } = this.#context;
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
    this.foreignStarts.push({ node: name, life, atUs: this.#context.world.nowUs, served: false });
    this.#context.later(fault.forUs, `remount ${fault.id}`, () => {
      this.#remount(name);
      cluster.start(name);
    });
    return true;
  }

  #remount(name: string): void {
    const own = this.#ownDisks.get(name);
    if (own === undefined) return;
    const { cluster } = this.#context;
    const start = this.foreignStarts.findLast(({ node }) => node === name);
    if (start !== undefined) {
      start.served = cluster.serves(name);
      start.lastLife = cluster.host(name).lives;
    }
    cluster.crash(name, 'keepAll', 'silent');
    cluster.host(name).disk.restore(own);
    this.#ownDisks.delete(name);
  }

  /**
   * `crash-loop`: ends each incarnation of the loop after a drawn number of disk steps, or as soon as the node serves.
   */
  loop(fault: Fault): boolean {
    const name = targetOf(fault);
    const { params, id } = fault;
    const random = this.#context.world.random.fork(`crash-loop/${id}`);
    const survival = survivalOf(String(params['keeps']));
    let left = Number(params['crashes']);
    const dieAgain = (): void => {
      if (left === 0) return;
      left -= 1;
      let steps = 1 + random.below(Number(params['stepMax']));
      // The listener runs within the disk step: the incarnation never sees the step's result.
      this.#onSteps(name, () => {
        if (this.#context.cluster.serves(name)) return true;
        steps -= 1;
        if (steps > 0) return false;
        this.#context.crash(fault, survival, 'silent', dieAgain);
        return true;
      });
    };
    return this.#context.crash(fault, survival, 'silent', dieAgain);
  }

  /** Calls `step` at each disk step of a node until it returns true. */
  #onSteps(name: string, step: () => boolean): void {
    const subscriptions: Subscription[] = [];
    const hear = ({ host }: { readonly host: string }): void => {
      if (host !== name || this.#context.isCalm()) return;
      if (subscriptions.length === 0 || !step()) return;
      for (const subscription of subscriptions.splice(0)) subscription.cancel();
    };
    for (const event of diskSteps) subscriptions.push(this.#context.world.trace.on(event, hear));
    this.#subscriptions.push(...subscriptions);
  }

  #restartGivenUp(name: string): void {
    const { cluster } = this.#context;
    if (!cluster.isUp(name) || !this.#givenUp.has(`${name}/${cluster.host(name).lives}`)) return;
    if (cluster.beginStop(name, () => cluster.start(name))) return;
    // It has not started yet: its store gave up while it waited for its peers.
    this.#context.later(restartDelayUs, `restart ${name}`, () => this.#restartGivenUp(name));
  }
}

function delayOf({ params }: Fault): NonNullable<DiskFault['delay']> {
  const tailUs = Number(params['tailUs']);
  return { minUs: 0, meanUs: Number(params['meanUs']), tailOneIn: tailUs === 0 ? 0 : 50, tailUs };
}

function survivalOf(keeps: string): Survival {
  if (keeps === 'torn') return 'torn';
  return keeps === 'some' ? 'subset' : 'dropAll';
}

/** Loses one of the files of the role. */
function loseOneFile(disk: HostDisk, { role, how, permille }: Fault['params']): void {
  const paths = [...disk.durableFiles().keys()].filter((path) => playsRole(path, String(role)));
  const path = paths[Math.floor((paths.length * Number(permille)) / 1000)];
  if (path !== undefined) disk.loseFile(path, how === 'removed' ? 'removed' : 'emptied');
}

/** Cuts the newest segment of the store to the first `permille` thousandths of its bytes. */
function cutNewestLog(disk: HostDisk, permille: number): void {
  const logs = [...disk.durableFiles()].filter(([path]) => /^store\/\d+\.log$/.test(path));
  const newest = logs.at(-1);
  if (newest !== undefined) disk.cutShort(newest[0], Math.floor((newest[1].length * permille) / 1000));
}

/** Strikes one in `oneIn` operations on files of the role. */
function ruleOf({ params }: Fault): Pick<DiskFault, 'chance' | 'matches' | 'fromOffset'> {
  const role = String(params['role']);
  const chance = [1, Number(params['oneIn'])] as const;
  if (role !== logRecords) return { chance, matches: (path) => playsRole(path, role) };
  return { chance, matches: (path) => playsRole(path, 'log'), fromOffset: segmentHeadBytes };
}

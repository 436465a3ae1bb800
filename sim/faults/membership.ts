/**
 * Faults of the membership: nodes are lost for good, join, leave, and start where they must not.
 *
 * `removed-node-restart` starts removed nodes again on their old disk, as a supervisor or an uninformed operator would.
 * A node that has left must refuse to start (`StoreForeign`, checked by `input-robustness`): its disk knows nothing of
 * deletions since. A node that was replaced may start, since it cannot know; it must serve no client and no peer
 * (`durable-before-ack`, `quorum-intersection`). A node that joins anew with an empty disk is a member like any other.
 *
 * `node-standby`: an operator puts a member in STANDBY and takes it back when the fault is over or at the calm. If the
 * member is down then, the operator repeats the request until it has returned.
 */
import { joinModes } from '../../engine/config/keys.ts';
import type { StandbyPeriod } from '../check/cluster/standby.ts';
import type { Cluster, ReturnMode } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';
import type { FaultCluster, FaultContext, ForeignStart } from './fault-context.ts';
import type { CommonFaultFamily, FaultFamily } from './fault-row.ts';
import { targetOf } from './fault.ts';

/** How a removed node starts again: `anew` as a new member of the same name, otherwise on its old disk. */
const returnModes: readonly ReturnMode[] = [...joinModes, 'anew'];

/** Those that strike real processes as well, by name. */
export const commonMembershipFaults = {
  'permanent-node-loss': {
    code: 'FP10',
    description: 'a node dies and never returns',
    aim: 'node',
    lasting: false,
    params: {},
    strike: (fault, { cluster }) => cluster.lose(targetOf(fault)),
  },
  'membership-change': {
    code: 'FM1',
    description: 'a node joins, leaves, or replaces a dead one',
    aim: 'node',
    lasting: false,
    params: {},
    strike: (fault, { cluster }) => cluster.change(targetOf(fault)),
  },
  'seeds-down': {
    code: 'FM3',
    description: 'nodes start while all the others are away',
    aim: 'side',
    lasting: true,
    params: {},
    strike: (fault, context) => {
      const { cluster } = context;
      const { members } = cluster;
      for (const name of members) cluster.crash(name, 'keepAll', 'silent');
      // The targets start at once and alone.
      startAll(cluster, fault.targets);
      context.later(fault.forUs, `boot ${fault.id}`, () => startAll(cluster, members));
      return true;
    },
  },
  'failure-domain-outage': {
    code: 'FM4',
    description: 'a rack or a datacenter dies and returns at once',
    aim: 'side',
    lasting: true,
    params: { keeps: { kind: 'choice', of: ['everything', 'synced'] } },
    strike: (fault, context) => {
      const { cluster } = context;
      const survival = fault.params['keeps'] === 'synced' ? 'dropAll' : 'keepAll';
      for (const name of fault.targets) cluster.crash(name, survival, 'silent');
      context.later(fault.forUs, `return ${fault.id}`, () => startAll(cluster, fault.targets));
      return true;
    },
  },
} satisfies CommonFaultFamily;

function startAll(cluster: FaultCluster, names: readonly string[]): void {
  for (const name of names) cluster.start(name);
}

/** The rows by name. */
export const membershipFaults = {
  ...commonMembershipFaults,
  'removed-node-restart': {
    code: 'FM6',
    description: 'a node that left or was replaced starts again',
    aim: 'node',
    lasting: false,
    params: { join: { kind: 'choice', of: returnModes } },
    // No peer talks to the removed node.
    disturbs: ({ targets, params }, fromUs) => {
      if (params['join'] === 'anew') return [];
      return targets.map((node) => ({ node, fromUs, toUs: Infinity, away: false }));
    },
    strike: (fault, context) =>
      context.state(removedRestarts).strike(targetOf(fault), fault.params['join'] as ReturnMode),
  },
  'node-standby': {
    code: 'FM7',
    description: 'an operator puts a member in STANDBY for a while',
    aim: 'node',
    lasting: true,
    params: {},
    strike: (fault, context) => {
      const standbys = context.state(standbyFaults);
      const name = targetOf(fault);
      context.later(fault.forUs, `return ${fault.id}`, () => standbys.return(name));
      return standbys.strike(name);
    },
  },
} satisfies FaultFamily;

/** The restarts of removed nodes of one run. */
export function removedRestarts(context: FaultContext): Restarts {
  return new Restarts(context);
}

/** The periods of STANDBY of one run. */
export function standbyFaults(context: FaultContext): StandbyFaults {
  return new StandbyFaults(context);
}

/** Injects `removed-node-restart` and records the starts that must be refused. */
export class Restarts {
  /** Starts of nodes that have left. */
  readonly starts: ForeignStart[] = [];
  /** Nodes that completed their ring change and own their ranges. */
  readonly #arrived = new Set<string>();
  readonly #world: World;
  readonly #cluster: Cluster;

  constructor({ world, cluster }: FaultContext) {
    this.#world = world;
    this.#cluster = cluster;
    world.trace.on('membership.move.declared', ({ host, fields }) => {
      if (fields['state'] === 'NORMAL' && fields['move'] === 'none') this.#arrived.add(host);
    });
    world.trace.on('node.started', ({ host }) => this.#served(host));
  }

  /**
   * Starts the removed node. Returns false if it is not gone: until its replacement has arrived, it is a member that
   * was away.
   */
  strike(name: string, join: ReturnMode): boolean {
    const replacement = this.#cluster.replacementOf(name);
    if (replacement !== undefined && !this.#arrived.has(replacement)) return false;
    const gone = this.#cluster.returns(name, join);
    if (gone === undefined) return false;
    if (gone === 'replaced' || join === 'anew') return true;
    const { lives: life } = this.#cluster.host(name);
    this.starts.push({ node: name, life, atUs: this.#world.nowUs, served: false });
    return true;
  }

  #served(name: string): void {
    const start = this.starts.findLast(({ node }) => node === name);
    // Impostors, which the cluster knows nothing of, start too.
    if (start !== undefined && start.life === this.#cluster.host(name).lives) start.served = true;
  }
}

/** How often the operator repeats the request, in microseconds. */
const retryUs = 300_000;

/**
 * Injects `node-standby` and records when nodes were in STANDBY.
 *
 * A node may carry out the operator's request later: it was paused then, or its disk is slow. It may even declare it only
 * after a restart, if it crashed once its disk had it. The operator who wants the node to serve takes it back then, too.
 */
export class StandbyFaults {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #ended: StandbyPeriod[] = [];
  /** Since when each node has been in STANDBY, as it declared itself. */
  readonly #since = new Map<string, number>();
  /** Nodes that the operator wants to serve, and was asked to take back. */
  readonly #wanted = new Set<string>();
  readonly #returning = new Set<string>();
  #calm = false;

  constructor({ world, cluster }: FaultContext) {
    this.#world = world;
    this.#cluster = cluster;
    world.trace.on('membership.move.declared', ({ host, atUs, fields }) => {
      if (!cluster.names.includes(host)) return;
      if (fields['state'] === 'STANDBY') this.#isInStandby(host, atUs);
      else this.#isBack(host, atUs);
    });
    world.trace.on('membership.started', ({ host, atUs, fields }) => {
      if (cluster.names.includes(host) && fields['state'] === 'STANDBY') this.#isInStandby(host, atUs);
    });
  }

  /** The periods that are over, then those that last. */
  get periods(): readonly StandbyPeriod[] {
    const open = [...this.#since].map(([node, fromUs]) => ({ node, fromUs, toUs: Infinity }));
    return [...this.#ended, ...open];
  }

  /** Puts the node in STANDBY. Returns false if it is down or refuses. */
  strike(name: string): boolean {
    this.#wanted.delete(name);
    return this.#cluster.standby(name, false);
  }

  /** The operator asks until the node has returned. */
  return(name: string): void {
    this.#wanted.add(name);
    if (this.#returning.has(name)) return;
    this.#returning.add(name);
    this.#ask(name);
  }

  /** Every node that is in STANDBY, or will be, returns. */
  calm(): void {
    this.#calm = true;
    for (const name of this.#since.keys()) this.return(name);
  }

  #isInStandby(name: string, atUs: number): void {
    this.#since.set(name, this.#since.get(name) ?? atUs);
    if (!this.#calm && !this.#wanted.has(name)) return;
    // Not in the event by which the node declares itself.
    this.#world.after(0, `return ${name}`, () => this.return(name));
  }

  #isBack(name: string, atUs: number): void {
    const fromUs = this.#since.get(name);
    if (fromUs === undefined) return;
    this.#since.delete(name);
    this.#ended.push({ node: name, fromUs, toUs: atUs });
  }

  #ask(name: string): void {
    if (!this.#since.has(name)) {
      this.#returning.delete(name);
      return;
    }
    this.#cluster.standby(name, true);
    this.#world.after(retryUs, `return ${name}`, () => this.#ask(name));
  }
}

/**
 * A cluster in the world: the hosts of its nodes, their configurations, and the incarnations that run on them. The only
 * place of the simulator that builds a Node.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import { present } from '../../../engine/base/assert.ts';
import { LockstepError } from '../../../engine/base/errors.ts';
import type { JoinMode } from '../../../engine/config/keys.ts';
import type { Credential } from '../../../engine/auth/credentials.ts';
import type { Token } from '../../../engine/base/ids.ts';
import type { NodeConfig } from '../../../engine/config/config.ts';
import type { Address } from '../../../engine/io/network.ts';
import type { Random } from '../../../engine/io/random.ts';
import { Node } from '../../../engine/node/node.ts';
import type { Member } from '../../../engine/cluster/ring/ring.ts';
import { Ring } from '../../../engine/cluster/ring/ring.ts';
import type { StatsSnapshot } from '../../../engine/metrics/snapshot.ts';
import type { IncarnationRecord } from '../../check/program/failures.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import type { Host, Leaks, Survival } from './host.ts';
import type { Claim } from './impostors.ts';
import { codeOf, Impostors } from './impostors.ts';
import { clusterPorts, configOf, newcomerSettings, spareSettings } from './node-config.ts';
import type { ClusterPort } from './node-config.ts';
import type {
  DoubleStart,
  Gone,
  SlotIncarnation,
  IncarnationEndListener,
  RefusedStart,
  NodeSlot,
  OrderlyStop,
} from './node-slots.ts';
import { isGone, memberOf } from './node-slots.ts';
import { worldCredentials } from './world-credentials.ts';
import type { World } from '../world.ts';

/** How a removed node starts again: `anew` as a new member of the same name, otherwise on its old disk. */
export type ReturnMode = JoinMode | 'anew';

/** Largest offset of a host's wall clock at its start, in either direction. */
export const wallOffsetMsMax = 200;
/** Largest drift of both its clocks, in parts per million, in either direction. */
export const driftPpmMax = 200;

/** When the operator repeats an order to leave that the node's disk did not take, in microseconds. */
const leaveAgainUs = 300_000;

/** The cluster of one run. */
export class Cluster {
  readonly ring: Ring;
  readonly impostors: Impostors;
  readonly #world: World;
  readonly #nodes: readonly PlanNode[];
  readonly #settings: Readonly<Record<string, unknown>>;
  readonly #clocks: Random;
  readonly #slots = new Map<string, NodeSlot>();
  readonly #lives: IncarnationRecord[] = [];
  readonly #endings: IncarnationEndListener[] = [];
  readonly #doubleStarts: DoubleStart[] = [];
  readonly #refused: RefusedStart[] = [];
  readonly #stops: OrderlyStop[] = [];
  readonly #returned = new Set<string>();
  readonly #onRefused: ((refused: RefusedStart) => void)[] = [];

  /** Adds a host for every node to the world, switched off. Throws `ConfigInvalid` for invalid settings. */
  constructor(world: World, nodes: readonly PlanNode[], settings: Readonly<Record<string, unknown>>) {
    this.#world = world;
    this.impostors = new Impostors(world);
    this.#nodes = nodes.filter((node) => node.spare !== true);
    this.#settings = settings;
    this.#clocks = world.random.fork('clocks');
    for (const node of nodes) this.add(node, node.spare === true ? spareSettings(node) : {});
    const members = [...this.#slots.values()].filter(({ standing }) => standing === 'member');
    this.ring = new Ring(members.map(memberOf));
    world.onFailedAssertion((host) => {
      if (this.#slots.has(host)) this.crash(host, 'keepAll', 'reset');
    });
    world.trace.on('transfer.leave.failed', ({ host }) => this.#leaveAgain(host));
    world.trace.on('membership.started', ({ host, fields }) => {
      if (this.#slots.get(host)?.leaving === true && fields['state'] !== 'LEAVING') this.#leaveAgain(host);
    });
    world.trace.on('membership.departed', ({ host }) => {
      const slot = this.#slots.get(host);
      if (slot !== undefined) slot.departed = true;
    });
  }

  /**
   * Adds one more host, for a node that the others' configurations do not name. `own` are settings of its own, named as
   * in a configuration file; they may even give the node another name than its host's.
   */
  add(node: PlanNode, own: Readonly<Record<string, unknown>> = {}): void {
    const host = this.#world.addHost(node.name, {
      wallOffsetMs: this.#clocks.below(2 * wallOffsetMsMax + 1) - wallOffsetMsMax,
      driftPpm: this.#clocks.below(2 * driftPpmMax + 1) - driftPpmMax,
    });
    const config = configOf(node, this.#nodes, { ...this.#settings, ...own });
    const standing = node.spare === true ? 'spare' : 'member';
    const initial = {
      credentials: worldCredentials,
      build: undefined,
      told: undefined,
      life: undefined,
      departed: false,
      leaving: false,
    };
    this.#slots.set(node.name, { ...initial, config, host, node, standing });
  }

  /** `build-change`: from its next incarnation on the node speaks at most this version of peer messages. */
  changeBuild(name: string, peerVersion: number): void {
    const slot = this.#slot(name);
    slot.build = peerVersion;
    slot.config = { ...slot.config, peerVersion };
  }

  /** Gives a node other settings of its own, from its next incarnation on. */
  reconfigure(node: PlanNode, own: Readonly<Record<string, unknown>>): void {
    const slot = this.#slot(node.name);
    const build = slot.build === undefined ? {} : { peerVersion: slot.build };
    slot.config = { ...configOf(node, this.#nodes, { ...this.#settings, ...own }), ...build };
    slot.told = undefined;
  }

  get names(): readonly string[] {
    return [...this.#slots.keys()];
  }

  /** Nodes that must be up once everything is healed: without spares and without removed nodes. */
  get members(): readonly string[] {
    const slots = [...this.#slots.values()].filter(({ standing }) => standing === 'member');
    return slots.map(({ host }) => host.name);
  }

  /** Whether a member was told to leave and has not left yet. */
  get hasLeaving(): boolean {
    return [...this.#slots.values()].some(({ leaving, standing }) => leaving && standing === 'member');
  }

  /** Members that are gone. */
  get gone(): Gone {
    const slots = [...this.#slots.values()].filter(({ standing }) => standing !== 'spare');
    const namesOf = (some: readonly NodeSlot[]): readonly string[] => some.map(({ host }) => host.name);
    return {
      lost: namesOf(slots.filter(({ standing }) => standing !== 'member')),
      missed: namesOf(slots.filter(({ standing }) => standing === 'lost')),
      replacements: new Map(
        slots.flatMap(({ node: { name, replaces } }) => (replaces === undefined ? [] : [[replaces, name]])),
      ),
    };
  }

  /** The ring of the nodes that are members now. */
  owners(): Ring {
    const slots = [...this.#slots.values()].filter(({ standing }) => standing === 'member');
    return new Ring(slots.map(memberOf));
  }

  /** The node with its tokens; undefined if there is none of that name, or if it replaces another one. */
  memberOf(name: string): Member | undefined {
    const slot = this.#slots.get(name);
    return slot === undefined || slot.node.replaces !== undefined ? undefined : memberOf(slot);
  }

  /** The ring of these nodes; unknown names are left out. */
  ringOf(names: readonly string[]): Ring {
    return new Ring(names.flatMap((name) => this.#slots.get(name) ?? []).map(memberOf));
  }

  /**
   * `membership-change`: a spare joins, in place of a member that dies for good if the spare replaces one; a member
   * leaves. Returns false if the node is down, already changing, or gone; likewise if the one to be replaced has left.
   */
  change(name: string): boolean {
    const slot = this.#slot(name);
    if (slot.standing === 'member') return this.#leave(slot);
    if (slot.standing !== 'spare') return false;
    const { replaces } = slot.node;
    if (replaces !== undefined) {
      const replaced = this.#slot(replaces);
      if (replaced.standing === 'left') return false;
      replaced.standing = 'replaced';
      this.crash(replaces, 'keepAll', 'silent');
    }
    slot.standing = 'member';
    this.start(name);
    return true;
  }

  /**
   * `removed-node-restart`: starts a removed node again. With `member` or `joining` it starts on its old disk and does
   * not count as a member; with `anew` it joins with an empty disk and other tokens. Returns how it was removed;
   * undefined if it is not removed, or its last incarnation has not ended.
   */
  returns(name: string, join: ReturnMode): 'left' | 'replaced' | undefined {
    const slot = this.#slot(name);
    const { standing } = slot;
    if ((standing !== 'left' && standing !== 'replaced') || slot.life !== undefined) return undefined;
    if (join === 'anew') {
      slot.host.disk.wipe();
      slot.standing = 'member';
      slot.departed = false;
      slot.leaving = false;
      this.reconfigure(slot.node, newcomerSettings(slot.config));
    } else {
      this.#returned.add(name);
      this.reconfigure(slot.node, { join });
    }
    this.start(name);
    return standing;
  }

  /** The spare that replaces the node; undefined if there is none. */
  replacementOf(name: string): string | undefined {
    return [...this.#slots.values()].find(({ node }) => node.replaces === name)?.host.name;
  }

  /** Whether the node was removed and started again on its old disk: what it holds counts as no copy. */
  hasReturned(name: string): boolean {
    return this.#returned.has(name);
  }

  /** `permanent-node-loss`: a member dies for good. Returns false if it is gone already. */
  lose(name: string): boolean {
    const slot = this.#slot(name);
    if (slot.standing !== 'member') return false;
    slot.standing = 'lost';
    this.crash(name, 'keepAll', 'silent');
    return true;
  }

  /**
   * `node-standby`: an operator puts a member in STANDBY, or takes it back (`ends`). Returns false if it is down or
   * refuses.
   */
  standby(name: string, ends: boolean): boolean {
    const { life, host } = this.#slot(name);
    if (life?.node === undefined) return false;
    const { node } = life;
    let accepted = true;
    host.ask(() => {
      let saved: Promise<void>;
      try {
        saved = node.standby({ ends });
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
        // Too few other members serve reads, or a ring change of the node is under way.
        accepted = false;
        return;
      }
      life.io.spawn('operator', async () => {
        try {
          await saved;
        } catch (error) {
          // Its disk refuses the write; the operator asks again (`StandbyFaults`).
          if (codeOf(error) !== 'StorageFailed') throw error;
        }
      });
    });
    return accepted;
  }

  /**
   * `credential-change`: the node's credentials file changes, and the node reads it again. Returns false, and changes
   * nothing, if the node does not serve or stands still.
   */
  replaceCredentials(name: string, credentials: readonly Credential[]): boolean {
    const slot = this.#slot(name);
    const { node } = slot.life ?? {};
    if (node === undefined || slot.host.paused) return false;
    slot.credentials = credentials;
    slot.host.ask(() => node.replaceCredentials(credentials));
    return true;
  }

  #leave(slot: NodeSlot): boolean {
    const { life } = slot;
    if (life?.node === undefined) return false;
    const { node } = life;
    let leaving = true;
    slot.host.ask(() => {
      try {
        node.leave();
        slot.leaving = true;
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
        // The node is already leaving.
        leaving = false;
      }
    });
    return leaving;
  }

  /** The node's disk did not take the order to leave, or the node died before it had: the operator gives it again. */
  #leaveAgain(name: string): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    this.#world.after(leaveAgainUs, `leave ${name}`, () => {
      const isWanted = slot.leaving && slot.standing === 'member';
      if (isWanted && !this.#leave(slot)) slot.leaving = false;
    });
  }

  /** `wrong-identity`: a process on a host of its own claims to be a member, or to be one beside `victim`. */
  impose(id: string, victim: string, claim: Claim): void {
    const { node, config } = this.#slot(victim);
    this.impostors.impose(id, { node, config }, claim, this.#nodes, this.#settings);
  }

  /**
   * `double-start`: starts a second process on the same directory; `doubleStarts` records the error that it ends with.
   * Returns false if no process serves there, or if it stops: then the second one may start.
   */
  startTwice(name: string): boolean {
    const slot = this.#slot(name);
    const { life } = slot;
    if (life?.node === undefined || life.stopping) return false;
    const start: DoubleStart = { node: name, atUs: this.#world.nowUs, refused: '', cutOff: false };
    this.#doubleStarts.push(start);
    const over = new Deferred<void>();
    life.second = over.promise;
    life.io.spawn('second', async () => {
      try {
        const second = await Node.start(life.io, slot.config, { credentials: slot.credentials });
        await second.stop();
        start.refused = 'nothing: it served';
      } catch (error) {
        start.refused = codeOf(error);
      } finally {
        over.resolve();
      }
    });
    return true;
  }

  get doubleStarts(): readonly Readonly<DoubleStart>[] {
    return this.#doubleStarts;
  }

  /** The address of one of a node's listeners. */
  address(name: string, port: ClusterPort): Address {
    return `${name}:${clusterPorts[port]}`;
  }

  /** The configuration of the node's current incarnation, or of its next one. */
  configOf(name: string): NodeConfig {
    return this.#slot(name).config;
  }

  host(name: string): Host {
    return this.#slot(name).host;
  }

  /** Whether a process runs on the node's host, whether it serves yet or not. */
  isUp(name: string): boolean {
    return this.#slot(name).life !== undefined;
  }

  /** Whether the node has started and serves. */
  serves(name: string): boolean {
    return this.#slot(name).life?.node !== undefined;
  }

  /** The node's counters now; undefined while it does not serve. */
  statistics(name: string): StatsSnapshot | undefined {
    return this.#slot(name).life?.node?.statistics();
  }

  /** Calls `listener` at the end of every incarnation, while its counters can still be read. */
  onLifeEnding(listener: IncarnationEndListener): void {
    this.#endings.push(listener);
  }

  /** Starts that nodes refused. */
  get refusedStarts(): readonly RefusedStart[] {
    return this.#refused;
  }

  /** Calls `listener` after every start that a node refused, when that incarnation is over. */
  onStartRefused(listener: (refused: RefusedStart) => void): void {
    this.#onRefused.push(listener);
  }

  /**
   * Boots the host and starts the node on it; does nothing if it is up, or is gone for good: a fault that meant to start
   * it again may end after that.
   */
  start(name: string): void {
    if (isGone(this.#slot(name).standing) && !this.#returned.has(name)) return;
    this.#start(name, undefined);
  }

  /** `tokens`: those that peers have assigned to the node. */
  #start(name: string, tokens: readonly Token[] | undefined): void {
    const slot = this.#slot(name);
    if (slot.life !== undefined) return;
    const io = slot.host.boot();
    const life: SlotIncarnation = { io, node: undefined, stopping: false, second: undefined };
    slot.life = life;
    io.spawn('node', async () => {
      try {
        const { credentials, config } = slot;
        const node = await Node.start(io, { ...config, ...(tokens && { tokens }) }, { credentials });
        life.node = node;
        // As `lockstep start` does (`engine/cli/start/start.ts`).
        const startAnew = (told: readonly Token[] | undefined): void => {
          if (slot.life === life) this.beginStop(name, () => this.#start(name, told));
        };
        node.onSpaceAvailable(() => startAnew(tokens));
        const over = (): void => {
          if (slot.life !== life) return;
          slot.standing = 'left';
          this.beginStop(name, () => undefined);
        };
        // No code expects a rejection: it is rethrown, and fails the run (`no-silent-failures`).
        node.left.then(over, (error: unknown) => {
          throw error;
        });
        node.onTokens((told) => {
          slot.told = told;
          startAnew(told);
        });
      } catch (error) {
        if (!(error instanceof LockstepError)) throw error;
        this.#refuse(slot, life, error);
      }
    });
  }

  /** Ends the process, as a program that cannot start exits; in a separate event. */
  #refuse(slot: NodeSlot, life: SlotIncarnation, { code, message: detail }: LockstepError): void {
    const { host } = slot;
    this.#world.after(0, `refused ${host.name}`, () => {
      if (slot.life !== life) return;
      this.#endLife(slot);
      const left = host.stop();
      // The power failed between its last write and its exit: the node had left before it started.
      const departed = slot.departed && code === 'StoreForeign';
      if (departed && slot.standing === 'member') slot.standing = 'left';
      const { nowUs: atUs } = this.#world;
      const { peerVersion: build } = slot.config;
      const refused = { node: host.name, life: host.lives, atUs, code, detail, build, departed, left };
      this.#refused.push(refused);
      for (const listener of this.#onRefused) listener(refused);
    });
  }

  /** Ends a node's incarnation without notice; does nothing if it is down. */
  crash(name: string, survival: Survival, connections: 'silent' | 'reset'): void {
    const slot = this.#slot(name);
    if (slot.life === undefined) return;
    this.#record(slot, slot.life, 'crashed', survival !== 'keepAll');
    slot.life = undefined;
    slot.host.crash(survival, connections);
  }

  /** Asks every node that serves to stop, lets time pass until it has, and reports what each left behind. */
  async stopAll(budgetUs: number): Promise<ReadonlyMap<string, Leaks | 'stuck'>> {
    const left = new Map<string, Leaks | 'stuck'>();
    for (const { host, life } of this.#slots.values()) {
      if (life?.node !== undefined) left.set(host.name, await this.stop(host.name, budgetUs));
    }
    return left;
  }

  /**
   * Asks a serving node to stop, lets time pass until it has, and reports what it left behind; `stuck` after
   * `budgetUs`.
   */
  async stop(name: string, budgetUs: number): Promise<Leaks | 'stuck'> {
    const outcome: { left: Leaks | 'stuck' } = { left: 'stuck' };
    this.beginStop(name, (leaks) => (outcome.left = leaks));
    await this.#world.runUntil(() => outcome.left !== 'stuck', budgetUs);
    if (outcome.left === 'stuck') this.#endLife(this.#slot(name));
    return outcome.left;
  }

  /**
   * `graceful-restart`: asks a node to stop; `onStopped` receives what it left behind. Returns false if it does not
   * serve.
   */
  beginStop(name: string, onStopped: (left: Leaks) => void): boolean {
    const slot = this.#slot(name);
    const { life } = slot;
    if (life?.node === undefined) return false;
    const { node } = life;
    life.stopping = true;
    const stop = async (): Promise<void> => {
      await node.stop();
      // What a second process still holds is not the node's.
      await life.second;
      // In a separate event, after this task has ended: otherwise the task itself would count as left behind.
      this.#world.after(0, `stopped ${name}`, () => {
        if (slot.life !== life) return;
        this.#endLife(slot);
        const left = slot.host.stop();
        this.#stops.push({ node: name, atUs: this.#world.nowUs, left });
        onStopped(left);
      });
    };
    slot.host.ask(() => life.io.spawn('stop', stop));
    return true;
  }

  /** Every orderly stop that has completed, and what it left behind. */
  get stops(): readonly OrderlyStop[] {
    return this.#stops;
  }

  #endLife(slot: NodeSlot): void {
    if (slot.life !== undefined) this.#record(slot, slot.life, 'stopped');
    slot.life = undefined;
  }

  /** Every incarnation so far, running ones included. */
  lives(): readonly IncarnationRecord[] {
    const running = [...this.#slots.values()].flatMap(({ host, life }) =>
      life === undefined ? [] : [this.#recordOf(host, life)],
    );
    return [...this.#lives, ...running];
  }

  #record({ host }: NodeSlot, life: SlotIncarnation, how: 'crashed' | 'stopped', lostUnsynced = false): void {
    for (const listener of this.#endings) listener(host.name, how);
    if (how === 'crashed')
      for (const start of this.#doubleStarts)
        if (start.node === host.name && start.refused === '') start.cutOff = true;
    this.#lives.push({ ...this.#recordOf(host, life), lostUnsynced });
  }

  #recordOf(host: Host, { io }: SlotIncarnation): IncarnationRecord {
    return { node: host.name, life: host.lives, failedTasks: io.failedTasks(), atUs: this.#world.nowUs };
  }

  #slot(name: string): NodeSlot {
    return present(this.#slots.get(name), `the node ${name}`);
  }
}

/**
 * Rebuilds a member that starts on an empty disk: a new member, or one whose disk was lost. The disk alone cannot tell
 * these apart, so the node asks every other member. Until they have answered and everything is back, this node is the
 * primary of nothing. Otherwise it would find conditions met that are not, and locks free that it had promised to
 * transactions.
 *
 * What must be back:
 *
 * - Every write that a quorum has acknowledged. A quorum of this datacenter may have counted the lost disk; a quorum of
 *   another datacenter has enough other replicas (`rebuildSources`). That includes the ranges of a leaving member that
 *   this node is about to own: that member may have pushed them to the lost disk already.
 * - Every transaction of another coordinator that an earlier incarnation has voted for must be over, or be one for
 *   which no node has the prepare request any more. Its coordinator sends the prepare request again
 *   (transactions/recovery/redo.ts); the lock that was lost with the vote is missing until then.
 *
 * A member that no node has ever heard of holds nothing. So the nodes of a new cluster wait for the first answers only.
 * A node that joins later does not pass here (ring-change-coordinator.ts).
 *
 * The mark that the rebuild is not over is the first write to the store (rebuild-mark.ts), so a crash does not end a
 * rebuild.
 */
import { LockstepError } from '../../base/errors.ts';
import { Deferred } from '../../base/deferred.ts';
import type { NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { LostDiskState } from '../membership/lost-disk-state.ts';
import type { Membership } from '../membership/membership.ts';
import type { TokenRange } from '../ring/arc.ts';
import type { Member } from '../ring/ring.ts';
import { rebuildSources } from './arcs.ts';
import type { RebuildMark } from './rebuild-mark.ts';
import type { Transfer } from './transfer.ts';

/** What a rebuild works with. */
export interface RebuildDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly self: Member;
  readonly membership: Pick<
    Membership,
    'ring' | 'otherRings' | 'members' | 'isRoutable' | 'isReplaced' | 'lifeOf'
  >;
  readonly transfer: Pick<Transfer, 'pull'>;
  readonly mark: RebuildMark;
  /** Asks a peer what it knows of this node's earlier incarnations. Undefined if it does not answer. */
  readonly ask: (peer: NodeId) => Promise<LostDiskState | undefined>;
  /**
   * No member held anything: the cluster is new. Called before this node may be a primary. Resolves with the members
   * that it waits for: then it is called again.
   */
  readonly onNewCluster: () => Promise<readonly NodeId[]>;
}

/** What is still missing. If both are empty, the ring has changed meanwhile, and the rebuild checks again. */
interface Lack {
  /** Members that must still answer or be read. */
  readonly members: readonly NodeId[];
  /** Members that coordinate open transactions of an earlier incarnation. */
  readonly coordinators: readonly NodeId[];
}

const retryUs = 200_000;
/** So many checks that find something missing are not logged: the nodes of a new cluster start one after another. */
const quietLooks = 15;
/** After this many checks the same reason is logged again. */
const remindingLooks = 150;
const lookAgain: Lack = { members: [], coordinators: [] };

/** The rebuild of one node. Lifecycle: `recover`, then `start`, then `stop`. */
export class Rebuild {
  readonly #parts: RebuildDependencies;
  /** Ranges that were read, as `n2 17-42`. */
  readonly #read = new Set<string>();
  /** What the rebuild waits for; undefined if no rebuild is needed or it is over. */
  #lack: Lack | undefined;
  #unread = false;
  #began = false;
  #looks = 0;
  /** What was logged last, and at which check. */
  #told = { lack: '', look: 0 };
  #rangesLeft = 0;
  #ranges = 0;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: RebuildDependencies) {
    this.#parts = parts;
  }

  /**
   * Checks whether a rebuild is needed. Call it before anything is written to the store. Rejects with `StorageFailed`.
   */
  async recover(): Promise<void> {
    const { membership, self, mark } = this.#parts;
    if (!(await mark.isPending(membership.ring.members.includes(self)))) return;
    sometimes('rebuild.began');
    this.#lack = lookAgain;
    this.#unread = true;
    this.#began = true;
  }

  /** True if this incarnation started on an empty disk, or on one whose rebuild was not over. */
  get began(): boolean {
    return this.#began;
  }

  /** True until everything that the disk may have held was read back. */
  get unread(): boolean {
    return this.#unread;
  }

  /** Why this node may not be a primary yet; undefined if it may. */
  get notReadyReason(): string | undefined {
    if (this.#lack === undefined) return undefined;
    const { members, coordinators } = this.#lack;
    const { node } = this.#parts.self;
    const why = `${node} has started on an empty disk and leads nothing before it has got back what it may have held`;
    if (members.length > 0) return `${why}; it waits for ${members.join(', ')}`;
    if (coordinators.length > 0) return `${why}; ${coordinators.join(', ')} must end transactions first`;
    return `${why}; try again later`;
  }

  /** Members that must answer, be read, or end transactions. Empty when there is nothing to wait for. */
  get waitsFor(): readonly NodeId[] {
    return [...(this.#lack?.members ?? []), ...(this.#lack?.coordinators ?? [])];
  }

  /** Ranges still to be read, and all ranges of this rebuild. */
  get progress(): { readonly rangesLeft: number; readonly ranges: number } {
    return { rangesLeft: this.#rangesLeft, ranges: this.#ranges };
  }

  /** Starts the rebuild. Resolves once it is over, or once it is clear that it takes longer. */
  start(): Promise<void> {
    if (this.#lack === undefined) return Promise.resolve();
    const judged = new Deferred<void>();
    const over = new Deferred<void>();
    this.#work = over.promise;
    this.#parts.io.spawn('transfer.rebuild', async () => {
      try {
        await this.#run(judged);
      } finally {
        judged.resolve();
        over.resolve();
      }
    });
    return judged.promise;
  }

  /** Stops. Resolves when nothing is under way. */
  stop(): Promise<void> {
    this.#stopped = true;
    return this.#work;
  }

  async #run(judged: Deferred<void>): Promise<void> {
    const { io, mark } = this.#parts;
    for (;;) {
      const lack = (await this.#look(judged)) ?? (await this.#begin());
      if (this.#stopped) return;
      if (lack === undefined) break;
      this.#wait(lack);
      judged.resolve();
      await sleep(io.clock, retryUs);
    }
    const waited = this.#ranges > 0 || this.#told.look > 0;
    this.#lack = undefined;
    this.#rangesLeft = 0;
    if (waited) io.log.event('info', 'transfer.rebuild.done', { ranges: this.#ranges });
    await mark.lift();
  }

  /** Nothing is missing. If nothing was read either, the cluster is new. */
  async #begin(): Promise<Lack | undefined> {
    const silent = this.#ranges === 0 && !this.#stopped ? await this.#parts.onNewCluster() : [];
    return silent.length === 0 ? undefined : { members: silent, coordinators: [] };
  }

  #wait(lack: Lack): void {
    this.#lack = lack;
    this.#looks += 1;
    const told = `${lack.members.join(' ')} | ${lack.coordinators.join(' ')}`;
    const isKnown = this.#told.lack === told && this.#looks - this.#told.look < remindingLooks;
    if (this.#looks <= quietLooks || isKnown) return;
    this.#told = { lack: told, look: this.#looks };
    this.#parts.io.log.event('warn', 'transfer.rebuild.waits', { detail: this.notReadyReason ?? '' });
  }

  /** Asks all members and reads what is missing. Undefined if nothing is missing. */
  async #look(judged: Deferred<void>): Promise<Lack | undefined> {
    const { membership } = this.#parts;
    const { ring, otherRings } = membership;
    const states = await this.#lostDiskStates();
    const away = this.#away(states);
    if (away.length > 0) return { members: away, coordinators: [] };
    const failed = await this.#readAll(states, judged);
    if (failed !== undefined) return { members: [failed], coordinators: [] };
    if (membership.ring !== ring || membership.otherRings !== otherRings) return lookAgain;
    this.#unread = false;
    const coordinators = [...states].filter(([, { open }]) => open).map(([node]) => node);
    return coordinators.length === 0 ? undefined : { members: [], coordinators };
  }

  #others(): readonly NodeId[] {
    const { membership, self } = this.#parts;
    const nodes = membership.members().map(({ node }) => node);
    return nodes.filter((node) => node !== self.node && !membership.isReplaced(node));
  }

  async #lostDiskStates(): Promise<ReadonlyMap<NodeId, LostDiskState>> {
    const { membership, ask } = this.#parts;
    const states = new Map<NodeId, LostDiskState>();
    await Promise.all(
      this.#others().map(async (node) => {
        const state = membership.isRoutable(node) ? await ask(node) : undefined;
        if (state !== undefined) states.set(node, state);
      }),
    );
    return states;
  }

  /** Members that have not answered and may know something. */
  #away(states: ReadonlyMap<NodeId, LostDiskState>): readonly NodeId[] {
    const { membership, self } = this.#parts;
    const others = this.#others();
    const owners = membership.ring.members.filter((member) => member !== self).map(({ node }) => node);
    // A joining member knows of nothing before it joined.
    if (owners.length > 0 && !owners.some((node) => states.has(node))) {
      sometimes('rebuild.no-owner-answers');
      return owners;
    }
    const heard = new Set([...states.values()].flatMap((state) => state.heard));
    for (const node of others) if (membership.lifeOf(node) > 0) heard.add(node);
    // A node that is unknown here has left, or gossip is about to report it.
    return [...heard].filter((node) => node !== self.node && !states.has(node)).sort();
  }

  /** Undefined if everything was read; otherwise the member that could not be read. */
  async #readAll(
    states: ReadonlyMap<NodeId, LostDiskState>,
    judged: Deferred<void>,
  ): Promise<NodeId | undefined> {
    const { membership, self, io } = this.#parts;
    const sources = rebuildSources(
      membership.ring,
      self,
      ({ node }) => {
        const state = states.get(node);
        return { holds: state?.holds === true, whole: state?.whole === true };
      },
      membership.otherRings,
    );
    const unread = sources.filter(([source, range]) => !this.#read.has(nameOf(source, range)));
    this.#rangesLeft = unread.length;
    if (unread.length > 0) judged.resolve();
    if (unread.length > 0 && this.#ranges === 0)
      io.log.event('info', 'transfer.rebuild.began', { ranges: unread.length });
    this.#ranges = Math.max(this.#ranges, unread.length);
    for (const [source, range] of unread) {
      if (!(await this.#pull(source, range))) return source.node;
      this.#rangesLeft -= 1;
    }
    return undefined;
  }

  async #pull(source: Member, range: TokenRange): Promise<boolean> {
    const { transfer, io } = this.#parts;
    try {
      if (!(await transfer.pull(source, range, () => !this.#stopped))) return false;
      this.#read.add(nameOf(source, range));
      return true;
    } catch (error) {
      if (!(error instanceof LockstepError)) throw error;
      const { code, message: detail } = error;
      sometimes('rebuild.source-failed');
      io.log.event('warn', 'transfer.range.failed', { ...range, code, detail });
      return false;
    }
  }
}

function nameOf({ node }: Member, { from, to }: TokenRange): string {
  return `${node} ${from}-${to}`;
}

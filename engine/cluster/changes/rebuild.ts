/**
 * A member that starts on an empty disk: a new one, or one whose disk was lost. Nobody can tell these apart by the disk,
 * so both ask the others. Until they have answered, and all that must be there has come, this node is the primary of
 * nothing: it would find conditions met that are not, and locks free that it had promised to transactions.
 *
 * What must be there: every write that a quorum has acknowledged. A quorum of the own datacenter may have counted the disk
 * that was lost, and one of another datacenter had enough others (`refillSources`). And every transaction of another
 * coordinator that an earlier life has voted for has to be over, or to be one that nobody has the order of any more: its
 * coordinator gives it again (transactions/recovery/redo.ts), and the lock that was lost with the vote is missing until then.
 *
 * A member that nobody has ever heard of holds nothing. So the nodes of a new cluster have nothing to wait for but the
 * first answers. Whoever joins later comes in by another way (ring-change-coordinator.ts).
 *
 * That this is not over is written in the store before anything else is, so that a crash does not end it.
 */
import { LockstepError } from '../../base/errors.ts';
import { Deferred } from '../../base/deferred.ts';
import type { NodeId } from '../../base/ids.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { LostDiskState } from '../membership/lost-disk-state.ts';
import type { Membership } from '../membership/membership.ts';
import type { TokenRange } from '../ring/arc.ts';
import type { Member } from '../ring/ring.ts';
import { refillSources } from './arcs.ts';
import type { RebuildMark } from './rebuild-mark.ts';
import type { Transfer } from './transfer.ts';

export interface RebuildDependencies {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly self: Member;
  readonly membership: Pick<Membership, 'ring' | 'members' | 'isRoutable' | 'isReplaced' | 'lifeOf'>;
  readonly transfer: Pick<Transfer, 'pull'>;
  readonly mark: RebuildMark;
  /** Undefined: it has not answered. */
  readonly ask: (peer: NodeId) => Promise<LostDiskState | undefined>;
}

/** What is missing yet; with neither, something has changed meanwhile, and it is looked again. */
interface Lack {
  /** Members that have to answer, or to be read. */
  readonly members: readonly NodeId[];
  /** Members that coordinate transactions of an earlier life. */
  readonly coordinators: readonly NodeId[];
}

const retryUs = 200_000;
/** So many looks that find something missing are nothing to tell: a new cluster's nodes start one after another. */
const quietLooks = 15;
/** What goes on is told again after so many looks. */
const remindingLooks = 150;
const lookAgain: Lack = { members: [], coordinators: [] };

export class Rebuild {
  readonly #parts: RebuildDependencies;
  /** What was read, as `n2 17-42`. */
  readonly #read = new Set<string>();
  /** Undefined: nothing is awaited. */
  #lack: Lack | undefined;
  #unread = false;
  #began = false;
  #looks = 0;
  /** What was told of last, and at which look. */
  #told = { lack: '', look: 0 };
  #rangesLeft = 0;
  #ranges = 0;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: RebuildDependencies) {
    this.#parts = parts;
  }

  /** Looks whether the disk is an empty one; before anything is written to it. Rejects with `StorageFailed`. */
  async recover(): Promise<void> {
    const { membership, self, mark } = this.#parts;
    if (!(await mark.isPending(membership.ring.members.includes(self)))) return;
    this.#lack = lookAgain;
    this.#unread = true;
    this.#began = true;
  }

  /** This life began on an empty disk, or on one that had not been filled. */
  get began(): boolean {
    return this.#began;
  }

  /** Of what the disk may have held not all has been read back. */
  get unread(): boolean {
    return this.#unread;
  }

  /** Why this node can be the primary of nothing yet; undefined when it can. */
  get hindrance(): string | undefined {
    if (this.#lack === undefined) return undefined;
    const { members, coordinators } = this.#lack;
    const { node } = this.#parts.self;
    const why = `${node} has started on an empty disk and leads nothing before it has got back what it may have held`;
    if (members.length > 0) return `${why}; it waits for ${members.join(', ')}`;
    if (coordinators.length > 0) return `${why}; ${coordinators.join(', ')} must end transactions first`;
    return `${why}; try again later`;
  }

  /** Members that have to answer, to be read, or to end transactions; none when nothing is awaited. */
  get waitsFor(): readonly NodeId[] {
    return [...(this.#lack?.members ?? []), ...(this.#lack?.coordinators ?? [])];
  }

  get progress(): { readonly rangesLeft: number; readonly ranges: number } {
    return { rangesLeft: this.#rangesLeft, ranges: this.#ranges };
  }

  /** Begins. Resolves once it is over, or it is known that it will take longer. */
  start(): Promise<void> {
    if (this.#lack === undefined) return Promise.resolve();
    const judged = new Deferred<void>();
    const over = new Deferred<void>();
    this.#work = over.promise;
    this.#parts.io.spawn('transfer.refill', async () => {
      try {
        await this.#run(judged);
      } finally {
        judged.resolve();
        over.resolve();
      }
    });
    return judged.promise;
  }

  /** Resolves when nothing is under way. */
  stop(): Promise<void> {
    this.#stopped = true;
    return this.#work;
  }

  async #run(judged: Deferred<void>): Promise<void> {
    const { io, mark } = this.#parts;
    for (;;) {
      const lack = await this.#look(judged);
      if (this.#stopped) return;
      if (lack === undefined) break;
      this.#wait(lack);
      judged.resolve();
      await sleep(io.clock, retryUs);
    }
    const waited = this.#ranges > 0 || this.#told.look > 0;
    this.#lack = undefined;
    this.#rangesLeft = 0;
    if (waited) io.log.event('info', 'transfer.refill.done', { ranges: this.#ranges });
    await mark.lift();
  }

  #wait(lack: Lack): void {
    this.#lack = lack;
    this.#looks += 1;
    const told = `${lack.members.join(' ')} | ${lack.coordinators.join(' ')}`;
    const isKnown = this.#told.lack === told && this.#looks - this.#told.look < remindingLooks;
    if (this.#looks <= quietLooks || isKnown) return;
    this.#told = { lack: told, look: this.#looks };
    this.#parts.io.log.event('warn', 'transfer.refill.waits', { detail: this.hindrance ?? '' });
  }

  /** Asks all, and takes what is missing. Undefined: nothing is lacking. */
  async #look(judged: Deferred<void>): Promise<Lack | undefined> {
    const { membership } = this.#parts;
    const { ring } = membership;
    const legacies = await this.#legacies();
    const away = this.#away(legacies);
    if (away.length > 0) return { members: away, coordinators: [] };
    const failed = await this.#readAll(legacies, judged);
    if (failed !== undefined) return { members: [failed], coordinators: [] };
    if (membership.ring !== ring) return lookAgain;
    this.#unread = false;
    const coordinators = [...legacies].filter(([, { open }]) => open).map(([node]) => node);
    return coordinators.length === 0 ? undefined : { members: [], coordinators };
  }

  #others(): readonly NodeId[] {
    const { membership, self } = this.#parts;
    const nodes = membership.members().map(({ node }) => node);
    return nodes.filter((node) => node !== self.node && !membership.isReplaced(node));
  }

  async #legacies(): Promise<ReadonlyMap<NodeId, LostDiskState>> {
    const { membership, ask } = this.#parts;
    const legacies = new Map<NodeId, LostDiskState>();
    await Promise.all(
      this.#others().map(async (node) => {
        const legacy = membership.isRoutable(node) ? await ask(node) : undefined;
        if (legacy !== undefined) legacies.set(node, legacy);
      }),
    );
    return legacies;
  }

  /** Members that have not answered and may know something. */
  #away(legacies: ReadonlyMap<NodeId, LostDiskState>): readonly NodeId[] {
    const { membership, self } = this.#parts;
    const others = this.#others();
    const owners = membership.ring.members.filter((member) => member !== self).map(({ node }) => node);
    // Somebody who joins knows of nothing before.
    if (owners.length > 0 && !owners.some((node) => legacies.has(node))) return owners;
    const heard = new Set([...legacies.values()].flatMap((legacy) => legacy.heard));
    for (const node of others) if (membership.lifeOf(node) > 0) heard.add(node);
    // One that is not known here yet has left, or is about to be told of.
    return [...heard].filter((node) => node !== self.node && !legacies.has(node)).sort();
  }

  /** Undefined: everything has been read; otherwise who could not be. */
  async #readAll(
    legacies: ReadonlyMap<NodeId, LostDiskState>,
    judged: Deferred<void>,
  ): Promise<NodeId | undefined> {
    const { membership, self, io } = this.#parts;
    const sources = refillSources(membership.ring, self, ({ node }) => {
      const legacy = legacies.get(node);
      return { holds: legacy?.holds === true, whole: legacy?.whole === true };
    });
    const unread = sources.filter(([source, range]) => !this.#read.has(nameOf(source, range)));
    this.#rangesLeft = unread.length;
    if (unread.length > 0) judged.resolve();
    if (unread.length > 0 && this.#ranges === 0)
      io.log.event('info', 'transfer.refill.began', { ranges: unread.length });
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
      io.log.event('warn', 'transfer.range.failed', { ...range, code, detail });
      return false;
    }
  }
}

function nameOf({ node }: Member, { from, to }: TokenRange): string {
  return `${node} ${from}-${to}`;
}

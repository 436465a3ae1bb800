/**
 * A member that starts on an empty disk: a new one, or one whose disk was lost. Nobody can tell these apart by the disk,
 * so both ask the others. Until they have answered, and all that must be there has come, this node is the primary of
 * nothing: it would find conditions met that are not, and locks free that it had promised to transactions.
 *
 * What must be there: every write that a quorum has acknowledged. A quorum of the own datacenter may have counted the disk
 * that was lost, and one of another datacenter had enough others (`refillSources`). And every transaction that an
 * earlier life has voted for has to be over: its coordinator still has the order, and gives it again (xa/branch-protocol.ts).
 *
 * A member that nobody has ever heard of holds nothing. So the nodes of a new cluster have nothing to wait for but the
 * first answers. Whoever joins later comes in by another way (mover.ts).
 *
 * That this is not over is written in the store before anything else is, so that a crash does not end it.
 */
import { asLockstepError } from '../base/errors.ts';
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import { sleep } from '../io/clock.ts';
import type { Io } from '../io/io.ts';
import type { Legacy } from '../membership/member-record.ts';
import type { Membership } from '../membership/membership.ts';
import type { Member } from '../ring/ring.ts';
import { refillSources } from './arcs.ts';
import type { TokenRange } from './range-words.ts';
import type { RefillMark } from './refill-mark.ts';
import type { Transfer } from './transfer.ts';

export interface RefillParts {
  readonly io: Pick<Io, 'clock' | 'log' | 'spawn'>;
  readonly self: Member;
  readonly membership: Pick<Membership, 'ring' | 'members' | 'isRoutable' | 'isReplaced' | 'lifeOf'>;
  readonly transfer: Pick<Transfer, 'pull'>;
  readonly mark: RefillMark;
  /** Undefined: it has not answered. */
  readonly ask: (peer: NodeId) => Promise<Legacy | undefined>;
}

/** What is missing yet. */
interface Lack {
  /** Members that have to answer, or to be read. */
  readonly members: readonly NodeId[];
  /** Members that coordinate transactions of an earlier life. */
  readonly coordinators: readonly NodeId[];
}

const retryUs = 200_000;
/** So many looks that find something missing are nothing to tell: a new cluster's nodes start one after another. */
const quietLooks = 15;
const nothing: Lack = { members: [], coordinators: [] };

export class Refill {
  readonly #parts: RefillParts;
  /** What was read, as `n2 17-42`. */
  readonly #read = new Set<string>();
  #lack: Lack | undefined;
  #looks = 0;
  /** What was told of last. */
  #told = '';
  #rangesLeft = 0;
  #ranges = 0;
  #stopped = false;
  #work: Promise<void> = Promise.resolve();

  constructor(parts: RefillParts) {
    this.#parts = parts;
  }

  /** Looks whether the disk is an empty one; before anything is written to it. Rejects with `StorageFailed`. */
  async recover(): Promise<void> {
    const { membership, self } = this.#parts;
    const isMember = membership.ring.members.includes(self);
    if (await this.#parts.mark.isPending(isMember)) this.#lack = nothing;
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
      const lack = await this.#pass(judged);
      if (this.#stopped) return;
      if (lack === undefined) break;
      this.#wait(lack);
      judged.resolve();
      await sleep(io.clock, retryUs);
    }
    const waited = this.#ranges > 0 || this.#told !== '';
    this.#lack = undefined;
    this.#rangesLeft = 0;
    if (waited) io.log.event('info', 'transfer.refill.done', { ranges: this.#ranges });
    await mark.lift();
  }

  #wait(lack: Lack): void {
    this.#lack = lack;
    this.#looks += 1;
    const told = `${lack.members.join(' ')} | ${lack.coordinators.join(' ')}`;
    if (this.#looks <= quietLooks || this.#told === told) return;
    this.#told = told;
    this.#parts.io.log.event('warn', 'transfer.refill.waits', { detail: this.hindrance ?? '' });
  }

  /** Asks all, and takes what is missing. Undefined: nothing is lacking. */
  async #pass(judged: Deferred<void>): Promise<Lack | undefined> {
    const { membership, self, ask } = this.#parts;
    const { ring } = membership;
    const others = membership
      .members()
      .map(({ node }) => node)
      .filter((node) => node !== self.node && !membership.isReplaced(node));
    const legacies = new Map<NodeId, Legacy>();
    await Promise.all(
      others.map(async (node) => {
        const legacy = membership.isRoutable(node) ? await ask(node) : undefined;
        if (legacy !== undefined) legacies.set(node, legacy);
      }),
    );
    if (others.length > 0 && legacies.size === 0) return { ...nothing, members: others };
    const heard = new Set([...legacies.values()].flatMap((legacy) => legacy.heard));
    for (const node of others) if (membership.lifeOf(node) > 0) heard.add(node);
    // One that is not known here yet has left, or is about to be told of.
    const away = [...heard].filter((node) => node !== self.node && !legacies.has(node)).sort();
    if (away.length > 0) return { ...nothing, members: away };
    const holders = [...legacies].filter(([, { holds }]) => holds).map(([node]) => node);
    const sources = refillSources(ring, self, ({ node }) => holders.includes(node));
    const unread = [...sources].filter(([source, range]) => !this.#read.has(nameOf(source, range)));
    this.#ranges = Math.max(this.#ranges, unread.length);
    this.#rangesLeft = unread.length;
    if (unread.length > 0) {
      this.#parts.io.log.event('info', 'transfer.refill.began', { ranges: unread.length });
      judged.resolve();
    }
    for (const [source, range] of unread) {
      if (!(await this.#pull(source, range))) return { ...nothing, members: [source.node] };
      this.#rangesLeft -= 1;
    }
    if (membership.ring !== ring) return nothing;
    const coordinators = [...legacies].filter(([, { open }]) => open).map(([node]) => node);
    return coordinators.length === 0 ? undefined : { ...nothing, coordinators };
  }

  async #pull(source: Member, range: TokenRange): Promise<boolean> {
    const { transfer, io } = this.#parts;
    try {
      if (!(await transfer.pull(source, range, () => !this.#stopped))) return false;
      this.#read.add(nameOf(source, range));
      return true;
    } catch (error) {
      const { code, message: detail } = asLockstepError(error);
      if (code === 'Internal') throw error;
      io.log.event('warn', 'transfer.range.failed', { ...range, code, detail });
      return false;
    }
  }
}

function nameOf({ node }: Member, { from, to }: TokenRange): string {
  return `${node} ${from}-${to}`;
}

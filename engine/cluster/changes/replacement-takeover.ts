/**
 * What a dead node had voted for, at the node that replaces it. The votes, their orders and their locks lay on the dead
 * one's disk alone. The ring gives its keys to this node; before this one leads them each coordinator that is there says
 * whether it waits for such a branch, and gives it once more (transactions/coordinator/coordinator.ts, `handOver`). Nobody else can have led
 * the keys meanwhile, since nobody stands in for a primary: so nothing has come between the vote and what is decided.
 *
 * A coordinator that is away is not waited for: when it comes back, others may have written the keys, and its part stays
 * lost (an operator hears of it).
 */
import type { NodeId } from '../../base/ids.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { Membership } from '../membership/membership.ts';

export interface TakeoverDependencies {
  readonly io: Pick<Io, 'clock' | 'log'>;
  readonly membership: Pick<Membership, 'self' | 'member' | 'members' | 'isRoutable' | 'isReplaced'>;
  /** Whether the peer waits for a branch of the dead node's; undefined: it has not answered. */
  readonly ask: (peer: NodeId, dead: NodeId) => Promise<boolean | undefined>;
}

const retryUs = 200_000;
/** So many looks that find something open are nothing to tell. */
const quietLooks = 15;

export class ReplacementTakeover {
  readonly #parts: TakeoverDependencies;
  #open: readonly NodeId[] = [];

  constructor(parts: TakeoverDependencies) {
    this.#parts = parts;
  }

  /** Why this node can be the primary of nothing yet; undefined when it can. */
  get hindrance(): string | undefined {
    const dead = this.#dead;
    if (dead === undefined) return undefined;
    const why = `${this.#parts.membership.self.node} replaces ${dead} and leads nothing before transactions that ${dead} had voted for are carried out`;
    return this.#open.length === 0
      ? `${why}; try again later`
      : `${why}; it waits for ${this.#open.join(', ')}`;
  }

  /** Coordinators that were asked last, and wait for branches of the dead node's. */
  get waitsFor(): readonly NodeId[] {
    return this.#open;
  }

  /** Takes over what is open. Resolves once nothing is, at once where nobody died; false: stopped before. */
  async settle(goesOn: () => boolean): Promise<boolean> {
    const dead = this.#dead;
    if (dead === undefined) return true;
    for (let looks = 1; ; looks++) {
      this.#open = await this.#look(dead);
      if (!goesOn()) return false;
      if (this.#open.length === 0) return true;
      if (looks === quietLooks)
        this.#parts.io.log.event('warn', 'transfer.inheritance.waits', { detail: this.hindrance ?? '' });
      await sleep(this.#parts.io.clock, retryUs);
    }
  }

  /** Whose place this node takes just now: it has its keys by the ring, and has not settled what it had voted for. */
  get #dead(): NodeId | undefined {
    const { state, move, replaces } = this.#parts.membership.self;
    return state === 'NORMAL' && move === 'switching' ? replaces : undefined;
  }

  /** Members that are there, and wait for a branch of the dead one's or have not answered. */
  async #look(dead: NodeId): Promise<readonly NodeId[]> {
    const { membership, ask } = this.#parts;
    // Who is about to join cannot be asked anything yet.
    const isThere = ({ node }: { readonly node: NodeId }): boolean => {
      return (
        membership.member(node) !== undefined && membership.isRoutable(node) && !membership.isReplaced(node)
      );
    };
    const others = membership.members().filter((one) => one.node !== membership.self.node && isThere(one));
    const waits = await Promise.all(others.map(({ node }) => ask(node, dead)));
    return others.filter((one, index) => waits[index] !== false && isThere(one)).map(({ node }) => node);
  }
}

/**
 * Completes, on a replacement, the transactions that the dead node had voted for. The votes, prepare requests and locks
 * were on the dead node's disk alone. The ring gives its keys to this node. Before this node leads them, each reachable
 * coordinator says whether it waits for such a branch, and sends its prepare request again
 * (transactions/coordinator/coordinator.ts, `handOver`). No other node can have led the keys meanwhile, since none
 * stands in for a primary. So no write has come between the vote and the decision.
 *
 * An unreachable coordinator is not waited for. By the time it returns, other nodes may have written the keys, so its
 * branch stays lost, and an operator resolves it.
 */
import type { NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import { sleep } from '../../io/clock.ts';
import type { Io } from '../../io/io.ts';
import type { Membership } from '../membership/membership.ts';

/** What a takeover works with. */
export interface TakeoverDependencies {
  readonly io: Pick<Io, 'clock' | 'log'>;
  readonly membership: Pick<Membership, 'self' | 'member' | 'members' | 'isRoutable' | 'isReplaced'>;
  /** Asks a peer whether it waits for a branch of the dead node. Undefined if it does not answer. */
  readonly ask: (peer: NodeId, dead: NodeId) => Promise<boolean | undefined>;
}

const retryUs = 200_000;
/** So many checks that find open transactions are not logged. */
const quietLooks = 15;

/** The takeover of one replacement. */
export class ReplacementTakeover {
  readonly #parts: TakeoverDependencies;
  #open: readonly NodeId[] = [];

  constructor(parts: TakeoverDependencies) {
    this.#parts = parts;
  }

  /** Why this node may not be a primary yet; undefined if it may. */
  get notReadyReason(): string | undefined {
    const dead = this.#dead;
    if (dead === undefined) return undefined;
    const why = `${this.#parts.membership.self.node} replaces ${dead} and leads nothing before transactions that ${dead} had voted for are carried out`;
    return this.#open.length === 0
      ? `${why}; try again later`
      : `${why}; it waits for ${this.#open.join(', ')}`;
  }

  /** Members that wait for branches of the dead node or have not answered, by the last check. */
  get waitsFor(): readonly NodeId[] {
    return this.#open;
  }

  /**
   * Asks until no transaction is open, at once if this node replaces none. Resolves with false as soon as `goesOn`
   * returns false.
   */
  async settle(goesOn: () => boolean): Promise<boolean> {
    const dead = this.#dead;
    if (dead === undefined) return true;
    for (let looks = 1; ; looks++) {
      this.#open = await this.#look(dead);
      if (!goesOn()) return false;
      if (this.#open.length === 0) return true;
      sometimes('ring-change.takeover-waits');
      if (looks === quietLooks)
        this.#parts.io.log.event('warn', 'transfer.takeover.waits', { detail: this.notReadyReason ?? '' });
      await sleep(this.#parts.io.clock, retryUs);
    }
  }

  /**
   * The dead node that this one replaces just now: this node has its keys by the ring, and has not completed its
   * transactions.
   */
  get #dead(): NodeId | undefined {
    const { state, move, replaces } = this.#parts.membership.self;
    return state === 'NORMAL' && move === 'switching' ? replaces : undefined;
  }

  /** Reachable members that wait for a branch of the dead node or have not answered. */
  async #look(dead: NodeId): Promise<readonly NodeId[]> {
    const { membership, ask } = this.#parts;
    // A node that is about to join answers no requests yet.
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

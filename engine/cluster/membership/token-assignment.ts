/**
 * The tokens of a node whose file does not know them: of one that replaces a node which had itself replaced another, so
 * that its tokens do not follow from its name; and of one that has lost its disk, and with it what it had taken over.
 *
 * A peer that knows better refuses its greeting, and sends the tokens along (`greeting.ts`). Everything that a node does
 * follows from its tokens, so it does not change them as it runs: whoever started it starts it anew with those. A member
 * has them on its disk, from before that on.
 */
import type { NodeId, Token } from '../../base/ids.ts';
import type { Io } from '../../io/io.ts';
import type { MemberFile } from './member-file.ts';
import type { MemberRecord } from './member-record.ts';
import { sameTokens } from './member-record.ts';

type Doors = Pick<Io, 'log' | 'spawn'>;

export interface TokenAssignmentMembership {
  /** What the node says of itself now. */
  self(): MemberRecord;
  /** Makes `TokenAssignment.record` durable, if the disk does. Never rejects. */
  save(): Promise<unknown>;
}

export class TokenAssignment {
  readonly #io: Doors;
  readonly #membership: TokenAssignmentMembership;
  #tokens: readonly Token[] | undefined;
  #isSaved = false;
  #told: ((tokens: readonly Token[]) => void) | undefined;

  constructor(io: Doors, membership: TokenAssignmentMembership) {
    this.#io = io;
    this.#membership = membership;
  }

  /** This node's record as its disk is to have it. */
  get record(): MemberRecord {
    const self = this.#membership.self();
    return this.#tokens === undefined ? self : { ...self, tokens: this.#tokens };
  }

  /**
   * A peer has refused this node's tokens, and says which they should be; the first one is believed. `refilling`: this
   * node is getting back what was on a disk that it has lost.
   */
  told(by: NodeId, tokens: readonly Token[], refilling: boolean): void {
    const { state, move, replaces, tokens: own } = this.#membership.self();
    if (this.#tokens !== undefined || sameTokens(tokens, own)) return;
    // Who holds keys by its tokens moves them by leaving and joining.
    const begins = move === 'queued' && replaces !== undefined;
    if (state === 'JOINING' ? !begins : !refilling) return;
    this.#tokens = tokens;
    const detail = 'this node has other tokens than its file says, and is to be started anew with them';
    this.#io.log.event('warn', 'membership.tokens.told', { by, count: tokens.length, detail });
    this.#io.spawn('membership.heritage', async () => {
      await this.#membership.save();
      this.#isSaved = true;
      this.#told?.(tokens);
    });
  }

  /** Calls `told` with the tokens, at once where they are known already. */
  onTokens(told: (tokens: readonly Token[]) => void): void {
    this.#told = told;
    if (this.#isSaved && this.#tokens !== undefined) told(this.#tokens);
  }
}

/** The tokens that the node has as a member, by its disk; undefined: it is none by that. */
export function tokensOfMember(
  { remembered }: Pick<MemberFile, 'remembered'>,
  node: NodeId,
): readonly Token[] | undefined {
  const isMember = ({ state, move }: MemberRecord): boolean => state !== 'JOINING' || move !== 'queued';
  return remembered.find((record) => record.node === node && isMember(record))?.tokens;
}

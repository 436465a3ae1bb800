/**
 * Assigns tokens to a node whose configuration does not know them. One such node replaces a replacement, so that its
 * tokens do not follow from a name. Another has lost its disk, and with it the tokens that it had taken over.
 *
 * A peer that knows better refuses the node's greeting and sends the tokens along (greeting.ts). Everything that a node
 * does follows from its tokens, so it never changes them while it runs: its embedder starts it again with the new ones.
 * A member has its tokens on its disk before that.
 */
import type { NodeId, Token } from '../../base/ids.ts';
import type { Io } from '../../io/io.ts';
import type { MemberFile } from './member-file.ts';
import type { MemberRecord } from './member-record.ts';
import { sameTokens } from './member-record.ts';

type Ports = Pick<Io, 'log' | 'spawn'>;

/** The membership as token assignment uses it. */
export interface TokenAssignmentMembership {
  /** This node's current record. */
  self(): MemberRecord;
  /** Makes `TokenAssignment.record` durable, if the disk takes it. Never rejects. */
  save(): Promise<unknown>;
}

/** The tokens that a peer has assigned to this node. */
export class TokenAssignment {
  readonly #io: Ports;
  readonly #membership: TokenAssignmentMembership;
  #tokens: readonly Token[] | undefined;
  #isSaved = false;
  #told: ((tokens: readonly Token[]) => void) | undefined;

  constructor(io: Ports, membership: TokenAssignmentMembership) {
    this.#io = io;
    this.#membership = membership;
  }

  /** This node's record as its disk is to have it. */
  get record(): MemberRecord {
    const self = this.#membership.self();
    return this.#tokens === undefined ? self : { ...self, tokens: this.#tokens };
  }

  /**
   * A peer has refused this node's tokens and says which it should have. The first answer counts. `isRebuilding`: a
   * rebuild of this node's lost disk is under way.
   */
  told(by: NodeId, tokens: readonly Token[], isRebuilding: boolean): void {
    const { state, move, replaces, tokens: own } = this.#membership.self();
    if (this.#tokens !== undefined || sameTokens(tokens, own)) return;
    // A node that holds keys by its tokens moves them by leaving and joining.
    const begins = move === 'queued' && replaces !== undefined;
    if (state === 'JOINING' ? !begins : !isRebuilding) return;
    this.#tokens = tokens;
    const detail = 'this node has other tokens than its file says, and is to be started anew with them';
    this.#io.log.event('warn', 'membership.tokens.told', { by, count: tokens.length, detail });
    this.#io.spawn('membership.token-assignment', async () => {
      await this.#membership.save();
      this.#isSaved = true;
      this.#told?.(tokens);
    });
  }

  /** Calls `told` with the tokens once they are saved, at once if they are. */
  onTokens(told: (tokens: readonly Token[]) => void): void {
    this.#told = told;
    if (this.#isSaved && this.#tokens !== undefined) told(this.#tokens);
  }
}

/** The tokens that the node has as a member, by its member file; undefined if it is not a member by that. */
export function tokensOfMember(
  { remembered }: Pick<MemberFile, 'remembered'>,
  node: NodeId,
): readonly Token[] | undefined {
  const isMember = ({ state, move }: MemberRecord): boolean => state !== 'JOINING' || move !== 'queued';
  return remembered.find((record) => record.node === node && isMember(record))?.tokens;
}

/**
 * Fences an idempotency key after an abort, so that the abort is final before the client hears of it.
 *
 * The coordinator asks each owner of the transaction's keys for a fence: a durable note that nothing is applied under
 * the idempotency key any more. Each owner also reports which primaries have claimed the key there before (lookup.ts).
 * A primary claims the key at a majority of the owners of each of its keys, and one branch that cannot be applied
 * aborts the whole transaction. So the abort is final if for one key of the transaction
 *
 * - a majority of its owners has fenced the idempotency key (in the datacenter of its primary, as for claims), without
 *   owners whose lost disks are not rebuilt yet, and
 * - every claim there is void: it is of the aborted attempt; or its primary has fenced the idempotency key itself, and
 *   so holds no attempt; or its primary can never come back with one; and
 * - the key's primary has fenced the idempotency key, or every owner of that majority would remember a claim of that
 *   primary (claims.ts), and
 * - the owners of the key are not changing.
 *
 * Otherwise the client hears of the other attempt: committed, or in doubt. An abort that stays in doubt is fenced again
 * at every tick, for clients that ask later by the transaction's id.
 */
import { Deferred } from '../../base/deferred.ts';
import { asLockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Member } from '../../cluster/ring/ring.ts';
import { usedBefore } from './idempotency-keys.ts';
import type { NoAnswer, TransactionContext } from '../context.ts';
import { tryAskNode } from '../context.ts';
import type { Voted } from '../formats/prepare-request.ts';
import type { TransactionOutcome } from '../formats/outcomes.ts';
import type { CompletedTransactions } from '../coordinator/completed-transactions.ts';
import type { PrepareRequest, BranchReply, BranchRequest, Claimed } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** The aborted outcome, before or after it is fenced. */
export type Aborted = Extract<TransactionOutcome, { kind: 'aborted' }>;
type Fenced = Extract<BranchReply, { kind: 'fenced' }>;
type FenceRequest = Extract<BranchRequest, { kind: 'fence' }>;

/** An attempt under an idempotency key. */
export interface NamedAttempt extends Pick<PrepareRequest, 'clientId' | 'clientDigest'> {
  /** Tokens of the attempt's keys, each once. */
  readonly tokens: readonly Token[];
}

type Outcomes = Pick<CompletedTransactions, 'keepAs' | 'keepUnknown' | 'repeated'>;

/** Answers this node's request to itself. */
type Local = (request: FenceRequest) => BranchReply | Promise<BranchReply>;

/**
 * The result of a fence. `used`: a node's answer rules the idempotency key out. `open`: another attempt may be applied;
 * `xid` is that one, if it is known.
 */
type Verdict =
  | { readonly kind: 'final' }
  | { readonly kind: 'used'; readonly voted: Voted }
  | { readonly kind: 'open'; readonly xid: Xid | undefined };

/** An aborted attempt that was reported as in doubt, to be fenced again. */
interface Unsettled {
  readonly attempt: NamedAttempt;
  readonly told: Aborted;
  readonly sinceUs: number;
}

/** Beyond it, the oldest is given up. */
const unsettledCountMax = 16_384;
/** The most attempts that are fenced again at one tick. */
const triedCountMax = 64;

/** The attempt that these prepare requests of one transaction belong to. Undefined without an idempotency key. */
export function attemptOf(orders: readonly PrepareRequest[]): NamedAttempt | undefined {
  const [first] = orders;
  if (first === undefined || first.clientId === '') return undefined;
  const { clientId, clientDigest } = first;
  const tokens = new Set(orders.flatMap(({ operations }) => operations.map(({ token }) => token)));
  return { clientId, clientDigest, tokens: [...tokens] };
}

/** Runs the fences of one coordinator, and repeats those that stay in doubt. */
export class Fences {
  readonly #context: TransactionContext;
  readonly #local: Local;
  readonly #remembered: Outcomes;
  readonly #unsettledMax: number;
  /** The oldest first. */
  readonly #unsettled = new Map<Xid, Unsettled>();
  /** Goes on at the next tick where it is: some may stay in doubt for as long as a member is away. */
  #walk = this.#unsettled.values();
  readonly #running = new Set<Xid>();

  constructor(
    context: TransactionContext,
    local: Local,
    remembered: Outcomes,
    unsettledMax = unsettledCountMax,
  ) {
    this.#unsettledMax = unsettledMax;
    this.#context = context;
    this.#local = local;
    this.#remembered = remembered;
  }

  /** True while a fence for the aborted transaction runs. */
  has(xid: Xid): boolean {
    return this.#running.has(xid);
  }

  /**
   * Fences an aborted attempt and resolves within `timeoutUs` microseconds with what its client hears: `told`, once
   * that is final; the outcome of an earlier attempt; or in doubt. An attempt in doubt is fenced again at the next
   * ticks; of more than 16,384 of them, the newest.
   */
  async settle(attempt: NamedAttempt, told: Aborted, timeoutUs: number): Promise<TransactionOutcome> {
    const outcome = await this.conclude(attempt, told, timeoutUs);
    if (outcome.kind !== 'inDoubt' || outcome.xid !== told.xid) return outcome;
    this.#remembered.keepUnknown(told.xid);
    const { clock } = this.#context.io;
    this.#unsettled.set(told.xid, { attempt, told, sinceUs: clock.nowUs() });
    for (const oldest of this.#unsettled.keys()) {
      if (this.#unsettled.size <= this.#unsettledMax) break;
      this.#unsettled.delete(oldest);
    }
    return outcome;
  }

  /** Fences once, without a later retry. */
  async conclude(attempt: NamedAttempt, told: Aborted, timeoutUs: number): Promise<TransactionOutcome> {
    const { io } = this.#context;
    const { xid } = told;
    this.#running.add(xid);
    const round = new FenceRound(this.#context, this.#local, xid, attempt);
    const verdict = await round.run(timeoutUs);
    this.#running.delete(xid);
    if (io.log.enabled('trace'))
      io.log.event('trace', 'xa.id.fenced', { xid, client: attempt.clientId, verdict: verdict.kind });
    switch (verdict.kind) {
      case 'final':
        return told;
      case 'used': {
        sometimes('idempotency.fence-finds-earlier');
        const { earlier, reason, detail } = verdict.voted;
        return earlier === undefined ? { ...told, reason, detail } : this.#remembered.repeated(earlier);
      }
      case 'open':
        return { kind: 'inDoubt', xid: verdict.xid ?? xid };
    }
  }

  /** Fences again what is still in doubt. Gives up after the retention time. */
  tick(): void {
    const { io, options } = this.#context;
    for (const [xid, { sinceUs }] of this.#unsettled) {
      if (io.clock.nowUs() - sinceUs <= options.retentionMs * 1000) break;
      this.#unsettled.delete(xid);
    }
    const count = Math.min(triedCountMax, this.#unsettled.size);
    for (let tried = 0; tried < count; tried++) {
      const unsettled = this.#next();
      if (unsettled === undefined) return;
      if (!this.#running.has(unsettled.told.xid)) io.spawn('xa.fence', () => this.#repeat(unsettled));
    }
  }

  #next(): Unsettled | undefined {
    const { value } = this.#walk.next();
    if (value !== undefined) return value;
    this.#walk = this.#unsettled.values();
    return this.#walk.next().value;
  }

  async #repeat({ attempt, told }: Unsettled): Promise<void> {
    sometimes('idempotency.fence-repeated');
    const outcome = await this.conclude(attempt, told, this.#context.parts.settings.timeoutMs * 1000);
    if (outcome.kind === 'inDoubt') return;
    this.#unsettled.delete(told.xid);
    this.#remembered.keepAs(told.xid, outcome);
  }
}

class FenceRound {
  readonly #context: TransactionContext;
  readonly #local: Local;
  readonly #attempt: NamedAttempt;
  readonly #request: FenceRequest;
  readonly #verdict = new Deferred<Verdict>();
  readonly #asked = new Set<NodeId>();
  readonly #fenced = new Map<NodeId, Fenced>();
  #awaited = 0;
  /** Another attempt under the idempotency key that an owner reported. */
  #other: Xid | undefined;
  #timeoutUs = 0;

  constructor(context: TransactionContext, local: Local, xid: Xid, attempt: NamedAttempt) {
    this.#context = context;
    this.#local = local;
    this.#attempt = attempt;
    this.#request = { kind: 'fence', xid, ...attempt };
  }

  async run(timeoutUs: number): Promise<Verdict> {
    const { io, parts } = this.#context;
    this.#timeoutUs = timeoutUs;
    const nodes = new Set<NodeId>();
    for (const token of this.#attempt.tokens) {
      for (const { node } of parts.ring().placement(token)) nodes.add(node);
      for (const { node } of parts.pending(token)) nodes.add(node);
    }
    const timer = io.clock.after(timeoutUs, () => this.#end());
    // Counts one more until every node is asked, so that no early answer ends the round.
    this.#awaited += 1;
    for (const node of nodes) this.#ask(node);
    this.#awaited -= 1;
    this.#judge();
    const verdict = await this.#verdict.promise;
    timer.cancel();
    return verdict;
  }

  #ask(node: NodeId): void {
    if (this.#asked.has(node)) return;
    this.#asked.add(node);
    this.#awaited += 1;
    const { io, parts } = this.#context;
    if (node === parts.self.node) {
      io.spawn('xa.fence', async () => this.#hear(node, await this.#askHere()));
      return;
    }
    const unsent = tryAskNode(this.#context, node, this.#request, this.#timeoutUs, (reply) =>
      this.#hear(node, reply),
    );
    if (unsent !== undefined) this.#awaited -= 1;
  }

  async #askHere(): Promise<BranchReply | NoAnswer> {
    try {
      return await this.#local(this.#request);
    } catch (caught) {
      const { code, message } = asLockstepError(caught);
      return { kind: 'noAnswer', unsent: false, code, detail: message };
    }
  }

  #hear(node: NodeId, reply: BranchReply | NoAnswer): void {
    this.#awaited -= 1;
    if (this.#verdict.settled) return;
    if (reply.kind === 'fenced') {
      this.#fenced.set(node, reply);
      for (const { leader } of reply.claims) this.#ask(leader);
    }
    const voted = votedBy(this.#request, reply);
    if (voted?.earlier?.state === 'undecided') this.#other ??= voted.earlier.xid;
    else if (voted !== undefined) {
      this.#verdict.resolve({ kind: 'used', voted });
      return;
    }
    this.#judge();
  }

  #judge(): void {
    if (this.#verdict.settled) return;
    if (this.#attempt.tokens.some((token) => this.#isFenced(token))) this.#verdict.resolve({ kind: 'final' });
    else if (this.#awaited === 0) this.#end();
  }

  #end(): void {
    if (this.#verdict.settled) return;
    const [claim] = [...this.#fenced.values()].flatMap(({ claims }) => claims);
    sometimes('idempotency.fence-open');
    this.#verdict.resolve({ kind: 'open', xid: this.#other ?? claim?.xid });
  }

  /** True if no attempt under the idempotency key can write a key with this token any more. */
  #isFenced(token: Token): boolean {
    const { ring, pending, handedOver } = this.#context.parts;
    const placement = ring().placement(token);
    const [primary] = placement;
    if (primary === undefined || !handedOver(token)) return false;
    // A pending owner must have the fence, too.
    if (!pending(token).every(({ node }) => this.#fenced.has(node))) return false;
    const near = placement.filter(({ datacenter }) => datacenter === primary.datacenter);
    const voters = near.filter((member) => this.#isVoter(member, primary));
    return voters.length * 2 > near.length;
  }

  /**
   * True if the owner has fenced the idempotency key, and the claims that it reports leave no attempt that may be
   * applied.
   */
  #isVoter({ node }: Member, primary: Member): boolean {
    const fenced = this.#fenced.get(node);
    // An owner whose lost disk is not rebuilt yet may have lost the record of an attempt that was applied.
    if (fenced?.leads !== true || !fenced.claims.every((claim) => this.#isVoid(claim))) return false;
    return this.#hasNone(primary.node) || !fenced.unheard.includes(primary.node);
  }

  #isVoid({ leader }: Claimed): boolean {
    if (this.#hasNone(leader)) return true;
    // What only the dead primary had applied is gone with it. What other nodes have of the transaction, their primaries
    // know.
    if (!this.#context.lives.isOver(leader)) return false;
    sometimes('idempotency.fence-over-dead-primary');
    return this.#primariesHaveNone();
  }

  /** True if the node has fenced the idempotency key and would know of an attempt of its own. */
  #hasNone(node: NodeId): boolean {
    return this.#fenced.get(node)?.leads === true;
  }

  #primariesHaveNone(): boolean {
    const { ring } = this.#context.parts;
    return this.#attempt.tokens.every((token) => {
      const [primary] = ring().placement(token);
      return primary !== undefined && this.#hasNone(primary.node);
    });
  }
}

/** What the reply says against the idempotency key: an applied transaction, or another attempt. */
function votedBy(request: FenceRequest, reply: BranchReply | NoAnswer): Voted | undefined {
  if (reply.kind === 'voted') return reply;
  const [record] = reply.kind === 'named' ? reply.names : [];
  return record === undefined ? undefined : usedBefore(request, record);
}

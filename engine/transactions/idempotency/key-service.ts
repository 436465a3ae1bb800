/**
 * A node's side of every request about idempotency keys: lookups, claims, fences, and pages of a range. Also keeps
 * records of other nodes' transactions, moves records with their ranges, and drops old ones. So a record is always
 * where the objects are that were written under its key.
 */
import { LockstepError } from '../../base/errors.ts';
import type { ByteString, NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { NameKeeper } from '../../replication/peer-service.ts';
import type { TokenRange } from '../../cluster/ring/arc.ts';
import { isWithin } from '../../cluster/ring/arc.ts';
import type { Ring } from '../../cluster/ring/ring.ts';
import type { StoreWrite } from '../../storage/store.ts';
import { Claims } from './claims.ts';
import { undecidedBefore } from './idempotency-keys.ts';
import type { NamedRecord } from '../formats/idempotency-records.ts';
import { decodeName, dropClient, isFence, writeClient } from '../formats/idempotency-records.ts';
import type { TransactionContext } from '../context.ts';
import { askNode } from '../context.ts';
import type { KeyReplication } from './key-replication.ts';
import type { BranchReply, BranchRequest } from '../formats/messages.ts';
import type { Xid } from '../formats/xid.ts';

/** The requests that `IdempotencyService` answers. */
export type NameRequest = Extract<
  BranchRequest,
  { readonly kind: 'recall' | 'names' | 'learn' | 'claim' | 'fence' | 'open' }
>;
type ClaimRequest = Extract<NameRequest, { readonly kind: 'claim' }>;
type FenceRequest = Extract<NameRequest, { readonly kind: 'fence' }>;

/** An attempt under an idempotency key that is open on this node, as a branch or at its coordinator. */
export interface OpenAttempt {
  readonly xid: Xid;
  readonly clientId: string;
  readonly clientDigest: ByteString;
}

/** The attempts that are open on this node. */
export interface OpenAttempts {
  /** All of them, under any idempotency key. */
  all(): readonly OpenAttempt[];
  /** Those under the idempotency key. */
  named(clientId: string): readonly OpenAttempt[];
  /** The branches among them. */
  branches(clientId: string): readonly OpenAttempt[];
}

/** Bytes of records in one message, about, whatever the configuration allows. */
const pageBytesMax = 65_536;
/** Records dropped in one write, whatever the configuration allows. */
const sweptCountMax = 1000;
/** Attempts in one message, whatever the configuration allows. */
const openCountMax = 500;

/** The idempotency keys of one node, as peers and ring changes use them. */
export class IdempotencyService implements NameKeeper {
  readonly #context: TransactionContext;
  readonly #spread: KeyReplication;
  readonly #open: OpenAttempts;
  readonly #claims: Claims;
  /** Members whose open attempts this incarnation has heard, under the ring `#heardRing`. */
  readonly #heard = new Set<NodeId>();
  #heardRing: Ring;
  readonly #asking = new Set<NodeId>();
  #sweeping = false;

  constructor(context: TransactionContext, spread: KeyReplication, open: OpenAttempts) {
    this.#context = context;
    this.#spread = spread;
    this.#open = open;
    this.#claims = new Claims(context.options.rememberedMax);
    this.#heardRing = context.parts.ring();
  }

  #atMost(count: number): number {
    return Math.min(count, this.#context.options.pageItems);
  }

  get #pageBytesMax(): number {
    return Math.min(pageBytesMax, this.#context.options.pageBytes);
  }

  /** Answers a peer's request. Rejects with `Overloaded` or the store's error; the caller sends that as `failed`. */
  answer(request: NameRequest): BranchReply | Promise<BranchReply> {
    const { names } = this.#context;
    switch (request.kind) {
      case 'recall': {
        const name = names.get(request.clientId, this.#untilMs);
        return { kind: 'named', names: name === undefined ? [] : [name], more: false };
      }
      case 'names':
        return {
          kind: 'named',
          ...names.page((token) => isWithin(request, token), request.after, this.#pageBytesMax),
        };
      case 'learn':
        return this.#learnAll(request.names);
      case 'claim':
        return this.#claim(request);
      case 'fence':
        return this.#fence(request);
      case 'open':
        return this.#tellOpen(request.after);
    }
  }

  /**
   * Takes a record that came with the objects that were written under its key, and returns the write that stores it
   * beside them. Its age begins now: the other node's clock may differ.
   */
  learn(clientName: Uint8Array): readonly StoreWrite[] {
    const { names, retention } = this.#context;
    const told = decodeName(clientName);
    const known = names.get(told.clientId, this.#untilMs);
    const named = known?.xid === told.xid ? known : { ...told, sinceMs: retention.nowMs };
    names.enter(named);
    this.#claims.end(named.clientId);
    return [writeClient(named)];
  }

  /**
   * Fetches a node's records of a range. They are durable here when this resolves. Rejects if the node does not answer
   * or the store fails.
   */
  async pull(node: NodeId, { from, to }: TokenRange): Promise<void> {
    for (let after = '', more = true; more;) {
      const reply = await this.#ask(node, { kind: 'names', from, to, after });
      if (reply.kind !== 'named') throw new LockstepError('Internal', `${node} has answered ${reply.kind}`);
      await this.#keep(reply.names);
      after = reply.names.at(-1)?.clientId ?? '';
      more = reply.more && after !== '';
    }
  }

  /**
   * Sends this node's records of a range to all owners and pending owners of their keys. Rejects if one does not
   * answer.
   */
  async push(range: TokenRange): Promise<void> {
    const { names } = this.#context;
    for (let after = '', more = true; more;) {
      const page = names.page((token) => isWithin(range, token), after, this.#pageBytesMax);
      for (const [node, told] of this.#takers(page.names))
        await this.#ask(node, { kind: 'learn', names: told });
      after = page.names.at(-1)?.clientId ?? '';
      more = page.more;
      if (more) sometimes('idempotency.page-cut');
    }
  }

  /** Asks for open attempts, tells lacking owners, and drops records older than the retention time. */
  tick(): void {
    const { io, names, log } = this.#context;
    this.#spread.tick();
    this.#hearOpen();
    if (this.#sweeping || !names.hasOlder(this.#untilMs)) return;
    this.#sweeping = true;
    io.spawn('xa.sweep', async () => {
      for (;;) {
        const old = names.forgetOlder(this.#untilMs, this.#atMost(sweptCountMax));
        if (old.length === 0) break;
        for (const clientId of old) this.#spread.forget(clientId);
        await log.force(old.map(dropClient));
      }
      this.#sweeping = false;
    });
  }

  get #untilMs(): number {
    const { retention, options } = this.#context;
    return retention.nowMs - options.retentionMs;
  }

  /** A primary on another node wants to apply the attempt under the key. */
  #claim(request: ClaimRequest): BranchReply {
    const { names, io, parts } = this.#context;
    const { xid, leader, clientId, clientDigest: digest } = request;
    const record = names.get(clientId, this.#untilMs);
    // The fences of a lost disk are not back yet: one may have made an abort final.
    const lacking = record === undefined ? parts.notReadyReason() : undefined;
    if (lacking !== undefined) throw new LockstepError('Overloaded', lacking);
    if (record !== undefined) return { kind: 'named', names: [record], more: false };
    // Every first attempt passes here, so this looks at branches alone. Attempts that this node only coordinates are
    // found by the owners and primaries that they ask.
    const branch = this.#open.branches(clientId).find((attempt) => attempt.xid !== xid);
    const other = branch ?? this.#claims.against(clientId, request);
    if (other !== undefined)
      return undecidedBefore(request, other.xid, 'digest' in other ? other.digest : other.clientDigest);
    if (this.#claims.isFull)
      throw new LockstepError('Overloaded', 'as many ids of clients are claimed as may be; try again later');
    this.#claims.enter(clientId, { xid, leader, digest, sinceUs: io.clock.nowUs() });
    return { kind: 'named', names: [], more: false };
  }

  /**
   * Fences the idempotency key. From this call on, nothing is applied under it on this node; the answer waits until
   * that is durable. Rejects if the store fails, and with `Overloaded` if too many keys are fenced.
   */
  async #fence(request: FenceRequest): Promise<BranchReply> {
    const { names, log, retention, parts } = this.#context;
    const { xid, clientId, tokens } = request;
    const known = names.get(clientId, this.#untilMs);
    if (known !== undefined && !isFence(known)) return { kind: 'named', names: [known], more: false };
    const other = this.#otherOf(request);
    if (other !== undefined) return undecidedBefore(request, other.xid, other.clientDigest);
    if (known === undefined && !names.mayFence)
      throw new LockstepError('Overloaded', 'as many ids of clients are fenced as may be; try again later');
    this.#claims.void(clientId, xid);
    const reply: BranchReply = {
      kind: 'fenced',
      claims: this.#claims.of(clientId).map(({ xid: claimed, leader }) => ({ xid: claimed, leader })),
      unheard: this.#unheard(),
      leads: parts.notReadyReason() === undefined,
    };
    const fence = known ?? { clientId, xid, digest: noDigest, sinceMs: retention.nowMs, tokens };
    names.enter(fence);
    // Writes a known fence again, too: its first write may not be durable yet.
    const error = await log.force([writeClient(fence)]);
    if (error !== undefined) throw error;
    return reply;
  }

  /** Another attempt under the key that is open on this node. */
  #otherOf({ clientId, xid }: FenceRequest): OpenAttempt | undefined {
    return this.#open.named(clientId).find((attempt) => attempt.xid !== xid);
  }

  /**
   * The attempts that are open here. Throws `Overloaded` while a lost disk is being rebuilt: this node cannot tell
   * then.
   */
  #tellOpen(after: string): BranchReply {
    const { parts, retention } = this.#context;
    const lacking = parts.notReadyReason();
    if (lacking !== undefined) throw new LockstepError('Overloaded', lacking);
    const sinceMs = retention.nowMs;
    const open = this.#open.all().filter(({ clientId }) => clientId > after);
    open.sort((left, right) => (left.clientId < right.clientId ? -1 : 1));
    // All attempts under one key must come in one message.
    const last = open[this.#atMost(openCountMax) - 1]?.clientId;
    const told = last === undefined ? open : open.filter(({ clientId }) => clientId <= last);
    const names = told.map(({ xid, clientId, clientDigest: digest }) => {
      return { xid, clientId, digest, sinceMs, tokens: [] };
    });
    return { kind: 'named', names, more: told.length < open.length };
  }

  /** Other members whose open attempts this incarnation has not heard under the current ring. */
  #unheard(): readonly NodeId[] {
    const { ring, self } = this.#context.parts;
    const now = ring();
    // A claim may be at a former owner. The members that made it report it to the current owners.
    if (now !== this.#heardRing) this.#heard.clear();
    this.#heardRing = now;
    return now.members.map(({ node }) => node).filter((node) => node !== self.node && !this.#heard.has(node));
  }

  /** Asks members that were not heard, and members whose claims are old here, which attempts are open there. */
  #hearOpen(): void {
    const { io, parts, options } = this.#context;
    const nodes = new Set(this.#unheard());
    for (const leader of this.#claims.leadersBefore(io.clock.nowUs() - options.inquiryIntervalUs))
      nodes.add(leader);
    for (const node of nodes) {
      const member = parts.member(node);
      if (member === undefined || !parts.view.isRoutable(member) || this.#asking.has(node)) continue;
      this.#asking.add(node);
      io.spawn('xa.names.open', async () => {
        await this.#hearOpenOf(node);
        this.#asking.delete(node);
      });
    }
  }

  async #hearOpenOf(node: NodeId): Promise<void> {
    const { io, names, parts } = this.#context;
    const untilUs = io.clock.nowUs();
    const ring = parts.ring();
    const open = new Set<Xid>();
    for (let after = '', more = true; more;) {
      const reply = await askNode(
        this.#context,
        node,
        { kind: 'open', after },
        parts.settings.timeoutMs * 1000,
      );
      if (reply.kind !== 'named') return;
      for (const { xid, clientId, digest } of reply.names) {
        open.add(xid);
        const known = names.get(clientId, this.#untilMs);
        if (known === undefined || isFence(known))
          this.#claims.note(clientId, { xid, leader: node, digest, sinceUs: untilUs });
      }
      after = reply.names.at(-1)?.clientId ?? '';
      more = reply.more && after !== '';
    }
    this.#claims.retain(node, open, untilUs);
    if (parts.ring() === ring && ring === this.#heardRing) this.#heard.add(node);
  }

  async #learnAll(told: readonly NamedRecord[]): Promise<BranchReply> {
    await this.#keep(told);
    return { kind: 'told', state: 'none' };
  }

  /**
   * Stores the new ones among these records; their age begins now. Resolves when they are durable. Rejects when they
   * may not be.
   */
  async #keep(told: readonly NamedRecord[]): Promise<void> {
    const { names, log, retention } = this.#context;
    const sinceMs = retention.nowMs;
    const fresh = told.filter((named) => {
      const known = names.get(named.clientId, this.#untilMs);
      // A transaction that was applied replaces a fence that came too late.
      return known === undefined || (isFence(known) && !isFence(named));
    });
    if (fresh.length === 0) return;
    const kept = fresh.map((named) => ({ ...named, sinceMs }));
    const error = await log.force(kept.map(writeClient));
    if (error !== undefined) throw error;
    const applied: NamedRecord[] = [];
    for (const named of kept) {
      const known = names.get(named.clientId, this.#untilMs);
      // A transaction was applied under the key meanwhile. Its record may be on the disk before the one just written.
      if (isFence(named) && known !== undefined && !isFence(known)) {
        applied.push(known);
        continue;
      }
      names.enter(named);
      if (!isFence(named)) this.#claims.end(named.clientId);
    }
    if (applied.length === 0) return;
    const failure = await log.force(applied.map(writeClient));
    if (failure !== undefined) throw failure;
  }

  /**
   * The records that each owner of their keys is to get. Unreachable owners are left out, unless they are pending
   * owners.
   */
  #takers(names: readonly NamedRecord[]): ReadonlyMap<NodeId, readonly NamedRecord[]> {
    const { ring, pending, self, view } = this.#context.parts;
    const takers = new Map<NodeId, NamedRecord[]>();
    for (const named of names) {
      const owners = named.tokens.flatMap((token) =>
        ring()
          .placement(token)
          .filter((one) => view.isRoutable(one)),
      );
      const newOwners = named.tokens.flatMap((token) => pending(token));
      const nodes = new Set([...owners, ...newOwners].map(({ node }) => node));
      nodes.delete(self.node);
      for (const node of nodes) {
        const known = takers.get(node);
        if (known === undefined) takers.set(node, [named]);
        else known.push(named);
      }
    }
    return takers;
  }

  /** Rejects if the node does not answer. */
  async #ask(node: NodeId, request: NameRequest): Promise<BranchReply> {
    const timeoutUs = this.#context.parts.settings.timeoutMs * 1000;
    const reply = await askNode(this.#context, node, request, timeoutUs);
    if (reply.kind !== 'noAnswer') return reply;
    throw new LockstepError(reply.code, reply.detail);
  }
}

const noDigest = '' as ByteString;

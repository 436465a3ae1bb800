/**
 * The clients' names of this node towards the others: what it tells whoever asks for one, or takes over a range; what it
 * keeps of others' transactions; and how long. So a name is where the objects are that were written under it, wherever
 * they go.
 */
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import type { NameKeeper } from '../dispatch/peer-service.ts';
import type { TokenRange } from '../ring/arc.ts';
import { isWithin } from '../ring/arc.ts';
import type { StoreWrite } from '../store/store.ts';
import type { NamedRecord } from './client-records.ts';
import { decodeName, dropClient, writeClient } from './client-records.ts';
import type { TransactionContext } from './context.ts';
import { askNode } from './context.ts';
import type { NameSpread } from './name-spread.ts';
import type { BranchReply, BranchRequest } from './words.ts';

export type NameRequest = Extract<BranchRequest, { readonly kind: 'recall' | 'names' | 'learn' }>;

/** Of names in one message, about. */
const pageBytesMax = 65_536;
/** Records dropped in one write. */
const sweptCountMax = 1000;

export class NameService implements NameKeeper {
  readonly #context: TransactionContext;
  readonly #spread: NameSpread;
  #sweeping = false;

  constructor(context: TransactionContext, spread: NameSpread) {
    this.#context = context;
    this.#spread = spread;
  }

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
          ...names.page((token) => isWithin(request, token), request.after, pageBytesMax),
        };
      case 'learn':
        return this.#learnAll(request.names);
    }
  }

  /** A name that came beside the objects that were written under it; as old as they are, whatever the other's clock says. */
  learn(clientName: Uint8Array): readonly StoreWrite[] {
    const { names, io } = this.#context;
    const told = decodeName(clientName);
    const known = names.get(told.clientId, this.#untilMs);
    const named = known?.xid === told.xid ? known : { ...told, sinceMs: io.clock.wallMs() };
    names.enter(named);
    return [writeClient(named)];
  }

  /** Takes the names that a node has of a range; durable here when this resolves. Rejects as a transfer does. */
  async pull(node: NodeId, { from, to }: TokenRange): Promise<void> {
    for (let after = '', more = true; more;) {
      const reply = await this.#ask(node, { kind: 'names', from, to, after });
      // A node of before gives none.
      if (reply?.kind !== 'named') return;
      await this.#keep(reply.names);
      after = reply.names.at(-1)?.clientId ?? '';
      more = reply.more && after !== '';
    }
  }

  /** Gives the names that this node has of a range to all owners of their keys, of now and of the next moment. */
  async push(range: TokenRange): Promise<void> {
    const { names } = this.#context;
    for (let after = '', more = true; more;) {
      const page = names.page((token) => isWithin(range, token), after, pageBytesMax);
      for (const [node, told] of this.#takers(page.names))
        await this.#ask(node, { kind: 'learn', names: told });
      after = page.names.at(-1)?.clientId ?? '';
      more = page.more;
    }
  }

  /** Names are remembered for as long as outcomes. */
  tick(): void {
    const { io, names, log } = this.#context;
    this.#spread.tick();
    if (this.#sweeping || !names.hasOlder(this.#untilMs)) return;
    this.#sweeping = true;
    io.spawn('xa.sweep', async () => {
      for (;;) {
        const old = names.forgetOlder(this.#untilMs, sweptCountMax);
        if (old.length === 0) break;
        for (const clientId of old) this.#spread.forget(clientId);
        await log.force(old.map(dropClient));
      }
      this.#sweeping = false;
    });
  }

  get #untilMs(): number {
    const { io, options } = this.#context;
    return io.clock.wallMs() - options.retentionMs;
  }

  async #learnAll(told: readonly NamedRecord[]): Promise<BranchReply> {
    await this.#keep(told);
    return { kind: 'told', state: 'none' };
  }

  /** Resolves when they are durable. Rejects when they may not be. */
  async #keep(told: readonly NamedRecord[]): Promise<void> {
    const { names, log, io } = this.#context;
    const nowMs = io.clock.wallMs();
    const fresh = told.filter(({ clientId, sinceMs }) => {
      return sinceMs > this.#untilMs && names.get(clientId, this.#untilMs) === undefined;
    });
    if (fresh.length === 0) return;
    const kept = fresh.map((named) => ({ ...named, sinceMs: Math.min(named.sinceMs, nowMs) }));
    const error = await log.force(kept.map(writeClient));
    if (error !== undefined) throw error;
    for (const named of kept) names.enter(named);
  }

  /** Per owner of their keys its names; who cannot be reached, and is no new owner, is left out. */
  #takers(names: readonly NamedRecord[]): ReadonlyMap<NodeId, readonly NamedRecord[]> {
    const { ring, pending, self, view } = this.#context.parts;
    const takers = new Map<NodeId, NamedRecord[]>();
    for (const named of names) {
      const owners = named.tokens.flatMap((token) =>
        ring()
          .placement(token)
          .filter((one) => view.isRoutable(one)),
      );
      const heirs = named.tokens.flatMap((token) => pending(token));
      const nodes = new Set([...owners, ...heirs].map(({ node }) => node));
      nodes.delete(self.node);
      for (const node of nodes) {
        const known = takers.get(node);
        if (known === undefined) takers.set(node, [named]);
        else known.push(named);
      }
    }
    return takers;
  }

  /** Undefined: the node is of an older version. Rejects when it does not answer. */
  async #ask(node: NodeId, request: NameRequest): Promise<BranchReply | undefined> {
    const timeoutUs = this.#context.parts.settings.timeoutMs * 1000;
    const reply = await askNode(this.#context, node, request, timeoutUs);
    if (reply.kind !== 'noAnswer') return reply;
    if (reply.code === 'BadRequest') return undefined;
    throw new LockstepError(reply.code, reply.detail);
  }
}

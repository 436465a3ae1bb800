/**
 * The listening side of the plane: accepts connections, admits or refuses peers, and keeps one connection per peer. A
 * newer connection replaces the older one, which the peer has lost without this node noticing.
 */
import { Deferred } from '../base/deferred.ts';
import type { NodeId } from '../base/ids.ts';
import type { Address, Connection, Listener } from '../io/network.ts';
import type { Refusal } from './wire/greetings.ts';
import type { Hello } from './wire/messages.ts';
import type { Rival } from './admission.ts';
import type { InboundOwner, RequestHandler } from './inbound.ts';
import { Inbound } from './inbound.ts';
import type { PlaneContext } from './plane-context.ts';

/** Gauges of all inbound connections. */
export interface InboundGauges {
  connections: number;
  requests: number;
  requestBytes: number;
  answers: number;
  answerBytes: number;
}

/** The inbound connections of one node. */
export class Reception implements InboundOwner {
  readonly handle: RequestHandler;
  readonly #context: PlaneContext;
  /** All accepted connections, greeted or not. */
  readonly #inbounds = new Set<Inbound>();
  /** For each peer the connection on which it greeted last. */
  readonly #current = new Map<NodeId, Inbound>();
  #listener: Listener | undefined;
  #empty: Deferred<void> | undefined;
  #stopping = false;

  constructor(context: PlaneContext, handle: RequestHandler) {
    this.#context = context;
    this.handle = handle;
  }

  /** The address that the plane listens on; undefined before the start. */
  get address(): Address | undefined {
    return this.#listener?.address;
  }

  /**
   * Listens. Rejects with `ListenError` if the address is taken. If `stop` was called meanwhile, it closes the listener
   * again.
   */
  async start(): Promise<void> {
    const { io, options } = this.#context;
    const listener = await io.network.listen(options.listen, (connection) => this.#accept(connection));
    if (this.#stopping) await listener.close();
    else this.#listener = listener;
  }

  /** Accepts no more connections, and sends answers that are ready. Resolves when every connection is closed. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const closing = this.#listener?.close();
    for (const inbound of this.#inbounds) inbound.finish('the node is stopping');
    await closing;
    if (this.#inbounds.size === 0) return;
    this.#empty ??= new Deferred<void>();
    await this.#empty.promise;
  }

  /** The gauges of all inbound connections. */
  gauges(): InboundGauges {
    const gauges = {
      connections: this.#inbounds.size,
      requests: 0,
      requestBytes: 0,
      answers: 0,
      answerBytes: 0,
    };
    for (const inbound of this.#inbounds) {
      gauges.requests += inbound.requestCount;
      gauges.requestBytes += inbound.requestBytes;
      gauges.answers += inbound.answerCount;
      gauges.answerBytes += inbound.answerBytes;
    }
    return gauges;
  }

  /** Admits or refuses the peer that has greeted on the connection. Ends its earlier connection. */
  admit(inbound: Inbound, hello: Hello): Refusal | undefined {
    const refusal = this.#context.judge(hello, undefined);
    if (refusal !== undefined) return refusal;
    this.#current.get(hello.node)?.finish('the peer has connected anew');
    this.#current.set(hello.node, inbound);
    return undefined;
  }

  /** The connection that another incarnation of the node than `epoch` opened; undefined if there is none. */
  rival(node: NodeId, epoch: string): Rival | undefined {
    const current = this.#current.get(node);
    return current === undefined || current.epoch === epoch ? undefined : current;
  }

  /** Ends the connection that the node opened. */
  dismiss(node: NodeId, detail: string): void {
    this.#current.get(node)?.finish(detail);
  }

  /** Forgets a connection that is over. */
  closed(inbound: Inbound): void {
    this.#inbounds.delete(inbound);
    const { peer } = inbound;
    if (peer !== undefined && this.#current.get(peer) === inbound) this.#current.delete(peer);
    if (this.#inbounds.size === 0) this.#empty?.resolve();
  }

  #accept(connection: Connection): void {
    const { options, refusals } = this.#context;
    const { inboundConnectionCountMax } = options.limits;
    if (this.#stopping || this.#inbounds.size >= inboundConnectionCountMax) {
      connection.destroy();
      if (this.#stopping) return;
      const detail = `${this.#inbounds.size} connections are open; at most ${inboundConnectionCountMax} are allowed`;
      const refused = {
        peer: '',
        direction: 'inbound',
        by: 'refused here',
        remote: connection.remote,
      } as const;
      refusals.tell(refused, { reason: 'busy', detail });
      return;
    }
    const inbound = new Inbound(this.#context, this, connection);
    this.#inbounds.add(inbound);
    inbound.start();
  }
}

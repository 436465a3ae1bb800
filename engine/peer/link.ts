/**
 * The link to one peer: supervises its connection. Connects, serves until the connection is lost, waits, and connects
 * again, until it is stopped. There is at most one connection; without one, requests return `closed`.
 */
import type { SendOutcome } from '../base/channel.ts';
import { Deferred } from '../base/deferred.ts';
import type { Timer } from '../io/clock.ts';
import type { Connection } from '../io/network.ts';
import { ConnectError } from '../io/network.ts';
import type { Random } from '../io/random.ts';
import type { PeerRequest } from './wire/messages.ts';
import type { Rival } from './admission.ts';
import { backoffDelayUs } from './backoff.ts';
import { LinkSession } from './link-session.ts';
import type { RequestGauges } from './observer.ts';
import type { PeerTarget } from './options.ts';
import type { ReplyHandler } from './pending.ts';
import type { PlaneContext } from './plane-context.ts';
import { RequestIds } from './request-ids.ts';

/** A supervised outbound connection to one peer. */
export class Link {
  readonly target: PeerTarget;
  readonly #context: PlaneContext;
  readonly #random: Random;
  readonly #done = new Deferred<void>();
  #session: LinkSession | undefined;
  #rest: { readonly timer: Timer; readonly over: Deferred<void> } | undefined;
  #started = false;
  #stopping = false;
  /** Connection attempts in a row that never came up. */
  #failures = 0;
  /** Why the last TLS handshake failed, until a connection comes up. */
  #toldHandshake: string | undefined;
  readonly #ids = new RequestIds();

  constructor(context: PlaneContext, target: PeerTarget) {
    this.#context = context;
    this.target = target;
    this.#random = context.io.random.fork(`peer.link.${target.node}`);
  }

  /** True if requests are accepted. */
  get up(): boolean {
    return this.#session?.up === true;
  }

  /** True if a connection is open, greeted or not. */
  get connected(): boolean {
    return this.#session !== undefined;
  }

  /** Starts to connect. Call it once. */
  start(): void {
    this.#started = true;
    this.#context.io.spawn('peer.link', () => this.#run());
  }

  /** Stops. Resolves when the connection is closed and every request's handler was called. */
  stop(): Promise<void> {
    this.#session?.stop();
    return this.#end();
  }

  /**
   * The peer runs as a new incarnation, or is reachable again. Cuts a connection to another incarnation than `epoch`,
   * and connects again without the rest of the wait.
   */
  renew(epoch: string): void {
    this.#session?.outlive(epoch);
    this.#failures = 0;
    this.#wake();
  }

  /** Stops like `stop`, but because the peer has left or has moved: requests under way fail with `PeerGone`. */
  retire(detail: string): Promise<void> {
    this.#session?.leave(detail);
    return this.#end();
  }

  /** The connection to another incarnation of the peer than `epoch`; undefined if there is none. */
  rival(epoch: string): Rival | undefined {
    const session = this.#session;
    return session?.up === true && session.epoch !== epoch ? session : undefined;
  }

  /** Hands a request to the connection (`LinkSession.request`). `closed` without a connection. */
  request(request: PeerRequest, timeoutUs: number, handler: ReplyHandler): SendOutcome {
    return this.#session?.request(request, timeoutUs, handler) ?? 'closed';
  }

  /** Whether there is a connection whose peer reads requests of this kind. */
  reads(kind: PeerRequest['kind']): boolean {
    return this.#session?.reads(kind) === true;
  }

  /** True if a request of `bytes` bytes would return `full` now. */
  isFull(bytes: number): boolean {
    return this.#session?.isFull(bytes) === true;
  }

  /**
   * When the oldest unanswered request of these kinds was made (monotonic microseconds); undefined if there is none.
   */
  oldestRequestUs(kinds: ReadonlySet<PeerRequest['kind']>): number | undefined {
    return this.#session?.oldestRequestUs(kinds);
  }

  /** Adds this link's requests to the gauges. */
  addTo(gauges: RequestGauges): void {
    if (this.#session === undefined) return;
    gauges.queued += this.#session.queued;
    gauges.queuedBytes += this.#session.queuedBytes;
    gauges.unanswered += this.#session.unanswered;
    gauges.unansweredBytes += this.#session.unansweredBytes;
  }

  async #end(): Promise<void> {
    this.#stopping = true;
    this.#wake();
    if (this.#started) await this.#done.promise;
  }

  #wake(): void {
    this.#rest?.timer.cancel();
    this.#rest?.over.resolve();
  }

  async #run(): Promise<void> {
    try {
      while (!this.#stopping) {
        await this.#attempt();
        await this.#pause();
      }
    } finally {
      this.#done.resolve();
    }
  }

  async #attempt(): Promise<void> {
    const connection = await this.#connect();
    if (connection === undefined) {
      this.#failures += 1;
      return;
    }
    const session = new LinkSession(this.#context, this.target, this.#ids, connection);
    this.#session = session;
    await session.run();
    this.#session = undefined;
    this.#failures = session.greeted ? 0 : this.#failures + 1;
    if (session.greeted) this.#toldHandshake = undefined;
  }

  async #connect(): Promise<Connection | undefined> {
    const { io, options, observer } = this.#context;
    try {
      const connection = await io.network.connect(this.target.address, options.timeouts.connectUs);
      if (!this.#stopping) return connection;
      connection.destroy();
    } catch (error) {
      if (!(error instanceof ConnectError)) throw error;
      observer.connectFailed(this.target, error.failure);
      this.#logFailure(error);
    }
    return undefined;
  }

  /** A certificate that has expired, or that another CA has signed, needs the operator: it is logged once at `warn`. */
  #logFailure({ failure, handshake }: ConnectError): void {
    const level = handshake === undefined || handshake === this.#toldHandshake ? 'debug' : 'warn';
    this.#toldHandshake = handshake ?? this.#toldHandshake;
    this.#context.io.log.event(level, 'peer.link.failed', {
      peer: this.target.node,
      failure,
      failures: this.#failures,
      ...(handshake === undefined ? {} : { handshake }),
    });
  }

  async #pause(): Promise<void> {
    if (this.#stopping) return;
    const { io, options } = this.#context;
    const over = new Deferred<void>();
    const delayUs = backoffDelayUs(options.backoff, this.#failures, this.#random);
    this.#rest = { timer: io.clock.after(delayUs, () => over.resolve()), over };
    await over.promise;
    this.#rest = undefined;
  }
}

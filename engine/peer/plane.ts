/**
 * The peer plane: this node's connections with the other nodes. One supervised link per peer carries this node's
 * requests and their answers; the connections that peers open carry theirs.
 *
 * Every queue is bounded and reports it: a request returns `ok` (its handler will be called exactly once), `full` or
 * `closed` at once. A request is sent once. Only the caller knows whether it is safe to repeat, so the caller retries.
 * The membership decides which nodes are members and which are reachable: it adds, updates and removes peers while the
 * plane runs.
 */
import { assert } from '../base/assert.ts';
import type { SendOutcome } from '../base/channel.ts';
import type { NodeId } from '../base/ids.ts';
import type { Io } from '../io/io.ts';
import type { Address } from '../io/network.ts';
import { ChunkPool } from './wire/chunk-pool.ts';
import { lastingFrame } from './wire/frames.ts';
import type { Refusal } from './wire/greetings.ts';
import { helloFrame } from './wire/greetings.ts';
import { replyKinds, requestKinds } from './wire/kinds.ts';
import type { Hello, PeerRequest } from './wire/messages.ts';
import type { Admission, Rival } from './admission.ts';
import { DeadlineWheel } from './deadlines.ts';
import { checkHello } from './handshake.ts';
import type { RequestHandler } from './inbound.ts';
import { Link } from './link.ts';
import type { PeerGauges, PeerObserver } from './observer.ts';
import type { PeerTarget, PlaneOptions } from './options.ts';
import { assertOptions } from './options.ts';
import type { Pending, ReplyHandler } from './pending.ts';
import { PendingPool } from './pending.ts';
import type { PlaneContext } from './plane-context.ts';
import { pingId } from './plane-context.ts';
import { Heartbeats } from './heartbeat.ts';
import { Reception } from './reception.ts';
import type { CurrentRefusal } from './refusals.ts';
import { Refusals } from './refusals.ts';

const noBytes = Buffer.alloc(0);

/** The peer plane of one node. Lifecycle: `start`, then `stop`. */
export class Plane {
  readonly #context: PlaneContext;
  readonly #links = new Map<NodeId, Link>();
  /**
   * Peers that have no link any more. A request to one that was planned before it left is dropped, and counted for that
   * peer.
   */
  readonly #left = new Map<NodeId, PeerTarget>();
  /** Links that are being closed while the plane goes on. */
  readonly #retired = new Set<Link>();
  readonly #reception: Reception;
  #greeting: { readonly hello: Hello; readonly frame: Buffer } | undefined;
  #started = false;
  #stopped: Promise<void> | undefined;

  /**
   * `handle` gets every request of a peer except pings, and calls `reply` once. The bytes in a request are views (see
   * peer/wire/frames.ts).
   */
  constructor(
    io: Io,
    options: PlaneOptions,
    observer: PeerObserver,
    admission: Admission,
    handle: RequestHandler,
  ) {
    assertOptions(options);
    const wheel = new DeadlineWheel<Pending>(io.clock, options.timeouts.deadlineGrainUs, (pending) => {
      pending.owner.expire(pending);
    });
    const { pingUs, idleUs } = options.timeouts;
    this.#context = {
      io,
      options,
      observer,
      admission,
      refusals: new Refusals(io, observer),
      wheel,
      pool: new PendingPool(),
      chunks: new ChunkPool(options.limits.chunkBytes),
      pulses: new Heartbeats(io.clock, { intervalUs: pingUs, silentMax: Math.ceil(idleUs / pingUs) }),
      pingFrame: lastingFrame(requestKinds.ping, pingId, noBytes),
      pongFrame: lastingFrame(replyKinds.pong, pingId, noBytes),
      hello: options.hello,
      greeting: () => this.#greetingFrame(),
      judge: (hello, called) => this.#judge(hello, called),
    };
    for (const peer of options.peers) this.addPeer(peer);
    this.#reception = new Reception(this.#context, handle);
  }

  /** The address that the plane listens on (with the real port where 0 was asked for); undefined before the start. */
  get address(): Address | undefined {
    return this.#reception.address;
  }

  /** How many request records exist, in use or free. */
  get allocatedMessages(): number {
    return this.#context.pool.allocated;
  }

  /** How many request records are free. */
  get freeMessages(): number {
    return this.#context.pool.free;
  }

  /** How many chunks of frame memory exist, in use or free. */
  get allocatedChunks(): number {
    return this.#context.chunks.allocated;
  }

  /** How many chunks are free. */
  get freeChunks(): number {
    return this.#context.chunks.free;
  }

  /** Listens, and starts to connect to every peer. Rejects with `ListenError` if the address is taken. */
  async start(): Promise<void> {
    assert(this.#stopped === undefined, 'a plane is not started again');
    await this.#reception.start();
    if (this.#isStopped()) return;
    this.#started = true;
    for (const link of this.#links.values()) link.start();
    const { io, options } = this.#context;
    io.log.event('info', 'peer.plane.started', {
      address: this.address ?? options.listen,
      peers: this.#links.size,
    });
  }

  /**
   * Closes everything. Requests that were not sent fail with `ShuttingDown`, those under way with `PeerGone`; answers
   * that are ready are still sent. Resolves when no connection and no timer is left.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /**
   * Hands a request to the peer's outbox, copying what it holds. `ok`: the handler will be called exactly once, never
   * within this call. `full`: the outbox is full. `closed`: there is no link now, or no such peer.
   */
  request(peer: NodeId, request: PeerRequest, timeoutUs: number, onReply: ReplyHandler): SendOutcome {
    const link = this.#links.get(peer);
    if (link === undefined) {
      const { options, hello } = this.#context;
      const replaced = peer === options.replaces ? { node: peer, datacenter: hello.datacenter } : undefined;
      const target = this.#left.get(peer) ?? replaced;
      if (target !== undefined) this.#drop(target, request, 'closed');
      return 'closed';
    }
    const outcome = link.request(request, timeoutUs, onReply);
    if (outcome !== 'ok') this.#drop(link.target, request, outcome);
    return outcome;
  }

  /** True if a request of `bytes` bytes to the peer would return `full` now. */
  isFull(peer: NodeId, bytes: number): boolean {
    return this.#links.get(peer)?.isFull(bytes) === true;
  }

  /** Whether the link to the peer is up, and the peer reads requests of this kind. */
  reads(peer: NodeId, kind: PeerRequest['kind']): boolean {
    return this.#links.get(peer)?.reads(kind) === true;
  }

  /** Sets this node's greeting, from the next connection on. */
  introduce(hello: Hello): void {
    assert(hello.node === this.#context.hello.node, 'a node keeps its name');
    this.#context.hello = hello;
  }

  /** Adds a peer and connects to it as soon as the plane runs. */
  addPeer(target: PeerTarget): void {
    assert(!this.#links.has(target.node), 'a peer is added once');
    assert(target.node !== this.#context.hello.node, 'a node is not its own peer');
    if (this.#isStopped()) return;
    const link = new Link(this.#context, target);
    this.#links.set(target.node, link);
    this.#left.delete(target.node);
    if (this.#started) link.start();
  }

  /** The peer runs as incarnation `epoch`, or is reachable again, perhaps at another address. */
  updatePeer(target: PeerTarget, epoch: string): void {
    const link = this.#links.get(target.node);
    if (link?.target.address === target.address) {
      link.renew(epoch);
      return;
    }
    this.#retire(target.node, `the peer has moved to ${target.address}`);
    this.addPeer(target);
  }

  /**
   * The peer is no longer a member: requests to it return `closed`, and its connections end. Does nothing for an
   * unknown node.
   */
  removePeer(node: NodeId): void {
    this.#retire(node, 'the peer has left the cluster');
    this.#reception.dismiss(node, 'the peer has left the cluster');
  }

  /** True if the link is up: the peer has greeted. */
  isConnected(peer: NodeId): boolean {
    return this.#links.get(peer)?.up === true;
  }

  /** The peers that refuse this node's connection now, or are refused by it, and why. */
  refusals(): readonly CurrentRefusal[] {
    const refused = [...this.#links].filter(([, link]) => !link.up);
    return refused.flatMap(([node]) => this.#context.refusals.current(node) ?? []);
  }

  /**
   * When the oldest unanswered request of these kinds was made (monotonic microseconds); undefined if there is none.
   */
  oldestRequestUs(kinds: ReadonlySet<PeerRequest['kind']>): number | undefined {
    let oldestUs: number | undefined;
    for (const link of [...this.#links.values(), ...this.#retired]) {
      const sinceUs = link.oldestRequestUs(kinds);
      if (sinceUs !== undefined && (oldestUs === undefined || sinceUs < oldestUs)) oldestUs = sinceUs;
    }
    return oldestUs;
  }

  /** The plane's gauges now. */
  gauges(): PeerGauges {
    const local = { queued: 0, queuedBytes: 0, unanswered: 0, unansweredBytes: 0 };
    const remote = { ...local };
    let outboundConnections = 0;
    for (const link of [...this.#links.values(), ...this.#retired]) {
      const isLocal = link.target.datacenter === this.#context.options.hello.datacenter;
      link.addTo(isLocal ? local : remote);
      if (link.connected) outboundConnections += 1;
    }
    const inbound = this.#reception.gauges();
    return {
      outboundConnections,
      local,
      remote,
      inboundConnections: inbound.connections,
      inboundRequests: inbound.requests,
      inboundRequestBytes: inbound.requestBytes,
      inboundAnswers: inbound.answers,
      inboundAnswerBytes: inbound.answerBytes,
    };
  }

  /** Encoded once for all links: all of them greet when a node starts. */
  #greetingFrame(): Buffer {
    const { hello } = this.#context;
    if (this.#greeting?.hello !== hello) this.#greeting = { hello, frame: helloFrame(hello) };
    return this.#greeting.frame;
  }

  #isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  #drop(
    target: Pick<PeerTarget, 'node' | 'datacenter'>,
    { kind }: PeerRequest,
    outcome: Exclude<SendOutcome, 'ok'>,
  ): void {
    const { io, observer } = this.#context;
    observer.requestDropped(target, outcome);
    // Dropped requests may come in floods, so the fields are built only if the level is on.
    if (io.log.enabled('debug')) {
      io.log.event('debug', 'peer.request.dropped', { peer: target.node, kind, outcome });
    }
  }

  #retire(node: NodeId, detail: string): void {
    const link = this.#links.get(node);
    if (link === undefined || this.#isStopped()) return;
    this.#links.delete(node);
    this.#left.set(node, link.target);
    this.#retired.add(link);
    this.#context.io.spawn('peer.link.retire', async () => {
      await link.retire(detail);
      this.#retired.delete(link);
    });
  }

  #judge(hello: Hello, called: PeerTarget | undefined): Refusal | undefined {
    const refusal = checkHello(this.#context.hello, hello, called);
    if (refusal !== undefined) return refusal;
    const rivals = this.#rivalsOf(hello);
    const refused = this.#context.admission.judge(hello, rivals.length > 0);
    if (refused?.reason === 'sameName') for (const rival of rivals) rival.probe();
    return refused;
  }

  /** Connections to another process with the node's name. */
  #rivalsOf({ node, epoch }: Hello): readonly Rival[] {
    const rivals = [this.#links.get(node)?.rival(epoch), this.#reception.rival(node, epoch)];
    return rivals.filter((rival) => rival !== undefined);
  }

  async #stop(): Promise<void> {
    const { io, wheel } = this.#context;
    const links = [...this.#links.values(), ...this.#retired].map((link) => link.stop());
    await Promise.all([this.#reception.stop(), ...links]);
    wheel.stop();
    io.log.event('info', 'peer.plane.stopped');
  }
}

/**
 * The network between nodes that are processes on this machine: a proxy before each node's peer listener, which the
 * other nodes' configurations name. The first frame of a connection tells who dials, so faults act on directions between
 * two nodes, as those of the simulated network do, and with the same functions.
 *
 * What is not as in the world: a dial over a blocked direction is accepted here, and the greeting waits.
 */
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

import { decodeGreeting } from '../../engine/peer/wire/greetings.ts';
import { FrameDecoder } from '../../engine/peer/wire/frames.ts';
import type { FrameFault } from '../world/network/frame-faults.ts';
import type { Latency } from '../world/core/latency.ts';
import { drawLatency } from '../world/core/latency.ts';
import { WorldRandom } from '../world/core/random.ts';
import type { FaultNetwork } from '../faults/fault-context.ts';
import type { Direction } from './peer-pipe.ts';
import { PeerPipe } from './peer-pipe.ts';

interface Lasting {
  lift(): void;
}

class ProxyDirection implements Direction {
  blocks = 0;
  readonly slow: Latency[] = [];
  readonly frameFaults: FrameFault[] = [];
  readonly memory: Uint8Array[] = [];
  readonly random: WorldRandom;
  shredders = 0;

  constructor(random: WorldRandom) {
    this.random = random;
  }

  get shreds(): boolean {
    return this.shredders > 0;
  }

  delayMs(): number {
    const latency = this.slow.at(-1);
    return latency === undefined ? 0 : drawLatency(this.random, latency) / 1000;
  }
}

/** A connection between two nodes through a proxy. */
interface Passage {
  readonly dialer: string;
  readonly target: string;
  readonly near: Socket;
  readonly far: Socket;
  readonly pipes: readonly PeerPipe[];
}

const greetingBytesMax = 64 * 1024;

/** The proxies of one cluster. */
export class PeerProxies implements FaultNetwork {
  readonly #random: WorldRandom;
  readonly #servers: Server[] = [];
  readonly #directions = new Map<string, ProxyDirection>();
  readonly #passages = new Set<Passage>();
  readonly #sockets = new Set<Socket>();
  readonly #lasting = new Set<Lasting>();
  readonly #refusing = new Set<string>();
  #isClosed = false;

  /** `seed`: of the delays and of which messages a fault strikes. */
  constructor(seed: string) {
    this.#random = WorldRandom.root(seed);
  }

  /** Resolves once the proxy of `node` listens on `port`; it connects to `target`. */
  async listen(node: string, port: number, target: number): Promise<void> {
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) =>
      this.#accept(socket, node, target),
    );
    this.#servers.push(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
  }

  /** Ends the node's incoming connections and refuses new ones, until it is called with false. */
  refuse(node: string, refuses: boolean): void {
    if (!refuses) this.#refusing.delete(node);
    else {
      this.#refusing.add(node);
      for (const { target, near, far } of this.#passages) if (target === node) destroyAll(near, far);
    }
  }

  /** Nothing passes to or from the node, and no end of a connection is heard of: its machine is off. */
  silence(node: string, others: readonly string[]): Lasting {
    return this.partition([node], others);
  }

  clog(from: readonly string[], to: readonly string[]): Lasting {
    return this.partitionOneWay(from, to);
  }

  partition(left: readonly string[], right: readonly string[]): Lasting {
    const sides = [this.partitionOneWay(left, right), this.partitionOneWay(right, left)];
    return this.#last(() => sides.forEach((side) => side.lift()));
  }

  partitionOneWay(from: readonly string[], to: readonly string[]): Lasting {
    const directions = this.#between(from, to);
    for (const direction of directions) direction.blocks += 1;
    return this.#last(() => {
      for (const direction of directions) direction.blocks -= 1;
    });
  }

  slow(from: readonly string[], to: readonly string[], latency: Latency): Lasting {
    const own = { ...latency };
    const directions = this.#between(from, to);
    for (const { slow } of directions) slow.push(own);
    return this.#last(() => directions.forEach(({ slow }) => remove(slow, own)));
  }

  meddle(from: readonly string[], to: readonly string[], fault: FrameFault): Lasting {
    const own = { ...fault };
    const directions = this.#between(from, to);
    for (const { frameFaults } of directions) frameFaults.push(own);
    return this.#last(() => directions.forEach(({ frameFaults }) => remove(frameFaults, own)));
  }

  shred(from: readonly string[], to: readonly string[]): Lasting {
    const directions = this.#between(from, to);
    for (const direction of directions) direction.shredders += 1;
    return this.#last(() => {
      for (const direction of directions) direction.shredders -= 1;
    });
  }

  reset(left: string, right: string): number {
    const some = this.#passagesBetween(left, right);
    for (const { near, far } of some) for (const socket of [near, far]) socket.resetAndDestroy();
    return some.length;
  }

  halfOpen(told: string, untold: string): number {
    const some = this.#passagesBetween(told, untold);
    for (const passage of some) {
      const { near, far, dialer } = passage;
      // The socket of the untold side stays open, and what comes on it is answered by a reset.
      const [ends, stays] = dialer === told ? [near, far] : [far, near];
      this.#passages.delete(passage);
      for (const socket of [ends, stays]) socket.removeAllListeners('close').removeAllListeners('data');
      ends.resetAndDestroy();
      stays.on('data', () => stays.resetAndDestroy());
      stays.resume();
    }
    return some.length;
  }

  /** Lifts everything. */
  heal(): void {
    for (const lasting of [...this.#lasting]) lasting.lift();
    this.#refusing.clear();
  }

  /** Stops listening, and ends all connections. */
  close(): void {
    this.#isClosed = true;
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #passagesBetween(left: string, right: string): readonly Passage[] {
    return [...this.#passages].filter(
      ({ dialer, target }) => (dialer === left && target === right) || (dialer === right && target === left),
    );
  }

  #between(from: readonly string[], to: readonly string[]): readonly ProxyDirection[] {
    return from.flatMap((one) => to.flatMap((other) => (one === other ? [] : [this.#direction(one, other)])));
  }

  #direction(from: string, to: string): ProxyDirection {
    const name = `${from}>${to}`;
    const known = this.#directions.get(name);
    if (known !== undefined) return known;
    const made = new ProxyDirection(this.#random.fork(name));
    this.#directions.set(name, made);
    return made;
  }

  #last(undo: () => void): Lasting {
    const lasting: Lasting = {
      lift: () => {
        if (!this.#lasting.delete(lasting)) return;
        undo();
        for (const { pipes } of this.#passages) for (const pipe of pipes) pipe.pump();
      },
    };
    this.#lasting.add(lasting);
    return lasting;
  }

  #accept(near: Socket, node: string, target: number): void {
    this.#own(near);
    // A connection that was on its way when the proxies closed would keep this process from its end.
    if (this.#isClosed || this.#refusing.has(node)) {
      near.resetAndDestroy();
      return;
    }
    let head = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const dialer = dialerOf(head);
      if (dialer === undefined && head.length < greetingBytesMax) return;
      near.off('data', onData);
      this.#pass(near, dialer ?? '', node, target, head);
    };
    near.on('data', onData);
  }

  #pass(near: Socket, dialer: string, node: string, target: number, head: Buffer): void {
    if (this.#isClosed) return;
    const far = connect({ port: target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    this.#own(far);
    const forth = new PeerPipe(this.#direction(dialer, node), near, far);
    const back = new PeerPipe(this.#direction(node, dialer), far, near);
    const passage: Passage = { dialer, target: node, near, far, pipes: [forth, back] };
    this.#passages.add(passage);
    for (const [socket, pipe] of [
      [near, forth],
      [far, back],
    ] as const) {
      let isEnded = false;
      socket.on('data', (chunk: Buffer) => pipe.take(chunk));
      socket.on('end', () => {
        isEnded = true;
        pipe.end();
      });
      socket.on('close', (isBroken) => {
        if (isBroken || !isEnded) pipe.break();
        if (near.destroyed && far.destroyed) this.#passages.delete(passage);
      });
    }
    forth.take(head);
  }

  #own(socket: Socket): void {
    this.#sockets.add(socket);
    // `close` follows, and passes the break on to the other side.
    socket.on('error', () => undefined);
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

/** The name in the greeting; undefined: it has not come whole, or is none. */
function dialerOf(head: Buffer): string | undefined {
  try {
    const decoder = new FrameDecoder({ frameBytesMax: greetingBytesMax });
    decoder.push(head);
    const frame = decoder.next();
    if (frame === undefined) return undefined;
    const greeting = decodeGreeting(frame);
    return greeting.kind === 'hello' ? greeting.hello.node : '';
  } catch {
    // Malformed input: it passes as it is.
    return '';
  }
}

function remove<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}

function destroyAll(...sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy();
}

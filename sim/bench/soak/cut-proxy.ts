/**
 * A TCP proxy in front of one node's peer listener, which the other nodes reach it through. While it is cut, their
 * connections end and new ones are refused at once; what the node itself opens is not disturbed, so a cut goes one way.
 */
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

/** The proxy of one node. */
export class CutProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(port: number, target: number) {
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket, target));
    this.#server.listen(port, '127.0.0.1');
  }

  /** Resolves once the proxy listens on `port`; it forwards to `target`. */
  static async listen(port: number, target: number): Promise<CutProxy> {
    const proxy = new CutProxy(port, target);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once('listening', resolve);
      proxy.#server.once('error', reject);
    });
    return proxy;
  }

  /** Cuts or restores the way to the node. */
  cut(isCut: boolean): void {
    this.#isCut = isCut;
    if (isCut) for (const socket of this.#sockets) socket.destroy();
  }

  /** Stops listening, and ends all connections. */
  close(): void {
    this.cut(true);
    this.#server.close();
  }

  #accept(socket: Socket, target: number): void {
    if (this.#isCut) {
      socket.destroy();
      return;
    }
    const own = connect({ port: target, host: '127.0.0.1', noDelay: true });
    for (const [one, other] of [
      [socket, own],
      [own, socket],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}

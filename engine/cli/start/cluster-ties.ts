/**
 * Ties nodes that the user started again to the running `lockstep cluster`, by a connection to a Unix socket beside the
 * node's configuration file.
 *
 * The command listens for as long as it runs. A node connects as it starts, sends its process id once it serves (and so
 * holds its store's lock), and keeps the connection until its process ends, however it ends. The process that holds the
 * connection is therefore the node, and is alive; the command never ends a process by its id. The command asks a node
 * to stop by ending its side of the connection. The kernel does the same when the command is killed, so these nodes
 * stop just as those that the command started itself.
 *
 * On a file system without sockets nodes are not tied: they run on their own, as without a cluster command.
 */
import fs from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';

import { SocketPlace } from '../../real/socket-place.ts';

const socketName = 'cluster.sock';

/** Events of one node's ties. `process` is the process id. */
export interface TieEvents {
  /** A process that the user started serves as this node. */
  readonly serves: (process: string) => void;
  /** A process ended that the command had not asked to stop; `undefined` if it had not served yet. */
  readonly gone: (process: string | undefined) => void;
}

/** The command's side of the ties of one node. */
export class ClusterTies {
  /** The node's name. */
  readonly node: string;
  readonly #place: SocketPlace;
  readonly #server: Server;
  readonly #events: TieEvents;
  /** Connections of processes that have not ended, each with the process id once the process serves. */
  readonly #sockets = new Map<Socket, string | undefined>();
  readonly #waiting: (() => void)[] = [];
  #stopping = false;

  private constructor(node: string, place: SocketPlace, events: TieEvents) {
    this.node = node;
    this.#place = place;
    this.#events = events;
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
  }

  /** Listens beside a node's configuration file. Rejects with the system's error if that fails. */
  static async listen(node: string, configFile: string, events: TieEvents): Promise<ClusterTies> {
    const directory = dirname(configFile);
    const place = await SocketPlace.open(directory);
    try {
      // Removes the socket that a killed command has left behind.
      await fs.rm(join(directory, socketName), { force: true });
      const ties = new ClusterTies(node, place, events);
      await new Promise<void>((resolve, reject) => {
        ties.#server.on('error', reject);
        ties.#server.listen(place.pathOf(socketName), resolve);
      });
      return ties;
    } catch (error) {
      await place.close();
      throw error;
    }
  }

  /** The number of tied processes, including those that do not serve yet. */
  get count(): number {
    return this.#sockets.size;
  }

  /** Asks all tied processes to stop. A process that connects later is asked at once. */
  requestStop(): void {
    this.#stopping = true;
    for (const socket of this.#sockets.keys()) socket.end();
  }

  /** Resolves once no tied process is left. */
  async ended(): Promise<void> {
    while (this.#sockets.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The ids of the tied processes that serve. */
  get processes(): readonly string[] {
    return [...this.#sockets.values()].filter((process) => process !== undefined);
  }

  /** Cuts the remaining connections and removes the socket. */
  async close(): Promise<void> {
    for (const socket of this.#sockets.keys()) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#place.close();
  }

  #accept(socket: Socket): void {
    this.#sockets.set(socket, undefined);
    // Every error is followed by `close`, which handles it.
    socket.on('error', () => undefined);
    socket.on('end', () => socket.end());
    socket.on('close', () => this.#closed(socket));
    createInterface({ input: socket }).once('line', (line) => {
      if (!this.#sockets.has(socket)) return;
      this.#sockets.set(socket, line);
      this.#events.serves(line);
    });
    if (this.#stopping) socket.end();
  }

  #closed(socket: Socket): void {
    const process = this.#sockets.get(socket);
    this.#sockets.delete(socket);
    for (const wake of this.#waiting.splice(0)) wake();
    if (!this.#stopping) this.#events.gone(process);
  }
}

/** Asks all tied processes to stop. Resolves once none is left, or after `timeoutMs` milliseconds. */
export async function stopTied(ties: readonly ClusterTies[], timeoutMs: number): Promise<void> {
  for (const tie of ties) tie.requestStop();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([Promise.all(ties.map((tie) => tie.ended())), late]);
  clearTimeout(timer);
}

/** The node's side of a tie. */
export interface Tie {
  /** Resolves when the cluster command asks the node to stop, or has ended; never without a cluster command. */
  readonly cut: Promise<void>;
  /** Tells the cluster command that the node serves. */
  serves(): void;
}

/**
 * Ties this process, which runs the node of the configuration file, to the cluster command of the node's cluster. A
 * process that the command started needs no tie: it has the IPC channel.
 */
export async function tieToCluster(configFile: string): Promise<Tie> {
  const socket = process.channel === undefined ? await connectTo(dirname(configFile)) : undefined;
  if (socket === undefined) return { cut: new Promise(() => undefined), serves: () => undefined };
  const cut = new Promise<void>((resolve) => {
    socket.on('end', resolve);
    socket.on('close', () => resolve());
  });
  socket.on('error', () => undefined);
  socket.resume();
  return { cut, serves: () => void socket.write(`${process.pid}\n`) };
}

/** Undefined if no cluster command listens. */
async function connectTo(directory: string): Promise<Socket | undefined> {
  let place: SocketPlace | undefined;
  try {
    place = await SocketPlace.open(directory);
    const socket = connect({ path: place.pathOf(socketName), allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    return socket;
  } catch {
    return undefined;
  } finally {
    await place?.close();
  }
}

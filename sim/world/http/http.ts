/**
 * The HTTP port of the world: a service's routes behind a listener of the simulated network, so that latency,
 * partitions, resets and crashes act on HTTP as on everything else.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { Clock } from '../../../engine/io/clock.ts';
import type { Http, HttpListener, HttpService } from '../../../engine/io/http.ts';
import type { Log } from '../../../engine/io/log.ts';
import type { Address, Connection, Listener, Network } from '../../../engine/io/network.ts';
import type { HttpEdge } from './http-connection.ts';
import { HttpConnection } from './http-connection.ts';
import type { HttpWays } from './http-router.ts';
import { HttpRouter } from './http-router.ts';
import type { Incarnation } from '../cluster/incarnation.ts';

/** The HTTP port of one incarnation. */
export class IncarnationHttp implements Http {
  readonly #life: Incarnation;
  readonly #network: Network;
  readonly #clock: Clock;
  readonly #log: Log;

  constructor(life: Incarnation, network: Network, clock: Clock, log: Log) {
    this.#life = life;
    this.#network = network;
    this.#clock = clock;
    this.#log = log;
  }

  async serve(address: Address, service: HttpService): Promise<HttpListener> {
    const { httpWays } = this.#life.ground;
    const edge = new Edge(service, httpWays, this.#clock, (error) => this.#handlerFailed(error));
    const listener = await this.#network.listen(address, (connection) => edge.accept(connection));
    return { address: listener.address, close: (drainMs) => edge.close(listener, drainMs) };
  }

  /** The client is answered 500; for the world it is a bug nevertheless. */
  #handlerFailed(error: unknown): void {
    if (!this.#life.alive) return;
    const story = error instanceof Error ? error.message : String(error);
    this.#log.event('error', 'http.handler.failed', { error: story });
    this.#life.ground.fail(this.#life.host, 'http.handler', error);
  }
}

/** Microseconds after which an unread answer's connection may be closed for another client, as on the machine. */
const unreadUsMin = 1_000_000;

/** Undefined counts as later than everything. */
function isBefore(sinceUs: number | undefined, otherUs: number | undefined): boolean {
  return sinceUs !== undefined && (otherUs === undefined || sinceUs < otherUs);
}

class Edge implements HttpEdge {
  readonly service: HttpService;
  readonly clock: Clock;
  readonly handlerFailed: (error: unknown) => void;
  readonly #ways: HttpWays;
  readonly #open = new Set<HttpConnection>();
  readonly #emptied = new Deferred<void>();
  #router: HttpRouter | undefined;
  stopping = false;

  constructor(service: HttpService, ways: HttpWays, clock: Clock, handlerFailed: (error: unknown) => void) {
    this.service = service;
    this.#ways = ways;
    this.clock = clock;
    this.handlerFailed = handlerFailed;
  }

  /** Created at first use: most listeners of most runs get no request, and creation compiles the routes. */
  get router(): HttpRouter {
    return (this.#router ??= new HttpRouter(this.service, this.#ways));
  }

  accept(connection: Connection): void {
    const handler = new HttpConnection(this, connection, !this.#makeRoom());
    this.#open.add(handler);
    connection.start(handler);
  }

  /** Whether one more connection may open; as on the machine, another one may be closed for it. */
  #makeRoom(): boolean {
    if (this.#open.size < this.service.connectionCountMax) return true;
    const unreadUntilUs = this.clock.nowUs() - unreadUsMin;
    let least: HttpConnection | undefined;
    let unread: HttpConnection | undefined;
    for (const connection of this.#open) {
      if (isBefore(connection.waitedForSinceUs, least?.waitedForSinceUs)) least = connection;
      const sinceUs = connection.unreadSinceUs;
      if (sinceUs === undefined || sinceUs > unreadUntilUs) continue;
      if (isBefore(sinceUs, unread?.unreadSinceUs)) unread = connection;
    }
    least ??= unread;
    if (least === undefined) return false;
    this.#open.delete(least);
    least.cut();
    return true;
  }

  closed(connection: HttpConnection): void {
    this.#open.delete(connection);
    if (this.stopping && this.#open.size === 0) this.#emptied.resolve();
  }

  async close(listener: Listener, drainMs: number): Promise<void> {
    this.stopping = true;
    await listener.close();
    for (const connection of [...this.#open]) connection.stop();
    if (this.#open.size === 0) return;
    const timer = this.clock.after(drainMs * 1000, () => {
      for (const connection of [...this.#open]) connection.destroy();
    });
    await this.#emptied.promise;
    timer.cancel();
  }
}

/**
 * Measures how long a node takes to answer each request for objects, transactions or listings, by its own monotonic
 * clock and without the time for which its process was paused. Requests on one connection are answered in order: the
 * time of one begins when it has arrived whole and all before it are answered. A request whose client leaves, or whose
 * node stops, has an end, too: it may not have waited longer than it was allowed to.
 */
import type { AnswerTime } from '../check/cluster/answer-times.ts';
import type { Cluster } from '../world/cluster/cluster.ts';
import type { World } from '../world/world.ts';

/** A request as its connection states it. */
export interface StatedRequest {
  readonly what: string;
  /** Undefined: it states no time, and is not measured. */
  readonly allowedMs: number | undefined;
  readonly hasId: boolean;
}

interface Owed extends StatedRequest {
  readonly heardUs: number;
}

/** The clock by which one incarnation is measured. */
export interface MeasuredClock {
  /** Monotonic time of the node in microseconds, without pauses. */
  readonly ranUs: number;
  /** How late the node's timers may be, in microseconds. */
  readonly lateUs: number;
  /** The world's time. */
  readonly atUs: number;
}

/** Clocks of all nodes that stand still while the node's process is paused. */
export class RunningClocks {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #pausedUs = new Map<string, number>();
  readonly #since = new Map<string, number>();
  readonly #lateUs = new Map<string, number>();

  constructor(world: World, cluster: Cluster) {
    this.#world = world;
    this.#cluster = cluster;
    world.trace.on('host.paused', ({ host }) => this.#since.set(host, this.#localUs(host)));
    world.trace.on('host.resumed', ({ host }) => {
      const now = this.#localUs(host);
      const paused = now - (this.#since.get(host) ?? now);
      this.#since.delete(host);
      this.#pausedUs.set(host, (this.#pausedUs.get(host) ?? 0) + paused);
    });
    for (const end of ['host.crashed', 'host.stopped'])
      world.trace.on(end, ({ host }) => this.#since.delete(host));
  }

  of(host: string): MeasuredClock {
    const now = this.#since.get(host) ?? this.#localUs(host);
    // Jitter that is over may have made a timer late that was set while it lasted.
    const { late } = this.#cluster.host(host).clock.jitterUs;
    const lateUs = Math.max(late, this.#lateUs.get(host) ?? 0);
    this.#lateUs.set(host, lateUs);
    return { ranUs: now - (this.#pausedUs.get(host) ?? 0), lateUs, atUs: this.#world.nowUs };
  }

  #localUs(host: string): number {
    return this.#cluster.host(host).clock.localUs;
  }
}

/** The requests that one incarnation has not answered, by connection. */
export class AnswerTimes {
  readonly #node: string;
  readonly #clock: () => MeasuredClock;
  readonly #records: AnswerTime[];
  readonly #owed = new Map<number, Owed[]>();
  readonly #answeredUs = new Map<number, number>();

  /** Adds to `records`, which all incarnations of a run share. */
  constructor(node: string, clock: () => MeasuredClock, records: AnswerTime[]) {
    this.#node = node;
    this.#clock = clock;
    this.#records = records;
  }

  /** A request has arrived whole. */
  asked(connection: number, request: StatedRequest): void {
    const owed = this.#owed.get(connection) ?? [];
    this.#owed.set(connection, owed);
    owed.push({ ...request, heardUs: this.#clock().ranUs });
  }

  /** The oldest request of the connection is answered to the end. */
  answered(connection: number): void {
    const first = this.#owed.get(connection)?.shift();
    if (first === undefined) return;
    this.#note(connection, first, true);
    this.#answeredUs.set(connection, this.#clock().ranUs);
  }

  /** The connection is over: nothing more is owed. */
  closed(connection: number): void {
    const first = this.#owed.get(connection)?.[0];
    if (first !== undefined) this.#note(connection, first, false);
    this.#owed.delete(connection);
    this.#answeredUs.delete(connection);
  }

  #note(connection: number, { what, allowedMs, hasId, heardUs }: Owed, answered: boolean): void {
    if (allowedMs === undefined) return;
    const { ranUs, lateUs, atUs } = this.#clock();
    const tookUs = ranUs - Math.max(heardUs, this.#answeredUs.get(connection) ?? heardUs);
    const allowedUs = allowedMs * 1000;
    this.#records.push({ node: this.#node, what, atUs, tookUs, allowedUs, lateUs, hasId, answered });
  }
}

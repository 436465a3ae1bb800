/**
 * An attempt to connect: a packet there, an answer back. A packet that cannot pass is sent again after one second, then
 * two, then four, as TCP does, until the caller's timeout. The answer says only that the other machine listens. The
 * process there accepts when the third packet, the first of the new pipe, arrives.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { Address, Connection, ConnectFailure } from '../../../engine/io/network.ts';
import { ConnectError } from '../../../engine/io/network.ts';
import type { Ticket } from '../core/agenda.ts';
import type { FaultId } from '../core/fault-log.ts';
import type { Incarnation } from '../cluster/incarnation.ts';
import { placeOf } from './links.ts';
import type { Machine } from './machine.ts';
import type { PipeContext } from './pipe.ts';
import type { TimelineEvent } from '../core/timeline.ts';
import { worldEvents } from '../core/trace.ts';

const firstRetryUs = 1_000_000;

/** Creates both sides of a connection and returns the client's. */
export type Establish = (serverLife: Incarnation) => Connection;

/** One attempt of one incarnation. */
export class Dial {
  readonly #shared: PipeContext;
  readonly #life: Incarnation;
  readonly #from: Machine;
  readonly #to: Machine;
  readonly #port: number;
  readonly #address: Address;
  readonly #establish: Establish;
  readonly #outcome = new Deferred<Connection>();
  #retryUs = firstRetryUs;
  #stalledBy: FaultId | undefined;
  #over = false;
  #limit: Ticket | undefined;

  constructor(
    shared: PipeContext,
    client: { readonly life: Incarnation; readonly machine: Machine },
    target: { readonly machine: Machine; readonly port: number; readonly address: Address },
    establish: Establish,
  ) {
    this.#shared = shared;
    this.#life = client.life;
    this.#from = client.machine;
    this.#to = target.machine;
    this.#port = target.port;
    this.#address = target.address;
    this.#establish = establish;
  }

  start(timeoutUs: number): Promise<Connection> {
    this.#limit = this.#in(Math.max(1, Math.ceil(timeoutUs)), () => this.#timeOut());
    this.#knock();
    return this.#outcome.promise;
  }

  #knock(): void {
    this.#in(this.#shared.links.drawUs(this.#from, this.#to), () => this.#arrive());
  }

  /** The packet comes due at the other machine. */
  #arrive(): boolean {
    if (this.#over) return false;
    const { links } = this.#shared;
    if (!links.passable(this.#from, this.#to)) return this.#lost(this.#from, this.#to);
    const listening = this.#to.listeners.get(this.#port);
    const answer = (): boolean => this.#answered(listening?.life);
    this.#in(links.drawUs(this.#to, this.#from), answer);
    return false;
  }

  /** The answer comes due here. */
  #answered(serverLife: Incarnation | undefined): boolean {
    if (this.#over) return false;
    if (!this.#shared.links.passable(this.#to, this.#from)) return this.#lost(this.#to, this.#from);
    const hearing: TimelineEvent = {
      owner: this.#life,
      happen: () => {
        if (this.#over || !this.#life.mayRun(hearing)) return false;
        if (serverLife === undefined) this.#fail('refused');
        else this.#connect(serverLife);
        return true;
      },
    };
    return hearing.happen();
  }

  #connect(serverLife: Incarnation): void {
    this.#end();
    this.#outcome.resolve(this.#establish(serverLife));
  }

  #lost(from: Machine, to: Machine): boolean {
    this.#stalledBy = this.#shared.links.blockOf(from, to).kind;
    this.#in(this.#retryUs, () => {
      if (!this.#over) this.#knock();
      return false;
    });
    this.#retryUs *= 2;
    return false;
  }

  #timeOut(): boolean {
    const timingOut: TimelineEvent = {
      owner: this.#life,
      happen: () => {
        if (this.#over || !this.#life.mayRun(timingOut)) return false;
        this.#fail('timedOut');
        return true;
      },
    };
    return timingOut.happen();
  }

  #end(): void {
    this.#over = true;
    if (this.#limit !== undefined) this.#shared.ground.timeline.cancel(this.#limit);
  }

  #fail(failure: ConnectFailure): void {
    this.#end();
    const { ledger, trace } = this.#shared.ground;
    const place = placeOf(this.#from, this.#to);
    if (failure === 'timedOut' && this.#stalledBy !== undefined) {
      ledger.enter(this.#stalledBy, place, 'connectTimedOut');
    }
    if (failure === 'refused' && this.#to.crashed) ledger.enter('process-crash', place, 'connectRefused');
    for (const watcher of this.#shared.watchers) {
      watcher.connectFailed(this.#life.host, this.#life.number, this.#to.name, this.#port, failure);
    }
    trace.happened(worldEvents.connectFailed, this.#life.hostIndex, this.#port, 0, failure);
    if (this.#life.alive) this.#outcome.reject(new ConnectError(failure, this.#address));
  }

  #in(delayUs: number, happen: () => boolean): Ticket {
    const { timeline } = this.#shared.ground;
    return timeline.schedule(timeline.nowUs + delayUs, { owner: this.#life, happen });
  }
}

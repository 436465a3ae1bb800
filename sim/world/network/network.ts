/**
 * The network between hosts. `WorldNetwork` is what faults act on; `IncarnationNetwork` is the port of one incarnation.
 *
 * Connections are those of TCP: `pipe.ts` says what a blocked direction does to bytes, `connection.ts` has the two
 * sides, `dial.ts` connects. Hosts have the names of addresses (`n1:8101` is port 8101 of host `n1`).
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { Address, Connection, Listener, Network } from '../../../engine/io/network.ts';
import { ConnectError, ListenError } from '../../../engine/io/network.ts';
import { WorldConnection } from './connection.ts';
import { Dial } from './dial.ts';
import type { FrameFault } from './frame-faults.ts';
import type { WorldContext } from '../core/world-context.ts';
import type { Latency } from '../core/latency.ts';
import type { FaultId } from '../core/fault-log.ts';
import type { Holding, Incarnation } from '../cluster/incarnation.ts';
import type { Block, Pace } from './links.ts';
import { Links, placeOf } from './links.ts';
import type { Listening, Machine, Machines } from './machine.ts';
import { freePort, splitAddress } from './machine.ts';
import type { Pipe, PipeContext } from './pipe.ts';
import { worldEvents } from '../core/trace.ts';
import type { ConnectionWatcher } from '../core/watchers.ts';

/** A fault that lasts. Lifting it twice is harmless. */
export interface Lasting {
  lift(): void;
}

type Direction = readonly [from: Machine, to: Machine];

/** The network of one world. */
export class WorldNetwork {
  readonly #ground: WorldContext;
  readonly #machines: Machines;
  readonly #shared: PipeContext;
  readonly #lasting = new Set<Lasting>();
  readonly #watchers: ConnectionWatcher[] = [];
  #connections = 0;

  constructor(ground: WorldContext, machines: Machines) {
    this.#ground = ground;
    this.#machines = machines;
    const stalled = new Set<Pipe>();
    this.#shared = { ground, links: new Links(ground), stalled, watchers: this.#watchers };
  }

  /** Reports every connection to `watcher`. */
  watch(watcher: ConnectionWatcher): void {
    this.#watchers.push(watcher);
  }

  /** What the host sends takes these times, where no fault slows it. Paces are in the order of their packets. */
  pace(host: string, paces: readonly Pace[]): void {
    this.#shared.links.pace(host, paces);
  }

  /** All packets take drawn times again. */
  unpace(): void {
    this.#shared.links.unpace();
  }

  /**
   * From their packet of that number on, everything that the hosts send takes the mean time, where no fault slows it:
   * none overtakes another.
   */
  steady(hosts: readonly string[], packet = 0): void {
    this.#shared.links.steady(hosts, packet);
  }

  /** An incarnation learns that its listener is closed. */
  tellClosed({ host, number }: Incarnation, port: number): void {
    for (const watcher of this.#watchers) watcher.listenerClosed?.(host, number, port);
  }

  /** `network-partition`: nothing passes between the two sides, in either direction; no process is notified. */
  partition(left: readonly string[], right: readonly string[]): Lasting {
    return this.#block('network-partition', false, [
      ...this.#directions(left, right),
      ...this.#directions(right, left),
    ]);
  }

  /** `one-way-partition`: nothing passes from `from` to `to`; the other direction works. */
  partitionOneWay(from: readonly string[], to: readonly string[]): Lasting {
    return this.#block('one-way-partition', false, this.#directions(from, to));
  }

  /**
   * `network-clog`: everything from `from` to `to` waits; nothing is lost or given up, and all of it passes once the
   * clog is lifted.
   */
  clog(from: readonly string[], to: readonly string[]): Lasting {
    return this.#block('network-clog', true, this.#directions(from, to));
  }

  /**
   * `network-delay`: another latency from `from` to `to` (one way), for what is sent while it lasts. The newest one
   * counts.
   */
  slow(from: readonly string[], to: readonly string[], latency: Latency): Lasting {
    const directions = this.#directions(from, to);
    // A copy, so that lifting one of two equal delays lifts that one.
    const own = { ...latency };
    for (const [source, target] of directions) this.#shared.links.slow(source, target, own);
    return this.#last(() => {
      for (const [source, target] of directions) this.#shared.links.unslow(source, target, own);
    });
  }

  /**
   * `message-loss`, `message-duplication`, `message-replay`, `message-reordering`, `message-filter`,
   * `wire-version-skew`: applies a fault to whole frames between peers from `from` to `to`.
   */
  meddle(from: readonly string[], to: readonly string[], fault: FrameFault): Lasting {
    const directions = this.#directions(from, to);
    const own = { ...fault };
    for (const [source, target] of directions) this.#shared.links.meddle(source, target, own);
    return this.#last(() => {
      for (const [source, target] of directions) this.#shared.links.leaveAlone(source, target, own);
    });
  }

  /** `stream-fragmentation`: bytes from `from` arrive at `to` in small pieces. */
  shred(from: readonly string[], to: readonly string[]): Lasting {
    const directions = this.#directions(from, to);
    for (const [source, target] of directions) this.#shared.links.shred(source, target);
    return this.#last(() => {
      for (const [source, target] of directions) this.#shared.links.unshred(source, target);
    });
  }

  /**
   * `connection-reset`: resets every live connection between two hosts and loses what is under way; returns how many.
   * `side` says which process learns of it at once; the other one learns of it when it next sends.
   */
  reset(left: string, right: string, side: 'left' | 'right' | 'both' = 'both'): number {
    const pairs = this.#pairs(left, right);
    this.#enterReset('connection-reset', left, right);
    for (const [atLeft, atRight] of pairs) {
      if (side !== 'right') atLeft.break('reset', 'connection-reset');
      if (side !== 'left') atRight.break('reset', 'connection-reset');
    }
    return pairs.length;
  }

  /**
   * `half-open-connection`: ends the connections between two hosts for `told` only. For `untold` they are open until it
   * next sends.
   */
  halfOpen(told: string, untold: string): number {
    const pairs = this.#pairs(told, untold);
    this.#enterReset('half-open-connection', told, untold);
    for (const [atTold] of pairs) atTold.break('reset', 'half-open-connection');
    return pairs.length;
  }

  /** `connection-reset`: resets each connection once `bytes` more of it have arrived at `to`. */
  resetAfter(from: string, to: string, bytes: number): number {
    const pairs = this.#pairs(from, to);
    this.#enterReset('connection-reset', from, to);
    for (const [, atReceiver] of pairs) atReceiver.breakAfter(bytes);
    return pairs.length;
  }

  /** Number of live connections between two hosts. */
  connectionCount(left: string, right: string): number {
    return this.#pairs(left, right).length;
  }

  /** Lifts every lasting fault of the network. */
  heal(): void {
    for (const lasting of [...this.#lasting]) lasting.lift();
  }

  /** A machine has been switched on or off. */
  machineChanged(): void {
    for (const pipe of [...this.#shared.stalled]) pipe.revive();
  }

  /** The port of an incarnation. */
  door(life: Incarnation, machine: Machine): Network {
    return new IncarnationNetwork(this, life, machine);
  }

  /**
   * Ends the connections and listeners of an incarnation. If the machine is on, the other sides are notified, because
   * of `cause`.
   */
  endLife(life: Incarnation, machine: Machine, cause: FaultId | undefined): void {
    for (const connection of connectionsOf(life)) connection.lifeEnded(machine.on, cause);
    machine.listeners.clear();
  }

  /** Bytes that the model holds for an incarnation's connections. */
  heldBytes(life: Incarnation): number {
    return connectionsOf(life).reduce((sum, connection) => sum + connection.heldBytes, 0);
  }

  /** Listens for an incarnation; throws `ListenError`. */
  listen(life: Incarnation, machine: Machine, address: Address, entry: Listening): Address {
    const place = this.#machines.resolve(address, machine);
    if (place?.machine !== machine) throw new ListenError(`${address} is not an address of ${machine.name}`);
    const port = place.port === 0 ? freePort(machine) : place.port;
    if (machine.listeners.has(port)) throw new ListenError(`${address} is taken`);
    machine.listeners.set(port, entry);
    this.#ground.trace.happened(worldEvents.listened, life.hostIndex, port);
    return `${splitAddress(address).host}:${port}`;
  }

  /** Connects for an incarnation; rejects with `ConnectError`. */
  connect(life: Incarnation, machine: Machine, address: Address, timeoutUs: number): Promise<Connection> {
    const place = this.#machines.resolve(address, machine);
    if (place === undefined) {
      const outcome = new Deferred<Connection>();
      life.later(0, () => outcome.reject(new ConnectError('unreachable', address)));
      return outcome.promise;
    }
    const target = { ...place, address };
    const establish = (serverLife: Incarnation): Connection =>
      this.#establish(life, machine, target, serverLife);
    return new Dial(this.#shared, { life, machine }, target, establish).start(timeoutUs);
  }

  #establish(
    life: Incarnation,
    machine: Machine,
    target: { readonly machine: Machine; readonly port: number; readonly address: Address },
    serverLife: Incarnation,
  ): Connection {
    const id = ++this.#connections;
    const { trace } = this.#ground;
    trace.happened(worldEvents.connected, life.hostIndex, id, target.port);
    const accept = (connection: WorldConnection): boolean => {
      const entry = target.machine.listeners.get(target.port);
      if (entry === undefined) {
        connection.refuse();
        return false;
      }
      connection.accepted();
      trace.happened(worldEvents.accepted, serverLife.hostIndex, id, target.port);
      if (serverLife.alive) entry.onConnection(connection);
      return true;
    };
    return WorldConnection.makePair(
      this.#shared,
      id,
      { machine, life, remote: target.address, side: 'client', port: target.port },
      {
        machine: target.machine,
        life: serverLife,
        remote: `${machine.name}:${freePort(machine)}`,
        side: 'server',
        port: target.port,
      },
      accept,
    );
  }

  #block(kind: FaultId, lossless: boolean, directions: readonly Direction[]): Lasting {
    const block: Block = { kind, lossless };
    const { links } = this.#shared;
    for (const [from, to] of directions) links.block(from, to, block);
    return this.#last(() => {
      for (const [from, to] of directions) links.unblock(from, to, block);
      this.machineChanged();
    });
  }

  #last(undo: () => void): Lasting {
    const lasting: Lasting = {
      lift: () => {
        if (this.#lasting.delete(lasting)) undo();
      },
    };
    this.#lasting.add(lasting);
    return lasting;
  }

  #directions(from: readonly string[], to: readonly string[]): readonly Direction[] {
    return from.flatMap((source) =>
      to
        .filter((target) => target !== source)
        .map((target): Direction => [this.#machines.mustGet(source), this.#machines.mustGet(target)]),
    );
  }

  /** Connections between two hosts of which a side is still live, as (side at left, side at right). */
  #pairs(left: string, right: string): readonly (readonly [WorldConnection, WorldConnection])[] {
    const machines = [this.#machines.mustGet(left), this.#machines.mustGet(right)] as const;
    const pairs = new Map<number, readonly [WorldConnection, WorldConnection]>();
    for (const machine of machines) {
      const other = machine === machines[0] ? machines[1] : machines[0];
      for (const side of machine.life === undefined ? [] : connectionsOf(machine.life)) {
        if (side.peer.machine !== other || !(side.live || side.peer.live)) continue;
        pairs.set(side.id, machine === machines[0] ? [side, side.peer] : [side.peer, side]);
      }
    }
    return [...pairs.values()];
  }

  #enterReset(kind: FaultId, left: string, right: string): void {
    const place = placeOf(this.#machines.mustGet(left), this.#machines.mustGet(right));
    this.#ground.ledger.enter(kind, place, 'injected');
  }
}

function connectionsOf(life: Incarnation): readonly WorldConnection[] {
  return [...life.connections].filter((holding) => holding instanceof WorldConnection);
}

class IncarnationNetwork implements Network {
  readonly #network: WorldNetwork;
  readonly #life: Incarnation;
  readonly #machine: Machine;

  constructor(network: WorldNetwork, life: Incarnation, machine: Machine) {
    this.#network = network;
    this.#life = life;
    this.#machine = machine;
  }

  listen(address: Address, onConnection: (connection: Connection) => void): Promise<Listener> {
    const life = this.#life;
    if (!life.awake()) return life.silence();
    const outcome = new Deferred<Listener>();
    try {
      const entry: Listening = { life, onConnection };
      const own = this.#network.listen(life, this.#machine, address, entry);
      const listener = new LifeListener(life, this.#machine, own, this.#network);
      life.later(1, () => outcome.resolve(listener));
    } catch (error) {
      life.later(1, () => outcome.reject(error));
    }
    return outcome.promise;
  }

  connect(address: Address, timeoutUs: number): Promise<Connection> {
    if (!this.#life.awake()) return this.#life.silence();
    return this.#network.connect(this.#life, this.#machine, address, timeoutUs);
  }
}

class LifeListener implements Listener, Holding {
  readonly address: Address;
  readonly #life: Incarnation;
  readonly #machine: Machine;
  readonly #network: WorldNetwork;

  constructor(life: Incarnation, machine: Machine, address: Address, network: WorldNetwork) {
    this.address = address;
    this.#life = life;
    this.#machine = machine;
    this.#network = network;
    life.listeners.add(this);
  }

  describe(): string {
    return this.address;
  }

  close(): Promise<void> {
    if (!this.#life.awake()) return this.#life.silence();
    const life = this.#life;
    const { port } = splitAddress(this.address);
    if (life.listeners.delete(this)) this.#machine.listeners.delete(port);
    const closed = new Deferred<void>();
    life.later(1, () => {
      this.#network.tellClosed(life, port);
      closed.resolve();
    });
    return closed.promise;
  }
}

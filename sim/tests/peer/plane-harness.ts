/**
 * Peer planes on the hosts of a world, without the rest of a node, for the tests of the plane. Every node answers a
 * read with its own name and the requested key, so that a crossed answer shows.
 */
import { present } from '../../../engine/base/assert.ts';
import type { NodeId, Token } from '../../../engine/base/ids.ts';
import { byteStringOf } from '../../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../../engine/base/object-key.ts';
import type { Io } from '../../../engine/io/io.ts';
import type { Admission } from '../../../engine/peer/admission.ts';
import type { RequestHandler } from '../../../engine/peer/inbound.ts';
import type { PeerTarget, PlaneOptions } from '../../../engine/peer/options.ts';
import { defaultPeerBackoff, defaultPeerLimits, defaultPeerTimeouts } from '../../../engine/peer/options.ts';
import { Plane } from '../../../engine/peer/plane.ts';
import type { Refusal } from '../../../engine/peer/wire/greetings.ts';
import type { Hello, PeerReply, PeerRequest } from '../../../engine/peer/wire/messages.ts';
import type { Leaks } from '../../world/cluster/host.ts';
import type { TuningChange } from '../../world/core/tuning.ts';
import { World } from '../../world/world.ts';
import { Counts } from './counts.ts';

/** The port of every plane. */
export const peerPort = 8101;

/** Deviations of one incarnation from the usual node. */
export interface NodeChange {
  readonly options?: Partial<PlaneOptions>;
  readonly admission?: Admission;
  readonly handle?: RequestHandler;
}

/** One incarnation of one node's plane. */
export interface PlaneNode {
  readonly io: Io;
  readonly plane: Plane;
  readonly counts: Counts;
}

/** The outcome of one request. */
export interface Asked {
  readonly outcome: string;
  /** Every answer that its handler received: exactly one at the end, if the plane is correct. */
  readonly replies: PeerReply[];
}

/** The hosts and their planes. */
export class PlaneHarness {
  readonly world: World;
  readonly names: readonly string[];
  readonly #targets: readonly PeerTarget[];
  readonly #seats = new Map<string, PlaneNode>();
  /** Admits peers of the list with the attributes that the list has. */
  readonly #listed: Admission = {
    judge: (hello) => refusalOf(hello, this.#targets),
    admitted: () => undefined,
    refused: () => undefined,
  };

  /** Creates hosts for `names`; the last of them is in another datacenter. None is started. */
  constructor(
    seed: string | number,
    names: readonly string[] = ['n1', 'n2', 'n3'],
    network: TuningChange['network'] = {},
  ) {
    this.world = new World({ seed, tuning: { network } });
    this.names = names;
    this.#targets = names.map((name, index) => ({
      node: name as NodeId,
      address: `${name}:${peerPort}`,
      datacenter: index === names.length - 1 ? 'dc2' : 'dc1',
      rack: `r${index + 1}`,
      index,
    }));
    for (const name of names) this.world.addHost(name);
  }

  /** Boots the host and starts a plane on it. */
  start(name: string, change: NodeChange = {}): PlaneNode {
    const io = this.world.mustGetHost(name).boot();
    const counts = new Counts();
    const options = { ...this.options(name), ...change.options };
    const plane = new Plane(
      io,
      options,
      counts,
      change.admission ?? this.#listed,
      change.handle ?? echoFrom(name),
    );
    io.spawn('plane', () => plane.start());
    const seat = { io, plane, counts };
    this.#seats.set(name, seat);
    return seat;
  }

  startAll(changes: Readonly<Record<string, NodeChange>> = {}): void {
    for (const name of this.names) this.start(name, changes[name]);
  }

  /** The usual options of a node. */
  options(name: string): PlaneOptions {
    const target = present(
      this.#targets.find(({ node }) => node === name),
      name,
    );
    const { node, datacenter, rack, address } = target;
    const life = this.world.mustGetHost(name).lives;
    return {
      hello: {
        clusterId: 'orchard',
        node,
        datacenter,
        rack,
        tokens: [],
        epoch: `${life}`,
        generation: life,
        joining: false,
        version: '0.1.0',
        messages: { min: 3, max: 4 },
      },
      listen: address,
      peers: this.#targets.filter((other) => other !== target),
      limits: defaultPeerLimits,
      timeouts: defaultPeerTimeouts,
      backoff: defaultPeerBackoff,
    };
  }

  seat(name: string): PlaneNode {
    return present(this.#seats.get(name), name);
  }

  target(name: string): PeerTarget {
    return present(
      this.#targets.find(({ node }) => node === name),
      name,
    );
  }

  pass(us: number): Promise<void> {
    return this.world.run({ untilUs: this.world.nowUs + us });
  }

  /** Stops a plane gracefully; resolves with the resources that it leaked. */
  async stop(name: string): Promise<Leaks> {
    const { io, plane } = this.seat(name);
    const outcome = { stopped: false };
    io.spawn('stop', async () => {
      await plane.stop();
      outcome.stopped = true;
    });
    await this.world.runUntil(() => outcome.stopped, 30_000_000);
    return this.world.mustGetHost(name).stop();
  }

  /** `from` is linked to `to`. */
  linked(from: string, to: string): boolean {
    return this.seat(from).plane.isConnected(to as NodeId);
  }

  /** Every node that is up is linked to every other one of `names`. */
  allLinked(names: readonly string[] = this.names): boolean {
    return names.every((from) => names.every((to) => from === to || this.linked(from, to)));
  }

  /** Lets time pass until `holds` returns true or the budget is spent; resolves with whether it does. */
  async until(holds: () => boolean, budgetUs: number): Promise<boolean> {
    await this.world.runUntil(holds, budgetUs);
    return holds();
  }

  ask(from: string, to: string, request: PeerRequest, timeoutUs = 1_000_000): Asked {
    const replies: PeerReply[] = [];
    let inside = true;
    const outcome = this.seat(from).plane.request(to as NodeId, request, timeoutUs, (reply) => {
      if (inside) throw new Error('a handler was called inside the request');
      replies.push(reply);
    });
    inside = false;
    return { outcome, replies };
  }

  /** Requests a key; the answer is `wanted(to, key)` unless a fault interferes. */
  read(from: string, to: string, key: string, timeoutUs?: number): Asked {
    return this.ask(from, to, readOf(key), timeoutUs);
  }
}

function refusalOf(hello: Hello, targets: readonly PeerTarget[]): Refusal | undefined {
  const target = targets.find(({ node }) => node === hello.node);
  if (target === undefined) return { kind: 'refusal', reason: 'unknown', detail: 'not in the list' };
  if (target.datacenter === hello.datacenter && target.rack === hello.rack) return undefined;
  return { kind: 'refusal', reason: 'location', detail: 'listed elsewhere' };
}

/** A read of the key. */
export function readOf(key: string): PeerRequest {
  return { kind: 'readObject', key: packed(key), token: 7 as Token };
}

/** A merge of the object under the key. */
export function mergeOf(key: string, object: Uint8Array): PeerRequest {
  return { kind: 'mergeObject', key: packed(key), token: 7 as Token, object };
}

/** The answer of node `name` to a read of `key`. */
export function wanted(name: string, key: string): PeerReply {
  return { kind: 'object', object: Buffer.from(`${name} ${packed(key)}`, 'latin1') };
}

/** Answers reads with the node's own name and the key. */
export function echoFrom(name: string): RequestHandler {
  return (_from, request, reply) => reply(echo(name, request));
}

/** The answer of node `name` to a request: reads echo, everything else is `written`. */
export function echo(name: string, request: PeerRequest): PeerReply {
  if (request.kind === 'readObject')
    return { kind: 'object', object: Buffer.from(`${name} ${request.key}`, 'latin1') };
  return { kind: 'written' };
}

function packed(key: string) {
  return objectKey(defaultType, byteStringOf('bucket'), byteStringOf(key)).packed;
}

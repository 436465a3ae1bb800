/**
 * Whole nodes in a world, for the tests of membership. It reads peer states from the trace and counts from `/metrics`.
 */
import { assert, present } from '../../../engine/base/assert.ts';
import type { PeerState } from '../../../engine/cluster/membership/states.ts';
import { parseExposition } from '../../check/metrics/exposition-text.ts';
import type { Address } from '../../../engine/io/network.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import type { HttpClient } from '../../world/world.ts';
import { World } from '../../world/world.ts';

/** Microseconds of virtual time. */
export const second = 1_000_000;

type Request = Parameters<HttpClient['request']>[1];
type Method = Request['method'];
type Answer = Awaited<ReturnType<HttpClient['request']>>;

/** A change of a peer's state, as one incarnation of a node saw it. */
export interface Move {
  readonly atUs: number;
  readonly by: string;
  readonly peer: string;
  readonly to: string;
  /** `NORMAL>DOWN` */
  readonly text: string;
}

/** A cluster with one client; requests let virtual time pass until they are answered. */
export class MemberHarness {
  readonly world: World;
  readonly cluster: Cluster;
  readonly moves: Move[] = [];
  /** The current opinions of each node's current incarnation. */
  readonly #views = new Map<string, Map<string, string>>();

  /** Hosts n1, n2, ... in racks of their own, unless `racks` are fewer; none is started. `place` says where. */
  constructor(
    seed: string,
    count: number,
    settings: Readonly<Record<string, unknown>> = {},
    racks: number = count,
    place: (number: number, racks: number) => PlanNode = nodeOf,
  ) {
    this.world = new World({ seed, logLevel: 'info' });
    const nodes = Array.from({ length: count }, (_, index) => place(index + 1, racks));
    this.cluster = new Cluster(this.world, nodes, settings);
    this.world.trace.on('membership.started', ({ host }) => void this.#views.set(host, new Map()));
    this.world.trace.on('membership.peer.state.changed', ({ host, atUs, fields }) => {
      const [peer, from, to] = [text(fields['peer']), text(fields['from']), text(fields['to'])];
      this.moves.push({ atUs, by: host, peer, to, text: `${from}>${to}` });
      present(this.#views.get(host), `the view of ${host}`).set(peer, to);
    });
  }

  /** Starts nodes and waits until they serve. */
  async start(...names: readonly string[]): Promise<void> {
    for (const name of names) this.cluster.start(name);
    const serving = (): boolean => names.every((name) => this.cluster.serves(name));
    assert(await this.until(serving, 10 * second), `${names.join(' ')} did not start`);
  }

  /** Starts all nodes; a second later each calls every other one NORMAL, and all links are up. */
  async startAll(): Promise<void> {
    await this.start(...this.cluster.names);
    await this.pass(second);
    assert(this.allAre('NORMAL'), 'the nodes did not find each other');
  }

  pass(us: number): Promise<void> {
    return this.world.run({ untilUs: this.world.nowUs + us });
  }

  /** Lets time pass until `holds` returns true or the budget is spent; resolves with whether it does. */
  async until(holds: () => boolean, budgetUs: number): Promise<boolean> {
    await this.world.runUntil(holds, budgetUs);
    return holds();
  }

  /** A node's opinion of a peer. */
  state(by: string, peer: string): string {
    return this.#views.get(by)?.get(peer) ?? 'UNKNOWN';
  }

  /** Every one of `observers` assigns this state to every one of `peers`. */
  allAre(
    state: PeerState,
    peers: readonly string[] = this.cluster.names,
    observers: readonly string[] = this.cluster.names,
  ): boolean {
    return observers.every((by) => peers.every((peer) => by === peer || this.state(by, peer) === state));
  }

  /** Forgets the changes so far. */
  forget(): void {
    this.moves.length = 0;
  }

  /** Changes of a peer's state, as `by` saw them since the last `forget`. */
  movesOf(by: string, peer: string): readonly string[] {
    return this.moves.filter((move) => move.by === by && move.peer === peer).map((move) => move.text);
  }

  /** A node's answer to a client; with a body the request is one of plain text, unless `headers` say otherwise. */
  ask(
    name: string,
    method: Method,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = { 'content-type': 'text/plain' },
  ): Promise<Answer> {
    const text = body === undefined ? {} : { headers, body };
    return this.#answer(this.cluster.address(name, 'http'), { method, path, ...text });
  }

  /** The body of a GET of a node's statistics listener. */
  async look(name: string, path: string): Promise<string> {
    return (await this.#answer(this.cluster.address(name, 'stats'), { method: 'GET', path })).body.toString();
  }

  async #answer(address: Address, request: Request): Promise<Answer> {
    const answer = this.#client().request(address, request, 5 * second);
    await this.world.runUntil(answer, 10 * second);
    return answer;
  }

  /** The sum of a family's samples whose labels have all these values, in the next snapshot of a node. */
  async count(name: string, family: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    await this.pass(1.1 * second);
    const families = parseExposition(await this.look(name, '/metrics'));
    const { samples } = present(
      families.find((one) => one.name === family),
      family,
    );
    const wanted = samples.filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels.get(label) === value),
    );
    return wanted.reduce((sum, sample) => sum + sample.value, 0);
  }

  /** A client on a host without a node. */
  #client(): HttpClient {
    const known = this.world.hosts.find((host) => host.name === 'observer');
    const host = known ?? this.world.addHost('observer');
    if (!host.alive) host.boot();
    return this.world.httpClient(host);
  }
}

/** Node `n<number>`, in rack `r1` to `r<racks>` in turn. */
export function nodeOf(number: number, racks: number): PlanNode {
  return { name: `n${number}`, datacenter: 'dc1', rack: `r${((number - 1) % racks) + 1}` };
}

function text(value: string | number | boolean | undefined): string {
  assert(typeof value === 'string', 'a field of text');
  return value;
}

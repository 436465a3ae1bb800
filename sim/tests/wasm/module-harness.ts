/** Whole nodes in a world whose operators register Wasm modules. */
import { assert } from '../../../engine/base/assert.ts';
import type { HttpMethod } from '../../../engine/io/http.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import type { WasmSupplies } from '../../world/cluster/wasm-supplies.ts';
import type { HttpClient } from '../../world/world.ts';
import { World } from '../../world/world.ts';

const second = 1_000_000;

/** An HTTP answer. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** The cluster with a client; requests let virtual time pass until they are answered. */
export class ModuleHarness {
  readonly world: World;
  readonly cluster: Cluster;

  /** Nodes n1, n2, … in racks of their own; none is started. */
  constructor(
    seed: string,
    count: number,
    wasm: WasmSupplies,
    settings: Readonly<Record<string, unknown>> = {},
  ) {
    this.world = new World({ seed, wasm });
    const nodes = Array.from({ length: count }, (_, index) => nodeOf(index + 1));
    this.cluster = new Cluster(this.world, nodes, { gossip_interval_ms: 200, ...settings });
  }

  /** Starts nodes and waits until they serve. */
  async start(...names: readonly string[]): Promise<void> {
    for (const name of names) this.cluster.start(name);
    const serving = (): boolean => names.every((name) => this.cluster.serves(name));
    await this.world.runUntil(serving, 10 * second);
    assert(serving(), `${names.join(' ')} did not start: ${this.failures().join('; ')}`);
    await this.pass(0.5);
  }

  pass(seconds: number): Promise<void> {
    return this.world.run({ untilUs: this.world.nowUs + seconds * second });
  }

  async until(holds: () => Promise<boolean>, budgetSeconds: number): Promise<boolean> {
    const endUs = this.world.nowUs + budgetSeconds * second;
    while (this.world.nowUs < endUs) {
      if (await holds()) return true;
      await this.pass(0.2);
    }
    return holds();
  }

  async ask(
    node: string,
    method: HttpMethod,
    path: string,
    body?: Uint8Array | string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const request = { method, path, headers, ...(body === undefined ? {} : { body }) };
    const answer = this.#client().request(this.cluster.address(node, 'http'), request, 10 * second);
    await this.world.runUntil(answer, 12 * second);
    const { status, headers: given, body: bytes } = await answer;
    return { status, headers: given, text: bytes.toString() };
  }

  put(node: string, id: string, body: Uint8Array | string): Promise<Answer> {
    return this.ask(node, 'PUT', `/wasm/modules/${id}`, body);
  }

  /** The modules that a node knows, each with the first digits of its digest: `words=1f0a…`. */
  async known(node: string): Promise<readonly string[]> {
    const { text } = await this.ask(node, 'GET', '/wasm/modules');
    const { modules } = JSON.parse(text) as {
      readonly modules: readonly { id: string; digest: string; disputed: boolean }[];
    };
    return modules.map(
      ({ id, digest, disputed }) => `${id}=${digest.slice(0, 8)}${disputed ? ' disputed' : ''}`,
    );
  }

  /** All of these nodes know the same. */
  async agree(...nodes: readonly string[]): Promise<boolean> {
    const known: string[] = [];
    for (const node of nodes) known.push((await this.known(node)).join());
    return new Set(known).size === 1;
  }

  failures(): readonly string[] {
    return this.world.failures.map(({ host, what, error }) => `${host} ${what}: ${String(error)}`);
  }

  #client(): HttpClient {
    const known = this.world.hosts.find((host) => host.name === 'operator');
    const host = known ?? this.world.addHost('operator');
    if (!host.alive) host.boot();
    return this.world.httpClient(host);
  }
}

/** Node `n<number>` in a rack of its own. */
export function nodeOf(number: number): PlanNode {
  return { name: `n${number}`, datacenter: 'dc1', rack: `r${number}` };
}

/**
 * A small cluster for one transaction at a time: three nodes with one or three copies of every key, keys by their
 * primary node, an HTTP client, and the engine's named steps as they happen.
 */
import { present } from '../../engine/base/assert.ts';
import { Deferred } from '../../engine/base/deferred.ts';
import type { NodeId } from '../../engine/base/ids.ts';
import { byteStringOf } from '../../engine/base/ids.ts';
import { Ring } from '../../engine/cluster/ring/ring.ts';
import { routeToken, tokensOfNode } from '../../engine/cluster/ring/token.ts';
import type { HttpClientResponse } from '../world/http/http-client.ts';
import { Cluster } from '../world/cluster/cluster.ts';
import type { Subscription, TraceEvent } from '../world/core/trace.ts';
import type { Lasting } from '../world/world.ts';
import { World } from '../world/world.ts';

/** The nodes of the cluster. */
export const labNodes = ['n1', 'n2', 'n3'] as const;
/** One of `labNodes`. */
export type HarnessNode = (typeof labNodes)[number];
/** The bucket of all keys. */
export const bucket = 'b';

/** The named steps, and the recovery of a decision at a start. */
const stepName = /^xa\.(c\.|p\.|decision\.recovered$)/;

const startUsMax = 10_000_000;
const acquaintanceUs = 300_000;

/** An HTTP answer with a JSON body. */
export interface HarnessAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** The cluster; requests let virtual time pass until they are answered. */
export class TransactionHarness {
  readonly world: World;
  readonly cluster: Cluster;
  /** Every step of every transaction so far, in order. */
  readonly steps: TraceEvent[] = [];
  readonly #keys = new Map<HarnessNode, string[]>();
  readonly #client;

  /** `copies`: number of racks, and so of copies of every key. */
  constructor(seed: string | number, settings: Readonly<Record<string, unknown>> = {}, copies: 1 | 3 = 3) {
    this.world = new World({ seed, logLevel: 'trace' });
    const rackOf = (index: number): string => `r${(index % copies) + 1}`;
    const nodes = labNodes.map((name, index) => ({ name, datacenter: 'dc1', rack: rackOf(index) }));
    this.cluster = new Cluster(this.world, nodes, {
      request_timeout_ms: 1000,
      transaction_inquiry_ms: 250,
      transaction_read_wait_ms: 200,
      ...settings,
    });
    this.#client = this.world.addHost('c1');
    this.world.trace.on('*', (event) => {
      if (stepName.test(event.name)) this.steps.push(event);
    });
    for (let index = 0; labNodes.some((name) => this.keysOf(name).length < 4); index++) {
      const key = `k${index}`;
      this.keysOf(this.primaryOf(key)).push(key);
    }
  }

  /** The node at which transactions prepare the key. */
  primaryOf(key: string): HarnessNode {
    const token = routeToken('STD', byteStringOf(bucket), byteStringOf(key));
    const primary = this.cluster.ring.placement(token)[0]?.node;
    return present(
      labNodes.find((name) => name === primary),
      'a primary among the nodes',
    );
  }

  /** Keys of which the node is the primary. */
  keysOf(node: HarnessNode): string[] {
    const known = this.#keys.get(node);
    if (known !== undefined) return known;
    const keys: string[] = [];
    this.#keys.set(node, keys);
    return keys;
  }

  /** The `index`th key of a node. */
  key(node: HarnessNode, index = 0): string {
    return present(this.keysOf(node)[index], 'a key of the node');
  }

  /** A key of n1 that `joiner`, a node with its default tokens, leads once it has joined n1's rack. */
  keyTakenBy(joiner: string): string {
    const node = joiner as NodeId;
    const joined = { node, datacenter: 'dc1', rack: 'r1', tokens: tokensOfNode(node, 16) };
    const after = new Ring([...this.cluster.ring.members, joined]);
    const led = this.keysOf('n1').find((key) => {
      const token = routeToken('STD', byteStringOf(bucket), byteStringOf(key));
      return after.placement(token)[0]?.node === node;
    });
    return present(led, `a key that ${joiner} will lead`);
  }

  async start(names: readonly HarnessNode[] = labNodes): Promise<void> {
    this.#client.boot();
    for (const name of names) this.cluster.start(name);
    await this.world.runUntil(() => names.every((name) => this.cluster.serves(name)), startUsMax);
    await this.pass(acquaintanceUs);
  }

  async pass(us: number): Promise<void> {
    const untilUs = this.world.nowUs + us;
    this.world.at(untilUs, 'lab', () => undefined);
    await this.world.run({ untilUs });
  }

  /** Resolves after so much virtual time, for concurrent tasks. */
  wait(us: number): Promise<void> {
    const over = new Deferred<void>();
    this.world.after(us, 'lab', () => over.resolve());
    return over.promise;
  }

  /** Calls `hear` for each event of one named step. */
  onStep(step: string, hear: (event: TraceEvent) => void): Subscription {
    return this.world.trace.on(`xa.${step}`, hear);
  }

  /** From now on these frames are lost between the node and the others, while their connections stay up. */
  losing(node: string, others: readonly string[], frames: readonly number[]): Lasting {
    const { network } = this.world;
    const fault = { kind: 'message-filter', oneIn: 1, frames: new Set(frames) } as const;
    const both = [network.meddle([node], others, fault), network.meddle(others, [node], fault)];
    return { lift: () => both.forEach((one) => one.lift()) };
  }

  /** Starts a request; the promise resolves once enough time has passed. */
  ask(
    node: string,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
  ): Promise<HarnessAnswer | undefined> {
    return this.send(node, method, path, body).then(
      (response) => ({ status: response.status, body: parsed(response) }),
      // No complete answer arrived: the node died, or the client was cut off.
      () => undefined,
    );
  }

  /** Sends a request and lets time pass until it is answered. */
  async call(
    node: string,
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
  ): Promise<HarnessAnswer | undefined> {
    const answer = this.ask(node, method, path, body);
    await this.world.runUntil(answer, 20_000_000);
    return answer;
  }

  send(
    node: string,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
  ): Promise<HttpClientResponse> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = { 'Content-Type': 'application/json' };
    return this.world
      .httpClient(this.#client)
      .request(
        this.cluster.address(node, 'http'),
        { method, path, headers, ...(text === undefined ? {} : { body: text }) },
        10_000_000,
      );
  }

  /** The value that a client reads through a node from `r` replicas; undefined without an answer. */
  async read(node: string, key: string, r: 1 | 2 | 3 | 'primary' = 2): Promise<string | undefined> {
    const reading = this.send(node, 'GET', `/buckets/${bucket}/keys/${key}?r=${r}`).then(
      (response) =>
        response.status === 200 ? response.body.toString() : response.status === 404 ? '' : undefined,
      () => undefined,
    );
    await this.world.runUntil(reading, 20_000_000);
    return reading;
  }
}

/** A put in the body of a transaction. */
export function put(key: string, value: string, more: Readonly<Record<string, unknown>> = {}): object {
  return { op: 'put', bucket, key, value, ...more };
}

function parsed({ body }: HttpClientResponse): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(body.toString());
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

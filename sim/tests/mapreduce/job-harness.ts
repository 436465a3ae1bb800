/**
 * A cluster of six nodes on three racks, in which no node holds every key, and a client that puts objects and runs
 * MapReduce jobs over HTTP.
 */
import { Deferred } from '../../../engine/base/deferred.ts';
import type { HttpClientResponse } from '../../world/http/http-client.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import type { Host } from '../../world/cluster/host.ts';
import { World } from '../../world/world.ts';

/** The nodes of the cluster. */
export const jobNodes = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'] as const;

const startUsMax = 20_000_000;
const answerUsMax = 60_000_000;

function nodeAt(index: number, name: string): { name: string; datacenter: string; rack: string } {
  return { name, datacenter: 'dc1', rack: `r${(index % 3) + 1}` };
}

/** An HTTP answer to a job. */
export interface JobAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** The cluster; requests let virtual time pass until they are answered. */
export class JobHarness {
  readonly world: World;
  readonly cluster: Cluster;
  /** The client's host. */
  readonly visitor: Host;

  constructor(seed: string | number, settings: Readonly<Record<string, unknown>> = {}) {
    this.world = new World({ seed });
    const nodes = jobNodes.map((name, index) => nodeAt(index, name));
    this.cluster = new Cluster(this.world, nodes, { request_timeout_ms: 2000, ...settings });
    this.visitor = this.world.addHost('c1');
  }

  /** Starts all nodes; those of `own` have settings of their own. */
  async start(own: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {}): Promise<void> {
    this.visitor.boot();
    for (const [index, name] of jobNodes.entries()) {
      const settings = own[name];
      if (settings !== undefined) this.cluster.reconfigure(nodeAt(index, name), settings);
    }
    for (const name of jobNodes) this.cluster.start(name);
    await this.world.runUntil(() => jobNodes.every((name) => this.cluster.serves(name)), startUsMax);
    await this.pass(500_000);
  }

  async pass(us: number): Promise<void> {
    const untilUs = this.world.nowUs + us;
    this.world.at(untilUs, 'room', () => undefined);
    await this.world.run({ untilUs });
  }

  /** Resolves after so much virtual time, for concurrent tasks. */
  wait(us: number): Promise<void> {
    const over = new Deferred<void>();
    this.world.after(us, 'room', () => over.resolve());
    return over.promise;
  }

  /** The current value of a node's metric. */
  counted(node: string, family: string, labels: Readonly<Record<string, string>> = {}): number {
    const families = this.cluster.statistics(node)?.families ?? [];
    const samples = families.find((one) => one.family.name === family)?.samples ?? [];
    const wanted = Object.entries(labels);
    const found = samples.filter((one) => wanted.every(([name, value]) => one.labels[name] === value));
    return found.reduce((sum, { value }) => sum + value, 0);
  }

  /** Starts a node again and lets the others notice it. */
  async restart(node: string): Promise<void> {
    this.cluster.start(node);
    await this.world.runUntil(() => this.cluster.serves(node), startUsMax);
    await this.pass(2_000_000);
  }

  /** Puts `count` objects whose value is `valueOf(index)` into a bucket, each linked to the next. */
  async fill(bucket: string, count: number, valueOf: (index: number) => string): Promise<void> {
    for (let from = 0; from < count; from += 50) {
      const puts = Array.from({ length: Math.min(50, count - from) }, (_, offset) => {
        const index = from + offset;
        const next = `</buckets/${bucket}/keys/k${(index + 1) % count}>; riaktag="next"`;
        const headers = { 'Content-Type': 'application/json', Link: next };
        return this.send(jobNodes[index % 6] ?? 'n1', 'PUT', `/buckets/${bucket}/keys/k${index}`, {
          headers,
          body: valueOf(index),
        });
      });
      const all = Promise.all(puts);
      await this.world.runUntil(all, answerUsMax);
      const failed = (await all).filter(({ status }) => status !== 204);
      if (failed.length > 0) throw new Error(`${failed.length} puts failed: ${failed[0]?.body.toString()}`);
    }
  }

  /** Sends a request and lets time pass until it is answered. */
  async call(
    node: string,
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
  ): Promise<JobAnswer> {
    const sent = this.send(node, method, path, more);
    await this.world.runUntil(sent, answerUsMax);
    const { status, headers, body } = await sent;
    return { status, headers, text: body.toString() };
  }

  /** Starts a job; the promise resolves once enough time has passed. */
  begin(node: string, job: unknown, query = '', timeoutUs = answerUsMax): Promise<JobAnswer> {
    const headers = { 'Content-Type': 'application/json' };
    const body = JSON.stringify(job);
    return this.send(node, 'POST', `/mapred${query}`, { headers, body }, timeoutUs).then((answer) => ({
      status: answer.status,
      headers: answer.headers,
      text: answer.body.toString(),
    }));
  }

  /** Runs a job to its end; resolves with its results, or the text of its error. */
  async run(node: string, job: unknown): Promise<unknown> {
    const answer = this.begin(node, job);
    await this.world.runUntil(answer, answerUsMax);
    const { status, text } = await answer;
    return status === 200 ? (JSON.parse(text) as unknown) : { status, text };
  }

  send(
    node: string,
    method: 'GET' | 'PUT' | 'POST' | 'DELETE',
    path: string,
    more: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
    timeoutUs = answerUsMax,
  ): Promise<HttpClientResponse> {
    const address = this.cluster.address(node, 'http');
    return this.world.httpClient(this.visitor).request(address, { method, path, ...more }, timeoutUs);
  }
}

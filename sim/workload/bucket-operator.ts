/**
 * An operator who changes the properties of buckets and of bucket types over HTTP, each change at its moment and through
 * its node, and asks that node what it states right before the change and after it. After the calm the operator asks
 * every node what it states of each bucket, and tries what the properties promise: whether two puts without a context
 * leave two values.
 */
import type { Io } from '../../engine/io/io.ts';
import { sleep } from '../../engine/io/clock.ts';
import { ConnectError } from '../../engine/io/network.ts';
import type {
  BucketChange,
  BucketEffect,
  BucketStatement,
  StatedProperties,
} from '../evidence/bucket-changes.ts';
import { markedName, markedProperties, markedType, unmarked } from '../evidence/bucket-changes.ts';
import type { PlanBucketChange } from '../plan/plan.ts';
import { HttpClient } from '../world/http/http-client.ts';
import type { HttpClientRequest, HttpClientResponse } from '../world/http/http-client.ts';
import { objectOf, putRequest, readRequest } from './http-objects.ts';
import type { LoadCluster } from './load-world.ts';

const timeoutUs = 2_000_000;
const lookAgainUs = 500_000;
/** The bucket of a bucket type that is looked at. */
const anyBucket = 'any';
/** How many reads may show too few values where a read need not see both puts at once. */
const looksMax = 5;

/** What the operator works with. */
export interface BucketOperatorContext {
  readonly cluster: Pick<LoadCluster, 'members' | 'address'>;
  readonly token: string | undefined;
  readonly nowUs: () => number;
  /** A read by a quorum sees what any node has acknowledged: all are in one datacenter, and writes take a quorum. */
  readonly seesAtOnce: boolean;
  /** Nodes whose disks may forget what they have acknowledged. */
  readonly forgetful: readonly string[];
}

/** The operator of one run, and its records. */
export class BucketOperator {
  readonly changes: BucketChange[] = [];
  statements: readonly BucketStatement[] = [];
  readonly effects: BucketEffect[] = [];
  readonly forgetful: readonly string[];
  readonly #context: BucketOperatorContext;

  constructor(context: BucketOperatorContext) {
    this.#context = context;
    this.forgetful = context.forgetful;
  }

  /** Makes one change. */
  async change({ id, kind, bucket: number, mark, node }: PlanBucketChange, io: Io): Promise<void> {
    const bucket = markedName({ kind, bucket: number });
    const before = await this.#statedBy(node, bucket, io);
    const invokedUs = this.#context.nowUs();
    const outcome = await this.#outcomeOf(io, node, bucket, kind, mark);
    const completedUs = this.#context.nowUs();
    const after = outcome === 'ok' ? await this.#statedBy(node, bucket, io) : undefined;
    this.changes.push({ id, kind, bucket, mark, node, invokedUs, completedUs, outcome, before, after });
  }

  async #outcomeOf(
    io: Io,
    node: string,
    bucket: string,
    kind: BucketChange['kind'],
    mark: number,
  ): Promise<BucketChange['outcome']> {
    const type = markedType(bucket);
    const path = type === undefined ? `/buckets/${bucket}/props` : `/types/${type}/props`;
    const props = markedProperties(mark);
    try {
      const request: HttpClientRequest =
        kind === 'reset' ? { method: 'DELETE', path } : asJson({ method: 'PUT', path }, { props });
      let { status } = await this.#ask(io, node, request);
      if (status === 404 && type !== undefined) {
        const making = asJson({ method: 'POST', path: '/types' }, { name: type, props });
        status = (await this.#ask(io, node, making)).status;
      }
      return status < 300 ? 'ok' : 'unknown';
    } catch (error) {
      return error instanceof ConnectError ? 'fail' : 'unknown';
    }
  }

  /** Asks every node until all state the same of each bucket or type, or `stopped`; then tries what they promise. */
  async lookAfter(buckets: readonly string[], io: Io, stopped: () => boolean): Promise<void> {
    for (;;) {
      this.statements = await this.#statementsOf(buckets, io);
      if (isAgreed(this.statements) || stopped()) break;
      await sleep(io.clock, lookAgainUs);
    }
    for (const bucket of buckets) {
      const { seen } = this.statements.find((one) => one.bucket === bucket) ?? {};
      // A type that no node knows takes no put.
      const isKnown = markedType(bucket) === undefined || seen !== unmarked;
      if (seen !== undefined && isKnown) await this.#try(bucket, seen.allow_mult, io);
    }
  }

  async #statementsOf(buckets: readonly string[], io: Io): Promise<readonly BucketStatement[]> {
    const statements: BucketStatement[] = [];
    for (const bucket of buckets)
      for (const node of this.#context.cluster.members) {
        const seen = await this.#statedBy(node, bucket, io);
        statements.push({ node, bucket, atUs: this.#context.nowUs(), seen });
      }
    return statements;
  }

  async #statedBy(node: string, bucket: string, io: Io): Promise<StatedProperties | undefined> {
    try {
      const type = markedType(bucket);
      const path =
        type === undefined ? `/buckets/${bucket}/props` : `/types/${type}/buckets/${anyBucket}/props`;
      const { status, body } = await this.#ask(io, node, { method: 'GET', path });
      if (status === 404 && type !== undefined) return unmarked;
      if (status !== 200) return undefined;
      const { props } = JSON.parse(body.toString('utf8')) as { readonly props: StatedProperties };
      const { allow_mult, old_vclock, big_vclock } = props;
      return { allow_mult, old_vclock, big_vclock };
    } catch {
      // The node is down or too slow: it states nothing.
      return undefined;
    }
  }

  /** Puts two values through two nodes, and reads through a third. */
  async #try(bucket: string, allowMult: boolean, io: Io): Promise<void> {
    const { cluster, seesAtOnce } = this.#context;
    const { members } = cluster;
    const looks = seesAtOnce ? 1 : looksMax;
    const type = markedType(bucket);
    const place = {
      type: Buffer.from(type ?? 'default'),
      bucket: Buffer.from(type === undefined ? bucket : anyBucket),
      key: Buffer.from('k'),
    };
    const nodes = [0, 1, 2].map((index) => members[index % members.length] ?? '');
    let values: number | undefined;
    try {
      const answers: HttpClientResponse[] = [];
      for (const [index, node] of nodes.slice(0, 2).entries())
        answers.push(await this.#ask(io, node, putRequest(place, {}, {}, Buffer.from(`value ${index}`))));
      const isTried = answers.every(({ status }) => status < 300);
      for (let look = 0; isTried && look < looks && values !== (allowMult ? 2 : 1); look++) {
        // A put that one replica has acknowledged may still be on its way to the others.
        if (look > 0) await sleep(io.clock, lookAgainUs);
        const read = await this.#ask(io, nodes[2] ?? '', readRequest(place, { r: 'quorum' }));
        values = objectOf(read)?.values.length;
      }
    } catch {
      // A request without an answer shows nothing.
    }
    this.effects.push({ bucket, atUs: this.#context.nowUs(), node: nodes[2] ?? '', allowMult, values });
  }

  #ask(io: Io, node: string, request: HttpClientRequest): Promise<HttpClientResponse> {
    const { cluster, token } = this.#context;
    return new HttpClient(io, token).request(cluster.address(node, 'http'), request, timeoutUs);
  }
}

function isAgreed(statements: readonly BucketStatement[]): boolean {
  const seen = new Map<string, string>();
  return statements.every(({ bucket, seen: one }) => {
    const text = JSON.stringify(one);
    const first = seen.get(bucket) ?? text;
    seen.set(bucket, first);
    return one !== undefined && text === first;
  });
}

function asJson(request: HttpClientRequest, content: unknown): HttpClientRequest {
  return { ...request, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(content) };
}

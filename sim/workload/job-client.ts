/** A simulated MapReduce client: runs one job after the other over the binary protocol, each at some node. */
import { present } from '../../engine/base/assert.ts';
import { bufferOf } from '../../engine/base/ids.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import { pick } from '../../engine/io/random.ts';
import type { FoundKey, JobKind, JobRecord, ListingRecord } from '../evidence/jobs.ts';
import type { PlanJob } from '../plan/plan.ts';
import { HttpClient } from '../world/http/http-client.ts';
import type { ClientKey, ClientTarget } from './client.ts';
import type { KeyPlace } from './http-objects.ts';
import { Impatience } from './impatient-client.ts';
import { PbConnection } from './pb-connection.ts';
import { tagAt } from './traced-value.ts';
import { valueTagOf } from '../evidence/value-links.ts';

/** What a job client needs. */
export interface JobClientSetup {
  readonly name: string;
  readonly io: Io;
  readonly targets: readonly ClientTarget[];
  /** By the key's number. */
  readonly keys: readonly ClientKey[];
  readonly records: JobRecord[];
  readonly listings: ListingRecord[];
  readonly nowUs: () => number;
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
}

type Asked = Pick<PlanJob, 'id' | 'keys'> & { readonly kind: JobKind };

/** The values that a job returned, or why it failed. */
type Heard = { readonly values: readonly unknown[] } | { readonly reason: string };

/** One simulated MapReduce client. */
export class JobClient {
  readonly impatience: Impatience;
  readonly #setup: JobClientSetup;
  #connection: PbConnection | undefined;
  #target: ClientTarget;

  constructor(setup: JobClientSetup) {
    this.#setup = setup;
    this.impatience = new Impatience(setup.io.clock);
    this.#target = pick(setup.io.random, setup.targets);
  }

  async work(jobs: readonly PlanJob[], stopped: () => boolean): Promise<void> {
    for (const [index, job] of jobs.entries()) {
      await sleep(this.#setup.io.clock, job.thinkUs);
      if (stopped()) break;
      await this.run(job, false);
      if (job.kind === 'objects') await this.run({ ...job, id: `${job.id} links`, kind: 'links' }, false);
      const [first] = job.keys;
      if (first !== undefined) await this.list(first, index % 2 === 0 ? 'pbc' : 'http', false);
    }
    this.#connection?.close();
  }

  /** Sends all further requests to that node. */
  turnTo(target: ClientTarget): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#target = target;
  }

  /** Runs a job and records the outcome; true if it was answered. */
  async run(job: Asked, final: boolean): Promise<boolean> {
    const { name, nowUs, records } = this.#setup;
    const invokedUs = nowUs();
    const { node } = this.#target;
    const heard = await this.#ask(requestOf(job, this.#setup.keys));
    const ok = 'values' in heard;
    const values = ok ? heard.values : [];
    const keys = namesOf(job, this.#setup.keys);
    const found =
      job.kind === 'links'
        ? linkedIn(values, ok ? keys : [])
        : job.kind === 'count'
          ? []
          : values.map(foundIn);
    records.push({
      ...{ id: job.id, client: name, node, kind: job.kind, keys },
      ...{ invokedUs, completedUs: nowUs(), outcome: ok ? 'ok' : 'fail', reason: ok ? '' : heard.reason },
      ...{
        found,
        counted: job.kind === 'count' ? values : [],
      },
      final,
    });
    return ok;
  }

  /** Lists the keys of a key's bucket and records the outcome; true if it was answered. */
  async list(key: number, over: ListingRecord['over'], final: boolean): Promise<boolean> {
    const { name: client, nowUs, listings, keys } = this.#setup;
    const { place, name } = present(keys[key], 'a key of the plan');
    const invokedUs = nowUs();
    const { node, datacenter } = this.#target;
    const bucket = name.slice(0, name.indexOf('/') + 1);
    const found = over === 'http' ? await this.#listOverHttp(place) : await this.#listOverPbc(place);
    listings.push({
      ...{ client, node, datacenter, over, bucket, invokedUs, completedUs: nowUs(), final },
      outcome: found === undefined ? 'fail' : 'ok',
      names: (found ?? []).map((one) => `${bucket}${one}`),
    });
    return found !== undefined;
  }

  get #listingTimeoutMs(): number {
    return Math.floor(this.#setup.answerTimeoutUs / 2000);
  }

  /** The keys' names; undefined if the listing failed. */
  async #listOverPbc({ type, bucket }: KeyPlace): Promise<readonly string[] | undefined> {
    const { answerTimeoutUs, io, targets } = this.#setup;
    const connection = await this.#connected();
    if (connection === undefined) return undefined;
    const names: string[] = [];
    const message = { type, bucket, timeout: this.#listingTimeoutMs };
    const asked = connection.ask({ kind: 'listKeys', message }, answerTimeoutUs, (reply) => {
      if (reply.kind !== 'keys') return false;
      names.push(...(reply.message.keys ?? []).map(textOf));
      return reply.message.done !== true;
    });
    const exchange = await this.impatience.over(connection, asked, false);
    if (exchange.kind !== 'lost') return exchange.answer.kind === 'keys' ? names : undefined;
    this.#target = pick(io.random, targets);
    return undefined;
  }

  /** As over the binary protocol. */
  async #listOverHttp({ type, bucket }: KeyPlace): Promise<readonly string[] | undefined> {
    const { answerTimeoutUs, io, targets } = this.#setup;
    const { http, token } = this.#target;
    if (http === undefined) return undefined;
    const [ofType, ofBucket] = [type, bucket].map((bytes) => encodeURIComponent(textOf(bytes)));
    const at = ofType === 'default' ? '' : `/types/${ofType}`;
    const query = `keys=true&timeout=${this.#listingTimeoutMs}`;
    const request = { method: 'GET', path: `${at}/buckets/${ofBucket}/keys?${query}` } as const;
    try {
      const { status, body } = await new HttpClient(io, token).request(http, request, answerTimeoutUs);
      if (status !== 200) return undefined;
      const { keys } = JSON.parse(body.toString('utf8')) as { readonly keys: readonly string[] };
      return keys;
    } catch {
      // The node is down, too slow, or cuts a listing that fails: the client asks another one next.
      this.#target = pick(io.random, targets);
      return undefined;
    }
  }

  /** Undefined if the node refuses or is silent: nothing was asked. */
  async #connected(): Promise<PbConnection | undefined> {
    const { io, targets, connectTimeoutUs } = this.#setup;
    try {
      if (this.#connection?.open !== true)
        this.#connection = await PbConnection.open(io, this.#target, connectTimeoutUs);
      return this.#connection;
    } catch {
      this.#target = pick(io.random, targets);
      return undefined;
    }
  }

  async #ask(request: unknown): Promise<Heard> {
    const { io, targets, answerTimeoutUs } = this.#setup;
    const connection = await this.#connected();
    if (connection === undefined) return { reason: 'no connection could be made' };
    const values: unknown[] = [];
    const message = {
      request: Buffer.from(JSON.stringify(request)),
      content_type: Buffer.from('application/json'),
    };
    const asked = connection.ask({ kind: 'mapReduce', message }, answerTimeoutUs, (reply) => {
      if (reply.kind !== 'mapReduced') return false;
      const { response, done } = reply.message;
      if (response !== undefined) values.push(...(JSON.parse(bufferOf(response).toString()) as unknown[]));
      return done !== true;
    });
    const exchange = await this.impatience.over(connection, asked, false);
    if (exchange.kind === 'lost') {
      this.#target = pick(io.random, targets);
      return { reason: exchange.reason };
    }
    return exchange.answer.kind === 'failed' ? { reason: exchange.answer.text } : { values };
  }
}

const identity = { map: { language: 'erlang', module: 'riak_kv_mapreduce', function: 'map_identity' } };
const counting = {
  reduce: { language: 'erlang', module: 'riak_kv_mapreduce', function: 'reduce_count_inputs' },
};

const asTheyAre = {
  reduce: { language: 'erlang', module: 'riak_kv_mapreduce', function: 'reduce_identity' },
};

/** A count reads the keys in a map phase, which counts at the replicas; or it counts the inputs themselves. */
function requestOf({ kind, keys }: Asked, all: readonly ClientKey[]): unknown {
  const places = keys.flatMap((key) => all[key] ?? []).map(({ place }) => place);
  const [place] = places;
  if (kind === 'whole' && place !== undefined) {
    return { inputs: [textOf(place.type), textOf(place.bucket)], query: [identity] };
  }
  const inputs = places.map(({ type, bucket, key }) => [textOf(bucket), textOf(key), null, textOf(type)]);
  if (kind === 'links') return { inputs, query: [{ link: { keep: true } }] };
  const first = keys.length % 2 === 0 ? identity : asTheyAre;
  return { inputs, query: kind === 'count' ? [first, counting] : [identity] };
}

/** The keys of the job, as the history names them. */
function namesOf(
  { kind, keys }: { readonly kind: JobKind; readonly keys: readonly number[] },
  all: readonly ClientKey[],
): readonly string[] {
  const names = keys.flatMap((key) => all[key] ?? []).map(({ name }) => name);
  return kind === 'whole' ? names.slice(0, 1).map((name) => name.slice(0, name.indexOf('/') + 1)) : names;
}

/** An object as `map_identity` returns it. */
function foundIn(value: unknown): FoundKey {
  const found = value as {
    readonly not_found?: { readonly bucket: string; readonly key: string };
    readonly bucket: string;
    readonly key: string;
    readonly values: readonly { readonly data: string }[];
  };
  if (found.not_found !== undefined)
    return { key: `${found.not_found.bucket}/${found.not_found.key}`, tags: [] };
  // The padding after the tag is not text, and JSON cannot hold it.
  const tags = found.values.map(
    ({ data }) => tagAt(Buffer.from(data), 0) ?? `(no tag: ${data.slice(0, 16)})`,
  );
  return { key: `${found.bucket}/${found.key}`, tags };
}

/**
 * The links that a link phase returned, by the key to which they lead, which is the one that holds them. Keys without
 * links have no tags; other keys than `asked` come last.
 */
function linkedIn(values: readonly unknown[], asked: readonly string[]): readonly FoundKey[] {
  const tags = new Map<string, string[]>(asked.map((key) => [key, []]));
  for (const value of values) {
    const [bucket, key, tag] = value as readonly string[];
    const name = `${bucket ?? ''}/${key ?? ''}`;
    tags.set(name, [...(tags.get(name) ?? []), valueTagOf(tag ?? '')]);
  }
  return [...tags].map(([key, found]) => ({ key, tags: found }));
}

function textOf(bytes: Uint8Array): string {
  return bufferOf(bytes).toString();
}

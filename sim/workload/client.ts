/**
 * A simulated client of single keys: performs its operations of the plan over the binary protocol or HTTP, one at a
 * time, and records the history. If no answer comes or the connection is lost, the operation's outcome is what the error table
 * says, and the client goes to another node of its datacenter. It never retries an operation, so each takes effect at
 * most once.
 */
import type { ClientReply, ClientRequest } from '../../engine/api/pbc/client-codec.ts';
import type { RpbGetResp } from '../../engine/api/pbc/object-messages.ts';
import { quorumNames } from '../../engine/api/pbc/schema.ts';
import { present } from '../../engine/base/assert.ts';
import type { ErrorCode } from '../../engine/base/errors.ts';
import { sleep } from '../../engine/io/clock.ts';
import type { Io } from '../../engine/io/io.ts';
import type { Address } from '../../engine/io/network.ts';
import { ConnectError } from '../../engine/io/network.ts';
import { pick } from '../../engine/io/random.ts';
import type { ConsistencyLevel } from '../../engine/replication/requests.ts';
import type { ByDatacenter, Outcome, WriteOperation } from '../evidence/history.ts';
import type { NeedWord, PlanOperation, PlanQuorum } from '../plan/plan.ts';
import type { BucketNeeds } from '../plan/bucket-needs.ts';
import type { HttpClientRequest } from '../world/http/http-client.ts';
import { HttpClient } from '../world/http/http-client.ts';
import {
  describedContent,
  describedHeaders,
  readDescribedTag,
  seenInContent,
  seenInHeaders,
} from './described-values.ts';
import type { DurableTags } from './durable-tags.ts';
import type { HttpExchange, KeyPlace } from './http-objects.ts';
import { deleteRequest, failureOf, objectOf, putRequest, readRequest } from './http-objects.ts';
import { Impatience } from './impatient-client.ts';
import type { Pacing } from './load-world.ts';
import type { Completion, HistoryRecorder, Invocation } from './history-recorder.ts';
import type { Wanted } from './needs.ts';
import { confirmingNeed, isByLevel, isByNodes, needCount, waitedFor } from './needs.ts';
import type { PbExchange } from './pb-connection.ts';
import { PbConnection } from './pb-connection.ts';
import type { RequestTimes } from './request-times.ts';
import { makeValue, readTag, tagOf } from './traced-value.ts';

/** A node that a client can connect to. */
export interface ClientTarget {
  readonly node: string;
  readonly datacenter: string;
  readonly address: Address;
  /** Where it serves HTTP; absent: the client speaks another protocol alone. */
  readonly http?: Address;
  /** The credentials, if nodes demand any. */
  readonly token?: string | undefined;
}

/** A key as the client names it and as the cluster places it. */
export interface ClientKey {
  readonly name: string;
  readonly siblings: boolean;
  /** Its name as messages carry it. */
  readonly place: KeyPlace;
  /** The nodes of the client's datacenter that hold a copy. */
  readonly replicas: readonly string[];
  /** The replicas, and the nodes that may hold a copy during a ring change. */
  readonly holders: readonly string[];
  /** The same of every other datacenter, and how many of them are replicas. */
  readonly far: readonly FarCopies[];
}

/** Who holds a key in a datacenter that is not the client's. */
interface FarCopies {
  readonly datacenter: string;
  readonly copies: number;
  readonly holders: readonly string[];
}

/** The consistency levels that the nodes are configured with. */
export interface ClientLevels {
  readonly read: ConsistencyLevel;
  readonly write: ConsistencyLevel;
  /** Whether there are other datacenters than the client's. */
  readonly several: boolean;
}

/** What a client needs. */
export interface ClientSetup {
  readonly name: string;
  readonly io: Io;
  /** The nodes of its datacenter; not empty. */
  readonly targets: readonly ClientTarget[];
  /** By the key's number. */
  readonly keys: readonly ClientKey[];
  readonly recorder: HistoryRecorder;
  readonly durable: DurableTags;
  /** So long after an acknowledgement the durable copies of the write are counted, in microseconds. */
  readonly syncLagUs: number;
  /** Virtual time, the same for every client, in microseconds. */
  readonly nowUs: () => number;
  /** The consistency levels of the nodes. */
  readonly levels: ClientLevels;
  /** What the buckets of the keys state of the needs of requests. */
  readonly bucketNeeds: BucketNeeds;
  /** Whether values have links, for jobs that follow them, and metadata beside them. */
  readonly described: boolean;
  /** How long a client waits for a connection and for an answer, in microseconds. */
  readonly connectTimeoutUs: number;
  readonly answerTimeoutUs: number;
  /** How long the nodes may take for its requests. */
  readonly times: RequestTimes;
  /** What the client waits for before each operation of the plan. Undefined: nothing. */
  readonly pacing?: Pacing | undefined;
}

/** The context that the client's last read of a key returned: the id of that read, and the bytes. */
interface SeenContext {
  readonly read: number;
  readonly bytes: Uint8Array;
  /** The entity tag of a read over HTTP. */
  readonly tag: string | undefined;
  /** The tags of the values. */
  readonly values: readonly string[];
  /** The entity tag of each of these values; empty for a read over another protocol. */
  readonly valueTags: readonly string[];
}

/** One write on its way. */
interface Written {
  readonly operation: PlanOperation;
  readonly where: ClientKey;
  readonly tag: string;
  readonly seen: SeenContext | undefined;
  readonly condition: WriteOperation['condition'];
  /** With `differs`: the value that the key must not hold. */
  readonly excluded: Excluded | undefined;
}

/** A value that a client has read over HTTP. */
interface Excluded {
  readonly tag: string;
  readonly entityTag: string;
}

type Ended = Pick<Completion, 'outcome' | 'reason' | 'unmet'>;

/** One simulated client. */
export class Client {
  readonly impatience: Impatience;
  readonly #setup: ClientSetup;
  readonly #seen = new Map<number, SeenContext>();
  #target: ClientTarget;
  #connection: PbConnection | undefined;
  #writeCount = 0;

  constructor(setup: ClientSetup) {
    this.#setup = setup;
    this.impatience = new Impatience(setup.io.clock);
    this.#target = pick(setup.io.random, setup.targets);
  }

  /** Performs `operations` in order until `stopped` returns true or none is left; then closes the connection. */
  async work(operations: readonly PlanOperation[], stopped: () => boolean): Promise<void> {
    for (const operation of operations) {
      await sleep(this.#setup.io.clock, operation.thinkUs);
      if (this.#setup.pacing !== undefined) await this.#setup.pacing(operation.id, stopped);
      if (stopped()) break;
      await this.perform(operation);
    }
    this.leave();
  }

  /** Closes the connection. */
  leave(): void {
    this.#connection?.close();
  }

  perform(operation: PlanOperation): Promise<Outcome> {
    if (operation.kind === 'get') return this.#read(operation.key, operation, false);
    return this.#write(operation);
  }

  /** Reads a key; `final` marks the reads after the calm. */
  read(key: number, need: NeedWord, final: boolean): Promise<Outcome> {
    return this.#read(key, { kind: 'get', need }, final);
  }

  async #read(key: number, wanted: Wanted, final: boolean): Promise<Outcome> {
    const where = this.#key(key);
    const { recorder } = this.#setup;
    if (wanted.over === 'http' && this.#target.http !== undefined) return this.#readHttp(key, wanted, final);
    const connection = this.#openConnection() ?? (await this.#connect());
    const id = recorder.beginRead(this.#invocation(where, wanted), final);
    const seen = wanted.ifChanged === true ? this.#seen.get(key) : undefined;
    const exchange = this.#heard(await this.#ask(connection, this.#readRequest(where, wanted, seen)));
    if (exchange.kind === 'answered' && exchange.answer.kind === 'got') {
      const { message } = exchange.answer;
      if (message.unchanged === true && seen !== undefined) return this.#endUnchanged(id, seen);
      const values = tagsOf(message, this.#setup.described);
      this.#remember(key, { read: id, tag: undefined, values, valueTags: [] }, message.vclock);
      const confirmed = this.#confirmed(id, wanted, message.vclock);
      recorder.endRead(id, this.#completion('ok', ''), values, confirmed);
      return 'ok';
    }
    // A read changes nothing: without an answer it certainly had no effect.
    recorder.endRead(id, this.#completion('fail', reasonOf(exchange)), [], this.#confirmed(id, wanted));
    return 'fail';
  }

  /** The key holds what the client has seen: the read shows those values again. */
  #endUnchanged(id: number, seen: SeenContext): Outcome {
    this.#setup.recorder.endRead(id, this.#completion('ok', ''), seen.values);
    return 'ok';
  }

  /** Sends all further requests to that node. */
  turnTo(target: ClientTarget): void {
    this.#connection?.close();
    this.#connection = undefined;
    this.#target = target;
  }

  async #write(operation: PlanOperation): Promise<Outcome> {
    const where = this.#key(operation.key);
    const known = this.#seen.get(operation.key);
    const isOverHttp = operation.over === 'http' && this.#target.http !== undefined;
    const condition = conditionOf(operation, known, isOverHttp);
    const excluded = condition === 'differs' ? excludedOf(known) : undefined;
    const carries =
      condition === undefined
        ? operation.context === 'last'
        : condition !== 'absent' && condition !== 'differs';
    const seen = carries ? known : undefined;
    const tag = operation.kind === 'put' ? tagOf(this.#setup.name, this.#writeCount++) : '';
    const connection = isOverHttp ? undefined : (this.#openConnection() ?? (await this.#connect()));
    const id = this.#setup.recorder.beginWrite(this.#invocation(where, operation), {
      kind: operation.kind === 'put' ? 'put' : 'delete',
      tag,
      contextFrom: seen?.read,
      ...(condition === undefined ? {} : { condition }),
      ...(excluded === undefined ? {} : { excluded: excluded.tag }),
    });
    const written: Written = { operation, where, tag, seen, condition, excluded };
    const end = isOverHttp ? await this.#writeHttp(written) : await this.#writePb(written, connection);
    const { outcome } = end;
    const { durable, io, syncLagUs } = this.#setup;
    const completedUs = this.#setup.nowUs();
    if (outcome === 'ok' && syncLagUs > 0) await sleep(io.clock, syncLagUs);
    const copies = outcome === 'ok' ? durable.copies(tag, where.holders) : 0;
    const isFar = outcome === 'ok' && this.#invocation(where, operation).far !== undefined;
    const far = isFar ? numbersIn(where.far, ({ holders }) => durable.copies(tag, holders)) : undefined;
    this.#setup.recorder.endWrite(id, { completedUs, ...end }, copies, far);
    return outcome;
  }

  async #writePb(written: Written, connection: PbConnection | undefined): Promise<Ended> {
    const exchange = this.#heard(await this.#ask(connection, this.#writeRequest(written)));
    const outcome = connection === undefined ? 'fail' : writeOutcome(exchange);
    const unmet = isRefused(exchange, 'PreconditionFailed');
    return { outcome, reason: outcome === 'ok' ? '' : reasonOf(exchange), ...(unmet ? { unmet } : {}) };
  }

  async #readHttp(key: number, wanted: Wanted, final: boolean): Promise<Outcome> {
    const { recorder } = this.#setup;
    const where = this.#key(key);
    const id = recorder.beginRead(this.#invocation(where, wanted), final);
    const query = { ...queryOf(wanted), timeout: String(this.#setup.times.nextMs()) };
    const known = wanted.ifChanged === true ? this.#seen.get(key) : undefined;
    const condition = known?.tag === undefined ? {} : { 'If-None-Match': known.tag };
    const exchange = await this.#askHttp(readRequest(where.place, query, condition));
    if (exchange.kind === 'answered' && exchange.response.status === 304 && known !== undefined)
      return this.#endUnchanged(id, known);
    const object = exchange.kind === 'answered' ? objectOf(exchange.response) : undefined;
    if (object === undefined) {
      recorder.endRead(id, this.#completion('fail', httpReason(exchange)), [], this.#confirmed(id, wanted));
      return 'fail';
    }
    const { described } = this.#setup;
    const values = object.values.map((value, index) =>
      described ? readDescribedTag(value, seenInHeaders(object.headers[index] ?? {})) : readTag(value),
    );
    this.#remember(key, { read: id, tag: object.tag, values, valueTags: object.valueTags }, object.context);
    const confirmed = this.#confirmed(id, wanted, object.context);
    recorder.endRead(id, this.#completion('ok', ''), values, confirmed);
    return 'ok';
  }

  async #writeHttp({ operation, where, tag, seen, condition, excluded }: Written): Promise<Ended> {
    const query = { ...queryOf(operation), timeout: String(this.#setup.times.nextMs()) };
    const context = seen === undefined ? {} : { 'X-Riak-Vclock': Buffer.from(seen.bytes).toString('base64') };
    const beside = this.#setup.described ? describedHeaders(where.place, tag) : {};
    const headers = { ...context, ...beside, ...conditionHeader(condition, seen, excluded) };
    const request =
      operation.kind === 'delete'
        ? deleteRequest(where.place, query, deletionHeaders(operation, condition, seen, context))
        : putRequest(where.place, query, headers, makeValue(tag, operation.valueBytes));
    const exchange = await this.#askHttp(request);
    if (exchange.kind !== 'answered')
      return { outcome: exchange.kind === 'lost' ? 'unknown' : 'fail', reason: exchange.reason };
    if (exchange.response.status < 300) return { outcome: 'ok', reason: '' };
    const { definite, unmet, text } = failureOf(exchange.response);
    return { outcome: definite ? 'fail' : 'unknown', reason: text, ...(unmet ? { unmet } : {}) };
  }

  /** One request over HTTP to the present node. After a lost request, and from a node in STANDBY, it goes elsewhere. */
  async #askHttp(request: HttpClientRequest): Promise<HttpExchange> {
    const { io, targets, answerTimeoutUs } = this.#setup;
    const { http, token } = this.#target;
    try {
      const address = present(http, 'an address for HTTP');
      const response = await new HttpClient(io, token).request(address, request, answerTimeoutUs);
      if (response.headers['x-lockstep-error'] === 'Standby') this.turnTo(pick(io.random, targets));
      return { kind: 'answered', response };
    } catch (error) {
      this.turnTo(pick(io.random, targets));
      const reason = error instanceof Error ? error.message : String(error);
      return { kind: error instanceof ConnectError ? 'neverSent' : 'lost', reason };
    }
  }

  #readRequest({ place }: ClientKey, wanted: Wanted, seen: SeenContext | undefined): ClientRequest {
    const { need, quorum, absence } = wanted;
    return {
      kind: 'get',
      message: {
        type: place.type,
        bucket: place.bucket,
        key: place.key,
        r: quorum?.as === 'number' ? quorum.count : quorumNames[need === 'level' ? 'default' : need],
        ...(quorum?.as === 'primaries' ? { pr: quorum.count } : {}),
        ...(quorum?.as === 'durable' ? { node_confirms: quorum.count } : {}),
        ...(absence === undefined ? {} : { notfound_ok: false }),
        ...(absence === 'confirmed-by-majority' ? { basic_quorum: true } : {}),
        ...(seen === undefined ? {} : { if_modified: seen.bytes }),
        deletedvclock: true,
        timeout: this.#setup.times.nextMs(),
      },
    };
  }

  #writeRequest({ operation, where, tag, seen, condition }: Written): ClientRequest {
    const { type, bucket, key } = where.place;
    const context = seen?.bytes;
    const { need, quorum } = operation;
    const named = quorumNames[need === 'level' ? 'default' : need];
    const timeout = this.#setup.times.nextMs();
    if (operation.kind === 'delete') {
      const rw = quorum?.as === 'number' ? { rw: quorum.count } : { w: named };
      return {
        kind: 'delete',
        message: { type, bucket, key, ...rw, ...raisedBy(quorum), timeout, vclock: context },
      };
    }
    const value = makeValue(tag, operation.valueBytes);
    const content = this.#setup.described ? { value, ...describedContent(where.place, tag) } : { value };
    const w = quorum?.as === 'number' ? quorum.count : named;
    return {
      kind: 'put',
      message: {
        ...{
          type,
          bucket,
          key,
          w,
          ...raisedBy(quorum, isByNodes(operation.kind, operation.key)),
          timeout,
          vclock: context,
          content,
        },
        ...(condition === 'absent' ? { if_none_match: true } : {}),
        ...(condition === 'unchanged' ? { if_not_modified: true } : {}),
      },
    };
  }

  /** The open connection to the present node; undefined if there is none. */
  #openConnection(): PbConnection | undefined {
    return this.#connection?.open === true ? this.#connection : undefined;
  }

  /** Connects to the present node; undefined if that fails. */
  async #connect(): Promise<PbConnection | undefined> {
    const { io, connectTimeoutUs } = this.#setup;
    try {
      this.#connection = await PbConnection.open(io, this.#target, connectTimeoutUs);
    } catch {
      // The node refuses or is silent: the operation certainly fails, and the client asks another node next.
      this.#connection = undefined;
    }
    return this.#connection;
  }

  #ask(connection: PbConnection | undefined, request: ClientRequest): Promise<PbExchange> {
    if (connection === undefined) return Promise.resolve(neverSent);
    return this.impatience.over(connection, connection.ask(request, this.#setup.answerTimeoutUs), false);
  }

  /** The client goes to another node after a lost request, and when the node answers that it is in STANDBY. */
  #heard(exchange: PbExchange): PbExchange {
    const { io, targets } = this.#setup;
    if (isInStandby(exchange)) this.turnTo(pick(io.random, targets));
    if (exchange.kind === 'lost') this.#target = pick(io.random, targets);
    return exchange;
  }

  #remember(key: number, seen: Omit<SeenContext, 'bytes'>, vclock: Uint8Array | undefined): void {
    if (vclock === undefined || vclock.length === 0) this.#seen.delete(key);
    else this.#seen.set(key, { ...seen, bytes: Buffer.from(vclock) });
  }

  #key(key: number): ClientKey {
    return present(this.#setup.keys[key], 'a key of the plan');
  }

  #invocation(where: ClientKey, wanted: Wanted): Invocation {
    const copies = where.replicas.length;
    const { levels, bucketNeeds } = this.#setup;
    const level = wanted.kind === 'get' ? levels.read : levels.write;
    return {
      client: this.#setup.name,
      key: where.name,
      siblings: where.siblings,
      node: this.#target.node,
      datacenter: this.#target.datacenter,
      copies,
      need: waitedFor(wanted, level, copies, bucketNeeds),
      ...(levels.several && level === 'DC_EACH_SAFE_QUORUM' && isByLevel(wanted, bucketNeeds)
        ? { far: numbersIn(where.far, (one) => needCount('quorum', one.copies)) }
        : {}),
      agree: wanted.kind === 'get' && (level === 'DC_SAFE_QUORUM' || level === 'DC_EACH_SAFE_QUORUM'),
      invokedUs: this.#setup.nowUs(),
    };
  }

  /**
   * How many replicas must have answered that they lack the key, if its absence had to be confirmed: of a deleted object,
   * replicas hold a tombstone, which has a context. A read that failed may have needed as many.
   */
  #confirmed(id: number, wanted: Wanted, context?: Uint8Array): number | undefined {
    const read = this.#setup.recorder.history[id];
    if (read === undefined || (context?.length ?? 0) > 0) return undefined;
    return confirmingNeed(wanted, read, this.#setup.bucketNeeds);
  }

  #completion(outcome: Outcome, reason: string): Completion {
    return { completedUs: this.#setup.nowUs(), outcome, reason };
  }
}

const neverSent: PbExchange = { kind: 'lost', reason: 'no connection could be made' };

/** The fields for `pw` and `dw`; `byNodes`: for `node_confirms` instead of `dw`. */
function raisedBy(
  quorum: PlanQuorum | undefined,
  byNodes = false,
): { readonly pw?: number; readonly dw?: number; readonly node_confirms?: number } {
  if (quorum?.as === 'primaries') return { pw: quorum.count };
  if (quorum?.as !== 'durable') return {};
  return byNodes ? { node_confirms: quorum.count } : { dw: quorum.count };
}

function numbersIn(far: readonly FarCopies[], numberOf: (one: FarCopies) => number): ByDatacenter {
  return Object.fromEntries(far.map((one) => [one.datacenter, numberOf(one)]));
}

/** What a write's answer says about whether the write happened. */
function writeOutcome(exchange: PbExchange): Outcome {
  if (exchange.kind === 'lost') return 'unknown';
  const { answer: reply } = exchange;
  if (reply.kind === 'stored' || reply.kind === 'deleted') return 'ok';
  if (reply.kind !== 'failed' || reply.code === undefined) return 'unknown';
  return reply.definite ? 'fail' : 'unknown';
}

function isInStandby(exchange: PbExchange): boolean {
  return isRefused(exchange, 'Standby');
}

function isRefused(exchange: PbExchange, code: ErrorCode): boolean {
  if (exchange.kind === 'lost' || exchange.answer.kind !== 'failed') return false;
  return exchange.answer.code === code;
}

/** The condition that a put or a deletion states: without a context there is nothing to compare. */
function conditionOf(
  { kind, condition }: Pick<PlanOperation, 'kind' | 'condition'>,
  seen: SeenContext | undefined,
  isOverHttp: boolean,
): WriteOperation['condition'] {
  // A deletion states a condition over HTTP alone, and finds nothing to delete where it would state `absent`.
  if (condition === undefined || (kind !== 'put' && !isOverHttp)) return undefined;
  if (condition === 'absent') return kind === 'put' ? condition : undefined;
  if (seen === undefined) return undefined;
  if (condition === 'differs' && kind === 'put' && isOverHttp && excludedOf(seen) !== undefined)
    return condition;
  return isOverHttp && seen.tag !== undefined ? 'tag' : 'unchanged';
}

/** The last of the values that were read, with its entity tag: of several, not the one that is shown first. */
function excludedOf(seen: SeenContext | undefined): Excluded | undefined {
  const [tag, entityTag] = [seen?.values.at(-1), seen?.valueTags.at(-1)];
  return tag === undefined || entityTag === undefined || entityTag === '' ? undefined : { tag, entityTag };
}

/** On a condition, deletions of every second key leave out the context: what they may delete is what it names. */
function deletionHeaders(
  { key }: Pick<PlanOperation, 'key'>,
  condition: WriteOperation['condition'],
  seen: SeenContext | undefined,
  context: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (condition === undefined) return context;
  return { ...(key % 2 === 0 ? {} : context), ...conditionHeader(condition, seen, undefined) };
}

function conditionHeader(
  condition: WriteOperation['condition'],
  seen: SeenContext | undefined,
  excluded: Excluded | undefined,
): Readonly<Record<string, string>> {
  if (condition === undefined) return {};
  if (condition === 'absent') return { 'If-None-Match': '*' };
  if (condition === 'differs') return { 'If-None-Match': excluded?.entityTag ?? '' };
  if (condition === 'tag') return { 'If-Match': seen?.tag ?? '' };
  return { 'X-Riak-If-Not-Modified': Buffer.from(seen?.bytes ?? []).toString('base64') };
}

/** The parameters of a request over HTTP for what the operation demands. */
function queryOf({
  absence,
  ...wanted
}: Wanted & { readonly key?: number }): Readonly<Record<string, string>> {
  return {
    ...needQuery(wanted),
    ...(absence === undefined ? {} : { notfound_ok: 'false' }),
    ...(absence === 'confirmed-by-majority' ? { basic_quorum: 'true' } : {}),
  };
}

function needQuery({
  kind,
  need,
  quorum,
  key,
}: Omit<Wanted, 'absence'> & { readonly key?: number }): Readonly<Record<string, string>> {
  const named = kind === 'get' ? 'r' : kind === 'put' ? 'w' : 'rw';
  const word = need === 'level' ? {} : { [named]: need };
  if (quorum === undefined) return word;
  const count = String(quorum.count);
  if (quorum.as === 'number') return { [named]: count };
  if (quorum.as === 'primaries') return { ...word, [kind === 'get' ? 'pr' : 'pw']: count };
  return { ...word, [isByNodes(kind, key) ? 'node_confirms' : 'dw']: count };
}

function httpReason(exchange: HttpExchange): string {
  return exchange.kind === 'answered' ? failureOf(exchange.response).text : exchange.reason;
}

function reasonOf(exchange: PbExchange): string {
  if (exchange.kind === 'lost') return exchange.reason;
  return describeReply(exchange.answer);
}

function describeReply(reply: ClientReply): string {
  return reply.kind === 'failed' ? reply.text : `an answer of kind ${reply.kind}`;
}

/** Tags of the values in an answer; deletions have none. */
function tagsOf({ content = [] }: RpbGetResp, described: boolean): readonly string[] {
  // The history keeps this list; `filter` and `map` give it exactly the capacity it needs.
  return content
    .filter((one) => one.deleted !== true)
    .map((one) => (described ? readDescribedTag(one.value, seenInContent(one)) : readTag(one.value)));
}

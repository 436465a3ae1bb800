/**
 * A dispatcher over a map, as one node, for the listeners' tests. It keeps the contract of `replication/requests.ts`,
 * lets a test hold requests back, and fails on demand.
 */
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { NotReplaced } from '../../replication/requests.ts';
import type {
  Dispatcher,
  GetRequest,
  GetResult,
  ReadEnd,
  ReadNeed,
  PutRequest,
  PutResult,
  JoinedRead,
  JoinedReplacement,
  Replaced,
  ReplaceRequest,
} from '../../replication/requests.ts';
import type { Actor } from '../../replica/object/dots.ts';
import { compareVectors, emptyVector } from '../../replica/object/dots.ts';
import { mayExpire } from '../../replica/object/expiry.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { applyWrite, decodeObject, encodeObject, liveSiblings } from '../../replica/object/object.ts';

/** The number of replicas that the fixture claims to have. */
export const replicaCount = 3;

/** A `Dispatcher` over a map. */
export class MapDispatcher implements Dispatcher {
  readonly #objects = new Map<PackedKey, Buffer>();
  readonly #gates: Deferred<void>[] = [];
  #counter = 0;
  /** If true, requests wait for `release`, in the order in which they arrived. */
  holding = false;
  /** The error that the next requests reject with. */
  failure: LockstepError | undefined;
  /** The wall clock of the coordinating replica. */
  wallMs = 784_111_777_000;
  /** How many of the next writes that replace are written beside another value of some replica. */
  besideCount = 0;
  readonly gets: GetRequest[] = [];
  readonly puts: PutRequest[] = [];
  /** Requests under way now, and the most that ever were. */
  underWay = 0;
  underWayMax = 0;

  async get(request: GetRequest): Promise<GetResult> {
    this.gets.push(request);
    await this.#pass(request.need);
    const bytes = this.#objects.get(request.key.packed);
    return { object: bytes === undefined ? undefined : decodeObject(bytes) };
  }

  read(request: GetRequest, end: ReadEnd): void {
    this.get(request).then(
      ({ object }) => end.answered(object),
      (error: unknown) => end.failed(error),
    );
  }

  readMany(requests: readonly JoinedRead[]): void {
    for (const request of requests) this.read(request, request);
  }

  put(request: PutRequest): Promise<PutResult> {
    return this.#put(request, false);
  }

  replace({ key, content, timeoutMs }: ReplaceRequest, done: Replaced): void {
    const request: PutRequest = { key, content, timeoutMs, need: 'default', context: emptyVector };
    this.#put(request, true).then(() => done(undefined), done);
  }

  replaceMany(requests: readonly JoinedReplacement[]): void {
    for (const request of requests) this.replace(request, (error) => request.replaced(error));
  }

  async #put(request: PutRequest, replaces: boolean): Promise<PutResult> {
    this.puts.push(request);
    await this.#pass(request.need);
    const current = this.stored(request.key.packed);
    if (request.ifNoneMatch === true && current !== undefined && liveSiblings(current).length > 0) {
      throw new LockstepError('PreconditionFailed', 'the key holds a value');
    }
    if (
      request.ifContext !== undefined &&
      compareVectors(current?.context ?? [], request.ifContext) !== 'equal'
    ) {
      throw new LockstepError('PreconditionFailed', 'the context is another one');
    }
    if (replaces && current !== undefined && mayExpire(current)) throw new NotReplaced([]);
    const seen = replaces ? (current?.context ?? []) : request.context;
    const dot = { actor: 'n1.00' as Actor, counter: ++this.#counter };
    const object = applyWrite(current, seen, request.content, dot, this.wallMs);
    this.#objects.set(request.key.packed, encodeObject(object));
    if (replaces && this.besideCount > 0) {
      this.besideCount -= 1;
      throw new NotReplaced(object.context);
    }
    return { object };
  }

  /** Forgets a key, and that it was deleted. */
  forget(key: PackedKey): void {
    this.#objects.delete(key);
  }

  /** The object under a key as it is stored; undefined if there is none. */
  stored(key: PackedKey): StoredObject | undefined {
    const bytes = this.#objects.get(key);
    return bytes === undefined ? undefined : decodeObject(bytes);
  }

  /** Lets the oldest held request proceed; false if none waits. */
  release(): boolean {
    const gate = this.#gates.shift();
    gate?.resolve();
    return gate !== undefined;
  }

  /** Lets a held request proceed out of order: `index` counts from the oldest. */
  releaseAt(index: number): void {
    const [gate] = this.#gates.splice(index, 1);
    gate?.resolve();
  }

  /** Requests that wait for `release`. */
  get held(): number {
    return this.#gates.length;
  }

  async #pass(need: ReadNeed): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    if (typeof need === 'number' && need > replicaCount) {
      throw new LockstepError('BadRequest', `${need} replicas were asked for; there are ${replicaCount}`);
    }
    this.underWay += 1;
    this.underWayMax = Math.max(this.underWayMax, this.underWay);
    if (this.holding) {
      const gate = new Deferred<void>();
      this.#gates.push(gate);
      await gate.promise;
    }
    this.underWay -= 1;
  }
}

/**
 * Runs one map or link phase at its coordinator. Each batch of inputs goes to the nodes that hold them, one replica for
 * each input, and the results return in the order of the inputs. An input whose replica dies, fails or lacks it is sent
 * to the next one. The phase sees it as not found only if no other replica is left. A job thus reads as a get at level
 * ONE does, except that it does not take one replica's missing copy for an answer.
 *
 * A batch holds a bounded number of bytes of results: beyond it, the results that are due are returned before others are
 * asked for.
 *
 * An input goes to the first routable replica of its placement, those of this datacenter first. Placements are rotated
 * by token, so the work is spread over the racks.
 */
import { present } from '../base/assert.ts';
import { Deferred } from '../base/deferred.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { textOf } from '../base/ids.ts';
import { objectKey, unpackKey } from '../base/object-key.ts';
import { askPeer, replyError, roundError, troubleError } from '../replication/round-dependencies.ts';
import { standbyLast } from '../replication/plan.ts';
import { sleep } from '../io/clock.ts';
import { encodeObject } from '../replica/object/object.ts';
import type { Member } from '../cluster/ring/ring.ts';
import type { Input, Json } from './job.ts';
import type { JobContext } from './job-context.ts';
import type { Task, Work, WorkDone, WorkItem } from './peer-messages.ts';
import { decodeWorkDone, encodeWork } from './peer-messages.ts';
import { PhaseError } from './phase-error.ts';
import type { ObjectStore } from './phase-worker.ts';
import { sizeOf } from './phase-worker.ts';

/** Results of a batch of inputs: all of them, or the first of those that have not been returned yet. */
export interface Mapped {
  readonly values: readonly Json[];
  /** Approximate size of the values as JSON, in bytes. */
  readonly bytes: number;
  /** Set if the values are already results of the next phase's reduce function. */
  readonly reduced: boolean;
  /** No further results of the batch follow. */
  readonly isLast: boolean;
}

/** A batch of inputs under way; `MapStage.next` returns its results in parts. */
export interface MapBatch {
  /** The inputs without a result, in their order. */
  pending: readonly Pending[];
  /** The results that have not been returned, by the place of the input; of a reduced batch in any order. */
  results: (readonly Json[])[];
  /** Approximate bytes of those results. */
  bytes: number;
  /** The results of the inputs before this place have been returned. */
  returned: number;
  /** How often in turn no replica of the inputs was left. */
  rounds: number;
}

/** An input that has no result yet. */
interface Pending {
  readonly place: number;
  readonly item: Omit<WorkItem, 'last'>;
  readonly token: Token;
  /** Replicas that failed to run it or lack it. */
  readonly tried: Set<NodeId>;
}

interface Group {
  readonly member: Member;
  readonly entries: { readonly pending: Pending; readonly last: boolean }[];
}

/** How often all replicas of an input are tried, and the pause between two rounds. */
const roundsMax = 3;
const roundRestUs = 200_000;
/** Longest time for one batch at a replica. */
const batchUsMax = 5_000_000;
/** A batch that holds results of so many bytes asks for no more than it needs to return some of them. */
const heldBytesMax = 4 * 1024 * 1024;

/** One phase of one job. */
export class MapStage {
  readonly #context: JobContext;
  readonly #index: number;
  readonly #task: Task;
  readonly #reduce: Work['reduce'];
  readonly #silent: boolean;
  readonly #failures: LockstepError[] = [];

  /** `silent`: inputs that do not exist give no result, because the client has not named them. */
  constructor(context: JobContext, index: number, task: Task, reduce: Work['reduce'], silent: boolean) {
    this.#context = context;
    this.#index = index;
    this.#task = task;
    this.#reduce = reduce;
    this.#silent = silent;
  }

  /** A batch of inputs, for `next`. */
  begin(inputs: readonly Input[]): MapBatch {
    const pending = inputs.map((input, place) => this.#pendingOf(input, place));
    return { pending, results: [], bytes: 0, returned: 0, rounds: 0 };
  }

  /**
   * Runs a batch until all its results are here, or `heldBytesMax` bytes of them. Rejects with `PhaseError`, or with the
   * error that keeps the cluster from running the phase. Called until the last part has come.
   */
  async next(batch: MapBatch): Promise<Mapped> {
    while (batch.pending.length > 0) {
      this.#context.check();
      const isFull = batch.bytes >= heldBytesMax;
      if (isFull && this.#hasPart(batch)) return this.#part(batch);
      // A batch that holds enough asks only for the result that its next part begins with.
      const asked = isFull ? batch.pending.slice(0, 1) : batch.pending;
      const left = await this.#runSome(batch, asked);
      const others = isFull ? batch.pending.slice(1) : [];
      batch.pending = [...left, ...others].sort((one, two) => one.place - two.place);
    }
    const reduced = this.#reduce !== undefined;
    return { values: batch.results.flat(), bytes: batch.bytes, reduced, isLast: true };
  }

  /** Whether the results that are to be returned next are here. */
  #hasPart({ pending, returned }: MapBatch): boolean {
    return this.#reduce !== undefined || (pending[0]?.place ?? 0) > returned;
  }

  /** Takes the results in front of the first input that has none. */
  #part(batch: MapBatch): Mapped {
    const { bytes, results } = batch;
    batch.rounds = 0;
    if (this.#reduce !== undefined) {
      batch.results = [];
      batch.bytes = 0;
      return { values: results.flat(), bytes, reduced: true, isLast: false };
    }
    const end = present(batch.pending[0], 'an input without a result').place;
    const values: Json[] = [];
    for (let place = batch.returned; place < end; place++) {
      values.push(...(results[place] ?? []));
      results[place] = [];
    }
    batch.returned = end;
    batch.bytes = 0;
    for (let place = end; place < results.length; place++) batch.bytes += sizeOf(results[place] ?? []);
    return { values, bytes: Math.max(0, bytes - batch.bytes), reduced: false, isLast: false };
  }

  /** Runs some inputs of a batch once. Returns those that still have no result. */
  async #runSome(batch: MapBatch, pending: readonly Pending[]): Promise<readonly Pending[]> {
    const { groups, stranded } = this.#grouped(pending);
    if (groups.length > 0) {
      const left = await Promise.all(groups.map((group) => this.#runGroup(group, batch)));
      return [...stranded, ...left.flat()];
    }
    const left = await this.#runHere(stranded, batch);
    if (left.length < stranded.length) return left;
    batch.rounds += 1;
    if (batch.rounds >= roundsMax) throw this.#strandedError(left);
    await this.#context.orEnd(sleep(this.#context.parts.clock, roundRestUs));
    for (const one of left) one.tried.clear();
    return left;
  }

  /**
   * Runs inputs that no replica runs, if the replicas no longer hold the job's version of the module or cannot use it, or
   * if their results are too large for a message. This node can, so it reads their objects. Returns the inputs that still
   * have no result.
   */
  async #runHere(stranded: readonly Pending[], batch: MapBatch): Promise<readonly Pending[]> {
    const isWasm = this.#task.kind === 'wasm';
    const canHere = this.#failures.some(({ code }) => code === 'TooLarge' || (isWasm && code === 'NotFound'));
    if (!canHere) return stranded;
    const here = { member: this.#context.parts.self, entries: stranded.map(asLast) };
    return this.#runGroup(here, batch, clusterStore(this.#context));
  }

  #pendingOf({ type, bucket, key, keydata }: Input, place: number): Pending {
    const { router } = this.#context.parts;
    const name = router.epochs.present(objectKey(type, bucket, key));
    const token = router.tokenOf(name);
    return { place, item: { key: name, keydata, silent: this.#silent }, token, tried: new Set() };
  }

  /**
   * Groups inputs by replica, in the order of each replica's first input. `stranded`: inputs without a further replica.
   */
  #grouped(pending: readonly Pending[]): { readonly groups: readonly Group[]; readonly stranded: Pending[] } {
    const groups = new Map<NodeId, Group>();
    const stranded: Pending[] = [];
    for (const one of pending) {
      const [member, ...others] = this.#replicas(one);
      if (member === undefined) {
        stranded.push(one);
        continue;
      }
      const entry = { pending: one, last: others.length === 0 };
      const group = groups.get(member.node);
      if (group === undefined) groups.set(member.node, { member, entries: [entry] });
      else group.entries.push(entry);
    }
    return { groups: [...groups.values()], stranded };
  }

  #replicas({ token, tried }: Pending): readonly Member[] {
    const { ring, view, self } = this.#context.parts;
    const there = ring()
      .placement(token)
      .filter((one) => view.isRoutable(one) && !tried.has(one.node));
    const all = standbyLast(view, there, (member) => member);
    const far = (member: Member): number => (member.datacenter === self.datacenter ? 0 : 1);
    return all.some((one) => far(one) !== 0) ? all.toSorted((one, two) => far(one) - far(two)) : all;
  }

  /** Runs a group at its replica. Returns the inputs that still have no result. */
  async #runGroup(
    { member, entries }: Group,
    batch: MapBatch,
    store?: ObjectStore,
  ): Promise<readonly Pending[]> {
    let done: WorkDone;
    try {
      const items = entries.map(({ pending, last }) => ({ ...pending.item, last }));
      done = await this.#ask(member, items, store);
      if (done.count === 0 && done.failure === undefined)
        throw new LockstepError('Internal', `${member.node} answered for no input`);
    } catch (error) {
      return this.#failed(entries, member, error);
    }
    const covered = entries.slice(0, done.count);
    const missing = new Set(done.missing);
    if (this.#reduce !== undefined) batch.results.push(done.results[0] ?? []);
    covered.forEach(({ pending }, index) => {
      if (missing.has(index)) pending.tried.add(member.node);
      else if (this.#reduce === undefined) batch.results[pending.place] = done.results[index] ?? [];
    });
    batch.bytes += done.resultBytes;
    this.#checkFailure(done, entries[done.count]?.pending);
    const rest = entries.slice(done.count).map(({ pending }) => pending);
    const elsewhere = covered.filter((_, index) => missing.has(index)).map(({ pending }) => pending);
    this.#context.counts.retried += rest.length + elsewhere.length;
    return [...elsewhere, ...rest];
  }

  #failed(entries: Group['entries'], member: Member, error: unknown): readonly Pending[] {
    if (!(error instanceof LockstepError) || error === this.#context.end) throw error;
    this.#context.counts.retried += entries.length;
    this.#failures.push(error);
    for (const { pending } of entries) pending.tried.add(member.node);
    return entries.map(({ pending }) => pending);
  }

  #checkFailure({ failure, results }: WorkDone, input: Pending | undefined): void {
    if (failure === undefined) return;
    // The next phase's function has failed, over the results of several inputs.
    if (this.#reduce !== undefined && results.length === 0)
      throw new PhaseError(failure.code, this.#index + 1, failure.detail);
    const name = input === undefined ? undefined : nameJson(input.item);
    throw new PhaseError(failure.code, this.#index, failure.detail, name);
  }

  #ask(member: Member, items: readonly WorkItem[], store?: ObjectStore): Promise<WorkDone> {
    const { parts, counts } = this.#context;
    const leftUs = Math.min(this.#context.leftUs, batchUsMax);
    const work = { task: this.#task, reduce: this.#reduce, leftUs, items };
    if (member === parts.self) return this.#context.orEnd(this.#context.workHere(work, store));
    const answer = new Deferred<WorkDone>();
    const request = { kind: 'mapPhase', words: encodeWork(work) } as const;
    const error = askPeer(parts, member, request, leftUs, (reply) => {
      try {
        if (reply.kind === 'phaseMapped') answer.resolve(decodeWorkDone(reply.words));
        else answer.reject(replyError(reply));
      } catch (malformed) {
        answer.reject(malformed);
      }
    });
    if (error !== undefined) return Promise.reject(troubleError(error));
    counts.batchesSent += 1;
    return this.#context.orEnd(answer.promise);
  }

  #strandedError(stranded: readonly Pending[]): LockstepError {
    const first = present(stranded[0], 'an input that nobody runs');
    const name = JSON.stringify(nameJson(first.item));
    const what = `no replica of ${name} runs phase ${this.#index}`;
    return this.#failures.length === 0
      ? new LockstepError('NoTargets', what)
      : roundError(this.#failures.slice(-8), what);
  }
}

function asLast(pending: Pending): Group['entries'][number] {
  return { pending, last: true };
}

/** An input by name, in the form that clients write. */
function nameJson({ key, keydata }: Pick<WorkItem, 'key' | 'keydata'>): Json {
  const name = [textOf(key.bucket), textOf(key.key)];
  return keydata === undefined ? name : [...name, keydata];
}

/** The cluster's objects as a store, for a node that runs a phase over objects of other nodes. */
export function clusterStore({ parts }: JobContext): ObjectStore {
  return {
    tryRead: (packed, done) => {
      const key = present(unpackKey(packed), 'a key');
      parts.dispatcher.get({ key, need: 'one' }).then(
        ({ object }) => done(undefined, object === undefined ? undefined : encodeObject(object)),
        (error: unknown) =>
          done(error instanceof LockstepError ? error : new LockstepError('Internal'), undefined),
      );
      return 'ok';
    },
  };
}

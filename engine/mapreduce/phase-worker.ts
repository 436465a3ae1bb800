/**
 * Runs a map or link phase over objects that this node holds, in the order of the inputs. An answer is bounded in bytes
 * and time; the coordinator asks again for the rest. Between long pieces of work the worker yields to other work of the
 * node.
 */
import { BytesError } from '../base/bytes.ts';
import { LockstepError } from '../base/errors.ts';
import { textOf } from '../base/ids.ts';
import { defaultType } from '../base/object-key.ts';
import type { LocalRead } from '../replica/local-read.ts';
import { readLocally } from '../replica/local-read.ts';
import type { LocalStore } from '../replica/key-slots.ts';
import type { Clock } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';
import { emptyVector } from '../replica/object/dots.ts';
import { isExpired } from '../replica/object/expiry.ts';
import { decodeObject, liveSiblings } from '../replica/object/object.ts';
import { largeBytes } from '../replication/read-budget.ts';
import type { PhaseModule, PhaseModules } from '../wasm/phase-modules.ts';
import { builtinMaps } from './builtin-maps.ts';
import { builtinReduces } from './builtin-reduces.ts';
import type { FoundObject } from './found-object.ts';
import { linkJson, notFoundJson, wasmItem } from './found-object.ts';
import type { Json } from './job.ts';
import { canonicalText } from './json-order.ts';
import type { Task, Work, WorkDone, WorkFailure, WorkItem } from './peer-messages.ts';
import { FunctionError } from './phase-error.ts';
import { applyModule } from './wasm-values.ts';

/** The store from which a phase reads objects. */
export type ObjectStore = Pick<LocalStore, 'tryRead'>;

/** Finds the Wasm modules of a phase. */
export type PhaseModuleFinder = Pick<PhaseModules, 'find'>;

/** Where a phase gets its objects and modules from. */
export interface WorkSource {
  readonly store: ObjectStore;
  readonly modules: PhaseModuleFinder;
  /** The store is not this node's: it brings large objects, too, whatever it is asked for. */
  readonly isRemote?: boolean;
}

/** Objects read concurrently; those that are larger than `largeBytes` one by one. */
const readsMax = 32;
/** Objects read concurrently of a store that is not this node's. */
const remoteReadsMax = 4;
/** Bytes of results at which an answer is closed. */
const answerBytesMax = 512 * 1024;
/** Microseconds after which an answer is closed, so that the coordinator does not take this node for dead. */
const answerUsMax = 1_000_000;
/** Microseconds of work before the worker yields. */
const turnUs = 5_000;

/** Returns the task's results for one object. */
type Apply = (found: FoundObject) => readonly Json[] | Promise<readonly Json[]>;

/** The worker of one node. */
export class PhaseWorker {
  readonly store: ObjectStore;
  readonly #modules: PhaseModuleFinder;
  readonly #clock: Clock;

  constructor(store: ObjectStore, modules: PhaseModuleFinder, clock: Clock) {
    this.store = store;
    this.#modules = modules;
    this.#clock = clock;
  }

  /**
   * Runs a request. Rejects with errors that another replica may not have: the store's error, `NotFound` if the
   * module's version is not here, `Timeout`. Failures of the function itself are part of the answer. By default objects
   * and modules are this node's.
   */
  async work(
    { task, reduce, leftUs, items }: Work,
    { store, modules, isRemote }: WorkSource = { store: this.store, modules: this.#modules },
  ): Promise<WorkDone> {
    const apply = applier(task, modules);
    const done = new Answer();
    const fromUs = this.#clock.nowUs();
    let turnFromUs = fromUs;
    const abreast = isRemote === true ? remoteReadsMax : readsMax;
    for (let at = 0; at < items.length && !done.isFull(); at += abreast) {
      const group = items.slice(at, at + abreast);
      const reads = await readAll(store, group);
      for (const [index, item] of group.entries()) {
        const read = reads[index];
        const whole = read?.isWithheld === true ? await readLocally(store, item.key.packed) : read;
        await this.#one(item, whole, this.#clock.wallMs(), apply, done);
        if (done.isFull()) break;
        const nowUs = this.#clock.nowUs();
        if (nowUs - fromUs > leftUs) throw new LockstepError('Timeout', 'the time of the job is over');
        if (nowUs - fromUs > answerUsMax) return done.close(reduce);
        if (nowUs - turnFromUs < turnUs) continue;
        await sleep(this.#clock, 0);
        turnFromUs = this.#clock.nowUs();
      }
    }
    return done.close(reduce);
  }

  async #one(
    item: WorkItem,
    read: LocalRead | undefined,
    nowMs: number,
    apply: Apply,
    done: Answer,
  ): Promise<void> {
    try {
      const found = foundOf(item, read, nowMs);
      if (found === undefined && !item.last) {
        done.missing();
        return;
      }
      const { type, bucket, key } = item.key;
      const input = { type, bucket, key, keydata: item.keydata };
      const object = found ?? { input, siblings: [], context: emptyVector };
      if (object.siblings.length === 0 && item.silent) done.add([]);
      else done.add(await apply(object));
    } catch (error) {
      done.fail(failureOf(error));
    }
  }
}

function applier(task: Task, modules: PhaseModuleFinder): Apply {
  switch (task.kind) {
    case 'link':
      return (found) => linksOf(found, task);
    case 'builtin': {
      const builtin = builtinMaps.get(task.name);
      if (builtin === undefined)
        throw new LockstepError('NotFound', `there is no built-in map function ${task.name} here`);
      return (found) => builtin.apply(found, task.arg);
    }
    case 'wasm': {
      const module = moduleOf(modules, task.module, task.version);
      return (found) => {
        const item = found.siblings.length === 0 ? notFoundJson(found.input) : wasmItem(found);
        return applyModule(module, [item], task.arg);
      };
    }
  }
}

function moduleOf(modules: PhaseModuleFinder, id: string, version: string): PhaseModule {
  const module = found(modules, id, version);
  if (module !== undefined) return module;
  throw new LockstepError(
    'NotFound',
    `the Wasm module ${id} is not here, or not usable, in the version that the job began with`,
  );
}

/** Undefined also for a module that exceeds the limits of this node, which may be lower than the coordinator's. */
function found(modules: PhaseModuleFinder, id: string, version: string): PhaseModule | undefined {
  try {
    return modules.find(id, version);
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    return undefined;
  }
}

/** An answer under construction. */
class Answer {
  readonly #missing: number[] = [];
  readonly #results: (readonly Json[])[] = [];
  #bytes = 0;
  #failure: WorkFailure | undefined;

  isFull(): boolean {
    return this.#failure !== undefined || this.#bytes >= answerBytesMax;
  }

  add(results: readonly Json[]): void {
    this.#results.push(results);
    this.#bytes += sizeOf(results);
  }

  missing(): void {
    this.#missing.push(this.#results.length);
    this.#results.push([]);
  }

  fail(failure: WorkFailure): void {
    this.#failure = failure;
  }

  close(reduce: Work['reduce']): WorkDone {
    const { length: count } = this.#results;
    const answer = { count, missing: this.#missing, resultBytes: this.#bytes, failure: this.#failure };
    if (reduce === undefined) return { ...answer, results: this.#results };
    const builtin = builtinReduces.get(reduce.name);
    if (builtin?.anyOrder !== true)
      throw new LockstepError('BadRequest', `${reduce.name} does not reduce in any order`);
    try {
      return { ...answer, results: [builtin.reduce(this.#results.flat(), reduce.arg)], resultBytes: 64 };
    } catch (error) {
      return { ...answer, results: [], failure: { ...failureOf(error), code: 'PhaseFailed' } };
    }
  }
}

async function readAll(store: ObjectStore, items: readonly WorkItem[]): Promise<readonly LocalRead[]> {
  const reads: LocalRead[] = [];
  const waiting: Promise<unknown>[] = [];
  for (const [index, { key }] of items.entries()) {
    const read = readLocally(store, key.packed, largeBytes);
    if (read instanceof Promise) waiting.push(read.then((late) => (reads[index] = late)));
    else reads[index] = read;
  }
  if (waiting.length > 0) await Promise.all(waiting);
  return reads;
}

/**
 * The object; undefined if it is not here. Throws the store's error, because another replica may be able to read it.
 */
function foundOf(
  { key, keydata }: WorkItem,
  read: LocalRead | undefined,
  nowMs: number,
): FoundObject | undefined {
  if (read?.error !== undefined) throw new ReplicaError(read.error);
  if (read?.bytes === undefined) return undefined;
  const { type, bucket, key: name } = key;
  try {
    const object = decodeObject(read.bytes);
    const input = { type, bucket, key: name, keydata };
    const siblings = isExpired(object, nowMs) ? [] : liveSiblings(object);
    return { input, siblings, context: object.context };
  } catch (error) {
    if (!(error instanceof BytesError)) throw error;
    throw new ReplicaError(
      new LockstepError('Corrupted', `an object that does not decode: ${error.message}`),
    );
  }
}

/** Carries an error of this replica's store through the function's error handling. */
class ReplicaError extends Error {
  override readonly name = 'ReplicaError';
  readonly failure: LockstepError;

  constructor(failure: LockstepError) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The failure of a function. Throws every other error. */
function failureOf(error: unknown): WorkFailure {
  if (error instanceof ReplicaError) throw error.failure;
  if (error instanceof FunctionError) return { code: 'PhaseFailed', detail: error.message };
  if (error instanceof LockstepError && error.code.startsWith('Wasm'))
    return { code: error.code, detail: error.message };
  throw error;
}

/** The selected links of all siblings, each once, in their order. */
function linksOf(
  { input, siblings }: FoundObject,
  { bucket, tag }: Extract<Task, { kind: 'link' }>,
): readonly Json[] {
  const links = siblings.flatMap((sibling) => sibling.links);
  const wanted = links.filter(
    (link) => (bucket === undefined || link.bucket === bucket) && (tag === undefined || link.tag === tag),
  );
  const typed = input.type === defaultType ? [] : [textOf(input.type)];
  const seen = new Set<string>();
  return wanted
    .map((link): readonly string[] => [...linkJson(link), ...typed])
    .filter((link) => {
      const text = canonicalText(link);
      if (seen.has(text)) return false;
      seen.add(text);
      return true;
    });
}

/** Approximate size of values as JSON, in bytes; a text counts its characters. */
export function sizeOf(values: readonly Json[]): number {
  let bytes = 2;
  for (const value of values) {
    if (typeof value === 'string') bytes += value.length + 3;
    else if (typeof value === 'object' && value !== null) bytes += JSON.stringify(value).length + 1;
    else bytes += 8;
  }
  return bytes;
}

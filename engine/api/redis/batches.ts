/**
 * Runs commands on several keys as one step: MSET, DEL of many keys, and the commands between MULTI and EXEC. It reads
 * all keys, applies the commands in order, and commits their changes as one atomic batch, across nodes too. The commit
 * depends on everything read being unchanged. A transaction that only reads commits a batch of checks; a single command
 * that only reads (MGET) reads each key by itself.
 *
 * Batches of this node's clients on the same keys do not compete: they take turns, and those that wait together become
 * one transaction (`batch-queue.ts`).
 *
 * If a key under WATCH has changed, the batch is abandoned; that is not an error.
 */
import { present } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError, asLockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringFrom } from '../../base/ids.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import { compareVectors } from '../../replica/object/dots.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { mergeObjects } from '../../replica/object/object.ts';
import type { Operation } from '../../transactions/formats/outcomes.ts';
import { AnswerSize } from './answer-size.ts';
import { Attempts } from './attempts.ts';
import type { QueuedBatch } from './batch-queue.ts';
import { BatchQueue } from './batch-queue.ts';
import type { Ending } from './changes.ts';
import { changeOf, checkOf, endingOf } from './changes.ts';
import type { Command } from './commands.ts';
import { keysOf, looksAtValues } from './commands.ts';
import { entryOf } from './entries.ts';
import type { WantedKey } from './loading.ts';
import type { RequestTimes } from '../../base/request-times.ts';
import type { OpenSpan } from '../../base/request-trace.ts';
import { loadKeys } from './loading.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import { keyOf } from './listener-dependencies.ts';
import { texts, unread } from './refusals.ts';
import type { RespVersion } from './replies.ts';
import type { Request } from './request-reader.ts';
import { applyCommand } from './key-queue.ts';
import type { Note } from './messages/notes.ts';
import { Notes } from './messages/notes.ts';
import { MissingKeys, WorkingKeys } from './working-set.ts';

/** One command of a batch. `immediate`: its reply if it needs no keys. */
export interface Step {
  readonly command: Command;
  readonly request: Request;
  readonly immediate: Buffer | undefined;
}

/** A key under WATCH, as it was when WATCH read it. */
export interface Watched {
  readonly key: ObjectKey;
  readonly object: StoredObject | undefined;
  /** Whether the key held a value. */
  readonly present: boolean;
  /** The epoch of the key's bucket before the read. */
  readonly epoch: number;
  /** When the read began, on the clock's `nowUs`. */
  readonly sinceUs: number;
}

/** The result of a batch: one reply per step, or the line of an error. `notes`: messages to publish, in order. */
export type BatchResult =
  | { readonly kind: 'done'; readonly replies: readonly Buffer[]; readonly notes: readonly Note[] }
  /** A watched key has changed, so nothing was done. */
  | { readonly kind: 'changed' }
  | { readonly kind: 'failed'; readonly text: string };

interface Loaded {
  readonly name: ByteString;
  readonly key: ObjectKey;
  readonly object: StoredObject | undefined;
  /** Whether `object` has its values. */
  readonly value: boolean;
}

/** A batch from its submission to its result. */
interface Job extends QueuedBatch {
  readonly steps: readonly Step[];
  readonly watched: readonly Watched[];
  readonly version: RespVersion;
  readonly mode: 'isolated' | 'loose';
  /** When the batch must have begun, on the clock's `nowUs`. */
  readonly endUs: number;
  /** Where to note how long its steps take. */
  readonly times: RequestTimes | undefined;
  readonly result: Deferred<BatchResult>;
}

/** The batches of one listener. */
export class Batches {
  readonly #parts: RedisDependencies;
  readonly #queue: BatchQueue<Job>;

  constructor(parts: RedisDependencies) {
    this.#parts = parts;
    this.#queue = new BatchQueue(parts.io, parts.keyCountMax, (group) => this.#runGroup(group));
  }

  /** Reads the keys for WATCH. Rejects with the errors of reads. */
  async watch(keys: readonly ObjectKey[]): Promise<readonly Watched[]> {
    if (keys.length > 1) this.#parts.observer.fragmented(keys.length);
    // A later read under the watch may not be older than the value read here.
    const wanted = keys.map((key) => ({ key, value: true }));
    const sinceUs = this.#parts.io.clock.nowUs();
    const epochs = keys.map(({ type, bucket }) => this.#parts.epochOf(type, bucket));
    const objects = await loadKeys(this.#parts, wanted, this.#parts.timeoutMs);
    const nowMs = this.#parts.io.clock.wallMs();
    return objects.map((object, index) => ({
      key: present(keys[index], 'a key'),
      object,
      present: entryOf(object, nowMs) !== undefined,
      epoch: present(epochs[index], 'an epoch'),
      sinceUs,
    }));
  }

  /**
   * Runs the steps. With `isolated`, all keys are read at one instant, and a changed watched key ends the batch. With
   * `loose`, neither holds, but watched keys are read no older than WATCH saw them. Rejects with a `LockstepError` if
   * keys cannot be read, are invalid, or hold too much; nothing has been done then.
   */
  async run(
    steps: readonly Step[],
    watched: readonly Watched[],
    version: RespVersion,
    mode: 'isolated' | 'loose',
    times?: RequestTimes,
  ): Promise<BatchResult> {
    const names = this.#namesOf(steps, mode === 'isolated' ? watched : []);
    if (names.size > 1) this.#parts.observer.fragmented(names.size);
    const job: Job = {
      keys: [...names.values()].map(({ key }) => key.packed),
      isSociable: watched.length === 0,
      ...{ steps, watched, version, mode },
      times,
      endUs: this.#parts.io.clock.nowUs() + this.#parts.timeoutMs * 1000,
      result: new Deferred(),
    };
    const reads = mode === 'loose' && steps.every(({ command }) => command.kind !== 'write');
    if (reads) await this.#runGroup([job]);
    else this.#queue.submit(job);
    return job.result.promise;
  }

  /** Runs a group from the queue as one transaction, or, if it is too large for one, each of its batches. */
  async #runGroup(group: readonly Job[]): Promise<void> {
    const nowUs = this.#parts.io.clock.nowUs();
    const late = group.filter(({ endUs }) => endUs <= nowUs);
    for (const { result } of late) result.resolve({ kind: 'failed', text: texts.tryAgain });
    const jobs = late.length === 0 ? group : group.filter(({ endUs }) => endUs > nowUs);
    for (const { times } of jobs) {
      times?.dispatched(nowUs);
      times?.asked(nowUs);
    }
    try {
      const results = await this.#attempt(jobs);
      for (const { times } of jobs) times?.concluded(this.#parts.io.clock.nowUs());
      jobs.forEach(({ result }, index) => result.resolve(present(results[index], 'a result')));
    } catch (caught) {
      const error = asLockstepError(caught);
      if (error.code === 'TooLarge' && jobs.length > 1) for (const job of jobs) await this.#runGroup([job]);
      else for (const { result } of jobs) result.reject(error);
    }
  }

  /** Runs batches in one step, and returns their results. */
  async #attempt(jobs: readonly Job[]): Promise<readonly BatchResult[]> {
    const all = (result: BatchResult): readonly BatchResult[] => jobs.map(() => result);
    const steps = jobs.flatMap((job) => job.steps);
    const watched = jobs.flatMap((job) => job.watched);
    const mode = jobs.some((job) => job.mode === 'isolated') ? 'isolated' : 'loose';
    const names = this.#namesOf(steps, mode === 'isolated' ? watched : []);
    const attempts = new Attempts(this.#parts.io, this.#parts.timeoutMs);
    const writes = steps.some(({ command }) => command.kind === 'write');
    const seen = mode === 'loose' ? watched : [];
    // Batches of several clients may share a step; its spans belong to the first that is traced.
    const span = jobs.find(({ times }) => times?.span !== undefined)?.times?.span;
    for (;;) {
      const loaded = await this.#loadAll(names, seen, attempts.leftMs, span).catch((caught: unknown) => {
        throw writes ? unread(asLockstepError(caught)) : caught;
      });
      if (mode === 'isolated' && this.#isChanged(watched, loaded)) return all({ kind: 'changed' });
      const working = this.#workingSet(loaded);
      let results: readonly BatchResult[];
      try {
        results = this.#apply(jobs, working);
      } catch (caught) {
        if (!(caught instanceof MissingKeys)) throw caught;
        this.#addMissing(names, caught.keys);
        continue;
      }
      const operations = this.#operationsOf(loaded, working);
      const reads = operations.every(({ check }) => check === true);
      // A read of one key is atomic anyway.
      const loose = reads && (mode === 'loose' || loaded.length <= 1);
      const ending = loose ? done : await this.#commit(operations, attempts.leftMs, span);
      if (ending.kind === 'done') return results;
      if (ending.kind === 'failed') return all(ending);
      if (!(await attempts.again())) return all({ kind: 'failed', text: texts.tryAgain });
    }
  }

  /** Adds keys that a script has named only by now. The script runs again once they are loaded. */
  #addMissing(names: Map<ByteString, WantedKey>, keys: readonly Buffer[]): void {
    for (const key of keys) names.set(byteStringFrom(key), { key: keyOf(this.#parts, key), value: true });
    this.#refuseMany(names.size);
  }

  #refuseMany(count: number): void {
    const { keyCountMax } = this.#parts;
    if (count <= keyCountMax) return;
    throw new LockstepError('TooLarge', `${count} keys in one step; at most ${keyCountMax} are allowed`);
  }

  async #commit(
    operations: readonly Operation[],
    timeoutMs: number,
    partOf: OpenSpan | undefined,
  ): Promise<Ending> {
    const outcome = await this.#parts.transactions.run({
      operations,
      forceAbort: false,
      level: undefined,
      timeoutMs,
      clientId: undefined,
      waitsForBranches: true,
      partOf,
    });
    return endingOf(outcome);
  }

  #namesOf(steps: readonly Step[], watched: readonly Watched[]): Map<ByteString, WantedKey> {
    const names = new Map<ByteString, WantedKey>();
    for (const { command, request } of steps) {
      const value = looksAtValues(command, request);
      for (const key of keysOf(command, request)) {
        const name = byteStringFrom(key);
        const known = names.get(name);
        if (known === undefined) names.set(name, { key: keyOf(this.#parts, key), value });
        else if (value && !known.value) names.set(name, { key: known.key, value });
      }
    }
    for (const { key } of watched) if (!names.has(key.key)) names.set(key.key, { key, value: false });
    this.#refuseMany(names.size);
    return names;
  }

  /** The current objects of the keys, merged with what WATCH saw. */
  async #loadAll(
    names: ReadonlyMap<ByteString, WantedKey>,
    watched: readonly Watched[],
    timeoutMs: number,
    span: OpenSpan | undefined,
  ): Promise<readonly Loaded[]> {
    const objects = await loadKeys(this.#parts, [...names.values()], timeoutMs, span);
    return [...names].map(([name, { key, value }], index) => {
      const before = watched.find((one) => one.key.packed === key.packed);
      return { name, key, object: noOlder(this.#parts, before, objects[index]), value };
    });
  }

  /** Whether a watched key was written, or its value has expired. */
  #isChanged(watched: readonly Watched[], loaded: readonly Loaded[]): boolean {
    const nowMs = this.#parts.io.clock.wallMs();
    return watched.some((before) => {
      const now = loaded.find(({ key }) => key.packed === before.key.packed)?.object;
      const same = compareVectors(before.object?.context ?? [], now?.context ?? []) === 'equal';
      return !same || (before.present && entryOf(now, nowMs) === undefined);
    });
  }

  #workingSet(loaded: readonly Loaded[]): WorkingKeys {
    const nowMs = this.#parts.io.clock.wallMs();
    const working = new WorkingKeys(this.#parts.answerBytesMax);
    for (const { name, object, value } of loaded) working.add(name, entryOf(object, nowMs), value);
    return working;
  }

  /** Applies the batches' steps to the working set. Throws `TooLarge` before anything is committed. */
  #apply(jobs: readonly Job[], working: WorkingKeys): readonly BatchResult[] {
    const { io, limits, answerBytesMax, scripts, subscribersOf } = this.#parts;
    const nowMs = io.clock.wallMs();
    const size = new AnswerSize(answerBytesMax);
    let written = 0;
    return jobs.map(({ steps, version }) => {
      const notes = new Notes(subscribersOf, (bytes) => size.add(bytes));
      const context = { nowMs, version, valueBytesMax: limits.valueBytesMax, answerBytesMax, scripts, notes };
      const replies = steps.map(({ command, request, immediate }, index) => {
        notes.step = command.kind === 'publish' ? index : undefined;
        const reply = immediate ?? applyCommand(command, request, working, context);
        size.add(reply.length + working.writtenBytes - written);
        written = working.writtenBytes;
        return reply;
      });
      return { kind: 'done', replies, notes: notes.list };
    });
  }

  #operationsOf(loaded: readonly Loaded[], working: WorkingKeys): readonly Operation[] {
    return loaded.map(({ name, key, object }) => {
      const { entry, changed } = working.find(name);
      const nothing = entry === undefined && object === undefined;
      return changed && !nothing ? changeOf(this.#parts, key, object, entry) : checkOf(key, object);
    });
  }
}

const done: Ending = { kind: 'done' };

/**
 * What a read of a key returned, but no older than WATCH saw it. What has been flushed since is gone. Nothing that was
 * deleted since comes back: within the grace of deletions the read returns the tombstone; later the replicas may have
 * forgotten it, and what WATCH saw counts no more.
 */
export function noOlder(
  { epochOf, graceUs, io }: Pick<RedisDependencies, 'epochOf' | 'graceUs' | 'io'>,
  before: Watched | undefined,
  now: StoredObject | undefined,
): StoredObject | undefined {
  if (before?.object === undefined || epochOf(before.key.type, before.key.bucket) !== before.epoch)
    return now;
  if (io.clock.nowUs() - before.sinceUs > graceUs) return now;
  return now === undefined ? before.object : mergeObjects(before.object, now);
}

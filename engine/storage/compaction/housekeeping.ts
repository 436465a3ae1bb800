/**
 * Runs a store's background work, one job at a time: merges while one is worthwhile, and hint files for the segments
 * that stay. It rests between slices, in proportion to the time of the slice, so that reads and writes are hardly
 * delayed. A job that fails changes nothing; it is tried again after the next segment is sealed.
 */
import { assert } from '../../base/assert.ts';
import { Deferred } from '../../base/deferred.ts';
import { LockstepError } from '../../base/errors.ts';
import { sometimes } from '../../base/sometimes.ts';
import { sleep } from '../../io/clock.ts';
import { DiskError } from '../../io/disk.ts';
import type { StoreIo } from '../store-io.ts';
import { isFull } from '../faults.ts';
import { HintWriter } from '../index/hint-file.ts';
import type { MergeReport, MergeContext } from './merge.ts';
import { damageVisitor, MergeRefusedError, mergeSegments } from './merge.ts';
import type { MergePlan } from './merge-plan.ts';
import { decaying, planMerge } from './merge-plan.ts';
import type { StoreOptions } from '../options.ts';
import { scanSegment } from '../recovery/scan.ts';
import type { Segment } from '../log/segment.ts';

export type { MergeReport } from './merge.ts';

/** The store is closing: the present job is given up. */
class StoppedError extends Error {
  override readonly name = 'StoppedError';
}

/** The background work of one store. */
export class Housekeeping {
  readonly #io: StoreIo;
  readonly #directory: string;
  readonly #options: StoreOptions;
  readonly #context: MergeContext;
  #running = false;
  #again = false;
  #stopping = false;
  #stopped: Deferred<void> | undefined;
  #hurried = false;
  #resting = false;
  #sliceBeganUs = 0;
  #mergeCount = 0;
  /** Merges drop the removals up to this sequence number, part by part; undefined if none are under way. */
  #removalsUpTo: number | undefined;

  constructor(io: StoreIo, directory: string, options: StoreOptions, context: MergeContext) {
    this.#io = io;
    this.#directory = directory;
    this.#options = options;
    this.#context = context;
  }

  /** Merges completed. */
  get mergeCount(): number {
    return this.#mergeCount;
  }

  /** Called when a segment was sealed: there may be work. */
  poke(): void {
    this.#again = true;
    if (this.#running || this.#stopping) return;
    this.#running = true;
    this.#io.spawn('store.housekeeping', () => this.#run());
  }

  /** Resolves when there is no work. */
  async settle(): Promise<void> {
    while (this.#running) {
      this.#stopped ??= new Deferred<void>();
      await this.#stopped.promise;
    }
  }

  /** Gives up the present job, unless it is a merge that has taken effect; starts no further one. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.settle();
  }

  /** Merges every sound sealed segment, without resting. Rejects if that fails. */
  async mergeAll(): Promise<MergeReport> {
    await this.settle();
    this.#running = true;
    this.#hurried = true;
    try {
      for (;;) {
        const inputs = [...this.#context.catalog.segments].filter(
          (segment) => isMergeable(segment) && !segment.damaged,
        );
        const report = inputs.length === 0 ? nothingMerged : await this.#merge(inputs);
        if (report !== undefined) return report;
      }
    } finally {
      this.#hurried = false;
      this.#end();
    }
  }

  /** Called at the end: writes the hint files of the two log segments sealed last, without resting. */
  async writeLastHints(): Promise<void> {
    const sealed = [...this.#context.catalog.segments].filter(
      (segment) => segment.sealed && !segment.retired,
    );
    const logs = sealed.filter(({ identity }) => identity.kind === 'log');
    for (const segment of logs.slice(-2)) await this.#writeHint(segment, () => Promise.resolve());
  }

  async #writeHint(segment: Segment, pause: () => Promise<void>): Promise<void> {
    const { file } = segment;
    if (segment.hinted || segment.damaged || file === undefined) return;
    const hint = new HintWriter(this.#io.disk, this.#directory, segment.identity);
    const visitor = {
      record: (bytes: Buffer, at: number, offset: number): void => hint.add(bytes, at, offset),
      ...damageVisitor(this.#context, segment),
    };
    const rest = async (): Promise<void> => {
      await hint.drain();
      await pause();
    };
    segment.enter();
    try {
      const windowBytes = this.#options.merge.sliceBytes;
      await scanSegment(file, segment.identity, visitor, { sealedLength: segment.length, windowBytes, rest });
      assert(!this.#resting, 'a job waits for its rest');
      // A damaged segment gets no hint: every start scans it and reports the damage.
      if (isDamaged(segment)) {
        await hint.abandon();
        return;
      }
      await hint.finish(segment.length);
      segment.hinted = true;
    } catch (error) {
      await hint.abandon();
      throw error;
    } finally {
      segment.leave();
    }
  }

  async #run(): Promise<void> {
    try {
      while (this.#again && !this.#stopping) {
        this.#again = false;
        await this.#work();
      }
    } catch (error) {
      this.#giveUp(error);
    } finally {
      this.#end();
    }
  }

  #end(): void {
    this.#running = false;
    this.#stopped?.resolve();
    this.#stopped = undefined;
    if (this.#again && !this.#stopping) this.poke();
  }

  async #work(): Promise<void> {
    this.#sliceBeganUs = this.#io.clock.nowUs();
    const { merge, segmentBytes } = this.#options;
    // The disk has no space for a merge of several segments.
    let cramped = false;
    for (;;) {
      const figures = this.#figures();
      const options = cramped ? { ...merge, copyBytesMax: 0 } : merge;
      const plan = merge.enabled ? planMerge(figures, options, segmentBytes, this.#removalsUpTo) : undefined;
      if (plan === undefined) this.#removalsUpTo = undefined;
      else if (plan.removalsUpTo !== undefined) this.#removalsUpTo = plan.removalsUpTo;
      const waiting = merge.enabled ? decaying(figures, merge) : undefined;
      // Hint files need space, and removing dead segments frees some: dead ones go first.
      if (plan?.reason !== 'dead') await this.#writeHints([...(plan?.numbers ?? []), waiting?.number]);
      if (plan === undefined || (cramped && !givesBack(plan))) return;
      try {
        await this.#merge(plan.numbers.map((number) => this.#context.catalog.mustFind(number)));
      } catch (error) {
        if (!isFull(error) || cramped || plan.numbers.length === 1 || !givesBack(plan)) throw error;
        // One segment may fit, and its merge frees space for the next.
        sometimes('store.merge-for-lack-of-space');
        cramped = true;
      }
    }
  }

  /**
   * Writes hint files of the segments that stay; for those merged next, or soon, the scan would be wasted. Without
   * space for them the next start reads more, but merges continue.
   */
  async #writeHints(leaving: readonly (number | undefined)[]): Promise<void> {
    try {
      for (const segment of this.#context.catalog.segments) {
        const stays = segment.sealed && !segment.retired && !leaving.includes(segment.number);
        if (stays) await this.#writeHint(segment, () => this.#rest());
      }
    } catch (error) {
      if (!isFull(error)) throw error;
      this.#giveUp(error);
    }
  }

  /** Undefined if an input was found damaged: it is marked, and the next plan omits it. */
  async #merge(inputs: readonly Segment[]): Promise<MergeReport | undefined> {
    const { disk } = this.#io;
    const { segmentBytes, merge } = this.#options;
    const rest = (): Promise<void> => this.#rest();
    const pause = (): Promise<void> => this.#pause();
    const work = {
      disk,
      directory: this.#directory,
      segmentBytes,
      sliceBytes: merge.sliceBytes,
      rest,
      pause,
    };
    try {
      const report = await mergeSegments(this.#context, work, inputs);
      this.#mergeCount += 1;
      this.#io.log.event('info', 'store.segments.merged', { ...report });
      return report;
    } catch (error) {
      if (!(error instanceof MergeRefusedError)) throw error;
      sometimes('store.merge-refused');
      this.#io.log.event('error', 'store.merge.refused', { detail: error.message });
      return undefined;
    }
  }

  #figures(): Parameters<typeof planMerge>[0] {
    const segments = [...this.#context.catalog.segments].filter((segment) => !segment.retired);
    return segments.map((segment) => ({
      number: segment.number,
      kind: segment.identity.kind,
      length: segment.length,
      liveBytes: segment.liveBytes,
      removalBytes: segment.removalBytes,
      seqMin: segment.seqMin,
      seqMax: segment.seqMax,
      cleanSeq: segment.cleanSeq,
      sealed: segment.sealed,
      damaged: segment.damaged,
      mergeable: isMergeable(segment),
    }));
  }

  /** Pauses; rejects if the store is closing. */
  #rest(): Promise<void> {
    return this.#stopping ? Promise.reject(new StoppedError()) : this.#pause();
  }

  /** Pauses for `restPercent` of the time that the last slice took; not at all if the store is closing. */
  async #pause(): Promise<void> {
    const { restPercent } = this.#options.merge;
    if (restPercent > 0 && !this.#hurried && !this.#stopping) {
      const tookUs = this.#io.clock.nowUs() - this.#sliceBeganUs;
      assert(!this.#resting, 'a job rests before it goes on');
      this.#resting = true;
      await sleep(this.#io.clock, Math.floor((tookUs * restPercent) / 100));
      this.#resting = false;
    }
    this.#sliceBeganUs = this.#io.clock.nowUs();
  }

  #giveUp(error: unknown): void {
    if (error instanceof StoppedError) {
      sometimes('store.merge-stopped');
      return;
    }
    const expected = error instanceof DiskError || error instanceof LockstepError;
    if (!expected) throw error;
    sometimes('store.housekeeping-failed');
    this.#io.log.event('warn', 'store.housekeeping.failed', { detail: error.message });
  }
}

const nothingMerged: MergeReport = { inputCount: 0, outputCount: 0, inputBytes: 0, outputBytes: 0 };

/** Whether the merge, or those that follow it, free more than they copy. Merges for other reasons only tidy up. */
function givesBack({ reason }: MergePlan): boolean {
  return reason === 'dead' || reason === 'garbage' || reason === 'removals';
}

/** Reads the flag again: a scan may have set it meanwhile. */
function isDamaged(segment: Segment): boolean {
  return segment.damaged;
}

function isMergeable(segment: Segment): boolean {
  const { sealed, damaged, retired, unsettled, file } = segment;
  return sealed && (!damaged || segment.isHealed) && !retired && !unsettled && file !== undefined;
}

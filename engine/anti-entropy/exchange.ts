/**
 * Runs an exchange with one peer over the ranges that both nodes own. It compares hashes of whole ranges, then of the
 * parts of those that differ, level by level; then it lists the keys of segments that differ, and judges and repairs
 * each key that differs.
 *
 * One batch of parts is followed to its end before the next, and repaired on the way. If an exchange is cut short, the
 * next one finds the repaired parts equal and continues where it stopped.
 *
 * If the disk of either node refuses to read some values, the exchange covers the segments without them, and then fails.
 * So it does if one of the nodes refuses to repair some keys: the others are repaired first.
 */
import { assert } from '../base/assert.ts';
import { LockstepError } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';
import type { Clock } from '../io/clock.ts';
import { sleep } from '../io/clock.ts';
import type { ExchangeStep } from '../metrics/anti-entropy-metrics.ts';
import type { Suspect } from './diff.ts';
import { diffEntries, diffTrees } from './diff.ts';
import type { ExchangePeer } from './exchange-peer.ts';
import type { Entry, Refresh } from './refresh.ts';
import type { Repair } from './repair.ts';
import type { Throttle } from './throttle.ts';
import type { RangeHash, TokenRange } from './tree.ts';
import { divide, isLeafRange } from './tree.ts';
import { countUpTo, ListedRange } from './listed-range.ts';
import type { Answer, KeyList, ListRange, Question } from './messages.ts';

/** Ranges in one question. */
const batchRanges = 64;
/** Keys repaired at once. */
const repairWindow = 16;
/** An exchange goes past so many segments that the peer's disk refuses to read. */
const refusedListsMax = 64;
/**
 * Delay between listing keys and reading those that differ. A write under way to both sides has arrived by then and is
 * no divergence.
 */
const secondLookUs = 50_000;

/** What an exchange needs of the node, and how it reports. */
export interface ExchangeDependencies {
  readonly clock: Clock;
  readonly refresh: Refresh;
  readonly throttle: Throttle;
  readonly repair: (peer: ExchangePeer, suspect: Suspect) => Promise<Repair>;
  /** Reports the step that the exchange has reached. */
  readonly step: (step: ExchangeStep) => void;
  /** Reports the number of keys listed, of both sides together. */
  readonly listed: (count: number) => void;
  /** Reports further divergent keys. */
  readonly diverged: (count: number) => void;
  /** Why the exchange cannot continue; undefined if it can. */
  readonly obstacle: () => LockstepError | undefined;
}

/** `busy`: the peer is in another exchange, or recomputing its tree; the exchange stopped early. */
export type ExchangeEnd = 'finished' | 'busy';

/**
 * Runs the exchange. Rejects with a `LockstepError`: the peer's, the local store's, or `PeerGone` if a repair found the
 * peer gone.
 */
export async function exchange(
  parts: ExchangeDependencies,
  peer: ExchangePeer,
  ranges: readonly TokenRange[],
): Promise<ExchangeEnd> {
  try {
    return await compareAndRepair(parts, peer, ranges);
  } catch (error) {
    // Otherwise the peer would take part in no other exchange until its lease on this one ends. Its answer does not
    // matter.
    void peer.ask({ kind: 'close' }).catch(() => undefined);
    throw error;
  }
}

async function compareAndRepair(
  parts: ExchangeDependencies,
  peer: ExchangePeer,
  ranges: readonly TokenRange[],
): Promise<ExchangeEnd> {
  const talk = new Talk(parts, peer);
  parts.step('settle');
  const { settled, failure } = await settle(parts.refresh, ranges);
  const open: TokenRange[] = [];
  for (let from = 0; from < settled.length; from += batchRanges) {
    const batch = settled.slice(from, from + batchRanges);
    const differing = await talk.compare(batch, 'hashes');
    if (differing === 'busy') return 'busy';
    open.push(...differing);
  }
  while (open.length > 0) {
    const differing = await talk.descend(open.splice(-batchRanges));
    if (differing === 'busy') return 'busy';
    open.push(...differing);
  }
  if (failure !== undefined) {
    parts.step('settle');
    throw failure;
  }
  talk.mustBeWhole();
  parts.step('close');
  await peer.ask({ kind: 'close' });
  return 'finished';
}

/** Recomputes the ranges. `settled`: the parts that this node can compare; `failure`: why that is not all. */
async function settle(
  refresh: Refresh,
  ranges: readonly TokenRange[],
): Promise<{ readonly settled: readonly TokenRange[]; readonly failure: LockstepError | undefined }> {
  try {
    await refresh.settle(ranges);
    return { settled: ranges, failure: undefined };
  } catch (error) {
    if (!(error instanceof LockstepError) || error.code !== 'StorageFailed') throw error;
    return { settled: refresh.cleanParts(ranges), failure: error };
  }
}

class Talk {
  readonly #parts: ExchangeDependencies;
  readonly #peer: ExchangePeer;
  readonly #segmentBits: number;
  readonly #listed: ListedRange;
  /** Segments that the peer's disk refuses to read. */
  #refusedLists = 0;
  /** The first refusal of a segment or a key, and the step at which it came. */
  #refusal: { readonly step: ExchangeStep; readonly error: LockstepError } | undefined;

  constructor(parts: ExchangeDependencies, peer: ExchangePeer) {
    this.#parts = parts;
    this.#peer = peer;
    this.#segmentBits = parts.refresh.tree.segmentBits;
    this.#listed = new ListedRange(parts.refresh);
  }

  /** Throws the first refusal of a segment or a key, if there was one. */
  mustBeWhole(): void {
    if (this.#refusal === undefined) return;
    this.#parts.step(this.#refusal.step);
    throw this.#refusal.error;
  }

  /** The ranges (or, for `parts`, the parts of them) whose hashes differ. */
  async compare(
    ranges: readonly TokenRange[],
    kind: 'hashes' | 'parts',
  ): Promise<readonly TokenRange[] | 'busy'> {
    const compared = kind === 'hashes' ? ranges : ranges.flatMap((range) => divide(range, this.#segmentBits));
    this.#parts.step(kind);
    const answer = await this.#ask({ kind, segmentBits: this.#segmentBits, ranges });
    if (answer === 'busy') return 'busy';
    if (answer.kind !== 'hashes' || answer.hashes.length !== compared.length) throw nonsense(this.#peer);
    return diffTrees(
      compared,
      compared.map((range) => this.#hashOf(range)),
      answer.hashes,
    );
  }

  /**
   * Descends one level: returns the differing parts of the ranges. Segments among them are repaired and not returned.
   */
  async descend(ranges: readonly TokenRange[]): Promise<readonly TokenRange[] | 'busy'> {
    const leaves = ranges.filter((range) => isLeafRange(range, this.#segmentBits));
    const inner = ranges.filter((range) => !isLeafRange(range, this.#segmentBits));
    if (leaves.length > 0 && (await this.#repairLeaves(leaves)) === 'busy') return 'busy';
    return inner.length === 0 ? [] : this.compare(inner, 'parts');
  }

  async #repairLeaves(leaves: readonly TokenRange[]): Promise<'done' | 'busy'> {
    const left: ListRange[] = leaves.map((range) => ({ ...range, after: '' as ByteString }));
    while (left.length > 0) {
      this.#parts.step('list');
      const answer = await this.#askForLists(left);
      if (answer === 'busy') return 'busy';
      if (answer === 'refused') {
        left.shift();
        continue;
      }
      if (answer.kind !== 'lists' || answer.lists.length === 0 || answer.lists.length > left.length) {
        throw nonsense(this.#peer);
      }
      const suspects = await this.#suspects(left, answer.lists);
      if ((await this.#repairAll(suspects)) === 'busy') return 'busy';
    }
    return 'done';
  }

  /** The answer; `refused` if the peer's disk refuses to read the first of the ranges. */
  async #askForLists(
    ranges: readonly ListRange[],
  ): Promise<Exclude<Answer, { kind: 'busy' }> | 'busy' | 'refused'> {
    try {
      return await this.#ask({ kind: 'list', segmentBits: this.#segmentBits, ranges });
    } catch (error) {
      if (!(error instanceof LockstepError) || error.code !== 'StorageFailed') throw error;
      this.#refusal ??= { step: 'list', error };
      this.#refusedLists += 1;
      if (this.#refusedLists > refusedListsMax) throw error;
      return 'refused';
    }
  }

  /** The keys that differ, as far as the lists reach. Removes from `left` what the lists cover. */
  async #suspects(left: ListRange[], lists: readonly KeyList[]): Promise<readonly Suspect[]> {
    const suspects: Suspect[] = [];
    for (const { complete, entries } of lists) {
      const range = left.shift();
      assert(range !== undefined, 'no more lists than ranges');
      const last = complete ? undefined : entries.at(-1)?.key;
      const behind = await this.#listed.entriesOf(range);
      const mine = last === undefined ? behind : behind.slice(0, countUpTo(behind, last));
      this.#parts.listed(mine.length + entries.length);
      const theirs = entries.filter(
        (entry) => isWithin(entry, range) && !this.#parts.refresh.isFormer(entry.key),
      );
      // One by one: a call takes no more arguments than the stack has room for.
      for (const suspect of diffEntries(mine, theirs)) suspects.push(suspect);
      if (last !== undefined) left.unshift({ ...range, after: last });
    }
    return suspects;
  }

  async #repairAll(suspects: readonly Suspect[]): Promise<'done' | 'busy'> {
    if (suspects.length === 0) return 'done';
    const { clock, throttle, repair, diverged, step } = this.#parts;
    step('repair');
    await sleep(clock, secondLookUs);
    for (let from = 0; from < suspects.length; from += repairWindow) {
      const obstacle = this.#parts.obstacle();
      if (obstacle !== undefined) throw obstacle;
      const window = suspects.slice(from, from + repairWindow);
      await throttle.spend(window.length);
      const repairs = await Promise.all(
        window.map(async (suspect) => {
          const done = await repair(this.#peer, suspect);
          // Reported one by one: another repair of the window may fail, but these keys were found.
          if (done.divergent) diverged(1);
          return done;
        }),
      );
      if (repairs.some(({ outcome }) => outcome === 'PeerUnavailable')) {
        throw new LockstepError('PeerGone', `${this.#peer.identity.node} went away during a repair`);
      }
      if ((await this.#noteRefusals(repairs)) === 'busy') return 'busy';
    }
    return 'done';
  }

  async #noteRefusals(repairs: readonly Repair[]): Promise<'done' | 'busy'> {
    const refusals = repairs.flatMap(({ refusal }) => refusal ?? []);
    const [first] = refusals;
    if (first === undefined) return 'done';
    this.#refusal ??= { step: 'repair', error: first };
    if (!refusals.some(({ code }) => code === 'Timeout')) return 'done';
    // The peer may be silent, or its lease on the exchange may end because keys wait for a transaction.
    const answer = await this.#ask({ kind: 'hashes', segmentBits: this.#segmentBits, ranges: [] });
    this.#parts.step('repair');
    return answer === 'busy' ? 'busy' : 'done';
  }

  async #ask(question: Question): Promise<Exclude<Answer, { kind: 'busy' }> | 'busy'> {
    const obstacle = this.#parts.obstacle();
    if (obstacle !== undefined) throw obstacle;
    const answer = await this.#peer.ask(question);
    return answer.kind === 'busy' ? 'busy' : answer;
  }

  #hashOf(range: TokenRange): RangeHash {
    return this.#parts.refresh.hashOf(range);
  }
}

function isWithin({ token }: Entry, { first, last }: TokenRange): boolean {
  return token >= first && token <= last;
}

function nonsense(peer: ExchangePeer): LockstepError {
  return new LockstepError('FrameInvalid', `${peer.identity.node} answered another question`);
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { DiskOperation } from '../../../engine/io/disk.ts';
import type { StoreOptions } from '../../../engine/storage/options.ts';
import type { Store } from '../../../engine/storage/store.ts';
import { crashImages } from '../../explore/crash-images.ts';
import { JournalDisk } from '../../explore/journal-disk.ts';
import type { Batch, StoreHarness, Twin } from '../../explore/store-harness.ts';
import {
  applyBatch,
  contentsOf,
  describeTwin,
  makeStoreHarness,
  openStore,
  sameContents,
  smallOptions,
  writeBatch,
} from '../../explore/store-harness.ts';
import { WorldRandom } from '../../world/core/random.ts';

const keyCount = 8;

const batch: fc.Arbitrary<Batch> = fc.uniqueArray(
  fc.record({
    key: fc.nat(keyCount - 1),
    value: fc.option(
      fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
      { nil: undefined, freq: 4 },
    ),
  }),
  { minLength: 1, maxLength: 4, selector: ({ key }) => key },
);

type Step =
  | { readonly kind: 'burst'; readonly batches: readonly Batch[] }
  | { readonly kind: 'compact' }
  | { readonly kind: 'reopen' }
  /** The host dies with batches under way, after so many more disk operations. */
  | {
      readonly kind: 'crash';
      readonly batches: readonly Batch[];
      readonly after: number;
      readonly seed: number;
    }
  /** The write or sync with this number from now fails, and the process is started again. */
  | {
      readonly kind: 'fault';
      readonly batches: readonly Batch[];
      readonly after: number;
      readonly seed: number;
    };

const burst = fc.array(batch, { minLength: 1, maxLength: 5 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('burst' as const), batches: burst }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('compact' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const) }) },
  { weight: 3, arbitrary: dying('crash') },
  { weight: 2, arbitrary: dying('fault') },
);

function dying<K extends 'crash' | 'fault'>(
  kind: K,
): fc.Arbitrary<{
  readonly kind: K;
  readonly batches: readonly Batch[];
  readonly after: number;
  readonly seed: number;
}> {
  return fc.record({ kind: fc.constant(kind), batches: burst, after: fc.nat(12), seed: fc.nat(1 << 30) });
}

/** A store and its expected contents, through every kind of event. */
class Pair {
  readonly #random = WorldRandom.root('model');
  readonly #chunkBytesMax: number;
  readonly #options: StoreOptions;
  /** The store's contents at each moment since it was opened. */
  #life: Twin[] = [];
  #disk: JournalDisk;
  #room: StoreHarness;
  #store: Store | undefined;
  #twin: Twin = new Map();

  constructor(chunkBytesMax: number, options: StoreOptions) {
    this.#chunkBytesMax = chunkBytesMax;
    this.#options = options;
    this.#disk = this.#diskOf(new JournalDisk());
    this.#room = makeStoreHarness(this.#disk, this.#random);
  }

  async run(steps: readonly Step[]): Promise<void> {
    await this.#start([]);
    for (const next of steps) await this.#take(next);
    await this.#mustGetStore().settle();
    await this.#mustGetStore().close();
    await this.#start([]);
  }

  async #take(next: Step): Promise<void> {
    const store = this.#mustGetStore();
    if (next.kind === 'burst') await this.#burst(store, next.batches);
    else if (next.kind === 'compact') await store.compact();
    else if (next.kind === 'reopen') await store.close();
    else if (next.kind === 'crash') return this.#crash(store, next.batches, next.after, next.seed);
    else return this.#fault(store, next.batches, next.after, next.seed);
    if (next.kind === 'reopen') await this.#start([]);
    else await this.#expectTwin(this.#mustGetStore());
  }

  async #burst(store: Store, batches: readonly Batch[]): Promise<void> {
    const answers = await Promise.all(batches.map((one) => writeBatch(store, one)));
    expect(answers.filter((answer) => answer !== undefined)).toEqual([]);
    for (const one of batches) this.#note(applyBatch(this.#twin, one));
  }

  #note(twin: Twin): void {
    this.#twin = twin;
    this.#life.push(twin);
  }

  /** The host dies with batches in progress: answered ones remain, the others may remain, in order. */
  async #crash(store: Store, batches: readonly Batch[], after: number, seed: number): Promise<void> {
    const disk = this.#disk;
    let left = after;
    let moment = disk.moment();
    let answeredThen = 0;
    let answered = 0;
    disk.watch(() => {
      if (left-- === 0) {
        moment = disk.moment();
        answeredThen = answered;
        disk.halt();
      }
      return undefined;
    });
    const writing = Promise.all(batches.map((one) => writeBatch(store, one).then(() => (answered += 1))));
    await Promise.race([writing, quiet(() => left < 0)]);
    if (left >= 0) {
      // The planned crash never came: the host dies now, with everything that was answered.
      moment = disk.moment();
      answeredThen = answered;
      disk.halt();
    }
    const random = WorldRandom.root(seed);
    const { images } = crashImages(moment, 12, random);
    const image = images[random.below(images.length)];
    const later = this.#twinsAfter(batches, answeredThen);
    // In interval mode an answered write is not durable, but the contents found must be a state of some earlier moment.
    const earlier =
      this.#options.sync.kind === 'interval' ? [...this.#life, ...this.#twinsAfter(batches, 0)] : [];
    await this.#restart(new JournalDisk(image), [...earlier, ...later]);
  }

  /** A write or sync fails: answered writes remain, the others are refused or in doubt; reads continue. */
  async #fault(store: Store, batches: readonly Batch[], after: number, seed: number): Promise<void> {
    const disk = this.#disk;
    let left = after;
    disk.watch((operation) => (isWriting(operation) && left-- === 0 ? 'fail' : undefined));
    const answers = await Promise.all(batches.map((one) => writeBatch(store, one)));
    const firstRefused = answers.findIndex((answer) => answer !== undefined);
    const answered = firstRefused < 0 ? batches.length : firstRefused;
    expect(answers.slice(answered).every((answer) => answer?.code === 'StorageFailed')).toBe(true);
    if (answered < batches.length) expect(store.state).toBe('failed');
    const kept = batches.slice(0, answered).reduce(applyBatch, this.#twin);
    expectSame(await contentsOf(store, keyCount), kept);
    await store.settle();
    // The operating system still holds what the disk refused; a crash of the host after the restart must not undo what
    // the restart showed.
    const moment = disk.moment();
    disk.halt();
    const possible = this.#twinsAfter(batches, answered);
    await this.#restart(JournalDisk.after(moment), possible);
    const random = WorldRandom.root(seed);
    const { images } = crashImages(this.#disk.moment(), 8, random);
    this.#disk.halt();
    await this.#restart(new JournalDisk(images[random.below(images.length)]), [this.#twin]);
  }

  #twinsAfter(batches: readonly Batch[], answered: number): readonly Twin[] {
    const twins: Twin[] = [batches.slice(0, answered).reduce(applyBatch, this.#twin)];
    for (const one of batches.slice(answered)) twins.push(applyBatch(twins.at(-1) ?? new Map(), one));
    return twins;
  }

  async #restart(disk: JournalDisk, possible: readonly Twin[]): Promise<void> {
    this.#disk = this.#diskOf(disk);
    await this.#start(possible);
  }

  /** Opens the store, which must hold one of the possible contents (by default: its previous ones). */
  async #start(possible: readonly Twin[]): Promise<void> {
    expect(this.#room.failures).toEqual([]);
    this.#room = makeStoreHarness(this.#disk, this.#random.fork('life'));
    this.#store = await openStore(this.#room, this.#options);
    expect(this.#store.damages).toEqual([]);
    const found = await contentsOf(this.#store, keyCount);
    this.#twin = possible.find((twin) => sameContents(twin, found)) ?? possible[0] ?? this.#twin;
    expectSame(found, this.#twin);
    this.#life = [this.#twin];
  }

  async #expectTwin(store: Store): Promise<void> {
    expectSame(await contentsOf(store, keyCount), this.#twin);
    expect(store.keyCount).toBe(this.#twin.size);
  }

  #diskOf(disk: JournalDisk): JournalDisk {
    disk.chunkBytesMax = this.#chunkBytesMax;
    return disk;
  }

  #mustGetStore(): Store {
    if (this.#store === undefined) throw new Error('the store is not open');
    return this.#store;
  }
}

function expectSame(found: Twin, expected: Twin): void {
  if (!sameContents(found, expected)) expect(describeTwin(found)).toBe(describeTwin(expected));
}

function isWriting(operation: DiskOperation): boolean {
  return operation === 'write' || operation === 'sync';
}

/** Resolves once `over` holds, or when nothing can happen any more, because everything here runs in microtasks. */
async function quiet(over: () => boolean): Promise<void> {
  for (let turn = 0; turn < 2000 && !over(); turn++) await Promise.resolve();
}

/** Bytes that one read or write moves: all, or so few that it takes many calls. */
const chunkBytesMax = fc.constantFrom(1e9, 700, 97);

describe('a store', () => {
  it('equals its model, through bursts, merges, stops, crashes and faults, with short reads and writes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), chunkBytesMax, async (steps, chunk) => {
        await new Pair(chunk, smallOptions).run(steps);
      }),
      { numRuns: 150, seed: 20240501 },
    );
  });

  it('that syncs at intervals has, after a crash, its contents of some moment of its last incarnation', async () => {
    const options: StoreOptions = { ...smallOptions, sync: { kind: 'interval', intervalUs: 1_000_000 } };
    const faultless = fc.array(
      step.filter(({ kind }) => kind !== 'fault'),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(faultless, chunkBytesMax, async (steps, chunk) => {
        await new Pair(chunk, options).run(steps);
      }),
      { numRuns: 150, seed: 20240502 },
    );
  });

  it('that syncs at intervals loses no durable value to a merge, though a newer one was not durable yet', async () => {
    const options: StoreOptions = { ...smallOptions, sync: { kind: 'interval', intervalUs: 1_000_000 } };
    const disk = new JournalDisk();
    const store = await openStore(makeStoreHarness(disk, WorldRandom.root('barrier')), options);
    const old = { key: 0, value: Buffer.from('old') };
    const filler = { key: 1, value: Buffer.alloc(options.segmentBytes) };
    for (const batch of [[old], [filler], [{ key: 0, value: Buffer.from('new') }]])
      await writeBatch(store, batch);
    await store.compact();
    // Nothing unsynced survives.
    const image = crashImages(disk.moment(), 2, WorldRandom.root('none')).images[0];
    const again = await openStore(
      makeStoreHarness(new JournalDisk(image), WorldRandom.root('again')),
      options,
    );
    expect(['old', 'new']).toContain((await contentsOf(again, keyCount)).get(0)?.toString());
  });
});

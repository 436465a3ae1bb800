import fc from 'fast-check';
import { expect, it } from 'vitest';

import type { Covered } from './file-image.ts';
import { FileImage } from './file-image.ts';
import { WorldRandom } from '../core/random.ts';

/** The model: two plain lists, every range copied, nothing shared. */
class TwinImage {
  content: number[] = [];
  durable: number[] = [];
  #dirty: (readonly [number, number])[] = [];
  readonly #syncs: { ranges: readonly (readonly [number, number])[]; length: number }[] = [];

  write(bytes: readonly number[], offset: number): void {
    while (this.content.length < offset) this.content.push(0);
    this.content.splice(offset, bytes.length, ...bytes);
    this.#dirty.push([offset, offset + bytes.length]);
  }

  truncate(length: number): void {
    if (length < this.content.length) this.#dirty.push([length, this.content.length]);
    this.content = resized(this.content, length);
  }

  beginSync(): void {
    this.#syncs.push({ ranges: this.#dirty, length: this.content.length });
    this.#dirty = [];
  }

  endSync(succeeds: boolean): void {
    const sync = this.#syncs.shift();
    if (sync === undefined || !succeeds) return;
    const length = Math.min(sync.length, this.content.length);
    for (const [from, to] of sync.ranges) this.#keep(from, Math.min(to, length));
    this.durable = resized(this.durable, length);
  }

  syncRange(from: number, until: number): void {
    const to = Math.min(until, this.content.length);
    this.dropRange(from, until);
    this.#keep(from, to);
    for (const sync of this.#syncs) sync.length = Math.max(sync.length, to);
  }

  dropRange(from: number, to: number): void {
    const places = this.#dirty.flatMap(([start, end]) =>
      Array.from({ length: end - start }, (_, at) => start + at),
    );
    this.#dirty = places.filter((at) => at < from || at >= to).map((at) => [at, at + 1] as const);
  }

  #keep(from: number, to: number): void {
    if (from < to) this.durable = resized(this.durable, Math.max(this.durable.length, to));
    for (let at = from; at < to; at++) this.durable[at] = this.content[at] ?? 0;
  }
}

function resized(bytes: readonly number[], length: number): number[] {
  return Array.from({ length }, (_, at) => bytes[at] ?? 0);
}

interface Room {
  readonly image: FileImage;
  readonly twin: TwinImage;
  readonly syncs: Covered[];
}

type Act = (room: Room) => void;

const place = fc.nat(40);
const content = fc.array(fc.integer({ min: 1, max: 255 }), { minLength: 1, maxLength: 12 });

function write({ image, twin }: Room, offset: number, bytes: readonly number[]): void {
  image.write([Uint8Array.from(bytes)], offset, bytes.length);
  twin.write(bytes, offset);
}

function endSync({ image, twin, syncs }: Room, succeeds: boolean): void {
  const covered = syncs.shift();
  if (covered === undefined) return;
  if (succeeds) image.finishSync(covered);
  else image.dropSync(covered);
  twin.endSync(succeeds);
}

const acts: fc.Arbitrary<Act> = fc.oneof(
  fc.tuple(place, content).map(
    ([offset, bytes]): Act =>
      (room) =>
        write(room, offset, bytes),
  ),
  fc.tuple(place, content, fc.boolean()).map(([offset, bytes, succeeds]): Act => (room) => {
    write(room, offset, bytes);
    for (const side of [room.image, room.twin]) {
      if (succeeds) side.syncRange(offset, offset + bytes.length);
      else side.dropRange(offset, offset + bytes.length);
    }
  }),
  fc.tuple(place, place).map(([from, bytes]): Act => ({ image, twin }) => {
    for (const side of [image, twin]) side.syncRange(from, from + bytes);
  }),
  place.map((length): Act => ({ image, twin }) => {
    for (const side of [image, twin]) side.truncate(length);
  }),
  fc.constant<Act>(({ image, twin, syncs }) => {
    syncs.push(image.beginSync());
    twin.beginSync();
  }),
  fc.boolean().map(
    (succeeds): Act =>
      (room) =>
        endSync(room, succeeds),
  ),
);

it('both images hold what two lists of bytes hold', () => {
  fc.assert(
    fc.property(fc.array(acts, { maxLength: 30 }), fc.infiniteStream(fc.boolean()), (list, looks) => {
      const room: Room = { image: new FileImage(1), twin: new TwinImage(), syncs: [] };
      for (const act of list) {
        act(room);
        expect([...room.image.view(0, room.image.length)]).toEqual(room.twin.content);
        // Reading the durable image must not change it.
        if (looks.next().value === true) expect([...room.image.durable]).toEqual(room.twin.durable);
      }
      expect([...room.image.durable]).toEqual(room.twin.durable);
    }),
    { numRuns: 2000 },
  );
});

it('after a power loss that keeps nothing both images are the durable one', () => {
  fc.assert(
    fc.property(fc.array(acts, { maxLength: 20 }), place, content, (list, offset, bytes) => {
      const room: Room = { image: new FileImage(1), twin: new TwinImage(), syncs: [] };
      for (const act of list) act(room);
      room.image.losePower('dropAll', WorldRandom.root(1));
      expect([...room.image.view(0, room.image.length)]).toEqual(room.twin.durable);
      expect([...room.image.durable]).toEqual(room.twin.durable);
      room.image.write([Uint8Array.from(bytes)], offset, bytes.length);
      expect([...room.image.durable]).toEqual(room.twin.durable);
    }),
    { numRuns: 500 },
  );
});

it('a sync makes durable what an earlier one covers that ends after it, and that one takes nothing back', () => {
  const file = new FileImage(1);
  file.write([Buffer.from('one')], 0, 3);
  const first = file.beginSync();
  file.write([Buffer.from('two')], 3, 3);
  const second = file.beginSync();
  file.finishSync(second);
  expect(file.durable.toString()).toBe('onetwo');
  file.finishSync(first);
  expect(file.durable.toString()).toBe('onetwo');
});

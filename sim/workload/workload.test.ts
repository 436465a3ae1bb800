import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { DurableTags } from './durable-tags.ts';
import { makeValue, readTag, tagOf } from './traced-value.ts';

describe('traced values', () => {
  it('name their write at every length', () => {
    for (const bytes of [0, 5, 12, 13, 500]) {
      const value = makeValue(tagOf('c1', 7), bytes);
      expect(readTag(value)).toBe('«w:c1:7»');
      expect(value.length).toBeGreaterThanOrEqual(bytes);
    }
  });

  it('show any changed byte', () => {
    const property = fc.property(
      fc.integer({ min: 0, max: 199 }),
      fc.integer({ min: 1, max: 255 }),
      (at, flip) => {
        const value = makeValue(tagOf('c1', 7), 200);
        value[at] = (value[at] ?? 0) ^ flip;
        return readTag(value) !== '«w:c1:7»';
      },
    );
    fc.assert(property, { numRuns: 300, seed: 1 });
  });
});

describe('durable tags', () => {
  const tag = tagOf('c0', 12);

  it('count the replicas that hold a tag, each once', () => {
    const tags = new DurableTags();
    const image = Buffer.concat([Buffer.alloc(20, 0xc2), makeValue(tag, 100)]);
    tags.becameDurable('n1', image, 0, image.length);
    tags.becameDurable('n1', image, 0, image.length);
    tags.becameDurable('n2', image, 0, image.length);
    expect(tags.copies(tag, ['n1', 'n3'])).toBe(1);
    expect(tags.copies(tag, ['n1', 'n2', 'n3'])).toBe(2);
    expect(tags.copies(tagOf('c0', 13), ['n1'])).toBe(0);
    const without = new DurableTags((node) => node === 'n1');
    for (const node of ['n1', 'n2']) without.becameDurable(node, image, 0, image.length);
    expect(without.copies(tag, ['n1', 'n2'])).toBe(1);
  });

  it('find a tag that became durable in two runs, and not before the second', () => {
    const image = makeValue(tag, 40);
    for (let cut = 1; cut < 10; cut++) {
      const tags = new DurableTags();
      tags.becameDurable('n1', image.subarray(0, cut), 0, cut);
      expect(tags.copies(tag, ['n1'])).toBe(0);
      tags.becameDurable('n1', image, cut, image.length);
      expect(tags.copies(tag, ['n1'])).toBe(1);
    }
  });
});

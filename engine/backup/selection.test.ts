/** Laws of what a restore selects. */
import { expect, test } from 'vitest';

import { byteStringOf } from '../base/ids.ts';
import { objectKey } from '../base/object-key.ts';
import { selectionOf } from './selection.ts';

const known = [
  { type: 'default', bucket: 'a' },
  { type: 'default', bucket: 'ab' },
  { type: 'maps', bucket: 'a' },
];
const keyOf = (type: string, bucket: string) =>
  objectKey(byteStringOf(type), byteStringOf(bucket), byteStringOf('k')).packed;

/** The buckets whose keys are selected. */
function selected(only: readonly string[], type?: string): readonly string[] {
  const selection = selectionOf(only, type, known);
  const found = known.filter((place) => selection.isWanted(keyOf(place.type, place.bucket)));
  expect(known.filter((place) => selection.isWantedBucket(place))).toEqual(found);
  expect(known.filter((place) => selection.isWantedType(place.type))).toEqual(expect.arrayContaining(found));
  return found.map((place) => `${place.type}/${place.bucket}`);
}

test('a selection holds the named buckets of one type, whole', () => {
  expect(selected([])).toEqual(['default/a', 'default/ab', 'maps/a']);
  expect(selected(['a'])).toEqual(['default/a']);
  expect(selected(['a', 'ab', 'a'])).toEqual(['default/a', 'default/ab']);
  expect(selected(['a'], 'maps')).toEqual(['maps/a']);
  expect(selected([], 'default')).toEqual(['default/a', 'default/ab']);
  expect(selectionOf(['a'], undefined, known).isWantedType('maps')).toBe(false);
});

test('an unknown bucket or type is an error that names the buckets there are', () => {
  const there = 'it has a, ab, a (--type maps)';
  expect(() => selected(['a', 'b'])).toThrow(`the backup has no bucket b of the type default; ${there}`);
  expect(() => selected(['ab'], 'maps')).toThrow(`no bucket ab of the type maps; ${there}`);
  expect(() => selected([], 'sets')).toThrow(`no bucket of the type sets; ${there}`);
  const many = Array.from({ length: 30 }, (_, index) => ({ type: 'default', bucket: `b${index}` }));
  expect(() => selectionOf(['x'], undefined, many)).toThrow('b19, and 10 more');
});

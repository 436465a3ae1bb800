import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LockstepError } from '../../base/errors.ts';
import type { ByteString } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import type { Link } from '../../replica/object/content.ts';
import { formatLinks, parseLinks } from './link-header.ts';
import type { PathForm, Place } from './place.ts';

const name = fc
  .uint8Array({ minLength: 1, maxLength: 12 })
  .map((bytes) => Buffer.from(bytes).toString('latin1') as ByteString);
const links = fc.array(fc.record({ bucket: name, key: name, tag: name }), { maxLength: 4 });

function place(form: PathForm): Place {
  return { form, type: byteStringOf('maps'), bucket: byteStringOf('b') };
}

function link(bucket: string, key: string, tag: string): Link {
  return { bucket: byteStringOf(bucket), key: byteStringOf(key), tag: byteStringOf(tag) };
}

test('links of any bytes survive the header, in every form of path', () => {
  fc.assert(
    fc.property(links, fc.constantFrom<PathForm>('buckets', 'types', 'riak'), (given, form) => {
      expect(parseLinks(formatLinks(given, place(form)))).toEqual(given);
    }),
  );
});

test('both path forms, both parameter names, and any case or quoting give the same link', () => {
  const same = [
    '</buckets/b/keys/k>; riaktag="t"',
    '</riak/b/k>; riaktag="t"',
    '</buckets/b/keys/k>;RiakTag=t',
    '</buckets/b/keys/k> ; title="a, \\"b\\"; c" ; tag = "t"',
    ' , </buckets/b/keys/k>; tag="\\t" , ',
  ];
  for (const header of same) expect([header, parseLinks(header)]).toEqual([header, [link('b', 'k', 't')]]);
});

test('a tag with invalid percent-encoding is taken literally', () => {
  for (const tag of ['tag2!@#%^&*)', '100%', '%', '%4', '%zz%41']) {
    const expected = link('b', 'k', tag.replace('%41', 'A'));
    expect(parseLinks(`</buckets/b/keys/k>; riaktag="${tag}"`)).toEqual([expected]);
    expect(parseLinks(formatLinks([expected], place('buckets')))).toEqual([expected]);
  }
});

test('a value without a tag or an object path is skipped', () => {
  const foreign = [
    '',
    '</buckets/b>; rel="up"',
    '</buckets/b/keys/k>',
    '</buckets/b/keys/k>; rel="next"',
    '</buckets/b/keys/>; tag="t"',
    '</buckets//keys/k>; tag="t"',
    '<http://other/buckets/b/keys/k>; tag="t"',
    '<>; tag="t"',
  ];
  for (const header of foreign) expect([header, parseLinks(header)]).toEqual([header, []]);
});

test('an arbitrary header yields links or BadRequest', () => {
  const pieces = fc.constantFrom(
    '<',
    '>',
    '/buckets/',
    '/keys/',
    'b',
    ';',
    'tag',
    '=',
    '"',
    ',',
    ' ',
    '\\',
    '%4',
    '\u00e9',
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 30 }), (parts) => {
      try {
        for (const one of parseLinks(parts.join('')))
          expect(one.bucket.length * one.key.length).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(LockstepError);
        expect(error).toMatchObject({ code: 'BadRequest' });
      }
    }),
    { numRuns: 3000 },
  );
});

// A parser that is quadratic would exceed the time limit of a test.
test('a long header is parsed in linear time', () => {
  for (const piece of [',', ' ', '<a>;', '<', ';a=', '"\\', '</buckets/b/keys/k>; tag="t",']) {
    try {
      parseLinks(piece.repeat(100_000));
    } catch (error) {
      expect(error).toBeInstanceOf(LockstepError);
    }
  }
});

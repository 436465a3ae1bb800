import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LockstepError } from '../base/errors.ts';
import type { ByteString } from '../base/ids.ts';
import type { Content } from '../replica/object/content.ts';
import { encodeContent } from '../replica/object/content.ts';
import type { ContentLimits } from './content-limits.ts';
import { checkContent, contentBytesMax } from './content-limits.ts';

const limits: ContentLimits = {
  valueBytesMax: 20,
  metaBytesMax: 15,
  metaCountMax: 3,
  linkCountMax: 2,
  linkBytesMax: 15,
  descriptionBytesMax: 8,
};

const text = fc.string({ maxLength: 9 }).map((given) => given as ByteString);
const content: fc.Arbitrary<Content> = fc.record({
  value: fc.uint8Array({ maxLength: 22 }),
  contentType: text,
  charset: text,
  contentEncoding: text,
  meta: fc.array(fc.tuple(text, text), { maxLength: 4 }),
  links: fc.array(fc.record({ bucket: text, key: text, tag: text }), { maxLength: 3 }),
  tombstone: fc.constant(false),
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

test('a content passes if and only if every part is within its limit, and then encodes within contentBytesMax', () => {
  fc.assert(
    fc.property(content, (given) => {
      const { contentType, charset, contentEncoding, meta, links } = given;
      const fits =
        given.value.length <= 20 &&
        [contentType, charset, contentEncoding].every((one) => one.length <= 8) &&
        meta.length <= 3 &&
        links.length <= 2 &&
        sum(meta.flat().map((one) => one.length)) <= 15 &&
        sum(links.map((link) => link.bucket.length + link.key.length + link.tag.length)) <= 15;
      if (fits) {
        checkContent(given, limits);
        expect(encodeContent(given).length).toBeLessThanOrEqual(contentBytesMax(limits));
      } else {
        expect(() => checkContent(given, limits)).toThrow(LockstepError);
        expect(() => checkContent(given, limits)).toThrow(
          /^the .* (has|have) \d+ (bytes|entries); at most \d+ are allowed$/,
        );
      }
    }),
    { numRuns: 1000 },
  );
});

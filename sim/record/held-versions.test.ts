import { expect, it } from 'vitest';

import { byteStringOf } from '../../engine/base/ids.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { bucketPrefix } from '../../engine/base/object-key.ts';
import { plainContent } from '../../engine/replica/object/content.ts';
import type { Actor } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { applyWrite, encodeObject } from '../../engine/replica/object/object.ts';
import { heldWords, WrittenEpochs } from './held-versions.ts';

const actorOf = (name: string): Actor => byteStringOf(name) as Actor;

function written(
  current: StoredObject | undefined,
  text: string,
  actor: string,
  counter: number,
): StoredObject {
  const dot = { actor: actorOf(actor), counter };
  return applyWrite(current, [], plainContent(Buffer.from(text), 'text/plain'), dot, 1);
}

it('names the values of a copy, and for each the actor that wrote it', () => {
  const one = written(undefined, '«w:c0:1» and padding', 'n1.aa', 5);
  const both = written(one, '«w:c1:2»', 'n2.bb', 9);
  const { text, actors = [] } = heldWords(encodeObject(both));
  const byValue = new Map((text.match(/«[^»]+»/g) ?? []).map((value, at) => [value, actors[at]]));
  expect(byValue).toEqual(
    new Map([
      ['«w:c0:1»', 'n1.aa'],
      ['«w:c1:2»', 'n2.bb'],
    ]),
  );
});

it('shows a short plain value, and says where there is none', () => {
  expect(heldWords(undefined).text).toBe('nothing');
  expect(heldWords(encodeObject(written(undefined, 'q36', 'n1.aa', 1))).text).toMatch(/^=q36 \(\d+ bytes\)$/);
  expect(heldWords(Buffer.from('no object')).text).toBe('no traced value (9 bytes)');
});

it('a key of an epoch that the node has left behind is of a former one', () => {
  const keyIn = (bucket: string, epoch: number): PackedKey =>
    `${bucketPrefix(byteStringOf('default'), byteStringOf(bucket), epoch)}k` as PackedKey;
  const epochs = new WrittenEpochs();
  expect(epochs.isFormer(keyIn('b0', 0))).toBe(false);
  expect(epochs.isFormer(keyIn('b0', 1024))).toBe(false);
  expect(epochs.isFormer(keyIn('b0', 0))).toBe(true);
  expect(epochs.isFormer(keyIn('b1', 0))).toBe(false);
});

import { expect, test } from 'vitest';

import { byteStringOf } from '../base/ids.ts';
import type { Content } from '../replica/object/content.ts';
import { tombstone } from '../replica/object/content.ts';
import type { Actor } from '../replica/object/dots.ts';
import { emptyVector } from '../replica/object/dots.ts';
import { applyWrite, decodeObject, encodeObject, mergeObjects } from '../replica/object/object.ts';
import { overwriting } from './overwriting.ts';

const actorOf = (name: string): Actor => byteStringOf(name) as Actor;

function content(value: string): Content {
  return { ...tombstone, value: Buffer.from(value), tombstone: false };
}

test('the siblings of the backup replace what was written since, on every replica', () => {
  const first = applyWrite(undefined, emptyVector, content('a'), { actor: actorOf('n1.a'), counter: 5 }, 1);
  const backup = applyWrite(first, emptyVector, content('b'), { actor: actorOf('n2.a'), counter: 6 }, 2);
  const later = applyWrite(backup, backup.context, content('c'), { actor: actorOf('n1.a'), counter: 7 }, 3);
  const restored = overwriting(later, backup, actorOf('restore.1'), 4);
  for (const merged of [mergeObjects(later, restored), mergeObjects(restored, backup), restored]) {
    expect(merged.siblings.map(({ value }) => Buffer.from(value).toString())).toEqual(['a', 'b']);
    expect(decodeObject(encodeObject(merged))).toEqual(merged);
  }
});

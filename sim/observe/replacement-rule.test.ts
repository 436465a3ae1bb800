/** Tests which record of a key may follow another one where contexts are pruned. */
import { expect, it } from 'vitest';

import { byteStringOf } from '../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../engine/base/object-key.ts';
import { plainContent } from '../../engine/replica/object/content.ts';
import type { Actor, Dot } from '../../engine/replica/object/dots.ts';
import { countersPerMs } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { applyWrite, encodeObject, mergeObjects } from '../../engine/replica/object/object.ts';
import type { ContextLimits } from '../../engine/replica/object/prune.ts';
import { ReplacementRule } from './replacement-rule.ts';

const limits = { smallVclock: 1, bigVclock: 1, youngVclock: 1, oldVclock: 5 };
const { packed: key } = objectKey(defaultType, byteStringOf('b'), byteStringOf('k'));

const dotOf = (name: string, atMs: number): Dot => ({
  actor: byteStringOf(name) as Actor,
  counter: atMs * countersPerMs,
});

/** A write over all that `object` holds. */
function over(object: StoredObject | undefined, name: string, atMs: number): StoredObject {
  const content = plainContent(Buffer.from(name), 'text/plain');
  return applyWrite(object, object?.context ?? [], content, dotOf(name, atMs), atMs);
}

function without(object: StoredObject, name: string): StoredObject {
  return { ...object, context: object.context.filter(({ actor }) => actor !== byteStringOf(name)) };
}

function faultOf(old: StoredObject, young: StoredObject, given?: ContextLimits): string {
  const [before, after] = [old, young].map((object, index) => ({
    ...{ seq: index + 1, token: 7 },
    value: encodeObject(object),
  }));
  return after === undefined ? '' : new ReplacementRule().faultOf({ key, atUs: 1, before, after }, given);
}

const first = over(undefined, 'a', 1_000);
const second = over(first, 'b', 2_000);
const third = over(second, 'c', 4_000);

it('a write may lack the entries that it may prune, and after it the value may be back', () => {
  const pruned = without(third, 'a');
  expect(faultOf(second, pruned, limits)).toBe('');
  expect(faultOf(pruned, mergeObjects(pruned, first), limits)).toBe('');
});

it('a context loses no young entry, nothing without limits, and nothing that is not written (negative control)', () => {
  const lacks = 'does not know all of';
  expect(faultOf(second, without(third, 'a'), { ...limits, youngVclock: 4 })).toContain(lacks);
  expect(faultOf(second, without(third, 'a'))).toContain(lacks);
  expect(faultOf(third, without(third, 'a'), limits)).toContain(lacks);
});

it('a value is not back in the record that follows the one which had seen it replaced (negative control)', () => {
  const back: StoredObject = { context: third.context, siblings: [...first.siblings, ...third.siblings] };
  expect(faultOf(second, back, limits)).toContain('was replaced and is back');
});

/**
 * Reads the keys of one step, a bounded number at a time, and stops as soon as their values exceed what one step may
 * hold. Values that no command of the step needs are dropped at once, so EXISTS and DEL accept keys of any size.
 */
import { present } from '../../base/assert.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import type { OpenSpan } from '../../base/request-trace.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { AnswerSize, valueBytesOf, withoutValues } from './answer-size.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import { editNeed } from './listener-dependencies.ts';

/** A key that a step reads. */
export interface WantedKey {
  readonly key: ObjectKey;
  /** Whether a command needs its value. */
  readonly value: boolean;
}

/** Concurrent reads of one step. The size of their values is known only when they have arrived. */
const readsMax = 64;

/**
 * The objects in the order of `wanted`. Rejects with the error of a read, or `TooLarge`. `partOf`: the request's span, if
 * it is traced.
 */
export async function loadKeys(
  parts: Pick<RedisDependencies, 'io' | 'dispatcher' | 'terms' | 'answerBytesMax'>,
  wanted: readonly WantedKey[],
  timeoutMs: number,
  partOf?: OpenSpan,
): Promise<readonly (StoredObject | undefined)[]> {
  const need = editNeed(parts);
  const { clock } = parts.io;
  const endUs = clock.nowUs() + timeoutMs * 1000;
  const size = new AnswerSize(parts.answerBytesMax);
  const objects: (StoredObject | undefined)[] = wanted.map(() => undefined);
  let next = 0;
  const readOn = async (): Promise<void> => {
    while (next < wanted.length) {
      const at = next++;
      const { key, value } = present(wanted[at], 'a key that is wanted');
      const leftMs = Math.max(1, Math.floor((endUs - clock.nowUs()) / 1000));
      try {
        const { object } = await parts.dispatcher.get({ key, need, timeoutMs: leftMs, partOf });
        if (value) size.add(valueBytesOf(object));
        objects[at] = object === undefined || value ? object : withoutValues(object);
      } catch (caught) {
        next = wanted.length;
        throw caught;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(readsMax, wanted.length) }, readOn));
  return objects;
}

/**
 * Reads the keys of one step, a bounded number at a time, and stops as soon as their values exceed what one step may
 * hold. Values that no command of the step needs are dropped at once, so EXISTS and DEL accept keys of any size.
 */
import { Deferred } from '../../base/deferred.ts';
import type { ObjectKey } from '../../base/object-key.ts';
import type { OpenSpan } from '../../base/request-trace.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import type { JoinedRead } from '../../replication/requests.ts';
import { AnswerSize, valueBytesOf, withoutValues } from './answer-size.ts';
import type { RedisDependencies } from './listener-dependencies.ts';
import { editNeed } from './listener-dependencies.ts';

/** A key that a step reads. */
export interface WantedKey {
  readonly key: ObjectKey;
  /** Whether a command needs its value. */
  readonly value: boolean;
}

/** Reads of one step that are made together. The size of their values is known only when they have arrived. */
const readsMax = 64;

/**
 * The objects in the order of `wanted`. Rejects with the error of a read, or `TooLarge`. `partOf`: the request's span, if
 * it is traced.
 */
export async function loadKeys(
  parts: Pick<RedisDependencies, 'io' | 'dispatcher' | 'terms' | 'answerBytesMax'>,
  wanted: readonly WantedKey[],
  timeLimitMs: number,
  partOf?: OpenSpan,
): Promise<readonly (StoredObject | undefined)[]> {
  const need = editNeed(parts);
  const { clock } = parts.io;
  const endUs = clock.nowUs() + timeLimitMs * 1000;
  const size = new AnswerSize(parts.answerBytesMax);
  const objects: (StoredObject | undefined)[] = wanted.map(() => undefined);
  for (let from = 0; from < wanted.length; from += readsMax) {
    const some = wanted.slice(from, from + readsMax);
    const timeoutMs = Math.max(1, Math.floor((endUs - clock.nowUs()) / 1000));
    const all = new Deferred<void>();
    let left = some.length;
    const reads = some.map(({ key, value }, at): JoinedRead => ({
      key,
      need,
      timeoutMs,
      partOf,
      answered: (object) => {
        try {
          if (value) size.add(valueBytesOf(object));
        } catch (tooLarge) {
          all.reject(tooLarge);
        }
        objects[from + at] = object === undefined || value ? object : withoutValues(object);
        left -= 1;
        if (left === 0) all.resolve();
      },
      failed: (error) => all.reject(error),
    }));
    parts.dispatcher.readMany(reads);
    await all.promise;
  }
  return objects;
}

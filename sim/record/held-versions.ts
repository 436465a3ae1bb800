/** What a node's disk holds under a key, in words, and which actors wrote it. Pure. */
import { BytesError } from '../../engine/base/bytes.ts';
import type { PackedKey } from '../../engine/base/object-key.ts';
import { bucketOfPacked, epochOf, isSystemKey } from '../../engine/base/object-key.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
import { decodeObject, liveSiblings } from '../../engine/replica/object/object.ts';
import { nextTag, tagAt } from '../workload/traced-value.ts';
import type { HeldState } from './recording.ts';

/** Most bytes of a value without a tag that are shown, and most characters of an actor's name. */
const plainBytesMax = 12;
/** Most values of one copy whose actors are named. */
const actorsMax = 24;

/** The words of one copy: its values, and by which incarnations they were coordinated (in the order of the text). */
export function heldWords(value: Buffer | undefined): Pick<HeldState, 'text' | 'actors'> {
  if (value === undefined) return { text: 'nothing' };
  const tags: string[] = [];
  for (let at = nextTag(value, 0, value.length); at >= 0; at = nextTag(value, at + 1, value.length)) {
    tags.push(tagAt(value, at) ?? '(a damaged tag)');
  }
  const object = objectIn(value);
  if (tags.length === 0) return { text: `${plainWords(object)} (${value.length} bytes)` };
  const siblings = object === undefined ? [] : liveSiblings(object);
  // A value with several tags, or none, cannot be told from its neighbours.
  const actors =
    siblings.length === tags.length && tags.length <= actorsMax
      ? siblings.map(({ dot }) => String(dot.actor))
      : undefined;
  const text = `${tags.join(' ')} (${value.length} bytes)`;
  return actors === undefined ? { text } : { text, actors };
}

/** `=q36`: the only value of an object, where it is short and plain. */
function plainWords(object: StoredObject | undefined): string {
  const [only, ...others] = object === undefined ? [] : liveSiblings(object);
  if (object !== undefined && only === undefined) return 'a tombstone';
  const text = only === undefined || others.length > 0 ? '' : Buffer.from(only.value).toString('latin1');
  return text.length > plainBytesMax || !/^[\w.-]+$/.test(text) ? 'no traced value' : `=${text}`;
}

function objectIn(value: Buffer): StoredObject | undefined {
  try {
    return decodeObject(value);
  } catch (error) {
    // A fault altered it on the disk, or a later build wrote it.
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

/** The epochs in which one node has written, by bucket. */
export class WrittenEpochs {
  readonly #highest = new Map<string, number>();

  /** Takes a write, and says whether the node has written under a later epoch of that bucket before. */
  isFormer(key: PackedKey): boolean {
    if (isSystemKey(key)) return false;
    const bucket = bucketOfPacked(key);
    const [epoch, highest] = [epochOf(key), this.#highest.get(bucket) ?? 0];
    if (epoch > highest) this.#highest.set(bucket, epoch);
    return epoch < highest;
  }
}

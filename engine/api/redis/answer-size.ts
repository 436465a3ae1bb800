/**
 * Bounds what one command or transaction holds in memory: the values that it reads and computes, and its answer. A
 * short request can ask for very much, such as one large key named a million times. So bytes are counted before values
 * are copied.
 */
import { LockstepError } from '../../base/errors.ts';
import type { StoredObject } from '../../replica/object/object.ts';
import { Refusal } from './refusals.ts';

/** Counts bytes up to a bound. */
export class AnswerSize {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Adds `bytes`. Throws `TooLarge` beyond the bound. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#bytesMax) throw new LockstepError('TooLarge', tooLarge(this.#bytesMax));
  }
}

/** Throws a `Refusal` with the same text, for an answer whose size is known in advance. */
export function refuseAnswerBeyond(bytesMax: number, bytes: number): void {
  if (bytes > bytesMax) throw new Refusal(`ERR ${tooLarge(bytesMax)}`);
}

/** Bytes of the values of all siblings. */
export function valueBytesOf(object: StoredObject | undefined): number {
  let bytes = 0;
  for (const { value } of object?.siblings ?? []) bytes += value.length;
  return bytes;
}

/** The object with empty values, for commands that look at none. */
export function withoutValues(object: StoredObject): StoredObject {
  return { ...object, siblings: object.siblings.map((sibling) => ({ ...sibling, value: noBytes })) };
}

const noBytes = new Uint8Array(0);

function tooLarge(bytesMax: number): string {
  return `the values and the answer of one step hold at most ${bytesMax} bytes (redis_answer_bytes_max)`;
}

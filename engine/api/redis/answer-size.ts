/**
 * How much one command or transaction may hold in memory: what it reads, what it makes of it and what it answers. A few
 * bytes can ask for very much (one large key named a million times), so it is counted before the copies are made.
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

  /** Throws `TooLarge` beyond the bound. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#bytesMax) throw new LockstepError('TooLarge', tooLarge(this.#bytesMax));
  }
}

/** Throws the same refusal for an answer whose size is known beforehand. */
export function refuseAnswerBeyond(bytesMax: number, bytes: number): void {
  if (bytes > bytesMax) throw new Refusal(`ERR ${tooLarge(bytesMax)}`);
}

/** Of all siblings' values. */
export function valueBytesOf(object: StoredObject | undefined): number {
  let bytes = 0;
  for (const { value } of object?.siblings ?? []) bytes += value.length;
  return bytes;
}

/** The object without the bytes of its values, for commands that look at none. */
export function withoutValues(object: StoredObject): StoredObject {
  return { ...object, siblings: object.siblings.map((sibling) => ({ ...sibling, value: noBytes })) };
}

const noBytes = new Uint8Array(0);

function tooLarge(bytesMax: number): string {
  return `the values and the answer of one step hold at most ${bytesMax} bytes (redis_answer_bytes_max)`;
}

/**
 * LCS: the longest common subsequence of two values, by dynamic programming. The table of all prefixes is bounded, and
 * so is the time.
 *
 * Source: the Redis command reference; matches are found from the end, as in redis-server.
 */
import { mustReadCount } from './numbers.ts';
import { Refusal, texts } from './refusals.ts';
import type { RespVersion } from './replies.ts';
import { arrayReply, bulkReply, integerReply, mapReply, textReply } from './replies.ts';
import type { Request } from './request-reader.ts';
import type { Apply } from './value-commands.ts';
import { argument } from './value-commands.ts';

/** The most cells of the table: values of 2,000 bytes each. */
export const lcsCellsMax = 4_000_000;

interface LcsOptions {
  readonly length: boolean;
  readonly index: boolean;
  readonly matchLengthMin: number;
  readonly withMatchLength: boolean;
}

function lcsOptions(request: Request): LcsOptions {
  let [length, index, matchLengthMin, withMatchLength] = [false, false, 0, false];
  for (let at = 3; at < request.length; at++) {
    const word = argument(request, at).toString('latin1').toUpperCase();
    if (word === 'IDX') index = true;
    else if (word === 'LEN') length = true;
    else if (word === 'WITHMATCHLEN') withMatchLength = true;
    else if (word === 'MINMATCHLEN' && at + 1 < request.length) {
      matchLengthMin = Math.max(0, mustReadCount(request[(at += 1)]));
    } else throw new Refusal(texts.syntax);
  }
  if (length && index) {
    throw new Refusal('ERR If you want both the length and indexes, please just use IDX.');
  }
  return { length, index, matchLengthMin, withMatchLength };
}

/** The table of lengths: of the first `i` and the first `j` bytes at `i * (right.length + 1) + j`. */
function tableOf(left: Uint8Array, right: Uint8Array): Uint16Array {
  const width = right.length + 1;
  const table = new Uint16Array((left.length + 1) * width);
  for (let i = 1; i <= left.length; i++) {
    for (let j = 1; j <= right.length; j++) {
      const at = i * width + j;
      const above = table[at - width] ?? 0;
      const before = table[at - 1] ?? 0;
      table[at] =
        left[i - 1] === right[j - 1] ? (table[at - width - 1] ?? 0) + 1 : above > before ? above : before;
    }
  }
  return table;
}

/** A common run of bytes, as offsets of its first and last byte in both values. */
interface Match {
  readonly left: readonly [number, number];
  readonly right: readonly [number, number];
}

/** The subsequence and its runs, the last one first. */
function traced(
  left: Uint8Array,
  right: Uint8Array,
  table: Uint16Array,
): readonly [Buffer, readonly Match[]] {
  const width = right.length + 1;
  const found: number[] = [];
  const matches: Match[] = [];
  let length = 0;
  let [i, j] = [left.length, right.length];
  const end = (): void => {
    if (length > 0) matches.push({ left: [i, i + length - 1], right: [j, j + length - 1] });
    length = 0;
  };
  while (i > 0 && j > 0) {
    if (left[i - 1] === right[j - 1]) {
      found.push(left[i - 1] ?? 0);
      length += 1;
      i -= 1;
      j -= 1;
      if (i === 0 || j === 0) end();
      continue;
    }
    end();
    if ((table[(i - 1) * width + j] ?? 0) > (table[i * width + j - 1] ?? 0)) i -= 1;
    else j -= 1;
  }
  return [Buffer.from(found.reverse()), matches];
}

function matchReply({ left, right }: Match, withMatchLength: boolean): Buffer {
  const pair = ([first, last]: readonly [number, number]): Buffer =>
    arrayReply([integerReply(first), integerReply(last)]);
  const length = left[1] - left[0] + 1;
  return arrayReply([pair(left), pair(right), ...(withMatchLength ? [integerReply(length)] : [])]);
}

function indexReply(
  version: RespVersion,
  matches: readonly Match[],
  length: number,
  { matchLengthMin, withMatchLength }: LcsOptions,
): Buffer {
  const shown = matches.filter(({ left }) => left[1] - left[0] + 1 >= matchLengthMin);
  return mapReply(version, [
    ...[textReply('matches'), arrayReply(shown.map((match) => matchReply(match, withMatchLength)))],
    ...[textReply('len'), integerReply(length)],
  ]);
}

/** LCS: the longest common subsequence of two values, its length, or the places of its runs. */
export const lcs: Apply = (keys, request, { version }) => {
  const empty = new Uint8Array(0);
  const left = keys.get(argument(request, 1))?.value ?? empty;
  const right = keys.get(argument(request, 2))?.value ?? empty;
  const options = lcsOptions(request);
  if ((left.length + 1) * (right.length + 1) > lcsCellsMax || Math.min(left.length, right.length) > 0xffff) {
    throw new Refusal('ERR String too long for LCS');
  }
  const table = tableOf(left, right);
  const length = table[table.length - 1] ?? 0;
  if (options.length) return integerReply(length);
  const [subsequence, matches] = traced(left, right, table);
  return options.index ? indexReply(version, matches, length, options) : bulkReply(subsequence);
};

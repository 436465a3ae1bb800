/**
 * Enumerates every state in which a crash at one moment may leave a journal disk, by the contract of the disk port:
 *
 * - each unsynced write survives by 512-byte sectors, each independently; a sector that the write covers in part may
 *   also be torn, with half of the write there;
 * - a file that unsynced writes made longer may have that length, with zeros where they did not survive, or the length
 *   of what survived;
 * - an unsynced truncation has happened or not;
 * - each name changed since its directory was synced is the old or the new one.
 *
 * A state is a list of digits, one for each of these choices. If there are too many states, the extremes are kept
 * (nothing and everything survives; one choice alone survives, or alone is lost) and the rest is sampled.
 */
import type { Random } from '../../engine/io/random.ts';
import { present } from '../../engine/base/assert.ts';
import { applyChange } from './journal-disk.ts';
import type { DiskImage, DiskMoment, Inode, PendingChange } from './journal-disk.ts';

const sectorBytes = 512;

/** One choice that a crash makes. */
type Choice =
  | { readonly kind: 'name'; readonly path: string }
  | { readonly kind: 'truncate'; readonly inode: number; readonly change: number }
  | {
      readonly kind: 'sector';
      readonly inode: number;
      readonly change: number;
      readonly from: number;
      readonly to: number;
    }
  | { readonly kind: 'length'; readonly inode: number };

/** The states of a crash at one moment. */
export interface CrashImages {
  /** Number of states. */
  readonly count: number;
  /** Every possible state is included. */
  readonly exhaustive: boolean;
  readonly images: readonly DiskImage[];
}

/** Number of possible states of a crash at `moment`. */
export function countCrashImages(moment: DiskMoment): number {
  return choicesOf(moment).reduce((product, choice) => product * radixOf(choice), 1);
}

/** The states of a crash at `moment`: all, or a sample of about `limit`. */
export function crashImages(moment: DiskMoment, limit: number, random: Random): CrashImages {
  const choices = choicesOf(moment);
  const radices = choices.map(radixOf);
  const count = radices.reduce((product, radix) => product * radix, 1);
  const exhaustive = count <= limit;
  const picks = exhaustive ? allPicks(radices) : somePicks(radices, limit, random);
  return { count, exhaustive, images: picks.map((digits) => imageOf(moment, choices, digits)) };
}

function choicesOf(moment: DiskMoment): readonly Choice[] {
  const choices: Choice[] = [];
  const paths = new Set([...moment.durableNames.keys(), ...moment.names.keys()]);
  for (const path of paths) {
    if (moment.names.get(path) !== moment.durableNames.get(path)) choices.push({ kind: 'name', path });
  }
  const reachable = new Set([...moment.names.values(), ...moment.durableNames.values()]);
  for (const inode of moment.inodes.values()) {
    if (reachable.has(inode.number)) choices.push(...choicesOfFile(inode));
  }
  return choices;
}

function choicesOfFile(inode: Inode): readonly Choice[] {
  const choices: Choice[] = [];
  inode.pending.forEach((pending, change) => {
    if (pending.kind === 'truncate') choices.push({ kind: 'truncate', inode: inode.number, change });
    else choices.push(...sectorsOf(inode.number, change, pending.offset, pending.bytes.length));
  });
  if (inode.bytes.length > inode.durable.length) choices.push({ kind: 'length', inode: inode.number });
  return choices;
}

function sectorsOf(inode: number, change: number, offset: number, length: number): readonly Choice[] {
  const choices: Choice[] = [];
  for (let from = offset; from < offset + length;) {
    const to = Math.min(offset + length, (Math.floor(from / sectorBytes) + 1) * sectorBytes);
    choices.push({ kind: 'sector', inode, change, from, to });
    from = to;
  }
  return choices;
}

function radixOf(choice: Choice): number {
  return choice.kind === 'sector' && choice.to - choice.from < sectorBytes ? 3 : 2;
}

function allPicks(radices: readonly number[]): readonly (readonly number[])[] {
  let picks: number[][] = [[]];
  for (const radix of radices) {
    picks = picks.flatMap((digits) => Array.from({ length: radix }, (_, digit) => [...digits, digit]));
  }
  return picks;
}

function somePicks(
  radices: readonly number[],
  limit: number,
  random: Random,
): readonly (readonly number[])[] {
  const none = radices.map(() => 0);
  const all = radices.map(() => 1);
  const picks = [none, all];
  for (let place = 0; place < radices.length && picks.length + 2 <= limit; place++) {
    picks.push(none.with(place, 1), all.with(place, 0));
  }
  while (picks.length < limit) picks.push(radices.map((radix) => random.below(radix)));
  return picks;
}

/** Digit 0: old, or not there. 1: new, or there. 2: torn. */
function imageOf(moment: DiskMoment, choices: readonly Choice[], digits: readonly number[]): DiskImage {
  const names = new Map(moment.durableNames);
  const byFile = new Map<number, Map<Choice, number>>();
  choices.forEach((choice, index) => {
    const digit = digits[index] ?? 0;
    if (choice.kind === 'name') chooseName(names, moment, choice.path, digit);
    else byFile.set(choice.inode, (byFile.get(choice.inode) ?? new Map<Choice, number>()).set(choice, digit));
  });
  const image = new Map<string, Buffer>();
  for (const [path, number] of names) {
    const inode = present(moment.inodes.get(number), 'the file of a name');
    image.set(path, survivorOf(inode, byFile.get(number) ?? new Map()));
  }
  return image;
}

function chooseName(names: Map<string, number>, moment: DiskMoment, path: string, digit: number): void {
  const number = (digit === 0 ? moment.durableNames : moment.names).get(path);
  if (number === undefined) names.delete(path);
  else names.set(path, number);
}

function survivorOf(inode: Inode, digits: ReadonlyMap<Choice, number>): Buffer {
  let bytes = inode.durable;
  let grown = false;
  for (const [choice, digit] of digits) {
    if (digit === 0 || choice.kind === 'name') continue;
    if (choice.kind === 'length') grown = true;
    else bytes = applyChange(bytes, partOf(inode, choice, digit));
  }
  // With the new length chosen, lost writes read as zeros.
  return grown && bytes.length < inode.bytes.length
    ? applyChange(bytes, { kind: 'truncate', length: inode.bytes.length })
    : bytes;
}

function partOf(
  inode: Inode,
  choice: Extract<Choice, { readonly kind: 'truncate' | 'sector' }>,
  digit: number,
): PendingChange {
  const change = present(inode.pending[choice.change], 'the change of a choice');
  if (choice.kind === 'truncate' || change.kind === 'truncate') return change;
  const to = digit === 2 ? choice.from + Math.floor((choice.to - choice.from) / 2) : choice.to;
  const bytes = change.bytes.subarray(choice.from - change.offset, to - change.offset);
  return { kind: 'write', offset: choice.from, bytes };
}

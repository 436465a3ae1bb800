/**
 * Orders one connection's commands by the keys that they name, so that a command waits only for earlier commands on its
 * own keys. Commands on different keys run concurrently, whatever waits between them.
 *
 * Commands go one of three ways:
 *
 * - `read`: a read of its own. Reads of a key run together.
 * - `turn`: a command on one key for the key queue (`key-queue.ts`), which runs commands in the order of arrival. So a
 *   `turn` follows another one at once, without waiting for its end.
 * - `batch`: a write of several keys. It has its keys to itself.
 *
 * A command is admitted at each of its keys in the order of arrival, and runs once it is admitted at all of them. Since
 * that order is the same at every key, no two commands wait for each other.
 */
import { present } from '../../base/assert.ts';
import { TransientMap } from '../../base/transient-map.ts';
import type { PackedKey } from '../../base/object-key.ts';

/** How a command runs. */
export type Way = 'read' | 'turn' | 'batch';

/** A command with its place in the order. */
export interface Ordered {
  /** Distinct keys. */
  readonly keys: readonly PackedKey[];
  readonly way: Way;
  /** Keys at which the command is not admitted yet; `KeyOrder` maintains it. */
  blockedCount: number;
}

/** The commands of one key. */
interface Lane<T> {
  /** The way of the admitted commands; they all go the same. */
  way: Way;
  admitted: number;
  /** Those after the admitted ones, oldest first; undefined: none, as in most lanes. */
  waiting: T[] | undefined;
}

/** A connection holds few lanes, so few keys that have ended may be left behind (`TransientMap`). */
const goneLanesMax = 64;

/** The order of one connection. */
export class KeyOrder<T extends Ordered> {
  readonly #run: (command: T) => void;
  readonly #lanes = new TransientMap<PackedKey, Lane<T>>(goneLanesMax);

  /** `run` starts a command; `done` must be called when it has ended, in a later turn of the event loop or microtask. */
  constructor(run: (command: T) => void) {
    this.#run = run;
  }

  /** The way of the last command on the key that has not ended; undefined if there is none. */
  lastWay(key: PackedKey): Way | undefined {
    const lane = this.#lanes.get(key);
    return lane?.waiting?.at(-1)?.way ?? lane?.way;
  }

  /** Adds a command behind all earlier ones, and runs it if it has to wait for none of them. */
  add(command: T): void {
    for (const key of command.keys) {
      const lane = this.#lanes.get(key);
      if (lane === undefined) this.#lanes.insert(key, { way: command.way, admitted: 1, waiting: undefined });
      else if (lane.waiting === undefined && together(lane.way, command.way)) lane.admitted += 1;
      else {
        (lane.waiting ??= []).push(command);
        command.blockedCount += 1;
      }
    }
    if (command.blockedCount === 0) this.#run(command);
  }

  /** A command that was running has ended: admits those that waited for it. */
  done(command: T): void {
    let ready: T[] | undefined;
    for (const key of command.keys) {
      const lane = present(this.#lanes.get(key), 'the lane of a command');
      lane.admitted -= 1;
      if (lane.waiting !== undefined) this.#admit(lane, lane.waiting, (ready ??= []));
      if (lane.admitted === 0) this.#lanes.delete(key);
    }
    if (ready !== undefined) for (const one of ready) this.#run(one);
  }

  #admit(lane: Lane<T>, waiting: T[], ready: T[]): void {
    let count = 0;
    for (const next of waiting) {
      if (lane.admitted > 0 && !together(lane.way, next.way)) break;
      lane.way = next.way;
      lane.admitted += 1;
      count += 1;
      next.blockedCount -= 1;
      if (next.blockedCount === 0) ready.push(next);
    }
    if (count === waiting.length) lane.waiting = undefined;
    else if (count > 0) waiting.splice(0, count);
  }
}

function together(one: Way, other: Way): boolean {
  return one === other && one !== 'batch';
}

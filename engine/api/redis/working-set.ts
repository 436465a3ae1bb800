/**
 * The keys that a command works on, loaded before it runs: commands are pure functions from what is there to a reply and
 * what shall be there. `WorkingKey` is the case of one key, which most commands are.
 */
import { byteStringFrom } from '../../base/ids.ts';
import type { ByteString } from '../../base/ids.ts';
import { present } from '../../base/assert.ts';
import type { Entry } from './entries.ts';

/** What a command sees and does. */
export interface WorkingSet {
  get(key: Buffer): Entry | undefined;
  set(key: Buffer, entry: Entry): void;
  /** False: there was nothing. */
  delete(key: Buffer): boolean;
  /** Nothing shall be there: what has expired is deleted in truth. */
  bury(key: Buffer): void;
}

/** One key, whatever name it is asked for by. */
export class WorkingKey implements WorkingSet {
  entry: Entry | undefined;
  changed = false;

  constructor(entry: Entry | undefined) {
    this.entry = entry;
  }

  get(): Entry | undefined {
    return this.entry;
  }

  set(_key: Buffer, entry: Entry): void {
    this.entry = entry;
    this.changed = true;
  }

  delete(): boolean {
    if (this.entry === undefined) return false;
    this.entry = undefined;
    this.changed = true;
    return true;
  }

  bury(): void {
    this.entry = undefined;
    this.changed = true;
  }
}

/** Several keys. */
export class WorkingKeys implements WorkingSet {
  readonly #keys = new Map<ByteString, WorkingKey>();
  /** Of all values that were set, those that were replaced again too. */
  writtenBytes = 0;

  add(key: ByteString, entry: Entry | undefined): void {
    this.#keys.set(key, new WorkingKey(entry));
  }

  find(key: ByteString): WorkingKey {
    return present(this.#keys.get(key), 'a key that was loaded');
  }

  get(key: Buffer): Entry | undefined {
    return this.find(byteStringFrom(key)).entry;
  }

  set(key: Buffer, entry: Entry): void {
    this.writtenBytes += entry.value.length;
    this.find(byteStringFrom(key)).set(key, entry);
  }

  delete(key: Buffer): boolean {
    return this.find(byteStringFrom(key)).delete();
  }

  bury(key: Buffer): void {
    this.find(byteStringFrom(key)).bury();
  }
}

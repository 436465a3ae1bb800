/**
 * The keys that a command works on, loaded before it runs. Commands are pure functions from the present entries to a
 * reply and new entries. `WorkingKey` is the case of one key, which most commands have.
 */
import { byteStringFrom } from '../../base/ids.ts';
import type { ByteString } from '../../base/ids.ts';
import { present } from '../../base/assert.ts';
import { AnswerSize } from './answer-size.ts';
import type { Entry } from './entries.ts';

/** The entries of a command's keys. */
export interface WorkingSet {
  /** Whether the key was loaded, and `withValue` with its value; the other methods fail for one that was not loaded. */
  has(key: Buffer, withValue: boolean): boolean;
  /** Remembers all entries; the function that it returns restores them. */
  save(): () => void;
  /** The present entry; undefined if the key is absent. */
  get(key: Buffer): Entry | undefined;
  /** Replaces the entry. */
  set(key: Buffer, entry: Entry): void;
  /** Deletes the entry; false if there was none. */
  delete(key: Buffer): boolean;
  /**
   * Marks the key as changed to absent, even if its entry is absent already: so an expired value is deleted from the
   * store.
   */
  bury(key: Buffer): void;
}

/** A script named keys that were not loaded. The caller loads them and runs the step again. */
export class MissingKeys extends Error {
  override readonly name = 'MissingKeys';
  readonly keys: readonly Buffer[];

  constructor(keys: readonly Buffer[]) {
    super('keys that are not loaded');
    this.keys = keys;
  }
}

/** One key; the key argument of the methods is ignored. */
export class WorkingKey implements WorkingSet {
  /** The entry after the commands applied so far. */
  entry: Entry | undefined;
  /** Whether a command has written or deleted the entry. */
  changed = false;

  constructor(entry: Entry | undefined) {
    this.entry = entry;
  }

  has(): boolean {
    return true;
  }

  save(): () => void {
    const { entry, changed } = this;
    return () => {
      this.entry = entry;
      this.changed = changed;
    };
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

/** Several keys. Every method but `add` fails for a key that was not added. */
export class WorkingKeys implements WorkingSet {
  readonly #keys = new Map<ByteString, WorkingKey>();
  /** Keys that were loaded without their values: their entries show an empty value. */
  readonly #valueless = new Set<ByteString>();
  /** Bytes of all values that were set, including those replaced again. */
  writtenBytes = 0;
  readonly #written: AnswerSize;

  /** `writtenBytesMax`: bounds `writtenBytes`, since a script can write a lot before its end. */
  constructor(writtenBytesMax: number) {
    this.#written = new AnswerSize(writtenBytesMax);
  }

  /** Adds a key with its present entry. `withValue`: false if the entry was loaded without its value. */
  add(key: ByteString, entry: Entry | undefined, withValue = true): void {
    this.#keys.set(key, new WorkingKey(entry));
    if (!withValue) this.#valueless.add(key);
  }

  /** The state of a key that was added. */
  find(key: ByteString): WorkingKey {
    return present(this.#keys.get(key), 'a key that was loaded');
  }

  has(key: Buffer, withValue: boolean): boolean {
    const name = byteStringFrom(key);
    return this.#keys.has(name) && !(withValue && this.#valueless.has(name));
  }

  save(): () => void {
    const restores = [...this.#keys.values()].map((one) => one.save());
    return () => {
      for (const restore of restores) restore();
    };
  }

  get(key: Buffer): Entry | undefined {
    return this.find(byteStringFrom(key)).entry;
  }

  /** Throws `TooLarge`, which ends the whole step, if the values that were set hold too much. */
  set(key: Buffer, entry: Entry): void {
    this.#written.add(entry.value.length);
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

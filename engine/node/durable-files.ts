/**
 * Records in the node's store which durable files the node has had, and a copy of their contents. So a start can tell a
 * lost file from one that never existed, and can make the lost one again.
 *
 *     node/files    u8 version | u8 flags | u64 generation | bytes members
 *
 * A flag is set once its file is durable, so a crash may leave a file without its flag, but never a flag without its
 * file. The generation is the incarnation number of the identity file. The members are the body of the members file. A
 * node that has lost either file continues from this record.
 *
 * A store of an earlier version has no such record: its node knows of a file only what the disk shows.
 */
import { BytesError, ByteWriter } from '../base/bytes.ts';
import { tryDecodeWhole } from '../base/decoding.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { systemKey } from '../base/object-key.ts';
import type { LocalStore } from '../replica/key-slots.ts';
import type { Store } from '../storage/store.ts';

/** A file in the data directory; `hints` means the hint store in the directory of that name. */
export type DurableFile = 'identity' | 'members' | 'hints';

const version = 1;
const key = systemKey(byteStringOf('node'), byteStringOf('files'));
/** The record belongs to the node, not to a range of the ring. */
const token = 0 as Token;

const flagOf: Readonly<Record<DurableFile, number>> = { identity: 1, members: 2, hints: 4 };

interface Known {
  readonly flags: number;
  readonly generation: number;
  readonly members: Buffer;
}

const nothingKnown: Known = { flags: 0, generation: 0, members: Buffer.alloc(0) };

/** The record of the node's durable files: read at a start, written whenever it changes. */
export class DurableFiles {
  #known: Known;
  #store: Pick<LocalStore, 'tryWrite'> | undefined;
  #changed = false;

  private constructor(known: Known) {
    this.#known = known;
  }

  /** Reads the record. A damaged record counts as none. Rejects with `StorageFailed` if the disk cannot be read. */
  static async open(store: Pick<Store, 'get'>): Promise<DurableFiles> {
    const bytes = await readRecord(store);
    return new DurableFiles((bytes === undefined ? undefined : decode(bytes)) ?? nothingKnown);
  }

  /** Whether the node has had the file. */
  has(file: DurableFile): boolean {
    return (this.#known.flags & flagOf[file]) !== 0;
  }

  /** The greatest incarnation number that the identity file is known to have had; 0 if none is known. */
  get generation(): number {
    return this.#known.generation;
  }

  /** The body of the members file; empty if it is not known. */
  get members(): Uint8Array {
    return this.#known.members;
  }

  /** Writes the record to `store` from now on, at once if something was noted before. */
  writeTo(store: Pick<LocalStore, 'tryWrite'>): void {
    this.#store = store;
    if (this.#changed) this.#write(store);
  }

  /** Notes that the hint store is durable. */
  noteHints(): void {
    this.#set('hints', {});
  }

  /** Notes that the identity file is durable with this incarnation number. */
  noteIdentity(generation: number): void {
    this.#set('identity', { generation: Math.max(generation, this.#known.generation) });
  }

  /** Notes that the members file is durable with this body. */
  noteMembers(members: Uint8Array): void {
    this.#set('members', { members: Buffer.from(members) });
  }

  #set(file: DurableFile, said: Partial<Omit<Known, 'flags'>>): void {
    const known = { ...this.#known, ...said, flags: this.#known.flags | flagOf[file] };
    const before = this.#known;
    this.#known = known;
    const isSame =
      known.flags === before.flags &&
      known.generation === before.generation &&
      known.members.equals(before.members);
    if (isSame) return;
    this.#changed = true;
    if (this.#store !== undefined) this.#write(this.#store);
  }

  #write(store: Pick<LocalStore, 'tryWrite'>): void {
    const { flags, generation, members } = this.#known;
    const words = new ByteWriter(32 + members.length).u8(version).u8(flags).u64(generation).bytes(members);
    this.#changed = false;
    const failed = (): void => {
      // The next change, or the next incarnation, writes the record.
      this.#changed = true;
    };
    const outcome = store.tryWrite([{ key, token, value: words.finish() }], (error) => {
      if (error !== undefined) failed();
    });
    if (outcome !== 'ok') failed();
  }
}

async function readRecord(store: Pick<Store, 'get'>): Promise<Uint8Array | undefined> {
  try {
    return await store.get(key);
  } catch (error) {
    if (error instanceof LockstepError && error.code === 'Corrupted') return undefined;
    throw error;
  }
}

/** The decoded record; undefined if the bytes do not decode or are of another version. */
function decode(bytes: Uint8Array): Known | undefined {
  return tryDecodeWhole(bytes, (reader) => {
    if (reader.u8() !== version) throw new BytesError('of another version');
    return { flags: reader.u8(), generation: reader.u64(), members: Buffer.from(reader.bytes()) };
  });
}

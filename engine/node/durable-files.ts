/**
 * Which durable files this node has had, and what they said: a record of the node's own store, so that a file that is
 * missing at a start is told from one that never was, and made again.
 *
 *     node/files    u8 version | u8 flags | u64 generation | bytes members
 *
 * A flag is set once its file is durable, so a crash leaves a file without its flag, and no flag without its file. The
 * generation is that of the identity file, and the members are what the file of members says: a node that has lost
 * either of them goes on from here.
 *
 * A store of an earlier version has no such record: its node knows of a file what the disk shows.
 */
import { ByteReader, BytesError, ByteWriter } from '../base/bytes.ts';
import { LockstepError } from '../base/errors.ts';
import type { Token } from '../base/ids.ts';
import { byteStringOf } from '../base/ids.ts';
import { systemKey } from '../base/object-key.ts';
import type { LocalStore } from '../replica/key-slots.ts';
import type { Store } from '../storage/store.ts';

/** A file, or (`hints`) the store that the directory of that name holds. */
export type DurableFile = 'identity' | 'members' | 'hints';

const version = 1;
const key = systemKey(byteStringOf('node'), byteStringOf('files'));
/** It belongs to the node, not to the ring. */
const token = 0 as Token;

const flagOf: Readonly<Record<DurableFile, number>> = { identity: 1, members: 2, hints: 4 };

interface Known {
  readonly flags: number;
  readonly generation: number;
  readonly members: Buffer;
}

const nothingKnown: Known = { flags: 0, generation: 0, members: Buffer.alloc(0) };

export class DurableFiles {
  #known: Known;
  #store: Pick<LocalStore, 'tryWrite'> | undefined;
  #changed = false;

  private constructor(known: Known) {
    this.#known = known;
  }

  /** Rejects with `StorageFailed` when the disk does not read. A record that is lost counts as none. */
  static async open(store: Pick<Store, 'get'>): Promise<DurableFiles> {
    const bytes = await readRecord(store);
    return new DurableFiles((bytes === undefined ? undefined : decode(bytes)) ?? nothingKnown);
  }

  /** The node has had the file. */
  has(file: DurableFile): boolean {
    return (this.#known.flags & flagOf[file]) !== 0;
  }

  /** The greatest generation that this node is known to have had; 0: none is. */
  get generation(): number {
    return this.#known.generation;
  }

  /** The records of the file of members, as the file has them; empty: they are not known. */
  get members(): Uint8Array {
    return this.#known.members;
  }

  /** From now on what is noted, and what has been, is written there. */
  writeTo(store: Pick<LocalStore, 'tryWrite'>): void {
    this.#store = store;
    if (this.#changed) this.#write(store);
  }

  /** The store of hints is durable. */
  noteHints(): void {
    this.#set('hints', {});
  }

  /** The identity file is durable, with this generation. */
  noteIdentity(generation: number): void {
    this.#set('identity', { generation: Math.max(generation, this.#known.generation) });
  }

  /** The file of members is durable, with these records. */
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
      // It is written with the next change, or in the next life.
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

/** Undefined for bytes of another version. */
function decode(bytes: Uint8Array): Known | undefined {
  try {
    const reader = new ByteReader(bytes);
    if (reader.u8() !== version) return undefined;
    const known = {
      flags: reader.u8(),
      generation: reader.u64(),
      members: Buffer.from(reader.bytes()),
    };
    reader.end();
    return known;
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

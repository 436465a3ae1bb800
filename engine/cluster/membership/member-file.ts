/**
 * The members as this node last knew them, durably: a node that restarts goes on from the ring of its last moment, not
 * from its configuration's.
 *
 *     members    "LKMEMBER" | u32 crc of the body | body
 *     body       the records as gossip writes them (gossip-codec.ts); instead of a view "departed" once the members know
 *                that this node has left, and "-" until then
 *
 * The node has the same records in another place (`MemberFileRecord`): a file that is damaged, or missing though the node has
 * had it, is made again from there.
 */
import { crc32 } from '../../base/checksum.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import type { Disk } from '../../io/disk.ts';
import { DiskError, readFile, replaceFile } from '../../io/disk.ts';
import type { Io } from '../../io/io.ts';
import { decodeGossip, encodeGossip } from './gossip-codec.ts';
import type { GossipMessage } from './gossip-messages.ts';
import type { MemberRecord } from './member-record.ts';

/** What a node knows of its file of members beside the file. */
export interface MemberFileRecord {
  /** The node has had the file. */
  readonly had: boolean;
  /** The body of the file as it was saved last; empty: it is not known. */
  readonly body: Uint8Array;
  /** A file with this body is durable. */
  saved(body: Uint8Array): void;
}

const magic = Buffer.from('LKMEMBER', 'latin1');
const headBytes = magic.length + 4;
const fileBytesMax = 16 * 1024 * 1024;
const departed = 'departed';

export class MemberFile {
  readonly #io: Pick<Io, 'disk'>;
  readonly #path: string;
  readonly #book: MemberFileRecord;
  /** What the last life knew, this node's own record included; empty in the first. */
  readonly remembered: readonly MemberRecord[];
  /** Whom the file names. */
  #named: ReadonlySet<NodeId>;
  /** Settled once the last save is over. */
  #last = Promise.resolve();
  #departed: boolean;

  private constructor(
    io: Pick<Io, 'disk'>,
    path: string,
    book: MemberFileRecord,
    { records, view }: Pick<GossipMessage, 'records' | 'view'>,
  ) {
    this.#io = io;
    this.#path = path;
    this.#book = book;
    this.remembered = records;
    this.#named = namesOf(records);
    this.#departed = view === departed;
  }

  /** Rejects with `StorageFailed` when the disk does not read, or does not take a lost file again. */
  static async open(io: Pick<Io, 'disk' | 'log'>, path: string, book: MemberFileRecord): Promise<MemberFile> {
    const bytes = await mapped(readFile(io.disk, path, fileBytesMax));
    const words = bytes === undefined ? undefined : decode(bytes);
    if (bytes !== undefined && words !== undefined) {
      book.saved(bytes.subarray(headBytes));
      return new MemberFile(io, path, book, words);
    }
    if (bytes !== undefined) io.log.event('warn', 'membership.members.rejected', { path });
    const known = (book.body.length === 0 ? undefined : wordsOf(book.body)) ?? { records: [], view: '-' };
    const file = new MemberFile(io, path, book, known);
    if (bytes === undefined && !book.had) return file;
    if (known.records.length > 0) await file.save(known.records);
    const detail =
      known.records.length > 0
        ? 'it is made again from what the store knows'
        : 'the store does not know what it said: the configured seeds and the peers tell it';
    io.log.event('warn', 'node.file.missing', { path, detail });
    return file;
  }

  /** The node has left, and the other members know. */
  get isDeparted(): boolean {
    return this.#departed;
  }

  /** The other members know that the node has left: the next save says so, and those after it. */
  depart(): void {
    this.#departed = true;
  }

  /** The last life knew of the node, and of it as one that has not left. */
  names(node: NodeId): boolean {
    return this.remembered.some((record) => record.node === node && !record.left);
  }

  /** One of them has said something of itself, and the file does not name it. */
  lacksOneOf(records: readonly MemberRecord[]): boolean {
    return records.some(({ node, generation }) => generation > 0 && !this.#named.has(node));
  }

  /** Durable when this resolves. Rejects with `StorageFailed`. What is saved later is what stays. */
  save(records: readonly MemberRecord[]): Promise<void> {
    // One after the other: they write the same file.
    const saved = this.#last.then(() => this.#write(records));
    this.#last = saved.catch(() => undefined);
    return saved;
  }

  async #write(records: readonly MemberRecord[]): Promise<void> {
    const known = records.filter(({ generation }) => generation > 0);
    const body = encodeGossip({ digest: [], records: known, view: this.#departed ? departed : '-' });
    const file = Buffer.alloc(headBytes + body.length);
    magic.copy(file);
    file.writeUInt32BE(crc32(body), magic.length);
    file.set(body, headBytes);
    await mapped(replaceFile(this.#io.disk, this.#path, file));
    this.#named = namesOf(known);
    this.#book.saved(body);
  }
}

function namesOf(records: readonly MemberRecord[]): ReadonlySet<NodeId> {
  return new Set(records.map(({ node }) => node));
}

/** The records of the file; none where it is missing or damaged. Rejects with a `DiskError`. */
export async function readMembers(disk: Disk, path: string): Promise<readonly MemberRecord[]> {
  const bytes = await readFile(disk, path, fileBytesMax);
  return (bytes === undefined ? undefined : decode(bytes)?.records) ?? [];
}

/** Undefined for bytes that are not as `save` wrote them. */
function decode(bytes: Buffer): GossipMessage | undefined {
  const body = bytes.subarray(headBytes);
  const whole = bytes.length > headBytes && bytes.subarray(0, magic.length).equals(magic);
  return !whole || bytes.readUInt32BE(magic.length) !== crc32(body) ? undefined : wordsOf(body);
}

function wordsOf(words: Uint8Array): GossipMessage | undefined {
  try {
    return decodeGossip(words);
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}

async function mapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    throw new LockstepError('StorageFailed', `the file of members: ${error.message}`, { cause: error });
  }
}

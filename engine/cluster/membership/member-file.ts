/**
 * The members as this node last knew them, durably: a restarted node continues from its last ring, not from its
 * configuration.
 *
 *     members    "LKMEMBER" | u32 crc of the body | body
 *     body       the records in the form of a gossip message (gossip-codec.ts); its view is "departed" once the members
 *                know that this node has left, and "-" until then
 *
 * The store has the same records (`MemberFileRecord`). A file that is damaged, or missing although the node has had it,
 * is written again from there.
 */
import { crc32 } from '../../base/checksum.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { sometimes } from '../../base/sometimes.ts';
import type { Disk } from '../../io/disk.ts';
import { DiskError, readFile, replaceFile } from '../../io/disk.ts';
import type { Io } from '../../io/io.ts';
import { decodeGossip, encodeGossip } from './gossip-codec.ts';
import type { GossipMessage } from './gossip-messages.ts';
import type { MemberRecord } from './member-record.ts';

/** What the store knows of the member file, beside the file. */
export interface MemberFileRecord {
  /** True if the node has had the file. */
  readonly had: boolean;
  /** The body of the file as it was last saved; empty if unknown. */
  readonly body: Uint8Array;
  /** Called once a file with this body is durable. */
  saved(body: Uint8Array): void;
}

const magic = Buffer.from('LKMEMBER', 'latin1');
const headBytes = magic.length + 4;
const fileBytesMax = 16 * 1024 * 1024;
const departed = 'departed';

/** The member file of one node. */
export class MemberFile {
  readonly #io: Pick<Io, 'disk'>;
  readonly #path: string;
  readonly #stored: MemberFileRecord;
  /** The records of the last incarnation, this node's own included; empty in the first. */
  readonly remembered: readonly MemberRecord[];
  /** The nodes that the file names. */
  #named: ReadonlySet<NodeId>;
  /** Resolves once the last save is over. */
  #last = Promise.resolve();
  #departed: boolean;

  private constructor(
    io: Pick<Io, 'disk'>,
    path: string,
    stored: MemberFileRecord,
    { records, view }: Pick<GossipMessage, 'records' | 'view'>,
  ) {
    this.#io = io;
    this.#path = path;
    this.#stored = stored;
    this.remembered = records;
    this.#named = namesOf(records);
    this.#departed = view === departed;
  }

  /** Reads the file, or writes it again from `stored`. Rejects with `StorageFailed` if the disk fails. */
  static async open(
    io: Pick<Io, 'disk' | 'log'>,
    path: string,
    stored: MemberFileRecord,
  ): Promise<MemberFile> {
    const bytes = await mapped(readFile(io.disk, path, fileBytesMax));
    const words = bytes === undefined ? undefined : decode(bytes);
    if (bytes !== undefined && words !== undefined) {
      stored.saved(bytes.subarray(headBytes));
      return new MemberFile(io, path, stored, words);
    }
    if (bytes !== undefined) {
      sometimes('membership.file-rejected');
      io.log.event('warn', 'membership.members.rejected', { path });
    }
    const known = (stored.body.length === 0 ? undefined : wordsOf(stored.body)) ?? { records: [], view: '-' };
    const file = new MemberFile(io, path, stored, known);
    if (bytes === undefined && !stored.had) return file;
    sometimes('membership.file-missing');
    if (known.records.length > 0) await file.save(known.records);
    const detail =
      known.records.length > 0
        ? 'it is made again from what the store knows'
        : 'the store does not know what it said: the configured seeds and the peers tell it';
    io.log.event('warn', 'node.file.missing', { path, detail });
    return file;
  }

  /** True if the node has left and the other members know it. */
  get isDeparted(): boolean {
    return this.#departed;
  }

  /** Records that the other members know that the node has left. The next save writes it, and so do all later ones. */
  depart(): void {
    this.#departed = true;
  }

  /** True if the last incarnation knew the node as a member that has not left. */
  names(node: NodeId): boolean {
    return this.remembered.some((record) => record.node === node && !record.left);
  }

  /** True if a member has sent a record and the file does not name it. */
  lacksOneOf(records: readonly MemberRecord[]): boolean {
    return records.some(({ node, generation }) => generation > 0 && !this.#named.has(node));
  }

  /** Saves the records; durable when this resolves. Saves run one after the other. Rejects with `StorageFailed`. */
  save(records: readonly MemberRecord[]): Promise<void> {
    // One save at a time: they write the same file.
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
    this.#stored.saved(body);
  }
}

function namesOf(records: readonly MemberRecord[]): ReadonlySet<NodeId> {
  return new Set(records.map(({ node }) => node));
}

/** The records in a member file; none if it is missing or damaged. Rejects with a `DiskError`. */
export async function readMembers(disk: Disk, path: string): Promise<readonly MemberRecord[]> {
  const bytes = await readFile(disk, path, fileBytesMax);
  return (bytes === undefined ? undefined : decode(bytes)?.records) ?? [];
}

/** Undefined for bytes that `save` did not write. */
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

/**
 * The members as this node last knew them, durably: a node that restarts goes on from the ring of its last moment, not
 * from its configuration's.
 *
 *     members    "LKMEMBER" | u32 crc of the body | body
 *     body       the records as gossip writes them (gossip-codec.ts)
 *
 * A file that is damaged is as good as none: the configured seeds tell the node the rest again.
 */
import { crc32 } from '../base/checksum.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { DiskError, readFile, replaceFile } from '../io/disk.ts';
import type { Io } from '../io/io.ts';
import { decodeWords, encodeWords } from './gossip-codec.ts';
import type { MemberRecord } from './member-record.ts';

const magic = Buffer.from('LKMEMBER', 'latin1');
const headBytes = magic.length + 4;
const fileBytesMax = 16 * 1024 * 1024;

export class MemberFile {
  readonly #io: Pick<Io, 'disk'>;
  readonly #path: string;
  /** What the last life knew, this node's own record included; empty in the first. */
  readonly remembered: readonly MemberRecord[];
  /** Whom the file names. */
  #named: ReadonlySet<NodeId>;
  /** Settled once the last save is over. */
  #last = Promise.resolve();

  private constructor(io: Pick<Io, 'disk'>, path: string, remembered: readonly MemberRecord[]) {
    this.#io = io;
    this.#path = path;
    this.remembered = remembered;
    this.#named = namesOf(remembered);
  }

  /** Rejects with `StorageFailed` when the disk does not read. */
  static async open(io: Pick<Io, 'disk' | 'log'>, path: string): Promise<MemberFile> {
    const bytes = await mapped(readFile(io.disk, path, fileBytesMax));
    const records = bytes === undefined ? [] : decode(bytes);
    if (records === undefined) io.log.event('warn', 'membership.members.rejected', { path });
    return new MemberFile(io, path, records ?? []);
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
    const body = encodeWords({ digest: [], records: known, view: '-' });
    const file = Buffer.alloc(headBytes + body.length);
    magic.copy(file);
    file.writeUInt32BE(crc32(body), magic.length);
    file.set(body, headBytes);
    await mapped(replaceFile(this.#io.disk, this.#path, file));
    this.#named = namesOf(known);
  }
}

function namesOf(records: readonly MemberRecord[]): ReadonlySet<NodeId> {
  return new Set(records.map(({ node }) => node));
}

/** Undefined for bytes that are not as `save` wrote them. */
function decode(bytes: Buffer): readonly MemberRecord[] | undefined {
  const body = bytes.subarray(headBytes);
  const whole = bytes.length > headBytes && bytes.subarray(0, magic.length).equals(magic);
  if (!whole || bytes.readUInt32BE(magic.length) !== crc32(body)) return undefined;
  try {
    return decodeWords(body).records;
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

/**
 * Who this node is, durably: its name and the number of its life (generation). Every start is a new life with a
 * greater number, durable before anybody hears of it, so that peers can tell a restarted node from its own past.
 *
 *     identity   "LKNODEID" | u32 crc of the body | body
 *     body       string node name | u64 generation
 *
 * A node whose disk was wiped, or whose file is damaged, takes the seconds of its wall clock, which are more than its
 * earlier lives' unless the clock went back; its peers then tell it which life they know (`raise`).
 */
import { ByteReader, BytesError, ByteWriter } from '../base/bytes.ts';
import { crc32 } from '../base/checksum.ts';
import { LockstepError } from '../base/errors.ts';
import type { NodeId } from '../base/ids.ts';
import { byteStringOf, textOf } from '../base/ids.ts';
import type { Disk } from '../io/disk.ts';
import { DiskError, readFile, replaceFile } from '../io/disk.ts';
import type { Io } from '../io/io.ts';

type IdentityIo = Pick<Io, 'clock' | 'disk' | 'log'>;

interface Written {
  readonly node: string;
  readonly generation: number;
}

const magic = Buffer.from('LKNODEID', 'latin1');
const fileBytesMax = 4096;

export class Identity {
  readonly node: NodeId;
  readonly #io: IdentityIo;
  readonly #path: string;
  #generation: number;

  private constructor(io: IdentityIo, path: string, node: NodeId, generation: number) {
    this.#io = io;
    this.#path = path;
    this.node = node;
    this.#generation = generation;
  }

  /**
   * Begins the next life of the node whose identity lies at `path`. Rejects with `StoreForeign` when it is another
   * node's, with `StorageFailed` when the disk does not read or write.
   */
  static async open(io: IdentityIo, path: string, node: NodeId): Promise<Identity> {
    const before = await mapped(readWritten(io, path));
    if (before !== undefined && before.node !== node) {
      throw new LockstepError(
        'StoreForeign',
        `${path} belongs to the node ${before.node}, and this is ${node}: is another node's disk mounted?`,
      );
    }
    const wallSeconds = Math.max(1, Math.floor(io.clock.wallMs() / 1000));
    const identity = new Identity(io, path, node, 0);
    await identity.raise(Math.max((before?.generation ?? 0) + 1, wallSeconds));
    return identity;
  }

  /** The number of this life; 1 or more. */
  get generation(): number {
    return this.#generation;
  }

  /** Gives this life a greater number, durable when this resolves. Rejects with `StorageFailed`. */
  async raise(generation: number): Promise<void> {
    if (generation <= this.#generation) return;
    await mapped(replaceFile(this.#io.disk, this.#path, encode({ node: this.node, generation })));
    this.#generation = generation;
  }
}

/** The name in an identity file; undefined when there is none that can be read. Rejects with a `DiskError`. */
export async function nodeOfIdentity(disk: Disk, path: string): Promise<string | undefined> {
  const bytes = await readFile(disk, path, fileBytesMax);
  return bytes === undefined ? undefined : decode(bytes)?.node;
}

async function readWritten(io: IdentityIo, path: string): Promise<Written | undefined> {
  const bytes = await readFile(io.disk, path, fileBytesMax);
  if (bytes === undefined) return undefined;
  const written = decode(bytes);
  if (written === undefined)
    io.log.event('warn', 'membership.identity.rejected', { path, bytes: bytes.length });
  return written;
}

function encode({ node, generation }: Written): Buffer {
  const body = new ByteWriter(96).string(byteStringOf(node)).u64(generation).finish();
  return new ByteWriter(96).raw(magic).u32(crc32(body)).raw(body).finish();
}

/** Undefined for bytes that this version did not write, or that are not as it wrote them. */
function decode(bytes: Uint8Array): Written | undefined {
  try {
    const reader = new ByteReader(bytes);
    if (!reader.raw(magic.length).equals(magic)) return undefined;
    const checksum = reader.u32();
    const body = reader.raw(reader.left);
    if (crc32(body) !== checksum) return undefined;
    const fields = new ByteReader(body);
    const written = { node: textOf(fields.string()), generation: fields.u64() };
    fields.end();
    return written;
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

async function mapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    throw new LockstepError('StorageFailed', `the identity file: ${error.message}`, { cause: error });
  }
}

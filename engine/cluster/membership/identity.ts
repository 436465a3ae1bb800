/**
 * Who this node is, durably: its name, its cluster's id, and the number of its life (generation). Every start is a new
 * life with a greater number, durable before anybody hears of it, so that peers can tell a restarted node from its own
 * past.
 *
 *     identity   "LKNODEID" | u32 crc of the body | body
 *     body       string node name | u64 generation | string cluster id
 *
 * A body that ends after the generation is of a version that did not write the cluster's id: its node has the
 * configured one from the next start on.
 *
 * A node whose file is missing or damaged goes on from the generation that its store knows (`IdentityRecord`). One whose
 * disk was wiped takes the seconds of its wall clock, which are more than its earlier lives' unless the clock went back;
 * its peers then tell it which life they know (`raise`).
 */
import { ByteReader, BytesError, ByteWriter } from '../../base/bytes.ts';
import { crc32 } from '../../base/checksum.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { byteStringOf, textOf } from '../../base/ids.ts';
import type { Disk } from '../../io/disk.ts';
import { DiskError, readFile, replaceFile } from '../../io/disk.ts';
import type { Io } from '../../io/io.ts';

type IdentityIo = Pick<Io, 'clock' | 'disk' | 'log'>;

/** Whose a data directory is. */
export interface Owner {
  readonly node: NodeId;
  readonly clusterId: string;
}

/** What a node knows of its identity beside the file. */
export interface IdentityRecord {
  /** The greatest generation that is known; 0: none is. */
  readonly generation: number;
  /** The node has had the file. */
  readonly had: boolean;
  /** The file is durable, with this generation. */
  saved(generation: number): void;
}

interface Written {
  readonly node: string;
  readonly generation: number;
  /** Undefined in a file of a version that did not write it. */
  readonly clusterId: string | undefined;
}

const magic = Buffer.from('LKNODEID', 'latin1');
const fileBytesMax = 4096;

export class Identity {
  readonly node: NodeId;
  readonly #io: IdentityIo;
  readonly #path: string;
  readonly #clusterId: string;
  readonly #book: IdentityRecord;
  /** An earlier life has written the file, and it can be read. */
  readonly found: boolean;
  #generation = 0;

  private constructor(
    io: IdentityIo,
    path: string,
    { node, clusterId }: Owner,
    book: IdentityRecord,
    found: boolean,
  ) {
    this.#io = io;
    this.#path = path;
    this.node = node;
    this.#clusterId = clusterId;
    this.#book = book;
    this.found = found;
  }

  /**
   * Begins the next life of the node whose identity lies at `path`. Rejects with `StoreForeign` when it is another
   * node's or of another cluster, with `StorageFailed` when the disk does not read or write.
   */
  static async open(io: IdentityIo, path: string, owner: Owner, book: IdentityRecord): Promise<Identity> {
    const before = await mapped(readWritten(io, path));
    if (before !== undefined) refuseForeign(path, before, owner);
    const wallSeconds = Math.max(1, Math.floor(io.clock.wallMs() / 1000));
    const identity = new Identity(io, path, owner, book, before !== undefined);
    const known = Math.max(before?.generation ?? 0, book.generation);
    await identity.raise(Math.max(known + 1, wallSeconds));
    if (before === undefined && book.had) {
      const detail = 'it is made again, with a generation beyond those that the store knows';
      io.log.event('warn', 'node.file.missing', { path, detail });
    }
    return identity;
  }

  /** The number of this life; 1 or more. */
  get generation(): number {
    return this.#generation;
  }

  /** Gives this life a greater number, durable when this resolves. Rejects with `StorageFailed`. */
  async raise(generation: number): Promise<void> {
    if (generation <= this.#generation) return;
    const bytes = encode({ node: this.node, generation, clusterId: this.#clusterId });
    await mapped(replaceFile(this.#io.disk, this.#path, bytes));
    this.#generation = generation;
    this.#book.saved(generation);
  }
}

/** The name in an identity file; undefined when there is none that can be read. Rejects with a `DiskError`. */
export async function nodeOfIdentity(disk: Disk, path: string): Promise<string | undefined> {
  const bytes = await readFile(disk, path, fileBytesMax);
  return bytes === undefined ? undefined : decode(bytes)?.node;
}

/** Throws `StoreForeign` with both names, and what can be done. */
function refuseForeign(path: string, before: Written, { node, clusterId }: Owner): void {
  if (before.node !== node) {
    throw new LockstepError(
      'StoreForeign',
      `${path} belongs to the node ${before.node}, and this is ${node}: is another node's disk mounted?`,
    );
  }
  if (before.clusterId === undefined || before.clusterId === clusterId) return;
  const [theirs, ours] = [JSON.stringify(before.clusterId), JSON.stringify(clusterId)];
  throw new LockstepError(
    'StoreForeign',
    `${path} is of the cluster ${theirs}, and cluster_id is ${ours}: set cluster_id to ${theirs}, or give ${node} an empty data_dir; if the whole cluster was renamed, remove the file ${path} of each of its nodes while all are stopped`,
  );
}

async function readWritten(io: IdentityIo, path: string): Promise<Written | undefined> {
  const bytes = await readFile(io.disk, path, fileBytesMax);
  if (bytes === undefined) return undefined;
  const written = decode(bytes);
  if (written === undefined)
    io.log.event('warn', 'membership.identity.rejected', { path, bytes: bytes.length });
  return written;
}

function encode({ node, generation, clusterId }: Owner & { readonly generation: number }): Buffer {
  const words = new ByteWriter(96).string(byteStringOf(node)).u64(generation);
  const body = words.string(byteStringOf(clusterId)).finish();
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
    const [node, generation] = [textOf(fields.string()), fields.u64()];
    const clusterId = fields.left === 0 ? undefined : textOf(fields.string());
    fields.end();
    return { node, generation, clusterId };
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

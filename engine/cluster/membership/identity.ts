/**
 * The durable identity of this node: its name, its cluster's id, and its incarnation number (generation). Every start
 * is a new incarnation with a greater number, durable before any peer hears of it. So peers can tell a restarted node
 * from its own past.
 *
 *     identity   "LKNODEID" | u32 crc of the body | body
 *     body       string node name | u64 generation | string cluster id
 *
 * A body that ends after the generation was written by a version without cluster ids; the node uses the configured id
 * from the next start on.
 *
 * If the file is missing or damaged, the node continues from the generation in its store (`IdentityRecord`). A node
 * whose disk was wiped takes the seconds of its wall clock. They exceed every earlier generation unless the clock went
 * back; then its peers report the generation that they know (`raise`).
 */
import { BytesError, ByteWriter } from '../../base/bytes.ts';
import { tryDecodeWhole } from '../../base/decoding.ts';
import { crc32 } from '../../base/checksum.ts';
import { LockstepError } from '../../base/errors.ts';
import type { NodeId } from '../../base/ids.ts';
import { byteStringOf, textOf } from '../../base/ids.ts';
import type { Disk } from '../../io/disk.ts';
import { DiskError, readFile, replaceFile } from '../../io/disk.ts';
import type { Io } from '../../io/io.ts';

type IdentityIo = Pick<Io, 'clock' | 'disk' | 'log'>;

/** The node and cluster that a data directory belongs to. */
export interface Owner {
  readonly node: NodeId;
  readonly clusterId: string;
}

/** What the store knows of the node's identity, beside the file. */
export interface IdentityRecord {
  /** The greatest known generation; 0 if none is known. */
  readonly generation: number;
  /** True if the node has had the file. */
  readonly had: boolean;
  /** Called once the file with this generation is durable. */
  saved(generation: number): void;
}

interface Written {
  readonly node: string;
  readonly generation: number;
  readonly clusterId: string;
}

const magic = Buffer.from('LKNODEID', 'latin1');
const fileBytesMax = 4096;

/** The identity of one node's present incarnation. */
export class Identity {
  readonly node: NodeId;
  readonly #io: IdentityIo;
  readonly #path: string;
  readonly #clusterId: string;
  readonly #stored: IdentityRecord;
  /** True if an earlier incarnation wrote the file and it can be read. */
  readonly found: boolean;
  #generation = 0;

  private constructor(
    io: IdentityIo,
    path: string,
    { node, clusterId }: Owner,
    stored: IdentityRecord,
    found: boolean,
  ) {
    this.#io = io;
    this.#path = path;
    this.node = node;
    this.#clusterId = clusterId;
    this.#stored = stored;
    this.found = found;
  }

  /**
   * Starts the next incarnation of the node whose identity file is at `path`. Rejects with `StoreForeign` if the file
   * belongs to another node or cluster, and with `StorageFailed` if the disk fails.
   */
  static async open(io: IdentityIo, path: string, owner: Owner, stored: IdentityRecord): Promise<Identity> {
    const before = await mapped(readWritten(io, path));
    if (before !== undefined) refuseForeign(path, before, owner);
    const wallSeconds = Math.max(1, Math.floor(io.clock.wallMs() / 1000));
    const identity = new Identity(io, path, owner, stored, before !== undefined);
    const known = Math.max(before?.generation ?? 0, stored.generation);
    await identity.raise(Math.max(known + 1, wallSeconds));
    if (before === undefined && stored.had) {
      const detail = 'it is made again, with a generation beyond those that the store knows';
      io.log.event('warn', 'node.file.missing', { path, detail });
    }
    return identity;
  }

  /** The incarnation number; 1 or more. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Gives this incarnation a greater number; durable when this resolves. Does nothing for a smaller one. Rejects with
   * `StorageFailed`.
   */
  async raise(generation: number): Promise<void> {
    if (generation <= this.#generation) return;
    const bytes = encode({ node: this.node, generation, clusterId: this.#clusterId });
    await mapped(replaceFile(this.#io.disk, this.#path, bytes));
    this.#generation = generation;
    this.#stored.saved(generation);
  }
}

/** The node's name in an identity file; undefined if there is none that can be read. Rejects with a `DiskError`. */
export async function nodeOfIdentity(disk: Disk, path: string): Promise<string | undefined> {
  const bytes = await readFile(disk, path, fileBytesMax);
  return bytes === undefined ? undefined : decode(bytes)?.node;
}

/** Throws `StoreForeign` with both names, and what the operator can do. */
function refuseForeign(path: string, before: Written, { node, clusterId }: Owner): void {
  if (before.node !== node) {
    throw new LockstepError(
      'StoreForeign',
      `${path} belongs to the node ${before.node}, and this is ${node}: is another node's disk mounted?`,
    );
  }
  if (before.clusterId === clusterId) return;
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

/** Undefined for bytes that this version did not write, or that are damaged. */
function decode(bytes: Uint8Array): Written | undefined {
  return tryDecodeWhole(bytes, (reader) => {
    if (!reader.raw(magic.length).equals(magic)) throw new BytesError('another kind of file');
    const checksum = reader.u32();
    if (crc32(bytes.subarray(magic.length + 4)) !== checksum) throw new BytesError('damaged');
    const [node, generation] = [textOf(reader.string()), reader.u64()];
    return { node, generation, clusterId: textOf(reader.string()) };
  });
}

async function mapped<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    throw new LockstepError('StorageFailed', `the identity file: ${error.message}`, { cause: error });
  }
}

/**
 * Encodes and decodes members' records. The same record comes again and again in the same bytes, from every node that
 * has it. A new one mostly differs by one more heartbeat only. So the last record of each member is kept, and an
 * unchanged one is read and written once.
 */
import type { NodeId } from '../../base/ids.ts';
import { recordType } from './gossip-schema.ts';
import { gossipMembersMax, readPlainRecord } from './gossip-reader.ts';
import type { MemberRecord } from './member-record.ts';

/** The tag of the first field, a length-delimited one. */
const nodeTag = 0x0a;
const doubleBytes = 8;
/** From the end of the name to the version's bytes: a generation with its tag, and the version's tag. */
const versionOffset = 10;
const noNode = '';

/** The last record of a node. */
interface Read {
  /** A copy of its own. */
  readonly bytes: Buffer;
  record: MemberRecord;
  /** Where the version lies; undefined for bytes that `RecordWriter` would not write. */
  readonly versionAt: number | undefined;
}

/** Reads records, and keeps the last one of each node. */
export class RecordReader {
  /** By the node's name; no more nodes than a message may name. */
  readonly #last = new Map<string, Read>();

  /** The record in these bytes, of which it keeps no view. Throws `BadRequest` for bytes that are no record. */
  read(bytes: Buffer): MemberRecord {
    const name = nameIn(bytes);
    const last = this.#last.get(name);
    if (last !== undefined && last.bytes.length === bytes.length) {
      if (last.bytes.equals(bytes)) return last.record;
      const next = this.#readHeartbeat(last, bytes);
      if (next !== undefined) return next;
    }
    this.#last.delete(name);
    const record = readPlainRecord(bytes);
    if (this.#last.size >= gossipMembersMax) this.#last.clear();
    const copy = Buffer.from(bytes);
    this.#last.set(name, { bytes: copy, record, versionAt: versionIn(copy, record) });
    return record;
  }

  /**
   * Reads a record that differs from the last one in its version only. Undefined for any other; then `last` is spoilt
   * and must be dropped.
   */
  #readHeartbeat(last: Read, bytes: Buffer): MemberRecord | undefined {
    const { versionAt } = last;
    if (versionAt === undefined) return undefined;
    bytes.copy(last.bytes, versionAt, versionAt, versionAt + doubleBytes);
    const version = bytes.readDoubleLE(versionAt);
    if (!last.bytes.equals(bytes) || !Number.isSafeInteger(version) || version < 0) return undefined;
    last.record = { ...last.record, version };
    return last.record;
  }
}

interface Written {
  record: MemberRecord;
  readonly bytes: Buffer;
}

/** Writes records, and keeps the last bytes of each node. */
export class RecordWriter {
  readonly #last = new Map<NodeId, Written>();

  /** The record's bytes. They stay valid until another record of the same node is written. */
  bytesOf(record: MemberRecord): Uint8Array {
    const last = this.#last.get(record.node);
    if (last?.record === record) return last.bytes;
    if (last !== undefined && isHeartbeat(last.record, record)) {
      last.bytes.writeDoubleLE(record.version, versionPlace(record.node.length));
      last.record = record;
      return last.bytes;
    }
    const bytes = Buffer.from(recordType.encode(record).finish());
    if (this.#last.size >= gossipMembersMax) this.#last.clear();
    this.#last.set(record.node, { record, bytes });
    return bytes;
  }
}

/** True if the two differ in their versions at most. */
function isHeartbeat(left: MemberRecord, right: MemberRecord): boolean {
  return (
    left.tokens === right.tokens &&
    left.generation === right.generation &&
    left.epoch === right.epoch &&
    left.state === right.state &&
    left.move === right.move &&
    left.joined === right.joined &&
    left.replaces === right.replaces &&
    left.supersedes === right.supersedes &&
    left.left === right.left &&
    left.away === right.away &&
    left.address === right.address &&
    left.datacenter === right.datacenter &&
    left.rack === right.rack
  );
}

/** The node that a record names, if that is its first field, as every encoder writes it; '' otherwise. */
function nameIn(record: Buffer): string {
  const [tag = 0, length = 0] = [record[0], record[1]];
  return tag === nodeTag && length < 0x80 ? record.toString('latin1', 2, 2 + length) : noNode;
}

function versionPlace(nameLength: number): number {
  return 2 + nameLength + versionOffset;
}

/** Where the version lies in a record's bytes, if `RecordWriter` would write the same bytes. */
function versionIn(bytes: Buffer, record: MemberRecord): number | undefined {
  const place = versionPlace(record.node.length);
  return Buffer.from(recordType.encode(record).finish()).equals(bytes) ? place : undefined;
}

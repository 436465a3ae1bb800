/**
 * Members' records as bytes. A record comes again and again, in the same bytes, from everyone who has it, and when it is
 * new it mostly says only that its node still lives: one heartbeat more. So the last one of each member is kept, and
 * what is the same is read and written once.
 */
import type { NodeId } from '../../base/ids.ts';
import { recordType } from './gossip-schema.ts';
import { gossipMembersMax, readPlainRecord } from './gossip-reader.ts';
import type { MemberRecord } from './member-record.ts';

/** The tag of the first field, a run of bytes. */
const nodeTag = 0x0a;
const doubleBytes = 8;
/** From the end of the name to the version's bytes: a generation with its tag, and the version's tag. */
const versionOffset = 10;
const noNode = '';

/** A record as it came last. */
interface Read {
  /** Its own copy. */
  readonly bytes: Buffer;
  record: MemberRecord;
  /** Where the version lies; undefined for bytes that no writer here would have written. */
  readonly versionAt: number | undefined;
}

export class RecordReader {
  /** By the node's name; of no more nodes than a message may name. */
  readonly #last = new Map<string, Read>();

  /** The record in these bytes, which are only lent. Throws `BadRequest` when they are none. */
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

  /** A record that differs from the last one in its version only; undefined for any other, and the last one is spoilt. */
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

export class RecordWriter {
  readonly #last = new Map<NodeId, Written>();

  /** The bytes of the record, which stay what they are until another one of its node is written. */
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

/** The two differ in their version at most. */
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

/** The node that a record names, when that is its first field, as every encoder writes it; or '' for all others. */
function nameIn(record: Buffer): string {
  const [tag = 0, length = 0] = [record[0], record[1]];
  return tag === nodeTag && length < 0x80 ? record.toString('latin1', 2, 2 + length) : noNode;
}

function versionPlace(nameLength: number): number {
  return 2 + nameLength + versionOffset;
}

/** Where the version lies in a record's bytes, if they are those that a writer here gives it. */
function versionIn(bytes: Buffer, record: MemberRecord): number | undefined {
  const place = versionPlace(record.node.length);
  return Buffer.from(recordType.encode(record).finish()).equals(bytes) ? place : undefined;
}

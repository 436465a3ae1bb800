/**
 * The words of gossip as bytes: what a table knows of whom, and members' records. Carried whole in one peer message,
 * so the peer plane need not know them; protobuf, so that fields can be added.
 *
 * Where many nodes meet, a record comes again and again, in the same bytes, from everyone who has it. A codec keeps what
 * it read last of each member, and what it has written of each record, so most are read and written once.
 */
import protobuf from 'protobufjs';

import { LockstepError } from '../base/errors.ts';
import type { NodeId, Token } from '../base/ids.ts';
import { parseNodeId, parseToken } from '../base/ids.ts';
import type { DeclaredState, MoveStage } from './states.ts';
import { declaredStates, moveStages } from './states.ts';
import type { DigestEntry, MemberRecord } from './table.ts';

/** What a node tells of something that all nodes shall know: those that show one digest know the same of it. */
export interface News {
  readonly topic: string;
  readonly digest: string;
}

/** One message of a round. */
export interface GossipWords {
  /** How far the sender knows everyone. */
  readonly digest: readonly DigestEntry[];
  /** Records that the receiver lacks, as far as the sender can tell. */
  readonly records: readonly MemberRecord[];
  /** The sender's view of who owns what (engine/membership/agreement.ts). */
  readonly view: string;
  readonly news?: readonly News[];
}

/** Members in one message at most; a cluster is smaller. */
export const gossipMembersMax = 1024;
const newsMax = 16;
const tokensMax = 256;
const textCharsMax = 256;

const schema = protobuf.parse(
  `
  syntax = "proto2";
  package lockstep.gossip;

  message Digest {
    required string node = 1;
    required double generation = 2;
    required double version = 3;
  }

  message Record {
    required string node = 1;
    required double generation = 2;
    required double version = 3;
    required string epoch = 4;
    required string state = 5;
    optional bool left = 6;
    required string address = 7;
    required string datacenter = 8;
    required string rack = 9;
    repeated fixed32 tokens = 10 [packed = true];
    optional bool away = 11;
    optional string move = 12;
    optional string replaces = 13;
  }

  message News {
    required string topic = 1;
    required string digest = 2;
  }

  message Words {
    repeated Digest digest = 1;
    // Each is a Record.
    repeated bytes records = 2;
    optional string view = 3;
    repeated News news = 4;
  }
`,
  { keepCase: true },
).root;

const wordsType = schema.lookupType('lockstep.gossip.Words');
const recordType = schema.lookupType('lockstep.gossip.Record');
/** Field 1, a run of bytes. */
const nodeTag = 0x0a;

/** A record as it came last. */
interface Read {
  readonly bytes: Buffer;
  readonly record: MemberRecord;
}

export class GossipCodec {
  /** By the node's name; of no more nodes than a message may name. */
  readonly #read = new Map<string, Read>();
  readonly #written = new WeakMap<MemberRecord, Uint8Array>();

  encode({ records, ...words }: GossipWords): Uint8Array {
    return wordsType.encode({ ...words, records: records.map((record) => this.#bytesOf(record)) }).finish();
  }

  /** Throws `BadRequest` when the bytes are no words, or say what no member may say. */
  decode(bytes: Uint8Array): GossipWords {
    const plain = plainOf(wordsType, bytes);
    const digest = listOf(plain, 'digest').map((entry) => digestOf(fieldsOf(entry)));
    const records = listOf(plain, 'records').map((entry) => this.#recordOf(entry));
    const news = listOf(plain, 'news').map((entry) => newsOf(fieldsOf(entry)));
    if (news.length > newsMax)
      throw malformed(`${news.length} news are too many; at most ${newsMax} are allowed`);
    const view = isGiven(plain, 'view') ? textOf(plain, 'view') : '';
    return news.length === 0 ? { digest, records, view } : { digest, records, view, news };
  }

  #bytesOf(record: MemberRecord): Uint8Array {
    const known = this.#written.get(record);
    if (known !== undefined) return known;
    const bytes = recordType.encode(record).finish();
    this.#written.set(record, bytes);
    return bytes;
  }

  #recordOf(bytes: unknown): MemberRecord {
    if (!(bytes instanceof Uint8Array)) throw malformed('a record is no run of bytes');
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const name = nameIn(view);
    const last = this.#read.get(name);
    if (last?.bytes.equals(view) === true) return last.record;
    const record = recordOf(plainOf(recordType, bytes));
    if (this.#read.size >= gossipMembersMax) this.#read.clear();
    // The bytes are lent: a copy stays.
    this.#read.set(name, { bytes: Buffer.from(view), record });
    return record;
  }
}

/** The node that a record names, when that is its first field, as every encoder writes it; or '' for all others. */
function nameIn(record: Buffer): string {
  const [tag = 0, length = 0] = record;
  return tag === nodeTag && length < 0x80 ? record.toString('latin1', 2, 2 + length) : '';
}

export function encodeWords(words: GossipWords): Uint8Array {
  return new GossipCodec().encode(words);
}

/** Throws `BadRequest` when the bytes are no words, or say what no member may say. */
export function decodeWords(bytes: Uint8Array): GossipWords {
  return new GossipCodec().decode(bytes);
}

type Plain = Readonly<Record<string, unknown>>;

function plainOf(type: protobuf.Type, bytes: Uint8Array): Plain {
  try {
    return fieldsOf(type.decode(bytes));
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

/** A message's fields; those that were not given read as their defaults. */
function fieldsOf(message: unknown): Plain {
  return isPlain(message) ? message : {};
}

function isPlain(value: unknown): value is Plain {
  return typeof value === 'object' && value !== null;
}

function digestOf(plain: Plain): DigestEntry {
  return {
    node: nodeOf(plain),
    generation: wholeOf(plain, 'generation'),
    version: wholeOf(plain, 'version'),
  };
}

function recordOf(plain: Plain): MemberRecord {
  return {
    ...digestOf(plain),
    epoch: textOf(plain, 'epoch'),
    state: stateOf(plain),
    move: moveOf(plain),
    replaces: isGiven(plain, 'replaces') ? nodeOf(plain, 'replaces') : undefined,
    left: plain['left'] === true,
    away: plain['away'] === true,
    address: textOf(plain, 'address'),
    datacenter: textOf(plain, 'datacenter'),
    rack: textOf(plain, 'rack'),
    tokens: tokensOf(plain),
  };
}

/** Nothing known of a topic has the empty digest. */
function newsOf(plain: Plain): News {
  return { topic: textOf(plain, 'topic'), digest: isGiven(plain, 'digest') ? textOf(plain, 'digest') : '' };
}

function nodeOf(plain: Plain, field = 'node'): NodeId {
  const node = parseNodeId(textOf(plain, field));
  if (node === undefined) throw malformed('a node name must be 1 to 64 of A-Z a-z 0-9 _ . -');
  return node;
}

function stateOf(plain: Plain): DeclaredState {
  const text = textOf(plain, 'state');
  const state = declaredStates.find((known) => known === text);
  if (state === undefined) {
    throw malformed(`the state ${JSON.stringify(text)} is unknown; allowed: ${declaredStates.join(', ')}`);
  }
  return state;
}

/** A node of a version that does not know of moves is on none. */
function moveOf(plain: Plain): MoveStage {
  const text = isGiven(plain, 'move') ? textOf(plain, 'move') : 'none';
  const move = moveStages.find((known) => known === text);
  if (move === undefined) {
    throw malformed(`the move ${JSON.stringify(text)} is unknown; allowed: ${moveStages.join(', ')}`);
  }
  return move;
}

function tokensOf(plain: Plain): readonly Token[] {
  const given = plain['tokens'];
  if (!Array.isArray(given) || given.length === 0 || given.length > tokensMax) {
    throw malformed(`a member has 1 to ${tokensMax} tokens`);
  }
  const tokens = given.map((value: unknown) => (typeof value === 'number' ? parseToken(value) : undefined));
  const known = tokens.filter((token) => token !== undefined);
  const ascending = known.every((token, index) => index === 0 || token > (known[index - 1] ?? token));
  if (known.length !== given.length || !ascending)
    throw malformed('tokens must be distinct, ascending 32-bit numbers');
  return known;
}

function listOf(plain: Plain, field: string): readonly unknown[] {
  const list: unknown = plain[field];
  if (!Array.isArray(list)) throw malformed(`${field} is no list`);
  if (list.length > gossipMembersMax) {
    throw malformed(`${list.length} ${field} are too many; at most ${gossipMembersMax} are allowed`);
  }
  return list;
}

function wholeOf(plain: Plain, field: string): number {
  const value = plain[field];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(`${field} must be a whole number`);
}

function textOf(plain: Plain, field: string): string {
  const value = plain[field];
  if (typeof value === 'string' && value.length > 0 && value.length <= textCharsMax) return value;
  throw malformed(`${field} must have 1 to ${textCharsMax} characters`);
}

/** An optional text that is not there reads as empty. */
function isGiven(plain: Plain, field: string): boolean {
  return plain[field] !== undefined && plain[field] !== '';
}

function malformed(detail: string): LockstepError {
  return new LockstepError('BadRequest', `gossip: ${detail}`);
}

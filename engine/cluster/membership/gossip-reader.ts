/**
 * Reads gossip messages by the schema, whatever encoder wrote them: fields in any order, unknown fields skipped. Names
 * every fault of a value that no member may state.
 */
import type protobuf from 'protobufjs';

import { LockstepError } from '../../base/errors.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { parseNodeId, parseToken } from '../../base/ids.ts';
import type { GossipMessage, News } from './gossip-messages.ts';
import { recordType, wordsType } from './gossip-schema.ts';
import type { DeclaredState, MoveStage } from './states.ts';
import { declaredStates, moveStages } from './states.ts';
import type { DigestEntry } from './gossip-progress.ts';
import type { MemberRecord } from './member-record.ts';

/**
 * The most members in one message, and in the member file, including those that have left. A table keeps to it
 * (table.ts): a message with more is read by no node.
 */
export const gossipMembersMax = 1024;
/** The most topics in one message. */
export const newsMax = 16;
const tokensMax = 256;
/** The most characters of a text. */
export const textCharsMax = 256;

/**
 * Reads a message. `readRecord` reads each record and reports its faults. Throws `BadRequest` for bytes that are no
 * message.
 */
export function readGossip(bytes: Uint8Array, readRecord: (bytes: Buffer) => MemberRecord): GossipMessage {
  const plain = plainOf(wordsType, bytes);
  const digest = listOf(plain, 'digest').map((entry) => digestOf(fieldsOf(entry)));
  const records = listOf(plain, 'records').map((entry) => readRecord(bytesOf(entry)));
  const news = listOf(plain, 'news').map((entry) => newsOf(fieldsOf(entry)));
  if (news.length > newsMax)
    throw malformed(`${news.length} news are too many; at most ${newsMax} are allowed`);
  const view = isGiven(plain, 'view') ? textOf(plain, 'view') : '';
  return news.length === 0 ? { digest, records, view } : { digest, records, view, news };
}

/** Reads a record. Throws `BadRequest` for bytes that are no record. */
export function readPlainRecord(bytes: Buffer): MemberRecord {
  return recordOf(plainOf(recordType, bytes));
}

function bytesOf(value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) throw malformed('a record is not a run of bytes');
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

type Plain = Readonly<Record<string, unknown>>;

function plainOf(type: protobuf.Type, bytes: Uint8Array): Plain {
  try {
    return fieldsOf(type.decode(bytes));
  } catch (error) {
    throw malformed(error instanceof Error ? error.message : String(error));
  }
}

/** A message's fields; fields that were not sent read as their defaults. */
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
    joined: lifeOf(plain, 'joined'),
    replaces: isGiven(plain, 'replaces') ? nodeOf(plain, 'replaces') : undefined,
    supersedes: lifeOf(plain, 'supersedes'),
    left: plain['left'] === true,
    away: plain['away'] === true,
    address: textOf(plain, 'address'),
    datacenter: textOf(plain, 'datacenter'),
    rack: textOf(plain, 'rack'),
    tokens: tokensOf(plain),
  };
}

/** A topic of which the sender knows nothing has an empty digest. */
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

/** A node of a version without ring changes is in none. */
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
  if (!Array.isArray(list)) throw malformed(`${field} is not a list`);
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

/** Incarnation numbers start at 1; an absent one reads as 0. */
function lifeOf(plain: Plain, field: string): number | undefined {
  const life = isGiven(plain, field) ? wholeOf(plain, field) : 0;
  return life === 0 ? undefined : life;
}

/** An absent optional text reads as empty. */
function isGiven(plain: Plain, field: string): boolean {
  return plain[field] !== undefined && plain[field] !== '';
}

function malformed(detail: string): LockstepError {
  return new LockstepError('BadRequest', `gossip: ${detail}`);
}

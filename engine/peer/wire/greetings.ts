/**
 * The first frame of a connection in each direction: `Hello`, or `Refusal` from a side that refuses the other. A peer
 * with another wire version can read neither; it sees the version in the frame's header.
 */
import type { NodeId, Token } from '../../base/ids.ts';
import { parseNodeId } from '../../base/ids.ts';
import type { Fields } from './bodies.ts';
import { decodeBody, encodeBody } from './bodies.ts';
import type { FrameArena } from './frame-arena.ts';
import type { Frame } from './frames.ts';
import { FrameError, lastingFrame } from './frames.ts';
import { greetingKinds } from './kinds.ts';
import type { Hello } from './messages.ts';
import { schemaType } from './schema.ts';
import { unstatedVersions } from './versions.ts';

/**
 * Why a peer is refused.
 *
 * - `version`: no version of peer messages in common.
 * - `cluster`: another cluster's id.
 * - `identity`: not the node that it should be, or a member that has lost its disk and declares that it joins.
 * - `unknown`: no member of the cluster.
 * - `location`: another datacenter or rack than configured.
 * - `tokens`: other tokens than the cluster knows.
 * - `oldLife`: a later incarnation of the node was seen.
 * - `sameName`: another living process has this name, or a member on another machine may be alive.
 * - `duplicateToken`: another node of its rack has one of its tokens.
 * - `busy`: too many connections.
 * - `other`: a reason that this version does not know.
 */
export type RefusalReason =
  | 'version'
  | 'cluster'
  | 'identity'
  | 'unknown'
  | 'location'
  | 'tokens'
  | 'oldLife'
  | 'sameName'
  | 'duplicateToken'
  | 'busy'
  | 'other';

/** All reasons. */
export const refusalReasons: readonly RefusalReason[] = [
  'version',
  'cluster',
  'identity',
  'unknown',
  'location',
  'tokens',
  'oldLife',
  'sameName',
  'duplicateToken',
  'busy',
  'other',
];

/** A refusal, as it is sent to the refused side. */
export interface Refusal {
  readonly kind: 'refusal';
  readonly reason: RefusalReason;
  /** What is wrong and what is allowed, as text for people. */
  readonly detail: string;
  /** With `oldLife`: the incarnation number that was seen. */
  readonly generation?: number;
  /** With `tokens`: those that the node should have. */
  readonly tokens?: readonly Token[];
}

/** The first message on a connection. */
export type Greeting = { readonly kind: 'hello'; readonly hello: Hello } | Refusal;

const helloType = schemaType('Hello');
const refusalType = schemaType('Refusal');
const tokenCountMax = 4096;
const nameCharsMax = 256;

/** The frame of a greeting. Throws `TooLarge`. */
export function encodeHello(arena: FrameArena, hello: Hello): Buffer {
  return arena.frame(greetingKinds.hello, 0, helloBody(hello));
}

/** The same frame in memory of its own. */
export function helloFrame(hello: Hello): Buffer {
  return lastingFrame(greetingKinds.hello, 0, helloBody(hello));
}

/** A node that speaks what builds without a range speak says no more than they do. */
function helloBody({ messages, ...said }: Hello): Uint8Array {
  const isUnstated = messages.min === unstatedVersions.min && messages.max === unstatedVersions.max;
  const range = isUnstated ? {} : { messagesMin: messages.min, messagesMax: messages.max };
  return encodeBody(helloType, { ...said, ...range });
}

/** The frame of a refusal. Throws `TooLarge`. */
export function encodeRefusal(arena: FrameArena, refusal: Refusal): Buffer {
  return arena.frame(greetingKinds.refusal, 0, encodeBody(refusalType, { ...refusal }));
}

/** The greeting in a frame. Throws `FrameError` if it holds none, or one beyond the limits. */
export function decodeGreeting(frame: Frame): Greeting {
  switch (frame.kind) {
    case greetingKinds.hello:
      return { kind: 'hello', hello: decodeHello(frame.body) };
    case greetingKinds.refusal:
      return decodeRefusal(frame.body);
    default:
      throw new FrameError('type', `a frame of kind ${frame.kind} where a greeting was expected`);
  }
}

function decodeHello(body: Buffer): Hello {
  const fields = decodeBody(helloType, body);
  const name = (field: string): string => bounded(field, fields.text(field));
  const node = nodeOf(fields, 'node');
  return {
    clusterId: name('clusterId'),
    node,
    datacenter: name('datacenter'),
    rack: name('rack'),
    tokens: tokensOf(fields, 'Hello'),
    epoch: name('epoch'),
    version: name('version'),
    generation: generationOf(fields),
    joining: fields.flag('joining'),
    messages: fields.has('messagesMax')
      ? { min: fields.number('messagesMin'), max: fields.number('messagesMax') }
      : unstatedVersions,
    ...(fields.has('replaces') ? { replaces: nodeOf(fields, 'replaces') } : {}),
    ...(fields.has('blankAt') ? { blankAt: name('blankAt') } : {}),
    ...(fields.has('view') ? { view: name('view') } : {}),
  };
}

function decodeRefusal(body: Buffer): Refusal {
  const fields = decodeBody(refusalType, body);
  const named = fields.text('reason');
  const reason = refusalReasons.find((known) => known === named) ?? 'other';
  const tokens = tokensOf(fields, 'Refusal');
  return {
    kind: 'refusal',
    reason,
    detail: fields.text('detail'),
    ...(fields.has('generation') ? { generation: generationOf(fields) } : {}),
    ...(tokens.length > 0 ? { tokens } : {}),
  };
}

function tokensOf(fields: Fields, message: 'Hello' | 'Refusal'): readonly Token[] {
  const tokens = fields.tokens('tokens');
  if (tokens.length <= tokenCountMax) return tokens;
  throw new FrameError(
    'type',
    `${message}.tokens has ${tokens.length} entries; at most ${tokenCountMax} are allowed`,
  );
}

function nodeOf(fields: Fields, field: string): NodeId {
  const node = parseNodeId(fields.text(field));
  if (node === undefined) throw new FrameError('type', `Hello.${field} is not 1 to 64 of [A-Za-z0-9_.-]`);
  return node;
}

function generationOf(fields: Fields): number {
  const generation = fields.number('generation');
  if (Number.isSafeInteger(generation) && generation >= 0) return generation;
  throw new FrameError('type', 'a generation is not a whole number from 0 to 2^53 - 1');
}

function bounded(field: string, text: string): string {
  if (text.length <= nameCharsMax) return text;
  throw new FrameError(
    'type',
    `Hello.${field} has ${text.length} characters; at most ${nameCharsMax} are allowed`,
  );
}

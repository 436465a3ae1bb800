/**
 * Messages to frames and back. The bodies follow schema.ts; those of every read and write are written and read by hand
 * (object-bodies.ts), and so are those of which another room reads the words; the others by reflection (bodies.ts).
 *
 * Encoding copies what the message holds. Decoding does not: `object`, `context`, `content` and `words` of a decoded
 * message are views of the bytes received (frames.ts says who copies). A frame that is no message throws `FrameError`.
 *
 * Adding a message: its type in schema.ts, its number in kinds.ts, a case to encode and one to decode here.
 */
import { unreachable } from '../base/assert.ts';
import { errorCodes } from '../base/errors.ts';
import { bytesOf } from '../base/ids.ts';
import { decodeBody, encodeBody } from './bodies.ts';
import type { FrameArena } from './frame-arena.ts';
import type { Frame } from './frames.ts';
import { FrameError } from './frames.ts';
import { replyKinds, requestKinds } from './kinds.ts';
import type { PeerReply, PeerRequest } from './messages.ts';
import { decodeKeyed, decodeObjectBody, encodeKeyed, encodeObjectBody, missing } from './object-bodies.ts';
import { schemaType } from './schema.ts';

const coordinateWriteType = schemaType('CoordinateWrite');
const failedType = schemaType('Failed');
const noBytes = Buffer.alloc(0);

type Failed = Extract<PeerReply, { kind: 'failed' }>;

/** Characters of a failure's detail that travel; the rest is cut. */
export const detailCharsMax = 1024;

/** The frame of a request. Throws `TooLarge` when it exceeds the arena's limit. */
export function encodeRequest(arena: FrameArena, id: number, request: PeerRequest): Buffer {
  const kind = requestKinds[request.kind];
  switch (request.kind) {
    case 'ping':
      return arena.frame(kind, id, noBytes);
    case 'readObject':
      return encodeKeyed(arena, kind, id, request.key, request.token);
    case 'mergeObject':
      return encodeKeyed(arena, kind, id, request.key, request.token, request.object);
    case 'coordinateWrite':
      return arena.frame(kind, id, coordinateWriteBody(request));
    case 'gossip':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'mergeBatch':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'transact':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'antiEntropy':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'transferRange':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'wasmModules':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'listNames':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'reap':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'keepHint':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'properties':
      return encodeObjectBody(arena, kind, id, request.words);
    case 'mapPhase':
      return encodeObjectBody(arena, kind, id, request.words);
    default:
      return unreachable(request);
  }
}

/** The request in a frame. Throws `FrameError` when it holds none. */
export function decodeRequest(frame: Frame): PeerRequest {
  switch (frame.kind) {
    case requestKinds.ping:
      return { kind: 'ping' };
    case requestKinds.readObject: {
      const { key, token } = decodeKeyed(frame.body);
      return { kind: 'readObject', key, token };
    }
    case requestKinds.mergeObject: {
      const { key, token, object } = decodeKeyed(frame.body);
      if (object === undefined) throw missing('object');
      return { kind: 'mergeObject', key, token, object };
    }
    case requestKinds.coordinateWrite:
      return decodeCoordinateWrite(frame.body);
    case requestKinds.gossip:
      return { kind: 'gossip', words: wordsOf(frame.body) };
    case requestKinds.mergeBatch:
      return { kind: 'mergeBatch', words: wordsOf(frame.body) };
    case requestKinds.transact:
      return { kind: 'transact', words: wordsOf(frame.body) };
    case requestKinds.antiEntropy:
      return { kind: 'antiEntropy', words: wordsOf(frame.body) };
    case requestKinds.transferRange:
      return { kind: 'transferRange', words: wordsOf(frame.body) };
    case requestKinds.wasmModules:
      return { kind: 'wasmModules', words: wordsOf(frame.body) };
    case requestKinds.listNames:
      return { kind: 'listNames', words: wordsOf(frame.body) };
    case requestKinds.reap:
      return { kind: 'reap', words: wordsOf(frame.body) };
    case requestKinds.keepHint:
      return { kind: 'keepHint', words: wordsOf(frame.body) };
    case requestKinds.properties:
      return { kind: 'properties', words: wordsOf(frame.body) };
    case requestKinds.mapPhase:
      return { kind: 'mapPhase', words: wordsOf(frame.body) };
    default:
      throw new FrameError('type', `a frame of kind ${frame.kind} where a request was expected`);
  }
}

/** The frame of a reply. Throws `TooLarge` when it exceeds the arena's limit. */
export function encodeReply(arena: FrameArena, id: number, reply: PeerReply): Buffer {
  const kind = replyKinds[reply.kind];
  switch (reply.kind) {
    case 'pong':
    case 'written':
      return arena.frame(kind, id, noBytes);
    case 'object':
    case 'coordinated':
      return encodeObjectBody(arena, kind, id, reply.object);
    case 'gossiped':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'transacted':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'antiEntropyAnswered':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'rangeTransferred':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'wasmModulesAnswered':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'namesListed':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'reapAnswered':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'propertiesAnswered':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'phaseMapped':
      return encodeObjectBody(arena, kind, id, reply.words);
    case 'failed':
      return arena.frame(kind, id, failedBody(reply));
    default:
      return unreachable(reply);
  }
}

/** The reply in a frame. Throws `FrameError` when it holds none. */
export function decodeReply(frame: Frame): PeerReply {
  switch (frame.kind) {
    case replyKinds.pong:
      return { kind: 'pong' };
    case replyKinds.written:
      return { kind: 'written' };
    case replyKinds.object:
      return { kind: 'object', object: decodeObjectBody(frame.body) };
    case replyKinds.coordinated: {
      const object = decodeObjectBody(frame.body);
      if (object === undefined) throw missing('object');
      return { kind: 'coordinated', object };
    }
    case replyKinds.gossiped:
      return { kind: 'gossiped', words: wordsOf(frame.body) };
    case replyKinds.transacted:
      return { kind: 'transacted', words: wordsOf(frame.body) };
    case replyKinds.antiEntropyAnswered:
      return { kind: 'antiEntropyAnswered', words: wordsOf(frame.body) };
    case replyKinds.rangeTransferred:
      return { kind: 'rangeTransferred', words: wordsOf(frame.body) };
    case replyKinds.wasmModulesAnswered:
      return { kind: 'wasmModulesAnswered', words: wordsOf(frame.body) };
    case replyKinds.namesListed:
      return { kind: 'namesListed', words: wordsOf(frame.body) };
    case replyKinds.reapAnswered:
      return { kind: 'reapAnswered', words: wordsOf(frame.body) };
    case replyKinds.propertiesAnswered:
      return { kind: 'propertiesAnswered', words: wordsOf(frame.body) };
    case replyKinds.phaseMapped:
      return { kind: 'phaseMapped', words: wordsOf(frame.body) };
    case replyKinds.failed:
      return decodeFailed(frame.body);
    default:
      throw new FrameError('type', `a frame of kind ${frame.kind} where a reply was expected`);
  }
}

/** Of a message whose one field is another room's words, which lie as an Object's bytes do. */
function wordsOf(body: Buffer): Buffer {
  const words = decodeObjectBody(body);
  if (words === undefined) throw missing('words');
  return words;
}

function coordinateWriteBody(request: Extract<PeerRequest, { kind: 'coordinateWrite' }>): Uint8Array {
  return encodeBody(coordinateWriteType, {
    key: bytesOf(request.key),
    token: request.token,
    level: request.level,
    ifNoneMatch: request.ifNoneMatch,
    ifContext: request.ifContext,
    context: request.context,
    content: request.content,
  });
}

function decodeCoordinateWrite(body: Buffer): PeerRequest {
  const fields = decodeBody(coordinateWriteType, body);
  return {
    kind: 'coordinateWrite',
    key: fields.key('key'),
    token: fields.token('token'),
    context: fields.bytesOrNone('context'),
    content: fields.bytes('content'),
    level: fields.text('level'),
    ifNoneMatch: fields.flag('ifNoneMatch'),
    ifContext: fields.bytesOrNone('ifContext'),
  };
}

function failedBody({ code, detail, facts }: Failed): Uint8Array {
  return encodeBody(failedType, {
    code: errorCodes.indexOf(code),
    detail: detail.slice(0, detailCharsMax),
    ...(facts?.definite === undefined ? {} : { definite: true }),
    ...facts?.votes,
  });
}

function decodeFailed(body: Buffer): PeerReply {
  const fields = decodeBody(failedType, body);
  // A newer peer may know more codes; what this one does not know is a failure without promises.
  const code = errorCodes[fields.number('code')] ?? 'Internal';
  const definite = fields.has('definite') && fields.flag('definite') ? { definite: true as const } : {};
  const counted = fields.has('got') && fields.has('needed');
  const votes = counted ? { votes: { got: fields.number('got'), needed: fields.number('needed') } } : {};
  const failed = { kind: 'failed', code, detail: fields.text('detail') } as const;
  return 'definite' in definite || counted ? { ...failed, facts: { ...definite, ...votes } } : failed;
}

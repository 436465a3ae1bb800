/**
 * Encodes messages as frames, and decodes them. The bodies follow schema.ts. Those of every read and write, and those
 * whose payload another module decodes, are encoded without reflection (object-bodies.ts); the others with it
 * (bodies.ts).
 *
 * Encoding copies what the message holds. Decoding does not: `object`, `context`, `content` and `words` of a decoded
 * message are views of the received bytes (frames.ts says who copies). A frame that is no message throws `FrameError`.
 *
 * To add a message: its type in schema.ts, its number in kinds.ts, and a case to encode and one to decode here, unless
 * `words` is all that it holds.
 */
import { errorCodes } from '../../base/errors.ts';
import { bytesOf } from '../../base/ids.ts';
import type { Fields } from './bodies.ts';
import { decodeBody, encodeBody } from './bodies.ts';
import type { FrameArena } from './frame-arena.ts';
import type { Frame } from './frames.ts';
import { FrameError } from './frames.ts';
import { replyKinds, replyOfKind, requestKinds, requestOfKind } from './kinds.ts';
import type { AskedWrite, PeerReply, PeerRequest } from './messages.ts';
import {
  decodeBatchBody,
  decodeKeyed,
  decodeObjectBody,
  decodeObjectReply,
  encodeBatchBody,
  encodeDescription,
  encodeKeyed,
  encodeKeyedObject,
  encodeObjectBody,
  isSole,
  missing,
  sameBody,
  soleBody,
  traceOf,
  withTrace,
} from './object-bodies.ts';
import { schemaType } from './schema.ts';

const coordinateWriteType = schemaType('CoordinateWrite');
const failedType = schemaType('Failed');
const noBytes = Buffer.alloc(0);
const written: PeerReply = { kind: 'written' };
const sole: PeerReply = { kind: 'written', sole: true };

type Failed = Extract<PeerReply, { kind: 'failed' }>;

/** The most characters of a failure's detail that are sent; the rest is cut. */
export const detailCharsMax = 1024;

/** The frame of a request. Throws `TooLarge` if it exceeds the arena's limit. */
export function encodeRequest(arena: FrameArena, id: number, request: PeerRequest): Buffer {
  const frame = encodeUntraced(arena, id, request);
  const trace = 'trace' in request ? request.trace : undefined;
  return trace === undefined ? frame : withTrace(arena, frame, requestKinds[request.kind], id, trace);
}

function encodeUntraced(arena: FrameArena, id: number, request: PeerRequest): Buffer {
  const kind = requestKinds[request.kind];
  switch (request.kind) {
    case 'ping':
      return arena.frame(kind, id, noBytes);
    case 'readObject':
      return encodeKeyed(arena, kind, id, request.key, request.token, request.bytesMax, request.version);
    case 'mergeObject':
      return encodeKeyedObject(
        arena,
        kind,
        id,
        request.key,
        request.token,
        request.object,
        request.clientName,
      );
    case 'mergeBatch':
      return encodeBatchBody(arena, kind, id, request.words, request.clientName);
    case 'coordinateWrite':
      return arena.frame(kind, id, coordinateWriteBody(request));
    default:
      return encodeObjectBody(arena, kind, id, request.words);
  }
}

/** The request in a frame. Throws `FrameError` if it holds none. */
export function decodeRequest(frame: Frame): PeerRequest {
  const kind = requestOfKind(frame.kind);
  switch (kind) {
    case undefined:
      throw new FrameError('type', `a frame of kind ${frame.kind} where a request was expected`);
    case 'ping':
      return { kind };
    case 'readObject': {
      const { key, token, bytesMax, fourth: version, trace } = decodeKeyed(frame.body);
      if (trace !== undefined) return { kind, key, token, bytesMax, trace, ...(version && { version }) };
      return version === undefined ? { kind, key, token, bytesMax } : { kind, key, token, bytesMax, version };
    }
    case 'mergeObject': {
      const { key, token, object, fourth: clientName, trace } = decodeKeyed(frame.body);
      if (object === undefined) throw missing('object');
      if (trace !== undefined) return { kind, key, token, object, trace, ...named(clientName) };
      return clientName === undefined
        ? { kind, key, token, object }
        : { kind, key, token, object, clientName };
    }
    case 'mergeBatch': {
      const { words, clientName, trace } = decodeBatchBody(frame.body);
      if (trace !== undefined) return { kind, words, trace, ...named(clientName) };
      return clientName === undefined ? { kind, words } : { kind, words, clientName };
    }
    case 'coordinateWrite':
      return decodeCoordinateWrite(frame.body);
    case 'transact': {
      const { words, trace } = decodeBatchBody(frame.body);
      return trace === undefined ? { kind, words } : { kind, words, trace };
    }
    default:
      return { kind, words: wordsOf(frame.body) };
  }
}

/** The frame of a reply. Throws `TooLarge` if it exceeds the arena's limit. */
export function encodeReply(arena: FrameArena, id: number, reply: PeerReply): Buffer {
  const kind = replyKinds[reply.kind];
  switch (reply.kind) {
    case 'pong':
      return arena.frame(kind, id, noBytes);
    case 'written':
      return arena.frame(kind, id, reply.sole === true ? soleBody : noBytes);
    case 'object':
      if (reply.same === true) return arena.frame(kind, id, sameBody);
      if (reply.described !== undefined) return encodeDescription(arena, kind, id, reply.described);
      return encodeObjectBody(arena, kind, id, reply.object);
    case 'coordinated':
      return encodeObjectBody(arena, kind, id, reply.object);
    case 'failed':
      return arena.frame(kind, id, failedBody(reply));
    default:
      return encodeObjectBody(arena, kind, id, reply.words);
  }
}

/** The reply in a frame. Throws `FrameError` if it holds none. */
export function decodeReply(frame: Frame): PeerReply {
  const kind = replyOfKind(frame.kind);
  switch (kind) {
    case undefined:
      throw new FrameError('type', `a frame of kind ${frame.kind} where a reply was expected`);
    case 'pong':
      return { kind };
    case 'written':
      return isSole(frame.body) ? sole : written;
    case 'object':
      return decodeObjectReply(frame.body);
    case 'coordinated': {
      const object = decodeObjectBody(frame.body);
      if (object === undefined) throw missing('object');
      return { kind, object };
    }
    case 'failed':
      return decodeFailed(frame.body);
    default:
      return { kind, words: wordsOf(frame.body) };
  }
}

/** The payload of a message whose one field belongs to another module. It is encoded as an Object's bytes are. */
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
    ...(request.asked === undefined ? {} : askedFields(request.asked)),
  });
}

function askedFields({ life, number, heardLife }: AskedWrite): Record<string, number> {
  return { askedLife: life, askedNumber: number, heardLife };
}

function askedOf(fields: Fields): AskedWrite {
  const count = (field: string): number => wholeOf(field, fields.number(field));
  return { life: count('askedLife'), number: count('askedNumber'), heardLife: count('heardLife') };
}

/** Throws `FrameError` unless the value is a whole number that a double holds exactly. */
function wholeOf(field: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new FrameError(
      'type',
      `CoordinateWrite.${field} is ${value}; it is a whole number from 0 to 2^53 - 1`,
    );
  return value;
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
    ...(fields.has('askedNumber') ? { asked: askedOf(fields) } : {}),
    ...(fields.has('trace') ? { trace: traceOf(fields.bytes('trace')) } : {}),
  };
}

function named(clientName: Buffer | undefined): { readonly clientName?: Buffer } {
  return clientName === undefined ? {} : { clientName };
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
  // A newer peer may send more codes. An unknown one becomes `Internal`, a failure that is not definite.
  const code = errorCodes[fields.number('code')] ?? 'Internal';
  const definite = fields.has('definite') && fields.flag('definite') ? { definite: true as const } : {};
  const counted = fields.has('got') && fields.has('needed');
  const votes = counted ? { votes: { got: fields.number('got'), needed: fields.number('needed') } } : {};
  const failed = { kind: 'failed', code, detail: fields.text('detail') } as const;
  return 'definite' in definite || counted ? { ...failed, facts: { ...definite, ...votes } } : failed;
}

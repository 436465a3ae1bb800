/**
 * Encodes hints: as they are stored, and as one node hands them to another when it leaves. In both forms the object
 * comes last.
 */
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import { tryDecodeWhole } from '../../base/decoding.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf, parseNodeId, textOf } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { bucketPrefix, unpackKey } from '../../base/object-key.ts';

/** A write that a replica missed, as stored. */
export interface Hint {
  readonly token: Token;
  /** Milliseconds by the retention clock of the node that stores the hint (base/retention-clock.ts). */
  readonly writtenMs: number;
  readonly object: Uint8Array;
}

/** A hint on its way to another node that will store it. It carries its age, since the nodes' clocks differ. */
export interface HandedHint {
  readonly peer: NodeId;
  readonly key: PackedKey;
  readonly token: Token;
  readonly ageMs: number;
  readonly object: Uint8Array;
}

const hintType = byteStringOf('hint');
const form = 1;

/** The prefix of the store keys of a peer's hints. */
export function hintPrefix(peer: NodeId): string {
  return bucketPrefix(hintType, byteStringOf(peer));
}

/** The store key of the hint for `peer` and the object key `key`. */
export function hintKeyOf(peer: NodeId, key: PackedKey): PackedKey {
  return (hintPrefix(peer) + key) as PackedKey;
}

/** The peer for which a hint is stored; undefined for a malformed hint key. */
export function peerOfHint(hintKey: PackedKey): NodeId | undefined {
  const name = unpackKey(hintKey);
  return name === undefined ? undefined : parseNodeId(textOf(name.bucket));
}

/** Form (u8), token (u32), write time (u64, milliseconds), object. */
export function encodeHint(hint: Hint): Buffer {
  const writer = new ByteWriter(32 + hint.object.length);
  return writer.u8(form).u32(hint.token).u64(hint.writtenMs).bytes(hint.object).finish();
}

/** Undefined if the bytes are not a hint of this version. */
export function decodeHint(bytes: Uint8Array): Hint | undefined {
  return tryDecodeWhole(bytes, (reader) => {
    if (reader.u8() !== form) throw new BytesError('of another version');
    return { token: reader.u32() as Token, writtenMs: reader.u64(), object: reader.bytes() };
  });
}

/** Peer, key, token (u32), age (u64, milliseconds, at least 0), object. */
export function encodeHandedHint({ peer, key, token, ageMs, object }: HandedHint): Buffer {
  const writer = new ByteWriter(64 + key.length + object.length);
  writer.string(byteStringOf(peer)).string(key).u32(token).u64(Math.max(0, ageMs));
  return writer.bytes(object).finish();
}

/** Decodes a handed hint; the object is a view into `words`. Throws `BytesError` if it is malformed. */
export function decodeHandedHint(words: Uint8Array): HandedHint {
  const reader = new ByteReader(words);
  const peer = parseNodeId(textOf(reader.string()));
  const key = reader.string() as PackedKey;
  if (peer === undefined || unpackKey(key) === undefined) throw new BytesError('a hint of no peer or key');
  const token = reader.u32() as Token;
  const ageMs = reader.u64();
  const object = reader.bytes();
  reader.end();
  return { peer, key, token, ageMs, object };
}

/** The peers for which the hints under these store keys are stored. */
export function peersOf(hintKeys: Iterable<PackedKey>): Set<NodeId> {
  const peers = new Set<NodeId>();
  for (const hintKey of hintKeys) {
    const peer = peerOfHint(hintKey);
    if (peer !== undefined) peers.add(peer);
  }
  return peers;
}

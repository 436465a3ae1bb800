/**
 * Hints as bytes: as they lie in the store of hints, and as one node hands them to another when it leaves. The object
 * comes last in both.
 */
import { ByteReader, ByteWriter, BytesError } from '../../base/bytes.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf, parseNodeId, textOf } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import { bucketPrefix, unpackKey } from '../../base/object-key.ts';

/** A write that a replica missed. */
export interface Hint {
  readonly token: Token;
  /** By the wall clock of the node that keeps it. */
  readonly writtenMs: number;
  readonly object: Uint8Array;
}

/** A hint on its way to another keeper. Wall clocks differ, so its age travels. */
export interface HandedHint {
  readonly peer: NodeId;
  readonly key: PackedKey;
  readonly token: Token;
  readonly ageMs: number;
  readonly object: Uint8Array;
}

const hintType = byteStringOf('hint');
const form = 1;

/** What the keys of a peer's hints begin with. */
export function hintPrefix(peer: NodeId): string {
  return bucketPrefix(hintType, byteStringOf(peer));
}

export function hintKeyOf(peer: NodeId, key: PackedKey): PackedKey {
  return (hintPrefix(peer) + key) as PackedKey;
}

/** For whom a hint is kept; undefined when this version did not write its key. */
export function peerOfHint(hintKey: PackedKey): NodeId | undefined {
  const name = unpackKey(hintKey);
  return name === undefined ? undefined : parseNodeId(textOf(name.bucket));
}

export function encodeHint(hint: Hint): Buffer {
  const writer = new ByteWriter(32 + hint.object.length);
  return writer.u8(form).u32(hint.token).u64(hint.writtenMs).bytes(hint.object).finish();
}

/** Undefined for bytes that this version did not write. */
export function decodeHint(bytes: Uint8Array): Hint | undefined {
  try {
    const reader = new ByteReader(bytes);
    if (reader.u8() !== form) return undefined;
    const token = reader.u32() as Token;
    const writtenMs = reader.u64();
    const object = reader.bytes();
    reader.end();
    return { token, writtenMs, object };
  } catch (error) {
    if (error instanceof BytesError) return undefined;
    throw error;
  }
}

export function encodeHandedHint({ peer, key, token, ageMs, object }: HandedHint): Buffer {
  const writer = new ByteWriter(64 + key.length + object.length);
  writer.string(byteStringOf(peer)).string(key).u32(token).u64(Math.max(0, ageMs));
  return writer.bytes(object).finish();
}

/** Reads what `encodeHandedHint` wrote; the object is a view. Throws `BytesError` on anything else. */
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

/** Those for whom the hints under these keys are kept. */
export function peersOf(hintKeys: Iterable<PackedKey>): Set<NodeId> {
  const peers = new Set<NodeId>();
  for (const hintKey of hintKeys) {
    const peer = peerOfHint(hintKey);
    if (peer !== undefined) peers.add(peer);
  }
  return peers;
}

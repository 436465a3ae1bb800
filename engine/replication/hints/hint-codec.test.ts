/** The encoding of hints that one node hands to another. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { BytesError } from '../../base/bytes.ts';
import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import { decodeHandedHint, encodeHandedHint, hintKeyOf, peerOfHint } from './hint-codec.ts';

const peer = 'n2' as NodeId;
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;

describe('a hint handed to another node', () => {
  it('round-trips through its codec', () => {
    const any = fc.record({ token: fc.nat(2 ** 32 - 1), ageMs: fc.nat(), object: fc.uint8Array() });
    fc.assert(
      fc.property(any, ({ token, ageMs, object }) => {
        const hint = { peer, key, token: token as Token, ageMs, object: Buffer.from(object) };
        expect(decodeHandedHint(encodeHandedHint(hint))).toEqual(hint);
      }),
    );
  });

  it('has an age of at least 0 after the clock went back', () => {
    const hint = { peer, key, token: 1 as Token, ageMs: -5, object: Buffer.alloc(1) };
    expect(decodeHandedHint(encodeHandedHint(hint)).ageMs).toBe(0);
  });

  it('throws BytesError when it is truncated, too long or malformed', () => {
    const whole = encodeHandedHint({ peer, key, token: 1 as Token, ageMs: 5, object: Buffer.from('v') });
    for (let length = 0; length < whole.length; length++) {
      expect(() => decodeHandedHint(whole.subarray(0, length))).toThrow(BytesError);
    }
    expect(() => decodeHandedHint(Buffer.concat([whole, Buffer.alloc(1)]))).toThrow(BytesError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        try {
          decodeHandedHint(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(BytesError);
        }
      }),
    );
  });

  it('is stored under a key that names its peer', () => {
    expect(peerOfHint(hintKeyOf(peer, key))).toBe(peer);
    expect(peerOfHint(key.slice(0, 3) as typeof key)).toBeUndefined();
  });
});

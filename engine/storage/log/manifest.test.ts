import { describe, expect, it } from 'vitest';

import { LockstepError } from '../../base/errors.ts';
import type { Manifest } from './manifest.ts';
import { decodeManifest, encodeManifest } from './manifest.ts';

const manifest: Manifest = {
  storeId: Buffer.alloc(16, 7),
  nodeName: 'n1',
  createdMs: 1_700_000_000_000,
  nextNumber: 12,
  segments: [
    { number: 3, kind: 'merge', sealed: true, length: 5000, seqMin: 1, seqMax: 2 ** 41 },
    { number: 11, kind: 'log', sealed: false, length: 0, seqMin: 0, seqMax: 0 },
  ],
};

function codeOf(bytes: Buffer): string {
  try {
    decodeManifest(bytes);
    return 'read';
  } catch (error) {
    return error instanceof LockstepError ? error.code : String(error);
  }
}

describe('the manifest', () => {
  it('decodes what was encoded', () => {
    expect(decodeManifest(encodeManifest(manifest))).toEqual({ manifest, whole: true });
  });

  it('survives any one wrong byte through its second copy', () => {
    const bytes = encodeManifest(manifest);
    for (let at = 0; at < bytes.length; at++) {
      const rotten = Buffer.from(bytes);
      rotten[at] = (rotten[at] ?? 0) ^ 0x40;
      expect(decodeManifest(rotten).manifest).toEqual(manifest);
    }
  });

  it('survives truncation within the second copy, and reports it', () => {
    const bytes = encodeManifest(manifest);
    expect(decodeManifest(bytes.subarray(0, bytes.length - 1))).toEqual({ manifest, whole: false });
  });

  it('throws Corrupted when neither copy is sound', () => {
    const bytes = encodeManifest(manifest);
    bytes[25] = 255;
    bytes[4096 + 25] = 255;
    expect(codeOf(bytes)).toBe('Corrupted');
    expect(codeOf(Buffer.alloc(0))).toBe('Corrupted');
  });

  it('throws FormatUnsupported for another format version', () => {
    const bytes = encodeManifest(manifest);
    bytes.writeUInt32BE(3, 8);
    bytes.writeUInt32BE(3, 4096 + 8);
    expect(codeOf(bytes)).toBe('FormatUnsupported');
  });
});

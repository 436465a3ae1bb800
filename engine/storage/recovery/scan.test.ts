import { describe, expect, it } from 'vitest';
import type { Token } from '../../base/ids.ts';
import type { PackedKey } from '../../base/object-key.ts';
import type { DiskFile } from '../../io/disk.ts';
import { viewOf } from '../../base/views.ts';
import { HashList } from '../index/key-hash.ts';
import {
  encodeSegmentHead,
  groupBytes,
  recordSeq,
  segmentHeadBytes,
  segmentIdentity,
} from '../log/record.ts';
import { encodeGroup } from '../log/group.fixture.ts';
import type { Breach, ScanResult } from './scan-visitor.ts';
import { scanSegment } from './scan.ts';

const storeId = Buffer.alloc(16, 9);
const identity = segmentIdentity(storeId, 3, 'log');

interface Seen {
  readonly seqs: readonly number[];
  readonly lost: readonly number[];
  readonly breaches: readonly Breach[];
  readonly result: ScanResult;
}

describe('a scan', () => {
  it('visits every record of whole groups in order, with windows smaller than a group', async () => {
    const { bytes } = segmentOf([2, 3, 1]);
    const seen = await scan(bytes, undefined, 100);
    expect(seen.seqs).toEqual([1, 2, 3, 4, 5, 6]);
    expect(seen.result).toMatchObject({ end: bytes.length, tornBytes: 0, groupCount: 3 });
  });

  it('does not take zeros behind the log for a torn tail', async () => {
    const { bytes } = segmentOf([2]);
    const seen = await scan(Buffer.concat([bytes, Buffer.alloc(3000)]), undefined);
    expect(seen.result).toMatchObject({ end: bytes.length, tornBytes: 0 });
  });

  it('ends an open segment before a broken group that no later group calls durable', async () => {
    const { bytes, offsets } = segmentOf([1, 2, 1], () => segmentHeadBytes);
    const second = offsets[1] ?? 0;
    bytes.fill(0, second + 50, second + 60);
    const seen = await scan(bytes, undefined);
    expect(seen).toMatchObject({ seqs: [1], lost: [], breaches: [] });
    expect(seen.result).toMatchObject({ end: second, tornBytes: bytes.length - second });
  });

  it('reports the same group as damage if a later one calls it durable, and names the lost record', async () => {
    const { bytes, offsets } = segmentOf([1, 2, 1]);
    const second = offsets[1] ?? 0;
    bytes[second + 50] = (bytes[second + 50] ?? 0) ^ 1;
    const seen = await scan(bytes, undefined);
    expect(seen.seqs).toEqual([1, 3, 4]);
    expect(seen.breaches).toMatchObject([{ kind: 'record', lost: { token: 2 }, seqMax: 3 }]);
    expect(seen.result).toMatchObject({ end: bytes.length, tornBytes: 0 });
  });

  it('names the lost record also where the window has moved on to the next group', async () => {
    const { bytes, offsets } = segmentOf([1, 2, 1]);
    const second = offsets[1] ?? 0;
    bytes[second + 50] = (bytes[second + 50] ?? 0) ^ 1;
    const seen = await scan(bytes, bytes.length, 100);
    expect(seen.seqs).toEqual([1, 3, 4]);
    expect(seen.breaches).toMatchObject([{ kind: 'record', lost: { token: 2 }, seqMax: 3 }]);
  });

  it('reports it in a sealed segment, even if no group calls it durable', async () => {
    const { bytes, offsets } = segmentOf([1, 2], () => segmentHeadBytes);
    bytes[(offsets[1] ?? 0) + 9] = 77;
    const seen = await scan(bytes, bytes.length);
    expect(seen.breaches).toMatchObject([{ offset: offsets[1] }]);
    expect(seen.seqs).toEqual([1, 2, 3]);
  });

  it('tells a rotten value from a rotten head', async () => {
    const { bytes } = segmentOf([1, 1]);
    const last = bytes.length - 1;
    bytes[last] = (bytes[last] ?? 0) ^ 1;
    const seen = await scan(bytes, bytes.length);
    expect(seen).toMatchObject({ seqs: [1], lost: [2] });
  });

  it('recomputes the head of a group whose records are all sound', async () => {
    const { bytes, offsets } = segmentOf([1, 2, 1]);
    for (const [index, at] of offsets.entries()) {
      const hurt = Buffer.from(bytes);
      hurt[at + 9] = (hurt[at + 9] ?? 0) ^ 1;
      const seen = await scan(hurt, bytes.length);
      expect(seen.seqs).toEqual([1, 2, 3, 4]);
      expect(seen.breaches).toMatchObject([{ kind: 'group', lost: 'none', offset: at }]);
      seen.breaches[0]?.head?.copy(hurt, at);
      const repaired = await scan(hurt, bytes.length);
      expect(repaired, `group ${index}`).toMatchObject({ seqs: [1, 2, 3, 4], breaches: [] });
    }
  });

  it('recomputes no head if a record behind it is not sound either', async () => {
    const { bytes, offsets } = segmentOf([1, 2, 1]);
    const second = offsets[1] ?? 0;
    bytes[second + 9] = (bytes[second + 9] ?? 0) ^ 1;
    bytes[(offsets[2] ?? 0) - 1] = (bytes[(offsets[2] ?? 0) - 1] ?? 0) ^ 1;
    const seen = await scan(bytes, bytes.length);
    expect(seen.breaches).toHaveLength(1);
    expect(seen.breaches[0]).not.toHaveProperty('head');
  });

  it('reports what a sealed segment lacks at its end', async () => {
    const { bytes, offsets } = segmentOf([1, 1]);
    const kept = bytes.subarray(0, offsets[1]);
    const seen = await scan(kept, bytes.length);
    expect(seen.seqs).toEqual([1]);
    expect(seen.breaches).toMatchObject([{ kind: 'truncated', offset: kept.length }]);
  });
});

/**
 * A segment of groups with the given numbers of records. `durable` returns what the group at an offset calls durable.
 */
function segmentOf(
  counts: readonly number[],
  durable: (at: number) => number = (at) => at,
): { readonly bytes: Buffer; readonly offsets: readonly number[] } {
  let bytes = encodeSegmentHead(storeId, identity.number, 'log');
  const offsets: number[] = [];
  let seq = 1;
  for (const count of counts) {
    const first = seq;
    const batch = Array.from({ length: count }, (_, index) => ({
      key: `key-${first + index}` as PackedKey,
      token: (first + index) as Token,
      value: Buffer.alloc(30, first + index),
    }));
    const at = bytes.length;
    const group = Buffer.alloc(groupBytes(batch));
    encodeGroup(group, viewOf(group), 0, batch, identity, at, first, durable(at), new HashList());
    bytes = Buffer.concat([bytes, group]);
    offsets.push(at);
    seq += count;
  }
  return { bytes, offsets };
}

async function scan(bytes: Buffer, sealedLength: number | undefined, windowBytes = 1024): Promise<Seen> {
  const seqs: number[] = [];
  const lost: number[] = [];
  const breaches: Breach[] = [];
  const visitor = {
    record: (found: Buffer, at: number) => void seqs.push(recordSeq(found, at)),
    lostValue: (found: Buffer, at: number) => void lost.push(recordSeq(found, at)),
    breach: (breach: Breach) => void breaches.push(breach),
  };
  const result = await scanSegment(fileOf(bytes), identity, visitor, { sealedLength, windowBytes });
  return { seqs, lost, breaches, result };
}

/** A read-only file whose reads return seven bytes less than asked for, but at least one. */
function fileOf(bytes: Buffer): DiskFile {
  const refuse = (): Promise<never> => Promise.reject(new Error('a scan changes nothing'));
  return {
    path: 'segment',
    size: () => Promise.resolve(bytes.length),
    readAt: (into, offset) => {
      const wanted = Math.max(1, into.length - 7);
      return Promise.resolve(bytes.copy(into, 0, offset, offset + wanted));
    },
    writeAt: refuse,
    writeDurably: refuse,
    sync: refuse,
    truncate: refuse,
    close: () => Promise.resolve(),
  };
}

import { expect, it } from 'vitest';

import type { PackedKey } from '../../engine/base/object-key.ts';
import type { Token } from '../../engine/base/ids.ts';
import { HashList } from '../../engine/storage/index/key-hash.ts';
import { encodeGroup } from '../../engine/storage/log/group.fixture.ts';
import { manifestName, segmentName } from '../../engine/storage/log/file-names.ts';
import { encodeManifest } from '../../engine/storage/log/manifest.ts';
import {
  encodeSegmentHead,
  groupBytes,
  segmentHeadBytes,
  segmentIdentity,
} from '../../engine/storage/log/record.ts';
import { tailOf } from './log-records.ts';
import { logsInUse } from './segments-in-use.ts';

it('a log is read by the identity in the manifest when the disk has lost the write of its head', () => {
  const storeId = Buffer.alloc(16, 7);
  const identity = segmentIdentity(storeId, 1, 'log');
  const batch = [{ key: 'k' as PackedKey, token: 5 as Token, value: Buffer.from('v') }];
  const whole = Buffer.alloc(segmentHeadBytes + groupBytes(batch));
  const view = new DataView(whole.buffer, whole.byteOffset, whole.length);
  encodeSegmentHead(storeId, 1, 'log').copy(whole);
  encodeGroup(whole, view, segmentHeadBytes, batch, identity, segmentHeadBytes, 1, 0, new HashList());
  const segment = {
    number: 1,
    kind: 'log',
    sealed: false,
    length: whole.length,
    seqMin: 1,
    seqMax: 1,
  } as const;
  const manifest = encodeManifest({
    ...{ storeId, nodeName: 'n1', createdMs: 0, nextNumber: 2 },
    segments: [segment],
  });
  const files = (log: Buffer): ReadonlyMap<string, Buffer> =>
    new Map([
      [`store/${manifestName}`, manifest],
      [`store/${segmentName(1)}`, log],
    ]);
  const headless = Buffer.from(whole).fill(0, 0, segmentHeadBytes);
  for (const log of [whole, headless]) {
    const keys: string[] = [];
    for (const [, content, head] of logsInUse(files(log), 'store')) {
      expect(head.storeId).toBe(storeId.toString('hex'));
      const tail = tailOf(content, undefined, head);
      tail?.read(content, 0, ({ key }) => keys.push(key));
      expect(tailOf(content, tail)).toBe(tail);
    }
    expect(keys).toEqual(['k']);
  }
});

/** Tests the object observer with writes that land in parts and out of order. */
import { describe, expect, it } from 'vitest';

import { byteStringOf } from '../../engine/base/ids.ts';
import type { Token } from '../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../engine/base/object-key.ts';
import { viewOf } from '../../engine/base/views.ts';
import { encodeHint } from '../../engine/replication/hints/hint-codec.ts';
import { plainContent } from '../../engine/replica/object/content.ts';
import type { Actor } from '../../engine/replica/object/dots.ts';
import { emptyVector } from '../../engine/replica/object/dots.ts';
import { applyWrite, encodeObject } from '../../engine/replica/object/object.ts';
import { HashList } from '../../engine/storage/index/key-hash.ts';
import { encodeManifest } from '../../engine/storage/log/manifest.ts';
import {
  encodeSegmentHead,
  groupBytes,
  segmentHeadBytes,
  segmentIdentity,
} from '../../engine/storage/log/record.ts';
import { encodeGroup } from '../../engine/storage/log/group.fixture.ts';
import type { StoreWrite } from '../../engine/storage/log/record.ts';
import { ObjectObserver } from './object-observer.ts';

const path = 'hints/00000001.log';
const token = 7 as Token;
const storeId = Buffer.alloc(16, 5);
const identity = segmentIdentity(storeId, 1, 'log');

function hintOf(name: string, value: Buffer | undefined): StoreWrite {
  const key = objectKey(defaultType, byteStringOf('n2'), byteStringOf(name)).packed;
  return { key, token, value };
}

/** A hint of a whole object. */
function wholeHint(): Buffer {
  const dot = { actor: byteStringOf('n1.0') as Actor, counter: 1 };
  const content = plainContent(Buffer.from('v'), 'text/plain');
  const object = encodeObject(applyWrite(undefined, emptyVector, content, dot, 5));
  return encodeHint({ token, writtenMs: 5, object });
}

/** A hint store whose file is preallocated with zeros. */
class HintFile {
  readonly witness = new ObjectObserver(() => 0);
  readonly #content = Buffer.alloc(4096);
  readonly #planned: Buffer = Buffer.alloc(4096);
  #at = segmentHeadBytes;
  #seq = 1;

  constructor() {
    encodeSegmentHead(storeId, 1, 'log').copy(this.#content);
  }

  /** Where the batch will lie. */
  plan(write: StoreWrite): { readonly from: number; readonly to: number } {
    const from = this.#at;
    encodeGroup(
      this.#planned,
      viewOf(this.#planned),
      from,
      [write],
      identity,
      from,
      this.#seq,
      from,
      new HashList(),
    );
    this.#seq += 1;
    this.#at += groupBytes([write]);
    return { from, to: this.#at };
  }

  /** The disk's current content. */
  get files(): ReadonlyMap<string, Buffer> {
    const number = 1;
    const manifest = encodeManifest({
      storeId,
      nodeName: 'n1',
      createdMs: 5,
      nextNumber: number + 1,
      segments: [{ number, kind: 'log', sealed: false, length: 0, seqMin: 0, seqMax: 0 }],
    });
    return new Map([
      [path, this.#content],
      ['hints/MANIFEST', manifest],
    ]);
  }

  reaches(from: number, to: number, host = 'n1'): void {
    this.#planned.copy(this.#content, from, from, to);
    this.witness.watcher.wrote?.(host, 1, path, this.#content, from, this.#content);
  }
}

describe('the object observer', () => {
  it('sees a removal whose last bytes are written after the batch behind it', () => {
    const file = new HintFile();
    const [kept, removal, other] = [
      file.plan(hintOf('a', Buffer.from('hint'))),
      file.plan(hintOf('a', undefined)),
      file.plan(hintOf('b', Buffer.from('hint'))),
    ];
    file.reaches(kept.from, kept.to);
    expect(file.witness.hintsOnDisk('n1')).toBe(1);
    file.reaches(removal.from, removal.to - 6);
    file.reaches(other.from, other.to);
    expect(file.witness.hintsOnDisk('n1')).toBe(2);
    file.reaches(removal.to - 6, removal.to);
    expect(file.witness.hintsOnDisk('n1')).toBe(1);
    expect(file.witness.hints.removed).toBe(1);
  });

  it('reports a hint as lost when its node leaves, unless another node keeps it too', () => {
    const file = new HintFile();
    const hint = file.plan(hintOf('a', wholeHint()));
    file.reaches(hint.from, hint.to);
    file.reaches(hint.from, hint.to, 'n3');
    file.witness.departed('n1');
    expect(file.witness.hints).toMatchObject({ removed: 1, skipped: 0, forgotten: [] });
    file.witness.relearn('n1', new Map());
    file.witness.departed('n3');
    expect(file.witness.hints.forgotten.map(({ text }) => text)).toEqual([
      expect.stringContaining('n3 left with its hint'),
    ]);
  });

  it('forgets the records after the offset at which a recovery truncates the log', () => {
    const file = new HintFile();
    const [missing, kept] = [
      file.plan(hintOf('a', Buffer.from('hint'))),
      file.plan(hintOf('b', Buffer.from('hint'))),
    ];
    file.reaches(kept.from, kept.to);
    file.witness.relearn('n1', file.files);
    expect(file.witness.hintsOnDisk('n1')).toBe(1);
    file.witness.cut('n1', path, missing.from, file.files);
    expect(file.witness.hintsOnDisk('n1')).toBe(0);
  });

  it('reads batches in log order when they land in another order', () => {
    const file = new HintFile();
    const [kept, removal] = [file.plan(hintOf('a', Buffer.from('hint'))), file.plan(hintOf('a', undefined))];
    file.reaches(removal.from, removal.to);
    file.reaches(kept.from, kept.to);
    expect(file.witness.hintsOnDisk('n1')).toBe(0);
  });
});

/** Tests the object observer with writes that land in parts and out of order. */
import { describe, expect, it } from 'vitest';

import { byteStringOf, textOf } from '../../engine/base/ids.ts';
import type { Token } from '../../engine/base/ids.ts';
import { defaultType, objectKey } from '../../engine/base/object-key.ts';
import { viewOf } from '../../engine/base/views.ts';
import { encodeHint } from '../../engine/replication/hints/hint-codec.ts';
import { plainContent, tombstone } from '../../engine/replica/object/content.ts';
import type { Actor, Dot } from '../../engine/replica/object/dots.ts';
import { emptyVector } from '../../engine/replica/object/dots.ts';
import type { StoredObject } from '../../engine/replica/object/object.ts';
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
  /** Hints written before this instant, in milliseconds, are too old. */
  oldBeforeMs = 0;
  readonly witness = new ObjectObserver(() => 0, undefined, undefined, {
    mayBeUnreadable: false,
    forgetful: new Set(['n9']),
    hintAges: {
      began: () => undefined,
      isTooOld: (_host, writtenMs) => writtenMs < this.oldBeforeMs,
    },
  });
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

function dotOf(counter: number): Dot {
  return { actor: byteStringOf('n1.0') as Actor, counter };
}

function putOf(object: StoredObject): StoreWrite {
  const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
  return { key, token, value: encodeObject(object) };
}

/** The object store's log, and a segment that a merge writes. */
class LogFile {
  readonly observer: ObjectObserver;
  readonly path = 'store/00000001.log';
  readonly #log = segmentOf(1, 'log');
  #at = segmentHeadBytes;
  #seq = 1;

  /** Without `observer`: one of its own. */
  constructor(mayBeUnreadable: boolean, observer?: ObjectObserver) {
    this.observer =
      observer ??
      new ObjectObserver(() => 0, undefined, undefined, {
        mayBeUnreadable,
        forgetful: new Set(),
        hintAges: { began: () => undefined, isTooOld: () => false },
      });
  }

  plan(write: StoreWrite): { readonly from: number; readonly to: number } {
    const from = this.#at;
    putGroup(this.#log, from, write, segmentIdentity(storeId, 1, 'log'), this.#seq);
    this.#seq += 1;
    this.#at += groupBytes([write]);
    return { from, to: this.#at };
  }

  reaches(from: number, to: number, host = 'n1'): void {
    const reached = this.#log.subarray(0, to);
    this.observer.watcher.wrote?.(host, 1, this.path, reached, from, reached);
  }

  /** A merge copies the first record. */
  merge(write: StoreWrite): { readonly path: string; readonly from: number; readonly to: number } {
    const path = 'store/00000002.log';
    const content = segmentOf(2, 'merge');
    const from = segmentHeadBytes;
    putGroup(content, from, write, segmentIdentity(storeId, 2, 'merge'), 1);
    const to = from + groupBytes([write]);
    const reached = content.subarray(0, to);
    this.observer.watcher.wrote?.('n1', 1, path, reached, from, reached);
    return { path, from, to };
  }
}

function segmentOf(number: number, kind: 'log' | 'merge'): Buffer {
  const content = Buffer.alloc(4096);
  encodeSegmentHead(storeId, number, kind).copy(content);
  return content;
}

function putGroup(
  content: Buffer,
  from: number,
  write: StoreWrite,
  of: ReturnType<typeof segmentIdentity>,
  seq: number,
): void {
  encodeGroup(content, viewOf(content), from, [write], of, from, seq, from, new HashList());
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

  it('lets a node remove a hint that it has reported as unreadable, and no other', () => {
    const lostBy = (reported: boolean): unknown => {
      const file = new HintFile();
      const [hint, removal] = [file.plan(hintOf('a', wholeHint())), file.plan(hintOf('a', undefined))];
      file.reaches(hint.from, hint.to);
      if (reported) file.witness.damaged('n1', path, hint.from, hint.to);
      file.reaches(removal.from, removal.to);
      const { removed, skipped, forgotten } = file.witness.hints;
      return [removed, skipped, forgotten.length];
    };
    expect(lostBy(true)).toEqual([1, 1, 0]);
    expect(lostBy(false)).toEqual([1, 0, 1]);
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

  it('skips a removed hint that has expired', () => {
    for (const [oldBeforeMs, skipped] of [
      [Infinity, 1],
      [0, 0],
    ] as const) {
      const file = new HintFile();
      file.oldBeforeMs = oldBeforeMs;
      const hint = file.plan(hintOf('a', wholeHint()));
      const removal = file.plan(hintOf('a', undefined));
      file.reaches(hint.from, hint.to);
      file.reaches(removal.from, removal.to);
      expect(file.witness.hints).toMatchObject({ removed: 1, skipped });
      expect(file.witness.hints.forgotten.length).toBe(1 - skipped);
    }
  });

  it('takes a tombstone that the replica has removed as delivered, and no value, and no other tombstone', () => {
    const content = plainContent(Buffer.from('1'), 'text/plain');
    const value = applyWrite(undefined, emptyVector, content, dotOf(1), 5);
    const deleted = applyWrite(value, value.context, tombstone, dotOf(2), 6);
    const deletedAnew = applyWrite(deleted, deleted.context, tombstone, dotOf(3), 7);
    const forgottenAfter = (held: StoredObject, hinted: StoredObject): number => {
      const file = new HintFile();
      const log = new LogFile(false, file.witness);
      const removed: StoreWrite = { ...putOf(held), value: undefined };
      for (const { from, to } of [log.plan(putOf(held)), log.plan(removed)]) log.reaches(from, to, 'n2');
      const name = textOf(removed.key);
      const bytes = encodeHint({ token, writtenMs: 5, object: encodeObject(hinted) });
      for (const one of [hintOf(name, bytes), hintOf(name, undefined)]) {
        const { from, to } = file.plan(one);
        file.reaches(from, to);
      }
      expect(file.witness.hints).toMatchObject({ removed: 1, skipped: 0 });
      return file.witness.hints.forgotten.length;
    };
    expect([forgottenAfter(deleted, deleted), forgottenAfter(deleted, value)]).toEqual([0, 0]);
    expect([forgottenAfter(value, value), forgottenAfter(deleted, deletedAnew)]).toEqual([1, 1]);
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

  it('takes an older object over a copy that its node reported as unreadable, and over no other', () => {
    const older = applyWrite(
      undefined,
      emptyVector,
      plainContent(Buffer.from('1'), 'text/plain'),
      dotOf(1),
      5,
    );
    const newer = applyWrite(older, older.context, plainContent(Buffer.from('2'), 'text/plain'), dotOf(2), 6);
    const lostBy = (reported: boolean): readonly string[] => {
      const file = new LogFile(true);
      const [first, second] = [file.plan(putOf(newer)), file.plan(putOf(older))];
      file.reaches(first.from, first.to);
      if (reported) file.observer.damaged('n1', file.path, first.from, first.to);
      // Of another host, and of other bytes: neither is the copy.
      file.observer.damaged('n2', file.path, first.from, first.to);
      file.observer.damaged('n1', file.path, first.to, second.to);
      file.reaches(second.from, second.to);
      return file.observer.dots.lost.map(({ text }) => text);
    };
    expect(lostBy(true)).toEqual([]);
    expect(lostBy(false)).toEqual([expect.stringContaining('n1 forgets n1.0:2')]);
  });

  it('finds a copy again that a merge has moved', () => {
    const older = applyWrite(
      undefined,
      emptyVector,
      plainContent(Buffer.from('1'), 'text/plain'),
      dotOf(1),
      5,
    );
    const newer = applyWrite(older, older.context, plainContent(Buffer.from('2'), 'text/plain'), dotOf(2), 6);
    const lostBy = (reported: boolean): number => {
      const file = new LogFile(true);
      const [first, second] = [file.plan(putOf(newer)), file.plan(putOf(older))];
      file.reaches(first.from, first.to);
      const copy = file.merge(putOf(newer));
      // The copy has another place than the original.
      if (reported) file.observer.damaged('n1', copy.path, copy.from, copy.to);
      file.reaches(second.from, second.to);
      return file.observer.dots.lost.length;
    };
    expect([lostBy(true), lostBy(false)]).toEqual([0, 1]);
  });

  it('reads batches in log order when they land in another order', () => {
    const file = new HintFile();
    const [kept, removal] = [file.plan(hintOf('a', Buffer.from('hint'))), file.plan(hintOf('a', undefined))];
    file.reaches(removal.from, removal.to);
    file.reaches(kept.from, kept.to);
    expect(file.witness.hintsOnDisk('n1')).toBe(0);
  });
});

import { expect, it } from 'vitest';

import { byteStringOf } from '../../engine/base/ids.ts';
import type { Token } from '../../engine/base/ids.ts';
import { writeClient } from '../../engine/transactions/formats/idempotency-records.ts';
import type { Xid } from '../../engine/transactions/formats/xid.ts';
import { idInKey, idOf, idRecordsOf, recordWords } from './client-ids.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Recording } from './recording.ts';

const xid = 'n1-000000000001-1' as Xid;
const stored = writeClient({
  ...{ clientId: 'x0/1', xid, sinceMs: 7, tokens: [1 as Token] },
  digest: byteStringOf('d'),
});

it('the record of an idempotency key is read from what a store holds', () => {
  expect(idInKey(stored.key)).toBe('x0/1');
  expect(recordWords(stored.value)).toBe(xid);
  expect(recordWords(undefined)).toBe('nothing');
  expect(recordWords(Buffer.from([1]))).toBe('an unreadable record');
});

function runOf(parts: Partial<Recording>): Recording {
  const concern = { ...emptyConcern(), text: `${xid} was said to be committed`, subjects: [1] };
  return { ...emptyRecording(), concern, subjects: ['x0/1', xid], ...parts };
}

it('says which nodes had a record of the id under which the transaction was sent', () => {
  const begun = { lane: 0, atUs: 100, kind: 'step', text: `xa.c.begin xid=${xid} client=x0/1`, about: [1] };
  const run = runOf({
    marks: [{ ...begun, kind: 'step' }],
    states: [
      { lane: 0, atUs: 1000, key: 0, text: xid },
      { lane: 0, atUs: 5000, key: 0, text: 'nothing' },
    ],
  });
  expect(idOf(run)).toBe('x0/1');
  expect(idRecordsOf(run)).toEqual([
    `Records of the id x0/1 on disks: from 0.0010 s on n1 has a record of ${xid}; from 0.0050 s on n1 has no record any more; n2 and n3 never have one.`,
  ]);
  expect(idRecordsOf({ ...run, states: [] })).toEqual(["No node's disk ever has a record of the id x0/1."]);
});

it('says nothing where no id is concerned', () => {
  expect(idRecordsOf(runOf({}))).toEqual([]);
});

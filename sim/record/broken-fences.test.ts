import { expect, it } from 'vitest';

import { brokenFencesOf, ruledOutOf } from './broken-fences.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Message, Recording } from './recording.ts';

const kinds = ['transact.fence', 'transacted.fenced', 'transact.prepare', 'transacted.voted'];

function message(
  kind: string,
  from: number,
  to: number,
  sentUs: number,
  about: number,
  detail: string,
): Message {
  return {
    ...{ from, to, sentUs, arrivedUs: sentUs + 10, kind: kinds.indexOf(kind), bytes: 1 },
    ...{ about: [about], detail },
  };
}

/** n1 fences the id at n2; `later`: what n2 answers to another attempt under an id. */
function runOf(later: string, id: string): Recording {
  return {
    ...emptyRecording(),
    concern: emptyConcern(),
    subjects: ['n1-000000000001-1', 'n3-000000000001-1'],
    messageKinds: kinds,
    messages: [
      message('transact.fence', 0, 1, 1000, 0, 'under the id x0/1'),
      message('transacted.fenced', 1, 0, 2000, 0, 'fenced, 0 claims of other attempts'),
      message('transact.prepare', 2, 1, 3000, 1, `under the id ${id}`),
      message('transacted.voted', 1, 2, 4000, 1, later),
    ],
  };
}

it('names a node that votes commit under an id that it has fenced', () => {
  expect(brokenFencesOf(runOf('commit', 'x0/1'))).toEqual([
    'Out of order: at 0.0040 s n2 carries out n3-000000000001-1 under the id x0/1 (prepare: commit), although it has answered that the id is fenced (0.0020 s).',
  ]);
});

it('takes no vote on another transaction over the same keys for the answer', () => {
  const run = runOf('abort (conflict)', 'x0/1');
  const other = { ...message('transacted.voted', 1, 2, 5000, 2, 'commit'), about: [2, 3] };
  const messages = run.messages.map((one) => ({ ...one, about: [...one.about, 3] }));
  expect(brokenFencesOf({ ...run, messages: [...messages, other] })).toEqual([]);
});

it('says nothing of a refusal, or of another id', () => {
  expect(brokenFencesOf(runOf('abort (conflict)', 'x0/1'))).toEqual([]);
  expect(brokenFencesOf(runOf('commit', 'x0/2'))).toEqual([]);
});

it('says which owners had consented when a node calls an id ruled out', () => {
  const run = runOf('commit', 'x0/2');
  const claim = { ...message('transact.fence', 1, 2, 500, 1, 'under the id x0/1') };
  const text = 'xa.id.fenced xid=n1-000000000001-1 client=x0/1 verdict=final';
  const at = (atUs: number): Recording => ({
    ...run,
    messages: [claim, ...run.messages],
    marks: [{ lane: 0, atUs, kind: 'step', text, about: [0] }],
  });
  expect(ruledOutOf(at(1500))).toEqual([
    'At 0.0015 s n1 calls every other attempt under the id x0/1 ruled out, after its abort of n1-000000000001-1: no other node has answered that it fences it; n2 not; n3 not asked, though asked about the id before.',
  ]);
  expect(ruledOutOf(at(2500))).toEqual([
    'At 0.0025 s n1 calls every other attempt under the id x0/1 ruled out, after its abort of n1-000000000001-1: n2 has answered that it fences it; n3 not asked, though asked about the id before.',
  ]);
});

it('names an attempt that is called aborted although no owner was asked to rule its id out', () => {
  const xid = 'n1-000000000001-1';
  const begun = {
    lane: 0,
    atUs: 900,
    kind: 'step',
    text: `xa.c.begin xid=${xid} client=x0/1`,
    about: [0],
  } as const;
  const fenced = { ...begun, atUs: 950, text: `xa.id.fenced xid=${xid} client=x0/1 verdict=used` };
  const run = runOf('commit', 'x0/2');
  const concern = { ...emptyConcern(), text: `x0/1 was told: ${xid} aborted` };
  expect(ruledOutOf({ ...run, concern, marks: [begun] })).toEqual([
    `${xid}, which n1 begins under the id x0/1 at 0.0009 s, is called aborted; no node asks the owners to rule out the other attempts under that id for it.`,
  ]);
  expect(ruledOutOf({ ...run, concern, marks: [begun, fenced] })).toEqual([]);
});

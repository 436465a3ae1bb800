import { expect, it } from 'vitest';

import { behindCounter } from './behind-counters.ts';
import { dialoguesOf } from './dialogues.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Message, RecordedOperation, Recording } from './recording.ts';
import { sharesOf } from './shares.ts';

const kinds = ['transact.fence', 'transacted.fenced', 'mapPhase', 'phaseMapped', 'mergeObject'];

function message(kind: string, from: number, to: number, more: Partial<Message> = {}): Message {
  const atUs = 1000 + from;
  return {
    ...{ from, to, sentUs: atUs, arrivedUs: atUs + 5, kind: kinds.indexOf(kind), bytes: 1, about: [0] },
    ...more,
  };
}

function runOf(messages: readonly Message[], more: Partial<Recording> = {}): Recording {
  const subjects = ['n1-0123456789ab-7'];
  return { ...emptyRecording(), subjects, concern: emptyConcern(), messageKinds: kinds, messages, ...more };
}

it('says who was asked about a transaction, and who answered what', () => {
  const asked = [message('transact.fence', 0, 1), message('transact.fence', 0, 2)];
  const answer = message('transacted.fenced', 1, 0, { detail: 'fenced' });
  expect(dialoguesOf(runOf([...asked, answer]))).toEqual([
    'About n1-0123456789ab-7: at 0.0010 s n1 sends fence to n2 (fenced) and n3 (no answer until then).',
  ]);
});

it('names the requests under an idempotency key, and that no message asks whether it was used', () => {
  const detail = 'under the id x0/1';
  const concern = { ...emptyConcern(), text: 'n1-0123456789ab-7 carries out x0/1' };
  expect(dialoguesOf(runOf([message('transact.fence', 0, 1, { detail })], { concern }))[1]).toBe(
    'Requests under the id x0/1: n1 sends fence to n2 (0.0010 s). No recorded message asks whether the id was used (recall, claim).',
  );
});

it('says that no node asked another', () => {
  expect(dialoguesOf(runOf([]))).toEqual([
    'No recorded message of one node to another asks about n1-0123456789ab-7 until then.',
  ]);
});

const job: RecordedOperation = {
  ...{ id: '#j0', lane: 3, node: 0, invokedUs: 900, completedUs: 3000, outcome: 'ok', about: [] },
  text: '#j0 c0 objects at n1: ok, 1 keys',
};

it('says what each peer was given of a job, and gave back', () => {
  const messages = [
    message('mapPhase', 0, 1, { items: 3 }),
    message('mapPhase', 0, 2, { items: 2 }),
    message('phaseMapped', 1, 0, { items: 1, detail: '3 inputs done' }),
  ];
  expect(sharesOf(runOf(messages), job)).toEqual([
    'The shares of #j0 c0, by n1: n2 3 inputs, 1 results back (last: 3 inputs done); n3 2 inputs, nothing back. In all 1 back from peers.',
  ]);
});

it('says which results that came back the client’s answer lacks', () => {
  const messages = [
    message('mapPhase', 0, 1, { items: 3, about: [1] }),
    message('phaseMapped', 1, 0, { items: 1 }),
  ];
  const concern = { ...emptyConcern(), text: `${job.text}: asked for b/k4 b/k5, it tells of b/k5` };
  const run = (name: string): Recording => runOf(messages, { concern, subjects: ['k3', name] });
  expect(sharesOf(run('k4'), job)).toEqual([
    "The shares of #j0 c0, by n1: n2 3 inputs, 1 results back, of which the client's answer has 0.",
  ]);
  expect(sharesOf(run('k5'), job)).toEqual(['The shares of #j0 c0, by n1: n2 3 inputs, 1 results back.']);
});

it('says what a node was asked since its counter was last right, and what it lost', () => {
  const operations: readonly RecordedOperation[] = [
    { ...job, text: '#1 c0 put newest/k1 at n1: unknown (timeout)', outcome: 'unknown' },
    { ...job, text: '#0 c0 get newest/k1 at n1: ok', completedUs: 950 },
  ];
  const row = { lane: 0, incarnation: 1, atUs: 4000, heldUs: 960, moment: 'running', name: 'timeouts' };
  const lost = message('mergeObject', 0, 1, { arrivedUs: -1 });
  const run = runOf([lost], { operations });
  expect(behindCounter(run, { ...row, counted: '0', expected: '1', holds: false })).toEqual([
    'Since it was last right (0.0010 s) n1 had: 1 put unknown (timeout): #1 c0; 1 mergeObject of n1 to n2 never arrived.',
  ]);
});

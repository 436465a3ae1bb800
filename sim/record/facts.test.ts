import { expect, it } from 'vitest';

import { deedOf } from './event-words.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { Concern, Mark, Recording } from './recording.ts';
import { factsOf } from './facts.ts';

function recordingOf(concern: Partial<Concern>, parts: Partial<Recording>): Recording {
  return { ...emptyRecording(), concern: { ...emptyConcern(), ...concern }, ...parts };
}

const mark = (
  lane: number,
  atUs: number,
  kind: Mark['kind'],
  text: string,
  about: readonly number[] = [],
): Mark => ({
  ...{ lane, atUs, kind, text, about },
});

const put = {
  ...{ id: '#0', lane: 3, node: 0, invokedUs: 1_000_000, completedUs: 1_005_000, outcome: 'ok' as const },
  ...{ text: '#0 c0 put newest/k3 «w» at n1: ok', about: [0] },
};

it('says which nodes had synced a copy when the client was answered, and who had answered', () => {
  const message = { bytes: 1, about: [0] };
  const told = factsOf(
    recordingOf(
      {},
      {
        operations: [put],
        messages: [
          { ...message, from: 0, to: 1, sentUs: 1_001_000, arrivedUs: 1_001_500, kind: 0 },
          { ...message, from: 0, to: 2, sentUs: 1_001_000, arrivedUs: 1_001_500, kind: 0 },
          { ...message, from: 1, to: 0, sentUs: 1_002_000, arrivedUs: 1_002_500, kind: 1 },
          { ...message, from: 2, to: 0, sentUs: 1_004_000, arrivedUs: 1_006_000, kind: 1 },
        ],
        states: [
          { lane: 0, atUs: 1_001_000, key: 0, text: '«w» (9 bytes)' },
          { lane: 1, atUs: 1_001_600, key: 0, text: '«w» (9 bytes)' },
          { lane: 1, atUs: 1_500_000, key: 0, text: 'nothing' },
        ],
        marks: [
          mark(0, 1_002_000, 'sync', 'disk.file.synced what=store/00000001.log file=4 bytes=64'),
          mark(1, 1_006_000, 'sync', 'disk.file.synced what=store/00000001.log file=4 bytes=64'),
          mark(1, 1_400_000, 'crash', 'host.crashed life=1'),
          mark(1, 1_450_000, 'start', 'host.booted life=2'),
        ],
      },
    ),
  );
  expect(told).toContain(
    'For #0 c0, n1 asks n2 and n3 (mergeObject); n2 answers before the client has its answer, n3 not.',
  );
  expect(told).toContain(
    'New copies of k3 when the client has its answer (1.0050 s): synced at n1; written and not synced at n2.',
  );
  expect(told).toContain(
    'Where the value of #0 c0 got lost: from 1.5000 s on n2 lacks it, and holds nothing, at its start after it died at 1.4000 s.',
  );
  expect(told).toContain('After its start at 1.4500 s, n2 does nothing about k3.');
});

it('where replicas stay unequal, says whose copies the last read of the key repaired', () => {
  const read = { ...put, id: '#1', text: '#1 c0 get newest/k3 at n1: ok', invokedUs: 1_600_000 };
  const concern = { invariant: 'convergence', text: 'newest/k3: n1 holds «w»', operations: [] };
  const message = { bytes: 1, about: [0], sentUs: 1_600_500, arrivedUs: 1_600_900, from: 0 };
  const told = (kinds: readonly string[]): string =>
    factsOf(
      recordingOf(concern, {
        operations: [{ ...read, completedUs: 1_601_000 }],
        messageKinds: ['mergeObject', 'readObject'],
        messages: kinds.map((kind, at) => ({ ...message, to: at + 1, kind: kind === 'mergeObject' ? 0 : 1 })),
      }),
    ).join(' ');
  expect(told(['readObject'])).toContain('After this read it repairs no copy of another node.');
  expect(told(['readObject', 'mergeObject'])).toContain('After this read it repairs the copies of n3.');
});

it('where a violation names a key alone, says whom the node asked that acknowledged its last write', () => {
  const read = {
    ...put,
    text: '#1 c0 get newest/k3 at n1: ok',
    invokedUs: 1_600_000,
    completedUs: 1_601_000,
  };
  const concern = {
    invariant: 'convergence',
    text: 'newest/k3: n1 holds «w», n2 holds nothing',
    operations: [],
  };
  expect(factsOf(recordingOf(concern, { operations: [put, read] }))).toContain(
    'For #0 c0, n1 asks no other node about it before it answers.',
  );
  const held = { key: 0, text: '«w» (9 bytes)' };
  const states = [
    { ...held, lane: 0, atUs: 1_001_000 },
    { ...held, lane: 2, atUs: 1_800_000 },
  ];
  expect(factsOf(recordingOf(concern, { operations: [put, read], states }))).toContain(
    'For #0 c0, n1 asks no other node about it before it answers. n3 holds a copy, too, and is not asked.',
  );
});

it('names a node that calls a running peer DOWN, unless the peer was down or cut off lately', () => {
  const marks = [
    mark(1, 100, 'start', 'host.booted life=1'),
    mark(0, 100, 'start', 'host.booted life=1'),
    mark(0, 1_000_000, 'ring', 'membership.peer.state.changed peer=n2 index=1 from=NORMAL to=DOWN'),
  ];
  const wrong = 'At that moment n1 has called n2 DOWN since 1.0000 s, although it has run since 0.0001 s.';
  const concern = { atUs: 9_000_000 };
  expect(factsOf(recordingOf(concern, { marks }))).toContain(wrong);
  const band = { fault: 'f0', kind: 'partition', fromUs: 500_000, text: '', links: 'around' as const };
  const cut = [{ ...band, lanes: [1], toUs: 8_000_000 }];
  const restarted = [...marks, mark(1, 7_000_000, 'crash', 'host.crashed life=1')];
  const back = [...restarted, mark(1, 8_000_000, 'start', 'host.booted life=2')];
  const again = mark(
    0,
    8_500_000,
    'ring',
    'membership.peer.state.changed peer=n2 index=1 from=DOWN to=NORMAL',
  );
  for (const parts of [
    { marks, bands: cut },
    { marks: restarted },
    { marks: back },
    { marks: [...marks, again] },
  ])
    expect(factsOf(recordingOf(concern, parts)).join(' ')).not.toContain('has called');
});

it('passes over the bytes of unauthenticated clients, and tells a message that is not sent once', () => {
  const sent = 'kind=mergeObject peer=n3 outcome=closed';
  const marks = [
    mark(1, 1_000_000, 'log', 'pbc.connection.refused remote=stranger:32768 code=FrameInvalid'),
    mark(1, 1_000_100, 'log', `dispatch.peer.refused ${sent}`),
    mark(1, 1_000_100, 'log', `peer.request.dropped ${sent}`),
  ];
  const told = factsOf(recordingOf({ operations: [] }, { marks })).join(' ');
  expect(told).not.toContain('stranger');
  expect(told).not.toContain('cannot send');
  expect(told).toContain('at 1.0001 s n2 does not send mergeObject to n3 (its channel: closed)');
});

it('two counters that are off by the same number the other way are one mistake', () => {
  const row = { lane: 1, incarnation: 1, atUs: 2_000_000, moment: 'running', holds: false };
  const counters = [
    { ...row, name: 'full', counted: '0', expected: '2' },
    { ...row, name: 'closed', counted: '2', expected: '0' },
  ];
  const told = factsOf(recordingOf({ invariant: 'metrics-reconcile', operations: [] }, { counters }));
  expect(told.join(' ')).toContain('n2 counts 2 in closed that belongs to full');
});

it('names what only one of two runs did, and leaves out what happens in every run', () => {
  const subjects = { subjects: [], operations: [] };
  const failing = recordingOf(subjects, {
    marks: [
      mark(1, 1_000_000, 'log', 'aae.snapshot.loaded position=9'),
      mark(1, 1_000_100, 'log', 'peer.link.connected peer=n1'),
    ],
  });
  const passing: Recording = {
    ...recordingOf(subjects, { marks: [mark(1, 1_000_000, 'log', 'aae.snapshot.rejected reason=stale')] }),
    concern: undefined,
  };
  const told = factsOf(failing, passing);
  expect(told).toContain('Only in the failing run: n2 accepts a saved hash tree as current (1.0000 s).');
  expect(told).toContain('Only in the nearest passing run: n2 rejects a saved hash tree (stale) (1.0000 s).');
  expect(told.join(' ')).not.toContain('peer.link');
});

it('an event in words leaves out what it does not say', () => {
  const text = (what: string): string => deedOf({ kind: 'step', text: what });
  expect(text('xa.p.prepareRec.written xid=n1-ab-2')).toBe(
    'writes the prepare record of n1-ab-2, not yet synced',
  );
  expect(text('xa.c.begin xid=n1-ab-2 branches=n1 n3')).toBe(
    'begins transaction n1-ab-2 with the branches n1 n3',
  );
  expect(text('xa.c.begin xid=n1-ab-2')).toBe('begins transaction n1-ab-2');
  expect(deedOf({ kind: 'fault', text: 'f0: at 1.184 s n1 loses power' })).toBe(
    'is struck by f0 (n1 loses power)',
  );
  expect(text('peer.link.refused detail=fault')).toBe('logs peer.link.refused detail=fault');
  expect(text('store.new.event size=3')).toBe('logs store.new.event size=3');
});

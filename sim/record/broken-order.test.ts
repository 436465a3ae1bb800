import { expect, it } from 'vitest';

import { brokenOrdersOf } from './broken-order.ts';
import { emptyRecording } from './recording.fixture.ts';
import type { Mark, RecordedOperation } from './recording.ts';

const xid = 'n1-37a73a82f84f-1';

/** What n1 (lane 0) and n2 (lane 1) do, in order, a millisecond each. */
function toldOf(
  steps: readonly (readonly [lane: number, text: string])[],
  operations: readonly RecordedOperation[] = [],
): readonly string[] {
  const marks = steps.map(([lane, text], at): Mark => {
    const kind = text.startsWith('xa.') ? 'step' : text.startsWith('host.') ? 'crash' : 'sync';
    return { lane, atUs: at * 1000, kind, text: kind === 'step' ? `${text} xid=${xid}` : text, about: [] };
  });
  return brokenOrdersOf({ ...emptyRecording(), marks, operations }).map(
    ({ lane, deed, although }) => `n${lane + 1} ${deed}, although ${although}`,
  );
}

const written = [0, 'xa.p.prepareRec.written'] as const;
const synced = [0, 'xa.p.prepareRec.synced'] as const;
const sync = [0, 'disk.file.synced what=store/00000001.log'] as const;

it('a record is synced once a file of the node was synced after it was written', () => {
  expect(toldOf([written, sync, synced])).toEqual([]);
  const told = `n1 goes on as if the prepare record of ${xid} were synced, although it has synced no file since it wrote that`;
  expect(toldOf([sync, written, synced])).toEqual([told]);
  expect(toldOf([written, [1, sync[1]], synced])).toEqual([told]);
});

it('a branch votes commit once its prepare record is synced', () => {
  const vote = [0, 'xa.p.vote.sent vote=commit'] as const;
  expect(toldOf([written, sync, synced, vote])).toEqual([]);
  expect(toldOf([written, vote])).toEqual([
    `n1 votes commit on ${xid}, although its prepare record is not synced`,
  ]);
});

it('a branch that has ended is not prepared again, but for a new incarnation', () => {
  const taken = [0, 'xa.p.locks.taken phase=preparing'] as const;
  const released = [0, 'xa.p.locks.released'] as const;
  expect(toldOf([taken, released])).toEqual([]);
  expect(toldOf([taken, released, [0, 'host.crashed life=1'], taken])).toEqual([]);
  expect(toldOf([taken, released, taken])).toEqual([
    `n1 prepares ${xid} again, although it has ended its branch of ${xid} (0.0010 s)`,
  ]);
});

it('a coordinator decides to commit after the votes of all branches', () => {
  const begin = [0, 'xa.c.begin branches=n2 n3'] as const;
  const vote = (from: string, word: string) => [0, `xa.c.vote.recv from=${from} vote=${word}`] as const;
  const decides = [0, 'xa.c.decision.beforeLog'] as const;
  expect(toldOf([begin, vote('n2', 'commit'), vote('n3', 'readOnly'), decides])).toEqual([]);
  const told = `n1 decides to commit ${xid}, although`;
  expect(toldOf([begin, vote('n2', 'commit'), decides])).toEqual([`${told} n3 has not voted`]);
  expect(toldOf([begin, vote('n2', 'commit'), vote('n3', 'abort'), decides])).toEqual([
    `${told} n3 voted abort`,
  ]);
});

it('two nodes do not learn different decisions', () => {
  const learns = (lane: number, word: string) => [lane, `xa.p.decision.recv decision=${word}`] as const;
  expect(toldOf([learns(0, 'commit'), learns(1, 'commit')])).toEqual([]);
  expect(toldOf([learns(0, 'commit'), learns(1, 'rollback')])).toEqual([
    `n2 learns the decision rollback of ${xid}, although n1 has learnt commit (0.0000 s)`,
  ]);
});

it('the decision is synced before a branch or a client hears of it', () => {
  const decision = [0, 'xa.c.decision.written'] as const;
  const durable = [0, 'xa.c.decision.synced'] as const;
  const told = [0, 'xa.c.commit.sent to=n2'] as const;
  const answered = (completedUs: number): RecordedOperation => ({
    ...{ id: '#t0', lane: 2, node: 0, invokedUs: 0, completedUs, outcome: 'ok', about: [] },
    text: `#0 x0 stamp triples/s0.0 at n1 ${xid} committed: ok in 1.0 ms`,
  });
  expect(toldOf([decision, sync, durable, told], [answered(4000)])).toEqual([]);
  expect(toldOf([decision, told])).toEqual([
    `n1 tells n2 to commit ${xid}, although the decision is not synced`,
  ]);
  expect(toldOf([decision, sync, durable], [answered(500)])).toEqual([
    `n1 has answered its client that ${xid} is committed, although the decision is written and not synced`,
  ]);
});

it('a node that holds its writes back for a backup makes none durable before its files are pinned', () => {
  const held = [0, 'backup.writes.held id=k1'] as const;
  const pinned = [0, 'backup.segments.pinned id=k1 segments=2'] as const;
  expect(toldOf([held, pinned, sync])).toEqual([]);
  expect(toldOf([held, [0, 'backup.writes.resumed id=k1'], sync])).toEqual([]);
  expect(toldOf([held, sync, pinned, sync])).toEqual([
    'n1 makes writes durable, although it holds its writes back for a backup since 0.0000 s',
  ]);
});

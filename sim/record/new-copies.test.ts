import { expect, it } from 'vitest';

import { newCopies } from './new-copies.ts';
import { emptyConcern, emptyRecording } from './recording.fixture.ts';
import type { RecordedOperation, Recording } from './recording.ts';

const own = '«w:c0:t1.0» (9 bytes)';
const other = '«w:c0:t0.0» (9 bytes)';

function append(id: string, invokedUs: number, outcome: RecordedOperation['outcome']): RecordedOperation {
  return {
    ...{ id, lane: 3, node: 0, invokedUs, completedUs: invokedUs + 1000, outcome },
    ...{ text: `${id.replace('t', '')} c0 append lists/k3: ${outcome}`, about: [0] },
  };
}

const [before, write] = [append('#t0', 1000, 'unknown'), append('#t1', 5000, 'ok')];

function runOf(parts: Partial<Recording>): Recording {
  return { ...emptyRecording(), concern: emptyConcern(), operations: [before, write], ...parts };
}

it('a copy with another value than the write’s is no copy of the write, and its origin is named', () => {
  const run = runOf({
    states: [
      { lane: 0, atUs: 5100, key: 0, text: own },
      { lane: 1, atUs: 5400, key: 0, text: other },
    ],
    messages: [{ from: 0, to: 1, sentUs: 1100, arrivedUs: 5300, kind: 0, bytes: 1, about: [0] }],
    marks: [
      { lane: 0, atUs: 5200, kind: 'sync', text: 'disk.file.synced what=store/00000001.log', about: [] },
    ],
  });
  expect(newCopies(run, 0, write)).toBe(
    'New copies of k3 when the client has its answer (0.0060 s): synced at n1; n2 writes another value meanwhile, and holds «w:c0:t0.0». «w:c0:t0.0», of #0 c0 (unknown), comes from n1, whose own disk never holds it.',
  );
});

it('where no copy holds the write’s value, every new copy counts', () => {
  const run = runOf({ states: [{ lane: 1, atUs: 5400, key: 0, text: 'nothing' }] });
  expect(newCopies(run, 0, write)).toContain('synced at no node; written and not synced at n2.');
});

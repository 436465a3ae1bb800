import { expect, it } from 'vitest';

import type { Trace } from '../world/core/trace.ts';
import { worldEvents } from '../world/core/trace.ts';
import { traceOfNode } from './node-trace.fixture.ts';
import { StartChanges } from './start-changes.ts';

/** What the first incarnation of `n1` changes in its store before it is open, of these steps. */
function changedBy(steps: (trace: Trace, changes: StartChanges) => void): string | undefined {
  const trace = traceOfNode();
  const changes = new StartChanges(trace, () => 1);
  trace.happened(worldEvents.hostBooted, 0, 1);
  steps(trace, changes);
  return changes.changed('n1', 1);
}

it('a write, a rename and a removal in the store change it', () => {
  expect(changedBy((_, changes) => changes.changes('n1', 'store/MANIFEST.new'))).toBe('store/MANIFEST.new');
  for (const event of [worldEvents.nameRenamed, worldEvents.nameRemoved])
    expect(changedBy((trace) => trace.happened(event, 0, 1, 0, 'store/MANIFEST'))).toBe('store/MANIFEST');
});

it('what a start reads, changes elsewhere, or changes once the store is open, does not count', () => {
  expect(
    changedBy((trace) => trace.happened(worldEvents.fileRead, 0, 1, 9, 'store/MANIFEST')),
  ).toBeUndefined();
  expect(changedBy((_, changes) => changes.changes('n1', 'hints/MANIFEST'))).toBeUndefined();
  const open = (trace: Trace, directory: string): void => {
    trace.logged(0, 'info', 'store.opened', { directory });
    trace.happened(worldEvents.nameRemoved, 0, 1, 0, 'store/00000001.log');
  };
  expect(changedBy((trace) => open(trace, 'store'))).toBeUndefined();
  expect(changedBy((trace) => open(trace, 'hints'))).toBe('store/00000001.log');
});

/** Rows of the table of fault kinds are complete and consistent. */
import { expect, it } from 'vitest';

import { faultKinds, faultRows } from './fault-table.ts';

it.each(faultRows)('$name is described in one line, and its ranges hold something', (row) => {
  expect(row.description.length).toBeLessThanOrEqual(54);
  for (const range of Object.values(row.params)) {
    if (range.kind === 'choice') expect(range.of.length).toBeGreaterThan(1);
    else expect(range.min).toBeLessThan(range.max);
  }
  expect(row.clients?.length ?? 1).toBeGreaterThan(0);
});

it('only a fault that lasts, or one without end, disturbs failure detectors for a time', () => {
  const fault = { id: 'f0', kind: '', targets: ['n1', 'n2'], forUs: 1_000, params: { stepMs: 2 } };
  const periods = faultRows.map(({ name, disturbs }) => [name, disturbs?.(fault, 5) ?? []] as const);
  expect(Object.fromEntries(periods)).toMatchObject({
    'process-crash': [],
    'network-partition': [{ node: '', fromUs: 5, toUs: 1_005 }],
    'network-delay': [
      { node: 'n1', toUs: 1_005 },
      { node: 'n2', toUs: 1_005 },
    ],
    // The last of two targets is clogged, and the last is freed, two steps of 2 ms later.
    'swizzle-clog': [{ node: '', toUs: 9_005 }],
    'removed-node-restart': [{ node: 'n1', toUs: Infinity }, { node: 'n2' }],
  });
});

it('an impostor has no id that is the name of another host', () => {
  expect(faultKinds['wrong-identity'].refusal?.({ id: 'after' })).toContain('any other id than "after"');
  expect(faultKinds['wrong-identity'].refusal?.({ id: 'f3' })).toBeUndefined();
});

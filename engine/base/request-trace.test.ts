/** Laws of trace contexts and open spans. */
import { describe, expect, test } from 'vitest';

import type { Span } from './request-trace.ts';
import { OpenSpan, parseTraceParent } from './request-trace.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';

describe('a traceparent header', () => {
  test('gives the ids and the sampled flag, whatever the other flags', () => {
    expect(parseTraceParent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, isSampled: true });
    expect(parseTraceParent(`00-${traceId}-${spanId}-02`)).toEqual({ traceId, spanId, isSampled: false });
    expect(parseTraceParent(`00-${traceId}-${spanId}-ff`)?.isSampled).toBe(true);
  });

  test('of a later version may be longer, one of version 00 may not', () => {
    expect(parseTraceParent(`01-${traceId}-${spanId}-01-more`)?.isSampled).toBe(true);
    expect(parseTraceParent(`00-${traceId}-${spanId}-01-more`)).toBeUndefined();
  });

  test.each([
    '',
    'x',
    `ff-${traceId}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  ])('that is malformed counts as none: %s', (header) => {
    expect(parseTraceParent(header)).toBeUndefined();
  });
});

test('a span ends once, and its child is below it in the same trace', () => {
  const ended: Span[] = [];
  let ids = 0;
  const recorder = { spanId: () => `id${(ids += 1)}`, ended: (span: Span) => void ended.push(span) };
  const span = new OpenSpan(recorder, 'client', 'server', traceId, { traceId, spanId }, 5);
  const child = span.child('dispatch', 6);
  child.end(9, 'Timeout');
  span.note('operation', 'put');
  span.end(10);
  span.end(11, 'Internal');
  expect(ended.map(({ name, startUs, endUs, failure }) => [name, startUs, endUs, failure])).toEqual([
    ['dispatch', 6, 9, 'Timeout'],
    ['client', 5, 10, undefined],
  ]);
  expect(ended[0]?.parent?.spanId).toBe(span.spanId);
  expect(ended.map(({ isParentRemote }) => isParentRemote)).toEqual([false, true]);
  expect(ended[1]?.attributes).toEqual({ operation: 'put' });
});

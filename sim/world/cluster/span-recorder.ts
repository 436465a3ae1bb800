/**
 * The tracing port of the world: keeps the spans of a host's incarnations, in the order in which they ended. Spans that
 * an incarnation had open at its crash are missing, as they are on a machine.
 *
 * It asserts what holds of every trace: a span ends after it began, and a request for an object that ended without a
 * failure was dispatched, so its span has a dispatch span below it, which begins within its time and ended first. Redis
 * commands are left out: one within MULTI is answered before anything is dispatched.
 */
import { assert, failAssertion } from '../../../engine/base/assert.ts';
import type { Span } from '../../../engine/base/request-trace.ts';
import type { SpanSink, Tracing } from '../../../engine/io/tracing.ts';

/** The most spans that are kept of one host; further ones count as dropped. */
const spansMax = 20_000;

/** What a client's span names as its operation if the request is one for an object. */
const dispatchedOperations: readonly unknown[] = ['get', 'put', 'delete'];

/** The spans of one host. */
export class SpanRecorder implements Tracing {
  readonly spans: Span[] = [];

  open(): SpanSink {
    const counts = { exported: 0, failed: 0, dropped: 0 };
    /** When the first dispatch below each client's open span began, by the id of that span. */
    const dispatchedUs = new Map<string, number>();
    return {
      ended: (span) => {
        assert(span.endUs >= span.startUs, 'a span ends after it began');
        checkSteps(span, dispatchedUs);
        if (this.spans.length < spansMax) {
          this.spans.push(span);
          counts.exported += 1;
        } else counts.dropped += 1;
      },
      counts: () => counts,
      close: () => Promise.resolve(),
    };
  }
}

/** Notes a dispatch, and asserts that a request that succeeded had one. */
function checkSteps({ name, spanId, parent, ...span }: Span, dispatchedUs: Map<string, number>): void {
  if (name === 'dispatch' && parent !== undefined && !dispatchedUs.has(parent.spanId))
    dispatchedUs.set(parent.spanId, span.startUs);
  if (name !== 'client') return;
  const firstUs = dispatchedUs.get(spanId);
  dispatchedUs.delete(spanId);
  const { operation, protocol } = span.attributes;
  const isDispatched = protocol !== 'redis' && dispatchedOperations.includes(operation);
  if (firstUs !== undefined)
    assert(firstUs >= span.startUs && firstUs <= span.endUs, 'a dispatch begins within its request');
  else if (span.failure === undefined && isDispatched)
    failAssertion('a request that succeeded has a span of its dispatch', String(operation), String(protocol));
}

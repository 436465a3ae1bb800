/**
 * The tracing port of the world: keeps the spans of a host's incarnations, in the order in which they ended. Spans that
 * an incarnation had open at its crash are missing, as they are on a machine.
 */
import { assert } from '../../../engine/base/assert.ts';
import type { Span } from '../../../engine/base/request-trace.ts';
import type { SpanSink, Tracing } from '../../../engine/io/tracing.ts';

/** The most spans that are kept of one host; further ones count as dropped. */
const spansMax = 20_000;

/** The spans of one host. */
export class SpanRecorder implements Tracing {
  readonly spans: Span[] = [];

  open(): SpanSink {
    const counts = { exported: 0, failed: 0, dropped: 0 };
    return {
      ended: (span) => {
        assert(span.endUs >= span.startUs, 'a span ends after it began');
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

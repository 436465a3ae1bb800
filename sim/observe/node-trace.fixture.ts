/** A trace of one node, for tests of observers. */
import { Trace } from '../world/core/trace.ts';

/** The trace of `n1`, at the instant 0. Throws what a listener throws. */
export function traceOfNode(): Trace {
  const trace = new Trace(
    () => 0,
    undefined,
    (name, error) => {
      throw new Error(name, { cause: error });
    },
  );
  trace.addHost('n1');
  return trace;
}

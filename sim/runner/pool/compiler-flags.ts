/**
 * How V8 compiles what runs simulations. A run touches much code, and little of it often: a third of the processor time
 * went into optimizing functions that were soon idle. So every function gets machine code at once, and only those that
 * are three times as busy as by default are optimized: 0.9 of the processor time. Versions of V8 with a middle compiler
 * (Maglev) do well on their own.
 */
export const compilerFlags: readonly string[] = process.versions.v8.startsWith('11.')
  ? ['--always-sparkplug', '--interrupt-budget=400000']
  : [];

/**
 * The ambient-time guard: reports calls of the machine's own clocks, timers and random numbers, and lets them through.
 * The linter keeps such calls out of the engine's sources; the guard finds those that a library or a trick brings in.
 */

/** Properties of global objects (of the global scope if the owner is empty), and the name that is reported. */
const guarded: readonly (readonly [owner: string, property: string, name: string])[] = [
  ['Date', 'now', 'Date.now'],
  ['performance', 'now', 'performance.now'],
  ['Math', 'random', 'Math.random'],
  ['', 'setTimeout', 'setTimeout'],
  ['', 'setInterval', 'setInterval'],
];

/** Calls `called` with the name of each guarded function that is called, until the returned function is called. */
export function guardAmbientTime(called: (name: string) => void): () => void {
  const undo = guarded.map(([ownerName, property, name]) => {
    const owner = ownerName === '' ? globalThis : (Reflect.get(globalThis, ownerName) as object);
    const real: unknown = Reflect.get(owner, property);
    if (typeof real !== 'function') return () => undefined;
    const watched = (...args: readonly unknown[]): unknown => {
      called(name);
      return Reflect.apply(real, owner, args);
    };
    const own = Object.getOwnPropertyDescriptor(owner, property);
    Object.defineProperty(owner, property, { value: watched, configurable: true, writable: true });
    return () => {
      if (own === undefined) Reflect.deleteProperty(owner, property);
      else Object.defineProperty(owner, property, own);
    };
  });
  return () => {
    for (const one of undo) one();
  };
}

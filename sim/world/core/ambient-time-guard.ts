/**
 * The alarm on the machine's own clocks, timers and dice: while it is set, whoever calls them is told of, and served all
 * the same. The linter keeps them out of the engine's sources; this finds what came in by a library or by a trick.
 */

/** A property of a global object (of the global scope where the owner is empty), by the name that is told. */
const guarded: readonly (readonly [owner: string, property: string, name: string])[] = [
  ['Date', 'now', 'Date.now'],
  ['performance', 'now', 'performance.now'],
  ['Math', 'random', 'Math.random'],
  ['', 'setTimeout', 'setTimeout'],
  ['', 'setInterval', 'setInterval'],
];

/** Calls `called` with the name of what is called, from now until the function it answers is. */
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

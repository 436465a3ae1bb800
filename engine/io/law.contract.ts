/**
 * Declares suites of laws that run against both implementations of a port.
 *
 * A suite (`clockContract`, `networkContract`, `diskContract`, `httpContract`) is a list of laws. Each law runs in a
 * harness of its own, made by the implementation's test file. A law's body is one `async` function over the ports. The
 * harness runs it to its end: on a machine it waits, in the simulated world it lets virtual time pass.
 *
 * A law that an implementation cannot run is skipped by name, with the reason in the test's title. A skip that names no
 * law fails, so a renamed law cannot drop out unseen.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from './clock.ts';

/** What every suite needs of an implementation, whatever the port. */
export interface Harness {
  /** The clock of the host whose ports are under test; laws let time pass with `sleep(clock, …)` only. */
  readonly clock: Clock;
  /**
   * Runs a started `async` function to its end and returns its outcome. The simulated world runs its agenda until the
   * promise settles, and rejects if it never will; the machine returns the promise.
   */
  settle<T>(conversation: Promise<T>): Promise<T>;
  /** Frees all resources. Called once after the law, outside of `settle`. */
  close(): Promise<void>;
}

/** Makes a fresh harness. Equal seeds give equal worlds; the machine ignores the seed. */
export type MakeHarness<H extends Harness> = (seed: number) => Promise<H>;

/** Maps a law's title to the reason why this implementation cannot run it. */
export type Skips = Readonly<Record<string, string>>;

/** Collects the laws of a suite. */
export interface LawRegister<H extends Harness> {
  /** A law, checked once. */
  law(title: string, body: (harness: H) => Promise<void>): void;
  /**
   * A law over generated values, each in a harness of its own. A failure reports the seed and the path that repeat it.
   */
  property<T>(
    title: string,
    arbitrary: fc.Arbitrary<T>,
    runs: number,
    body: (harness: H, value: T) => Promise<void>,
  ): void;
  /** A law over many seeds: `verdict` gets the results of `body` for the seeds 1..runs. */
  overSeeds<T>(
    title: string,
    runs: number,
    body: (harness: H) => Promise<T>,
    verdict: (found: readonly T[]) => void,
  ): void;
}

/** Declares a suite; `write` adds its laws. */
export function contract<H extends Harness>(
  name: string,
  makeHarness: MakeHarness<H>,
  skips: Skips,
  write: (suite: LawRegister<H>) => void,
): void {
  describe(name, () => {
    const titles = new Set<string>();
    const enter = (title: string, check: () => Promise<void>): void => {
      titles.add(title);
      const reason = skips[title];
      if (reason === undefined) it(title, check);
      else it.skip(`${title} (skipped: ${reason})`, check);
    };
    write({
      law: (title, body) => enter(title, () => inHarness(makeHarness, 1, body)),
      property: (title, arbitrary, runs, body) =>
        enter(title, () => checkProperty(makeHarness, arbitrary, runs, body)),
      overSeeds: (title, runs, body, verdict) =>
        enter(title, async () => {
          const found = [];
          for (let seed = 1; seed <= runs; seed++) found.push(await inHarness(makeHarness, seed, body));
          verdict(found);
        }),
    });
    it('every skip names a law of this suite', () => {
      expect(Object.keys(skips).filter((title) => !titles.has(title))).toEqual([]);
    });
  });
}

async function inHarness<H extends Harness, T>(
  makeHarness: MakeHarness<H>,
  seed: number,
  body: (harness: H) => Promise<T>,
): Promise<T> {
  const harness = await makeHarness(seed);
  try {
    return await harness.settle(body(harness));
  } finally {
    await harness.close();
  }
}

async function checkProperty<H extends Harness, T>(
  makeHarness: MakeHarness<H>,
  arbitrary: fc.Arbitrary<T>,
  runs: number,
  body: (harness: H, value: T) => Promise<void>,
): Promise<void> {
  const seeds = fc.integer({ min: 1, max: 0x7fffffff });
  const property = fc.asyncProperty(seeds, arbitrary, (seed, value) =>
    inHarness(makeHarness, seed, (harness) => body(harness, value)),
  );
  await fc.assert(property, { numRuns: runs, endOnFailure: true });
}

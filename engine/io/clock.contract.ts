/** The laws of the clock port (`clock.ts`), for both implementations. */
import { expect } from 'vitest';
import { Deferred } from '../base/deferred.ts';
import { sleep } from './clock.ts';
import type { Harness, MakeHarness, Skips } from './law.contract.ts';
import { contract } from './law.contract.ts';

export type ClockHarness = Harness;

/** Microseconds by which a timer may fire early, as Node's own do. */
const earlyUsMax = 1000;

export function clockContract(name: string, makeHarness: MakeHarness<ClockHarness>, skips: Skips = {}): void {
  contract(`clock: ${name}`, makeHarness, skips, (suite) => {
    suite.law('now is a whole number of microseconds and never goes back', async ({ clock }) => {
      let last = clock.nowUs();
      for (let round = 0; round < 20; round++) {
        for (let count = 0; count < 100; count++) {
          const now = clock.nowUs();
          expect(Number.isSafeInteger(now)).toBe(true);
          expect(now).toBeGreaterThanOrEqual(last);
          last = now;
        }
        await sleep(clock, 100);
      }
    });

    suite.law('the wall clock gives whole milliseconds', async ({ clock }) => {
      expect(Number.isSafeInteger(clock.wallMs())).toBe(true);
      await sleep(clock, 1000);
      expect(Number.isSafeInteger(clock.wallMs())).toBe(true);
    });

    suite.law('a timer fires after about its delay', async ({ clock }) => {
      const startedUs = clock.nowUs();
      await sleep(clock, 30_000);
      expect(clock.nowUs() - startedUs).toBeGreaterThanOrEqual(30_000 - earlyUsMax);
    });

    suite.law('a timer fires once', async ({ clock }) => {
      let fired = 0;
      clock.after(2000, () => fired++);
      await sleep(clock, 40_000);
      expect(fired).toBe(1);
    });

    suite.law(
      'a cancelled timer never fires, and cancelling twice or late is harmless',
      async ({ clock }) => {
        const fired: string[] = [];
        const early = clock.after(5000, () => fired.push('early'));
        const soon = clock.after(0, () => fired.push('soon'));
        const late = clock.after(1000, () => fired.push('late'));
        early.cancel();
        early.cancel();
        soon.cancel();
        await sleep(clock, 40_000);
        late.cancel();
        expect(fired).toEqual(['late']);
      },
    );

    suite.law(
      'a timer cancelled by an earlier timer of the same instant does not fire',
      async ({ clock }) => {
        const fired: string[] = [];
        for (const delayUs of [0, 3000]) {
          clock.after(delayUs, () => {
            fired.push('first');
            second.cancel();
          });
          const second = clock.after(delayUs, () => fired.push('second'));
          await sleep(clock, delayUs + 20_000);
        }
        expect(fired).toEqual(['first', 'first']);
      },
    );

    suite.law('timers set for one instant fire in the order in which they were set', async ({ clock }) => {
      for (const delayUs of [-5, 0, 700, 4000]) {
        const fired: number[] = [];
        for (let index = 0; index < 50; index++) clock.after(delayUs, () => fired.push(index));
        await sleep(clock, Math.max(0, delayUs) + 20_000);
        expect(fired).toEqual(Array.from({ length: 50 }, (_, index) => index));
      }
    });

    suite.law('timers far apart fire in the order of their instants', async ({ clock }) => {
      const fired: string[] = [];
      clock.after(60_000, () => fired.push('third'));
      clock.after(30_000, () => fired.push('second'));
      clock.after(0, () => fired.push('first'));
      await sleep(clock, 120_000);
      expect(fired).toEqual(['first', 'second', 'third']);
    });

    suite.law('a timer never fires within the call that sets it', async ({ clock }) => {
      const done = new Deferred<void>();
      let withinCall = false;
      let firedWithin = 0;
      let left = 20;
      const set = (): void => {
        withinCall = true;
        clock.after(left % 2 === 0 ? 0 : -1, () => {
          if (withinCall) firedWithin += 1;
          left -= 1;
          if (left === 0) done.resolve();
          else set();
        });
        withinCall = false;
      };
      set();
      await done.promise;
      expect(firedWithin).toBe(0);
    });

    suite.law('a timer beyond the range of 32-bit milliseconds does not fire at once', async ({ clock }) => {
      let fired = 0;
      const timer = clock.after(40 * 86_400 * 1_000_000, () => fired++);
      await sleep(clock, 20_000);
      timer.cancel();
      expect(fired).toBe(0);
    });
  });
}

import { readFileSync } from 'node:fs';

import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { runPlan } from '../runner/run.ts';
import { planOfSeed } from '../runner/task.ts';
import { chromiumPath, noteWithoutChromium, startChromium } from '../../engine/real/chromium.fixture.ts';
import type { Answer, Asked } from './protocol.ts';

const bundle = new URL('../../dist/sim/browser/worker.bundle.js', import.meta.url);

noteWithoutChromium();

describe.skipIf(chromiumPath === undefined)('the simulator in Chromium', () => {
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    browser = await startChromium();
    page = await browser.newPage();
    await page.setContent('<!doctype html><title>simulator</title>');
    await page.evaluate(
      (code) => {
        const scope = globalThis as typeof globalThis & {
          ask?: unknown;
          Worker: new (url: string) => { onmessage: unknown; postMessage(question: object): void };
        };
        const worker = new scope.Worker(URL.createObjectURL(new Blob([code])));
        scope.ask = (question: object) =>
          new Promise((resolve) => {
            worker.onmessage = ({ data }: { data: unknown }) => resolve(data);
            worker.postMessage(question);
          });
      },
      readFileSync(bundle, 'utf8'),
    );
  });

  afterAll(() => browser.close());

  function ask(asked: Asked): Promise<Answer> {
    return page.evaluate((question) => {
      const scope = globalThis as typeof globalThis & { ask: (asked: object) => Promise<Answer> };
      return scope.ask(question);
    }, asked);
  }

  it.each([
    ['calm', 1],
    ['runaway-module', 1],
    ['redis-multi', 2],
  ])('the plan of %s, seed %i is the same, and its run has the same digest', async (scenario, seed) => {
    const plan = planOfSeed(scenario, seed);
    expect(await ask({ kind: 'plan', scenario, seed })).toMatchObject({ kind: 'planned', plan });
    const { digest, events } = await runPlan(plan, { unobserved: true });
    expect(await ask({ kind: 'digest', plan })).toMatchObject({ kind: 'digested', digest, events });
  });

  it('what a run throws is answered in words', async () => {
    const answer = await ask({ kind: 'plan', scenario: 'no-such-scenario', seed: 1 });
    expect(answer).toMatchObject({ kind: 'failed', message: expect.stringContaining('no scenario') });
  });
});

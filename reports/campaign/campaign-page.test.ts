import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { pageWidth, seriousFindings, viewings } from '../../engine/real/axe.fixture.ts';
import { chromiumPath, noteWithoutChromium, startChromium } from '../../engine/real/chromium.fixture.ts';
import { Coverage } from '../../sim/coverage/coverage.ts';
import { campaignOf, compareCampaigns } from '../../sim/runner/campaign.ts';
import { summarizeAll } from '../../sim/runner/result.ts';
import { brokenReport, resultOf } from '../../sim/runner/result-fixture.ts';
import { summarize } from '../../sim/runner/tally.ts';
import { renderCampaignPage } from './campaign-page.ts';

noteWithoutChromium();

/** A page with every part that a campaign can have. */
function wholePage(): string {
  const result = resultOf({
    ...{ scenario: 'calm', seed: 3, verdict: 'failed' as const },
    reports: [brokenReport(5, `#3 c0 put newest/k8 at n3: lost ${'x'.repeat(300)}`)],
  });
  const failure = {
    ...{ result, shrunk: undefined, replay: ['replay', 'o/calm-3.json'], page: 'o/calm-3.html' },
  };
  const coverage = new Coverage();
  const summary = summarizeAll([summarize('calm', [result, resultOf({ scenario: 'calm' })], failure)]);
  const now = campaignOf(
    { ...summary, coverage: coverage.summary, coverageTables: coverage.tables },
    { command: ['run', '--out', 'o'], startedAt: '2026-01-02T03:04:05.000Z', wallMs: 12_345 },
  );
  const mutants = [
    { name: 'forgets', title: 'forgets what it acknowledged', noticed: false, broken: { durability: 3 } },
    { name: 'lies', title: 'lies', noticed: true, broken: {} },
  ];
  return renderCampaignPage(now, { comparison: compareCampaigns(now, now), mutants }, (page) =>
    page.slice(2),
  );
}

describe.skipIf(chromiumPath === undefined)('the page of a campaign', () => {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-campaign-'));
  const file = join(directory, 'index.html');
  let browser: Browser;

  beforeAll(async () => {
    writeFileSync(file, wholePage());
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(directory, { recursive: true });
  });

  it.each(viewings)('has nothing serious for axe and scrolls only down, %s', async (_, options) => {
    const page = await browser.newPage(options);
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(request.url()));
    await page.goto(`file://${file}`);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(options.viewport.width);
    expect(asked).toEqual([`file://${file}`]);
    await page.close();
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { pageWidth, seriousFindings, viewings } from '../engine/real/axe.fixture.ts';
import { chromiumPath, noteWithoutChromium, startChromium } from '../engine/real/chromium.fixture.ts';
import { parsePlan } from '../sim/plan/plan-validation.ts';

const root = join(import.meta.dirname, '..');
const plan = join(root, 'reports/testdata/unsynced-answer.plan.json');

noteWithoutChromium();

describe.skipIf(chromiumPath === undefined)('the page of a failure', () => {
  let directory = '';
  let file = '';
  let browser: Browser;
  const complaints: string[] = [];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'lockstep-page-'));
    const words = ['report', plan, '--mutant', 'ack-before-sync', '--out', directory];
    const made = spawnSync(process.execPath, [join(root, 'dist/sim/main.js'), ...words], {
      encoding: 'utf8',
    });
    expect(made.stderr).toMatch(/^\S+unsynced-answer.plan.html is written; .*\n$/);
    file = join(directory, 'unsynced-answer.plan.html');
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    rmSync(directory, { recursive: true });
  });

  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ acceptDownloads: true, ...options });
    const page = await context.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (request) => {
      if (!/^(file|blob|data):/.test(request.url())) complaints.push(request.url());
    });
    await page.goto(`file://${file}`);
    if (options.javaScriptEnabled !== false) await page.waitForSelector('body[data-simulator=ready]');
    return page;
  }

  it('is one file of at most 3 MB', () => {
    expect(statSync(file).size).toBeLessThan(3_000_000);
  });

  it('shows verdict, plan and replay line without JavaScript', async () => {
    const page = await open({ javaScriptEnabled: false });
    expect(await page.locator('h1').innerText()).toContain('broke the promise of durable-before-ack');
    expect(await page.locator('#replay').innerText()).toContain('--mutant ack-before-sync');
    expect(await page.locator('#static-plan').innerText()).toContain(
      'client c0 writes 1143 bytes to siblings/k4',
    );
    await page.context().close();
  });

  it('runs an edited plan: without the decisive operation it passes, with it the same run fails', async () => {
    const page = await open();
    const digest = await page.locator('#digest').innerText();
    await page.waitForSelector('text=This browser ran the plan too: the same digest.');
    await page.getByRole('button', { name: 'drop o29' }).click();
    await page.waitForSelector('#badge.passed');
    expect(await page.locator('h1').innerText()).toContain('passed');
    await page.getByRole('button', { name: 'put back o29' }).click();
    await page.waitForSelector('#badge.failed');
    expect(await page.locator('#digest').innerText()).toBe(digest);
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save plan' }).click();
    const saved = join(directory, 'saved.json');
    await (await saving).saveAs(saved);
    expect(parsePlan(readFileSync(saved, 'utf8'))).toEqual(parsePlan(readFileSync(plan, 'utf8')));
    await page.context().close();
  });

  it('steps, filters, zooms and adds a fault', async () => {
    const page = await open();
    const cursor = page.locator('text=cursor at');
    await page.getByRole('button', { name: 'To violation' }).click();
    const before = await cursor.innerText();
    await page
      .getByRole('button', { name: 'step', exact: true })
      .or(page.getByRole('button', { name: 'Step ▶' }))
      .click();
    expect(await cursor.innerText()).not.toBe(before);
    await page.getByRole('button', { name: 'Everything' }).click();
    await page.getByRole('button', { name: 'zoom in' }).click();
    await page.locator('input[list=subjects]').fill('k4');
    await page.locator('canvas').last().focus();
    await page.keyboard.press('v');
    expect(await page.locator('table').first().innerText()).toContain('k4');
    await page.getByRole('button', { name: 'Add fault' }).click();
    await page.waitForSelector('text=crashes and is away for 300 ms');
    await page.context().close();
  });

  it.each(viewings)('has nothing serious for axe, %s', async (_, options) => {
    const page = await open(options);
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(options.viewport.width);
    await page.context().close();
  });

  it('complains of nothing, and asks the network for nothing', () => {
    expect(complaints).toEqual([]);
  });
});

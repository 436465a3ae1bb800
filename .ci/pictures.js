/** `npm run pictures`: the pictures of reports/README.md, from pages that the built project writes. Needs Chromium. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { chromium } from 'playwright-core';

const places = [process.env.CHROMIUM ?? '', '/usr/bin/chromium', '/usr/bin/google-chrome'];
const executablePath = places.find((path) => existsSync(path));
if (executablePath === undefined) {
  console.log('No Chromium here: apt-get install chromium, or CHROMIUM=PATH.');
  process.exit(1);
}

const directory = mkdtempSync(join(tmpdir(), 'lockstep-pictures-'));
const simulator = (...words) => spawnSync('node', ['dist/sim/main.js', ...words], { stdio: 'inherit' });
const plan = 'reports/testdata/unsynced-answer.plan.json';
simulator('report', plan, '--mutant', 'ack-before-sync', '--out', directory);
simulator('page', 'crash-during-prepare', '--out', join(directory, 'playground.html'));

const wide = { viewport: { width: 1360, height: 1000 } };
const phone = { viewport: { width: 390, height: 844 } };
const pictures = [
  ['failure-light', 'unsynced-answer.plan.html', { ...wide, colorScheme: 'light' }],
  ['failure-dark', 'unsynced-answer.plan.html', { ...wide, colorScheme: 'dark' }],
  ['failure-phone', 'unsynced-answer.plan.html', { ...phone, colorScheme: 'light' }],
  ['playground', 'playground.html', { ...wide, colorScheme: 'light' }],
];
const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const browser = await chromium.launch({ executablePath, args });
for (const [name, file, options] of pictures) {
  const page = await browser.newPage(options);
  await page.goto(`file://${resolve(directory, file)}`);
  await page.waitForSelector('body[data-simulator=ready]');
  await page.screenshot({ path: `reports/pictures/${name}.png` });
  await page.close();
}
await browser.close();
rmSync(directory, { recursive: true });

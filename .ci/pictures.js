/** `npm run pictures`: the pictures of reports/README.md, from pages that the built project writes. Needs Chromium. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
const program = resolve('dist/sim/main.js');
const simulator = (...words) => spawnSync('node', [program, ...words], { stdio: 'inherit' });
/** What the command prints, begun in the directory of the pages: what it prints names no other one. */
const printed = (...words) =>
  spawnSync('node', [program, ...words], { cwd: directory, encoding: 'utf8' }).stdout;
const plan = 'reports/testdata/unsynced-answer.plan.json';
simulator('report', plan, '--mutant', 'ack-before-sync', '--out', directory);
simulator('page', 'crash-during-prepare', '--out', join(directory, 'playground.html'));

const mutated = ['--mutant', 'ack-before-sync'];
printed(
  'run',
  'crash-and-restart',
  'single-node-power-loss',
  '--seeds',
  '4',
  '--out',
  'campaign',
  ...mutated,
);
const run = ['run', 'crash-and-restart', '--seeds', '3', '--out', 'out', ...mutated];
terminal('terminal-failure', run, printed(...run));
const explain = ['explain', resolve(plan), ...mutated];
terminal('terminal-explain', ['explain', 'unsynced-answer.plan.json', ...mutated], printed(...explain));

const wide = { viewport: { width: 1360, height: 1000 } };
const phone = { viewport: { width: 390, height: 844 } };
const terminalSize = { viewport: { width: 800, height: 300 } };
const pictures = [
  ['failure-light', 'unsynced-answer.plan.html', { ...wide, colorScheme: 'light' }],
  ['failure-dark', 'unsynced-answer.plan.html', { ...wide, colorScheme: 'dark' }],
  ['failure-phone', 'unsynced-answer.plan.html', { ...phone, colorScheme: 'light' }],
  ['playground', 'playground.html', { ...wide, colorScheme: 'light' }],
  ['campaign', 'campaign/index.html', { ...wide, colorScheme: 'light' }],
  ['terminal-failure', 'terminal-failure.html', terminalSize],
  ['terminal-explain', 'terminal-explain.html', terminalSize],
];
const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const browser = await chromium.launch({ executablePath, args });
for (const [name, file, options] of pictures) {
  const page = await browser.newPage(options);
  await page.goto(`file://${resolve(directory, file)}`);
  if (!/^(campaign|terminal)/.test(name)) await page.waitForSelector('body[data-simulator=ready]');
  const path = `reports/pictures/${name}.png`;
  if (name.startsWith('terminal')) await page.locator('pre').screenshot({ path });
  else await page.screenshot({ path });
  await page.close();
}
await browser.close();
rmSync(directory, { recursive: true });

/** Writes a page that looks as a terminal does after this command. */
function terminal(name, words, text) {
  const shown = `$ npx lockstep-sim ${words.join(' ')}\n${text}`.replace(/&/g, '&amp;').replace(/</g, '&lt;');
  const style =
    'display:inline-block;margin:0;padding:14px;background:#1b1f27;color:#e6e6e6;font:13px/1.4 monospace';
  const page = `<!doctype html><meta charset="utf-8"><body style="margin:0"><pre style="${style}">${shown.trim()}</pre>`;
  writeFileSync(join(directory, `${name}.html`), page);
}

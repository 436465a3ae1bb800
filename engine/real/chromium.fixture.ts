/** Chromium for tests, if the machine has one. Nothing is downloaded. */
import { existsSync } from 'node:fs';
import process from 'node:process';

import type { Browser } from 'playwright-core';
import { chromium } from 'playwright-core';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The path of Chromium: `CHROMIUM`, or where Debian and others install it; undefined if there is none. */
export const chromiumPath = [process.env['CHROMIUM'] ?? '', ...places].find((path) => existsSync(path));

/** Says why tests in a browser are skipped, if they are. */
export function noteWithoutChromium(): void {
  if (chromiumPath !== undefined) return;
  process.stderr.write('No Chromium here (apt-get install chromium, or CHROMIUM=PATH): skipped.\n');
}

/** Starts Chromium. As root it has no sandbox. */
export function startChromium(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: chromiumPath ?? '', args });
}

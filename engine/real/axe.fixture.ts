/** Accessibility of pages, by axe-core. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import type { BrowserContextOptions, Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** How people see a page: light, dark, and on a phone. */
export const viewings = [
  ['light', { colorScheme: 'light', viewport: { width: 1360, height: 900 } }],
  ['dark', { colorScheme: 'dark', viewport: { width: 1360, height: 900 } }],
  ['on a phone', { colorScheme: 'light', viewport: { width: 390, height: 844 } }],
] as const satisfies readonly (readonly [string, BrowserContextOptions])[];

/** What axe finds serious or critical on the page, each with the first element that it concerns. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => {
    const { axe: tool } = globalThis as typeof globalThis & {
      axe: {
        run: () => Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>;
      };
    };
    const { violations } = await tool.run();
    return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html ?? ''}`);
  });
  return found.filter((text) => /^(serious|critical)/.test(text));
}

/** The width of all that the page holds, in pixels: wider than the window, it scrolls sideways. */
export function pageWidth(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth');
}

/**
 * The console in a real browser, over three nodes in this process that ask for credentials. Transactions in doubt are
 * put into the node's answer on its way to the page; everything else is what the nodes answer.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';

import { names, threeCredentials, tokens } from '../../auth/credentials.fixture.ts';
import type { Role } from '../../auth/role.ts';
import { present } from '../../base/assert.ts';
import { parseConfig } from '../../config/config.ts';
import { intervalOf, percentile, summed } from '../../console/percentiles.ts';
import { Node } from '../../node/node.ts';
import { pageWidth, seriousFindings, viewings } from '../../real/axe.fixture.ts';
import { chromiumPath, noteWithoutChromium, startChromium } from '../../real/chromium.fixture.ts';
import { readConsolePage } from '../../real/console-page.ts';
import { createRealIo } from '../../real/io.ts';

const root = join(import.meta.dirname, '../../..');
const peerPorts = [23_501, 23_511, 23_521];
const hostile = '<img src=x onerror="document.title=1">';
const doubted = 'n2-0123456789ab-17';

test('percentiles lie within the bucket that they fall into, and a restart begins at zero', () => {
  const ends = [0.001, 0.01];
  expect(percentile(ends, [0, 0, 0], 0.5)).toBeUndefined();
  expect(percentile(ends, [10, 10, 10], 0.5)).toBeCloseTo(0.0005);
  expect(percentile(ends, [0, 10, 10], 0.5)).toBeCloseTo(0.0055);
  expect(percentile(ends, [0, 0, 10], 0.99)).toBe(0.01);
  expect(intervalOf(ends, [5, 9, 9], [6, 19, 19])).toMatchObject({ requests: 10 });
  expect(intervalOf(ends, [5, 9, 9], [2, 2, 2])).toMatchObject({ requests: 2 });
  const series = [
    { protocol: 'http', operation: 'get', counts: [1, 2, 3] },
    { protocol: 'pbc', operation: 'get', counts: [1, 1, 1] },
  ];
  expect(summed({ ends, series }, () => true)).toEqual([2, 3, 4]);
  expect(summed({ ends, series }, (protocol) => protocol === 'pbc')).toEqual([1, 1, 1]);
});

test('the build has the files of the page, in both themes', () => {
  const { script, style } = present(readConsolePage(join(root, 'dist/engine/console')), 'the built page');
  expect(script).not.toMatch(/innerHTML|document\.write|\beval\(/);
  expect(style).toContain('prefers-color-scheme');
  expect(style).toContain('--surface:');
  expect(readConsolePage(join(root, 'no-such-folder'))).toBeUndefined();
});

noteWithoutChromium();

describe.skipIf(chromiumPath === undefined)('the console', () => {
  const directory = mkdtempSync(join(tmpdir(), 'lockstep-console-'));
  const nodes: Node[] = [];
  const complaints: string[] = [];
  let browser: Browser;

  beforeAll(async () => {
    const page = present(readConsolePage(join(root, 'dist/engine/console')), 'the built page');
    const seeds = peerPorts.map((at, index) => {
      return { name: `n${index + 1}`, address: `127.0.0.1:${at}`, datacenter: 'dc1', rack: `r${index + 1}` };
    });
    const starting = peerPorts.map((at, index) => {
      const name = `n${index + 1}`;
      mkdirSync(join(directory, name));
      const given = {
        ...{ name, rack: `r${index + 1}`, seeds, log_level: 'error', credentials: 'credentials' },
        ...{ listen: '127.0.0.1:0', pb_listen: 'off', stats_listen: 'off', peer_listen: `127.0.0.1:${at}` },
      };
      const config = parseConfig(stringify({ shown: given }), {}, 'console.yaml');
      const io = createRealIo({ dataDirectory: join(directory, name), logLevel: 'error', node: name });
      return Node.start(io, config, { credentials: threeCredentials }, page);
    });
    nodes.push(...(await Promise.all(starting)));
    await request('PUT', '/buckets/carts/props', '{"props":{"allow_mult":true}}', 'application/json');
    for (const value of [`<b>${hostile}</b>`, '\u0000\u0001'])
      await request('PUT', `/buckets/carts/keys/${encodeURIComponent(hostile)}`, value);
    for (let at = 0; at < 60; at++) await request('PUT', `/buckets/carts/keys/k${at}`, 'v');
    await request('PUT', `/buckets/${encodeURIComponent(hostile)}/keys/k`, 'v');
    browser = await startChromium();
  });

  afterAll(async () => {
    await browser.close();
    await Promise.all(nodes.map((node) => node.stop()));
    rmSync(directory, { recursive: true, force: true });
  });

  function origin(index = 0): string {
    return `http://${nodes[index]?.addresses.http ?? ''}`;
  }

  async function request(method: string, path: string, body: string, type = 'text/plain'): Promise<void> {
    const headers = { 'Content-Type': type, Authorization: `Bearer ${tokens.admin}` };
    const answer = await fetch(origin() + path, { method, headers, body });
    expect(answer.status, path).toBeLessThan(300);
  }

  async function open(role: Role, index = 0, options: BrowserContextOptions = {}): Promise<Page> {
    const httpCredentials = { username: names[role], password: tokens[role] };
    const context = await browser.newContext({ httpCredentials, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('request', (one) => {
      if (!one.url().startsWith(origin(index)) && !one.url().startsWith('data:')) complaints.push(one.url());
    });
    await page.goto(`${origin(index)}/console`);
    await page.waitForSelector('#members table');
    return page;
  }

  async function close(page: Page): Promise<void> {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  }

  /** Puts a transaction in doubt into the node's answers. Returns the decisions that the page sends. */
  async function withDoubt(page: Page): Promise<string[]> {
    const sent: string[] = [];
    await page.route('**/console/overview', async (route) => {
      const answer = (await (await route.fetch()).json()) as object;
      const [coordinator, branches] = ['n2', ['n1', 'n3']];
      const one = { transaction_id: doubted, role: 'branch', state: 'prepared', coordinator, branches };
      const doubts = { total: 1, transactions: [{ ...one, lost: [], age_ms: 60_000 }] };
      await route.fulfill({ json: { ...answer, in_doubt: doubts } });
    });
    await page.route(`**/transactions/${doubted}**`, async (route) => {
      if (route.request().method() === 'POST') sent.push(route.request().postData() ?? '');
      const members = [
        { node: 'n2', role: 'coordinator', knows: 'unreachable' },
        { node: 'n3', role: 'branch', knows: 'committed' },
      ];
      await route.fulfill({ json: { members } });
    });
    await page.reload();
    await page.getByText(doubted).first().waitFor();
    return sent;
  }

  test('without credentials the browser is asked for them, and gets nothing', async () => {
    for (const path of ['/console', '/console/page.js', '/console/overview']) {
      const answer = await fetch(origin() + path);
      expect([answer.status, answer.headers.get('WWW-Authenticate')]).toEqual([
        401,
        expect.stringContaining('Basic realm="lockstep"'),
      ]);
      expect(await answer.text()).not.toContain('n1');
    }
  });

  test('a reader sees members, ring, repairs and charts, and no button that acts', async () => {
    const page = await open('read');
    const rows = page.locator('#members tbody tr');
    expect(await rows.allInnerTexts()).toEqual(
      ['n1', 'n2', 'n3'].map((node) => expect.stringMatching(`^${node}[^]*NORMAL[^]*100.0 %`) as string),
    );
    expect(await page.locator('#ring svg path').count()).toBe(3);
    expect(await page.locator('#moves').innerText()).toContain('Nothing moves');
    expect(await page.locator('#repairs').innerText()).toContain('Hints kept now');
    await page.locator('#latency option[value="http put"]').waitFor({ state: 'attached' });
    await page.locator('#latency figure').nth(1).waitFor();
    await withDoubt(page);
    await page.getByRole('button', { name: 'Who knows what?' }).click();
    await page.getByText('that it is committed').waitFor();
    expect(await page.locator('#actions button').count()).toBe(0);
    expect(await page.getByRole('button', { name: /…$/ }).count()).toBe(0);
    expect(await page.locator('#who').innerText()).toContain('You are read and can only look');
    await close(page);
  });

  test('names and values are text, whatever they hold; siblings show their causes', async () => {
    const page = await open('read');
    const before = await page.title();
    await page.getByRole('button', { name: 'List buckets' }).click();
    await page.locator('#data-names').getByRole('button', { name: hostile }).waitFor();
    await page.locator('#data-names').getByRole('button', { name: 'carts', exact: true }).click();
    await page.getByText('keys of carts').waitFor();
    await page.getByRole('button', { name: 'Next page' }).click();
    await page.getByText('keys of carts (the end)').waitFor();
    await page.locator('#data-key').fill(hostile);
    await page.locator('#data-key').press('Enter');
    await page.getByText('Sibling 2 of 2').waitFor();
    const shown = await page.locator('#data-object').innerText();
    expect(shown).toContain(`<b>${hostile}</b>`);
    expect(shown).toContain('2 B, shown as hexadecimal digits');
    expect(shown).toMatch(/Written by\s+n\d, incarnation [0-9a-f]{12}, counter \d+/);
    expect(shown).toContain('and they have not seen it');
    expect(await page.locator('main img, main b').count()).toBe(0);
    expect(await page.title()).toBe(before);
    await page.locator('#data-key').fill('absent');
    await page.locator('#data-key').press('Enter');
    await page.getByText('no replica asked holds the key').waitFor();
    // Chromium notes the status 404 that the page asked for.
    complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes('404')));
    await close(page);
  });

  test('an admin acts only after a confirmation, by keyboard, and the node does it', async () => {
    const page = await open('admin', 2);
    const sent = await withDoubt(page);
    await page.getByRole('button', { name: 'rollback…' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'rollback…' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('that it is committed').waitFor();
    expect(await dialog.getByRole('button', { name: 'rollback' }).isDisabled()).toBe(true);
    await page.keyboard.type(doubted);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    expect(sent).toEqual(['{"heuristic":"rollback"}']);
    for (const [button, verb, state] of [
      ['STANDBY…', 'Put in STANDBY', 'STANDBY'],
      ['Return from STANDBY…', 'Return', 'NORMAL'],
    ] as const) {
      await page.getByRole('button', { name: button, exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();
      await page.locator('#members tbody tr', { hasText: 'this node' }).getByText(state).waitFor();
    }
    await close(page);
  });

  test('a page of another site neither frames the console nor acts through it', async () => {
    const form = `<form method=post action="${origin(1)}/cluster/standby"><button>go</button></form>`;
    const site = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<iframe src="${origin(1)}/console"></iframe>${form}`);
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    const httpCredentials = { username: names.admin, password: tokens.admin };
    const context = await browser.newContext({ httpCredentials });
    const page = await context.newPage();
    await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
    const framed = present(page.frames()[1], 'the frame');
    expect(await framed.content()).not.toContain('page.js');
    await page.getByRole('button', { name: 'go' }).click();
    await page.getByText('pages of another site').waitFor();
    const headers = { Authorization: `Bearer ${tokens.read}` };
    const { members } = (await (await fetch(`${origin(1)}/cluster`, { headers })).json()) as {
      readonly members: readonly { readonly node: string; readonly state: string }[];
    };
    expect(members.find(({ node }) => node === 'n2')?.state).toBe('NORMAL');
    await context.close();
    site.closeAllConnections();
    site.close();
  });

  test.each(viewings)('has nothing serious for axe, %s', async (_, options) => {
    // axe is not of the page, whose policy would refuse it.
    const page = await open('admin', 0, { ...options, bypassCSP: true });
    await withDoubt(page);
    await page.locator('#data-bucket').fill('carts');
    await page.locator('#data-key').fill(hostile);
    await page.locator('#data-key').press('Enter');
    await page.getByText('Sibling 2 of 2').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await pageWidth(page)).toBeLessThanOrEqual(options.viewport.width);
    if (options.colorScheme === 'dark') {
      await page.getByRole('button', { name: 'commit…' }).click();
      await page.getByRole('dialog').getByText('that it is committed').waitFor();
      expect(await seriousFindings(page)).toEqual([]);
    }
    await close(page);
  });

  test('complains of nothing, and asks its own node alone', () => {
    expect(complaints).toEqual([]);
  });

  test('a node that does not answer is called so, and nothing old stays on the page', async () => {
    const page = await open('read', 2);
    await nodes.splice(2, 1)[0]?.stop();
    await page.getByRole('heading', { name: 'This node does not answer' }).waitFor();
    expect(await page.locator('#content').isVisible()).toBe(false);
    expect(await page.locator('body').innerText()).not.toContain('NORMAL');
    await close(page);
  });
});

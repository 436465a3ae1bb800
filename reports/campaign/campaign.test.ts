import { readFileSync } from 'node:fs';

import { Ajv } from 'ajv';
import { beforeAll, describe, expect, it } from 'vitest';

import type { Campaign } from '../../sim/runner/campaign.ts';
import { campaignOf, compareCampaigns, parseCampaign } from '../../sim/runner/campaign.ts';
import { summarizeAll } from '../../sim/runner/result.ts';
import { summarize } from '../../sim/runner/tally.ts';
import { brokenReport, resultOf } from '../../sim/runner/result-fixture.ts';
import { campaignAnnotations } from './annotations.ts';
import { renderCampaignPage } from './campaign-page.ts';
import { campaignJunit } from './junit.ts';
import { campaignMarkdown } from './markdown.ts';

const making = { command: ['run', '--out', 'o'], startedAt: '2026-01-02T03:04:05.000Z', wallMs: 12_345.6 };

function campaign(...lost: readonly string[]): Campaign {
  const failures = lost.map((text, at) =>
    resultOf({ scenario: 'calm', seed: at + 3, verdict: 'failed', reports: [brokenReport(5, text)] }),
  );
  const [result] = failures;
  const failure =
    result === undefined
      ? undefined
      : { result, shrunk: undefined, replay: ['replay', 'o/calm-3.json'], page: 'o/calm-3.html' };
  return campaignOf(
    summarizeAll([
      summarize('calm', [...failures, resultOf({ scenario: 'calm' })], failure),
      summarize(
        'storm',
        [resultOf({ scenario: 'storm', verdict: 'unknown', because: 'too long' })],
        undefined,
      ),
    ]),
    making,
  );
}

describe('a campaign', () => {
  let now: Campaign;

  beforeAll(() => {
    now = campaign(
      '#3 c0 put newest/k8 at n3: lost <b>&',
      '#7 c1 put newest/k9 at n1: lost <b>&',
      'x 100% gone: a, b',
    );
  });

  it('is valid by the published schema, and reads back', () => {
    const schema = new URL('../../sim/docs/campaign.schema.json', import.meta.url);
    const validate = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(schema, 'utf8')) as object);
    for (const one of [now, campaign()]) {
      const text = JSON.stringify(one);
      expect(validate(JSON.parse(text)), JSON.stringify(validate.errors)).toBe(true);
      expect(parseCampaign(text)).toEqual(one);
    }
    expect(validate({ ...now, scenarios: [{ name: 'calm' }] })).toBe(false);
  });

  it('of another format, or that is none, is refused with what it is', () => {
    expect(() => parseCampaign('{"format":7}')).toThrow('campaigns of format 1, not 7');
    expect(() => parseCampaign('{"format":1}')).toThrow('no lists "scenarios" and "clusters"');
    expect(() => parseCampaign('[')).toThrow('the campaign is not JSON');
    expect(() => parseCampaign('{"format":1,"scenarios":[],"clusters":[null]}')).toThrow(
      'without its fields',
    );
    expect(() => parseCampaign('{"format":1,"scenarios":[{"name":7}],"clusters":[]}')).toThrow(
      'without its fields',
    );
  });

  it('lists failures of one kind together, and says what is new and what is gone', () => {
    expect(now.clusters.map(({ count }) => count)).toEqual([2, 1]);
    const { appeared, stayed, gone, speed } = compareCampaigns(
      campaign('y went away', 'x 3% gone: a, b'),
      now,
    );
    expect([appeared, stayed, gone].map((list) => list.map(({ count }) => count))).toEqual([[2], [1], [1]]);
    expect(gone[0]?.example).toBe('y went away');
    expect(speed).toBeCloseTo(1);
  });

  it('as JUnit has a case for each invariant of a scenario, and counts what it holds', () => {
    const xml = campaignJunit(now);
    expect(xml).toContain('<testsuites name="lockstep-sim" tests="3" failures="1" errors="1" time="12.346">');
    expect(xml.match(/<testcase /g)).toHaveLength(3);
    expect(xml).toContain('message="broken in seeds 3 4 5"');
    expect(xml).toContain('lost &lt;b&gt;&amp;\nreplay: npx lockstep-sim replay o/calm-3.json</failure>');
    expect(campaignJunit(campaign('a\u0000b'))).toContain('a\ufffdb');
  });

  it('as annotations escapes what the runner of GitHub would read as commands', () => {
    const lines = campaignAnnotations(now);
    expect(lines[0]).toBe(
      '::error title=lockstep-sim%3A 2 failed (calm in 3 4)::#3 c0 put newest/k8 at n3: lost <b>&%0Areplay: npx lockstep-sim replay o/calm-3.json',
    );
    expect(lines[1]).toContain('x 100%25 gone: a, b');
  });

  it('as Markdown and as a page shows no text as markup, and every failure with its replay', () => {
    const comparison = compareCampaigns(campaign('y went away'), now);
    const text = campaignMarkdown(now, comparison);
    expect(text).toContain('### lockstep-sim: 3 of 5 runs failed, in 2 ways');
    expect(text).toContain('lost \\<b\\>&');
    const mutants = [{ name: 'm', title: 'forgets', noticed: false, broken: { durability: 3 } }];
    const html = renderCampaignPage(now, { comparison, mutants }, (page) => page.slice(2));
    expect(html).toContain('lost &lt;b&gt;&amp;');
    expect(html).toContain('<a href="calm-3.html">');
    expect(html).toContain('2 new failures, 0 as before, 1 not seen again.');
    expect(html).toContain('Mutants: 0 of 1 noticed');
    expect(html).not.toMatch(/<script|https?:\/\//);
    // What no run injected is a cell that says so.
    expect(html).toMatch(/<tr class="empty"><th scope="row">[a-z-]+<\/th><td>none/);
  });
});

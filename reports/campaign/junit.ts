/**
 * Renders a campaign as JUnit XML, which CI services show: a suite for each scenario, a case for each invariant that its
 * runs were judged by. An invariant that broke in some seed is a failure; runs without a verdict are an error.
 */
import type { Campaign, CampaignScenario } from '../../sim/runner/campaign.ts';
import { escaped } from '../markup.ts';

/** The file's text. */
export function campaignJunit(campaign: Campaign): string {
  const { scenarios } = campaign;
  const all = scenarios.map(suiteOf);
  const count = (of: 'cases' | 'failures' | 'errors'): number =>
    all.reduce((sum, suite) => sum + suite[of], 0);
  const seconds = (campaign.wall_ms / 1000).toFixed(3);
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="lockstep-sim" tests="${count('cases')}" failures="${count('failures')}" errors="${count('errors')}" time="${seconds}">
${all.map(({ text }) => text).join('\n')}
</testsuites>
`;
}

interface Suite {
  readonly cases: number;
  readonly failures: number;
  readonly errors: number;
  readonly text: string;
}

function suiteOf(scenario: CampaignScenario): Suite {
  const { name, seeds, checks, broken = {}, unknown, wall_ms: wallMs } = scenario;
  const judged = Object.entries(checks).map(([invariant, made]) => {
    const head = `    <testcase classname="${attribute(name)}" name="${attribute(invariant)}" assertions="${made?.checked ?? 0}"`;
    const failed = broken[invariant as keyof typeof broken];
    return failed === undefined
      ? `${head}/>`
      : `${head}>${failureOf(scenario, invariant, failed)}</testcase>`;
  });
  const errors =
    unknown === 0
      ? []
      : [
          `    <testcase classname="${attribute(name)}" name="verdict"><error message="${unknown} of ${seeds} runs ended without a verdict"/></testcase>`,
        ];
  const cases = [...judged, ...errors];
  const failures = Object.keys(broken).length;
  const head = `  <testsuite name="${attribute(name)}" tests="${cases.length}" failures="${failures}" errors="${errors.length}" time="${(wallMs / 1000).toFixed(3)}">`;
  return {
    ...{ cases: cases.length, failures, errors: errors.length },
    text: [head, ...cases, '  </testsuite>'].join('\n'),
  };
}

function failureOf({ failure }: CampaignScenario, invariant: string, seeds: readonly number[]): string {
  const own = failure?.invariant === invariant ? failure : undefined;
  const message = `broken in ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(' ')}`;
  const body = own === undefined ? '' : `${own.reason ?? ''}\nreplay: npx ${own.replay}`;
  return `<failure message="${attribute(message)}" type="${attribute(invariant)}">${escaped(xmlText(body))}</failure>`;
}

function attribute(text: string): string {
  return escaped(xmlText(text)).replaceAll('\n', '&#10;');
}

/** Without the characters that XML 1.0 cannot hold (its section 2.2). */
function xmlText(text: string): string {
  return [...text].map((character) => (isXml(character.codePointAt(0) ?? 0) ? character : '\ufffd')).join('');
}

function isXml(code: number): boolean {
  if (code < 0x20) return code === 0x09 || code === 0x0a || code === 0x0d;
  return code < 0xd800 || (code > 0xdfff && code !== 0xfffe && code !== 0xffff);
}

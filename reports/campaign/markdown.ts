/** Renders a campaign as Markdown, for the summary of a CI job or a comment. */
import type { Campaign, CampaignCluster, CampaignComparison } from '../../sim/runner/campaign.ts';
import { grouped, many } from '../numbers.ts';
import { comparisonSentences, verdictSentence } from './sentences.ts';

/** Scenarios without a failure that are listed; the others are counted. */
const passedRowsMax = 10;

/** The text. */
export function campaignMarkdown(campaign: Campaign, comparison: CampaignComparison | undefined): string {
  const { scenarios, clusters } = campaign;
  const troubled = scenarios.filter(({ failed, unknown }) => failed + unknown > 0);
  const passed = scenarios.filter((one) => !troubled.includes(one));
  const rows = [...troubled, ...passed.slice(0, passedRowsMax)].map(
    (one) =>
      `| ${one.name} | ${one.seeds} | ${one.passed} | ${one.failed} | ${one.unknown} | ${grouped(one.events)} | ${grouped(one.operations)} |`,
  );
  const more = passed.length - passedRowsMax;
  return [
    `### lockstep-sim: ${verdictSentence(campaign)}`,
    '',
    ...(comparison === undefined ? [] : [comparisonSentences(comparison).join(' '), '']),
    ...clusters.flatMap((cluster) => clusterLines(campaign, cluster)),
    '| scenario | seeds | passed | failed | unknown | events | operations |',
    '| --- | ---: | ---: | ---: | ---: | ---: | ---: |',
    ...rows,
    ...(more > 0 ? ['', `and ${many(more, 'more scenario')} that passed.`] : []),
    '',
  ].join('\n');
}

function clusterLines(
  { scenarios }: Campaign,
  { count, example, scenarios: places }: CampaignCluster,
): readonly string[] {
  const where = places.map(({ name, seeds }) => `${name} (seeds ${seeds.slice(0, 5).join(' ')})`).join(', ');
  const replays = places.flatMap(({ name, seeds }) => {
    const failure = scenarios.find((one) => one.name === name)?.failure;
    return failure === undefined || !seeds.includes(failure.seed) ? [] : [`npx ${failure.replay}`];
  });
  return [
    `**${many(count, 'run')}: ${inline(example)}**`,
    '',
    where,
    ...(replays[0] === undefined ? [] : ['', '```', replays[0], '```']),
    '',
  ];
}

/** Text that Markdown does not read as markup. */
function inline(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(/[\\`*_{}[\]<>#|]/g, '\\$&');
}

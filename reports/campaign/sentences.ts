/** What all forms of a campaign's report say in words. */
import type { Campaign, CampaignComparison } from '../../sim/runner/campaign.ts';
import { grouped, many } from '../numbers.ts';

/** `2 of 100 runs failed, in 2 ways`. */
export function verdictSentence({ scenarios, clusters, interrupted, passed }: Campaign): string {
  const sum = (of: 'seeds' | 'failed' | 'unknown'): number =>
    scenarios.reduce((total, one) => total + one[of], 0);
  const [seeds, failed, unknown] = [sum('seeds'), sum('failed'), sum('unknown')];
  const ended = interrupted === true ? `; ended by Ctrl-C after ${many(seeds, 'run')}` : '';
  if (seeds === 0) return `no run was made${ended}`;
  if (failed > 0)
    return `${grouped(failed)} of ${many(seeds, 'run')} failed, in ${many(clusters.length, 'way')}${ended}`;
  if (!passed && interrupted !== true)
    return `${grouped(unknown)} of ${many(seeds, 'run')} ended without a verdict`;
  return `${seeds === 1 ? 'the run' : `all ${many(seeds, 'run')}`} passed${ended}`;
}

/** What changed since the campaign before, a sentence each. */
export function comparisonSentences(comparison: CampaignComparison): readonly string[] {
  const { since, appeared, stayed, gone, speed, newScenarios, missingScenarios } = comparison;
  const parts = [
    `Since the campaign of ${since}: ${many(appeared.length, 'new failure')}, ${stayed.length} as before, ${gone.length} not seen again.`,
  ];
  if (speed !== undefined)
    parts.push(`A thread made ${speed.toFixed(2)} times as many events a second as then.`);
  if (newScenarios.length > 0) parts.push(`Only now: ${newScenarios.join(', ')}.`);
  if (missingScenarios.length > 0) parts.push(`Only then: ${missingScenarios.join(', ')}.`);
  return parts;
}

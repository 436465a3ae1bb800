/** Renders a campaign's failures as workflow commands of GitHub Actions, which show them beside a change. */
import type { Campaign } from '../../sim/runner/campaign.ts';

/** GitHub shows ten errors of a step. */
const annotationsMax = 10;

/** A line for each kind of failure, `::error title=…::…`. */
export function campaignAnnotations({ clusters, scenarios }: Campaign): readonly string[] {
  return clusters.slice(0, annotationsMax).map(({ count, example, scenarios: places }) => {
    const where = places.map(({ name, seeds }) => `${name} in ${seeds.slice(0, 5).join(' ')}`).join(', ');
    const replay = places
      .map(({ name }) => scenarios.find((one) => one.name === name)?.failure?.replay)
      .find((command) => command !== undefined);
    const title = `lockstep-sim: ${count} failed (${where})`;
    return `::error title=${property(title)}::${data(`${example}\nreplay: npx ${replay ?? ''}`)}`;
  });
}

/** The escapes of the runner's command parser (actions/toolkit, `command.ts`). */
function data(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function property(text: string): string {
  return data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}

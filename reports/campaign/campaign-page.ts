/**
 * Renders a campaign as one HTML file that loads nothing and needs no JavaScript: verdict, what changed since the campaign
 * before, failures by signature, scenarios with their speed, and what was compared and injected, with the cells that
 * stayed empty.
 */
import { faultKindNames } from '../../sim/faults/fault-table.ts';
import { invariantNames } from '../../sim/check/invariants.ts';
import type {
  Campaign,
  CampaignCluster,
  CampaignComparison,
  CampaignScenario,
} from '../../sim/runner/campaign.ts';
import { escaped } from '../markup.ts';
import { grouped, many } from '../numbers.ts';
import { documentHead } from '../theme.ts';
import { comparisonSentences, verdictSentence } from './sentences.ts';

/** A row of the matrix that `lockstep-sim mutants --json` prints. */
export interface MutantRow {
  readonly name: string;
  readonly title: string;
  readonly noticed: boolean;
  /** The invariants that broke, each with the lowest seed in which it did; 0 for crash points. */
  readonly broken: Readonly<Record<string, number>>;
}

/** What the page shows beside the campaign. */
export interface CampaignExtras {
  readonly comparison: CampaignComparison | undefined;
  /** Undefined: no matrix was made. */
  readonly mutants: readonly MutantRow[] | undefined;
}

/** The page as text. Links to pages of failures are relative to `directory`, where the page lies. */
export function renderCampaignPage(
  campaign: Campaign,
  { comparison, mutants }: CampaignExtras,
  linkOf: (page: string) => string,
): string {
  const title = `${verdictSentence(campaign)}`;
  const badge = campaign.passed ? 'passed' : 'failed';
  return `${documentHead(`Lockstep campaign: ${title}`, style)}
<body>
<header><strong>Lockstep</strong> <span>campaign</span> <span class="badge ${badge}">${badge}</span></header>
<main>
<h1>${escaped(title.charAt(0).toUpperCase() + title.slice(1))}</h1>
<p class="figures">${escaped(figuresOf(campaign))}</p>
<p><code>lockstep-sim ${escaped(campaign.command.join(' '))}</code></p>
${comparisonSection(comparison)}
${clustersSection(campaign, linkOf)}
${scenariosSection(campaign)}
${countsSection(campaign)}
${coverageSection(campaign)}
${mutantsSection(mutants)}
</main>
<footer>Lockstep ${escaped(campaign.version)}, begun ${escaped(campaign.started_at)}</footer>
</body>
</html>
`;
}

function figuresOf({ scenarios, wall_ms: wallMs }: Campaign): string {
  const sum = (of: 'events' | 'operations' | 'virtual_ms' | 'seeds'): number =>
    scenarios.reduce((total, one) => total + one[of], 0);
  const seconds = wallMs / 1000;
  const rate = seconds === 0 ? 0 : Math.round(sum('events') / seconds);
  return `${many(scenarios.length, 'scenario')}, ${many(sum('seeds'), 'run')}, ${many(sum('events'), 'event')}, ${many(sum('operations'), 'operation')}, ${grouped(Math.round(sum('virtual_ms') / 1000))} s of virtual time in ${grouped(Math.round(seconds))} s: ${grouped(rate)} events a second.`;
}

function comparisonSection(comparison: CampaignComparison | undefined): string {
  if (comparison === undefined) return '';
  const items = (clusters: readonly CampaignCluster[], word: string): string =>
    clusters.map(({ example }) => `<li><b>${word}</b> ${escaped(example)}</li>`).join('\n');
  const { appeared, gone } = comparison;
  return `<section aria-labelledby="since"><h2 id="since">Since the last campaign</h2>
<p>${escaped(comparisonSentences(comparison).join(' '))}</p>
<ul>${items(appeared, 'new:')}${items(gone, 'not seen again:')}</ul></section>`;
}

function clustersSection(campaign: Campaign, linkOf: (page: string) => string): string {
  const { clusters } = campaign;
  if (clusters.length === 0) return '';
  return `<section aria-labelledby="failures"><h2 id="failures">Failures by kind</h2>
${clusters.map((cluster) => clusterArticle(campaign, cluster, linkOf)).join('\n')}</section>`;
}

function clusterArticle(
  { scenarios }: Campaign,
  { count, example, signature, scenarios: places }: CampaignCluster,
  linkOf: (page: string) => string,
): string {
  const failures = places.flatMap(({ name, seeds }) => {
    const failure = scenarios.find((one) => one.name === name)?.failure;
    return failure !== undefined && seeds.includes(failure.seed) ? [{ name, failure }] : [];
  });
  const where = places.map(({ name, seeds, count: times }) => {
    const more = times > seeds.length ? ` and ${times - seeds.length} more` : '';
    return `<li>${escaped(name)}: ${seeds.length === 1 ? 'seed' : 'seeds'} ${seeds.join(' ')}${more}</li>`;
  });
  const links = failures.map(({ name, failure }) => {
    const page =
      failure.page === undefined
        ? ''
        : `<a href="${escaped(linkOf(failure.page))}">page of ${escaped(name)}, seed ${failure.seed}</a> `;
    return `<p>${page}<code>npx ${escaped(failure.replay)}</code></p>`;
  });
  const [invariant = ''] = signature.split(':', 1);
  return `<article><h3>${many(count, 'run')}: ${escaped(invariant)}</h3>
<p class="evidence">${escaped(example)}</p>
<ul>${where.join('')}</ul>
${links.join('\n')}</article>`;
}

function scenariosSection({ scenarios }: Campaign): string {
  const order = (one: CampaignScenario): number => (one.failed > 0 ? 0 : one.unknown > 0 ? 1 : 2);
  const rows = scenarios
    .toSorted((left, right) => order(left) - order(right))
    .map((one) => {
      const rate = one.wall_ms === 0 ? 0 : Math.round((one.events / one.wall_ms) * 1000);
      const kind = ['bad', 'warn', ''][order(one)] ?? '';
      return `<tr class="${kind}"><th scope="row">${escaped(one.name)}</th>${[one.seeds, one.passed, one.failed, one.unknown, one.events, one.operations, Math.round(one.virtual_ms / 1000), rate].map((value) => `<td>${grouped(value)}</td>`).join('')}</tr>`;
    });
  const heads = [
    'seeds',
    'passed',
    'failed',
    'unknown',
    'events',
    'operations',
    'virtual s',
    'events/s a thread',
  ];
  return `<section aria-labelledby="scenarios"><h2 id="scenarios">Scenarios</h2>
<div class="wide" tabindex="0" role="region" aria-labelledby="scenarios"><table><thead><tr><th scope="col">scenario</th>${heads.map((head) => `<th scope="col">${head}</th>`).join('')}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div></section>`;
}

/** Sums over all scenarios, with what no run compared or injected. */
function countsSection({ scenarios }: Campaign): string {
  const compared = new Map<string, number>();
  const struck = new Map<string, number>();
  for (const { checks, faults } of scenarios) {
    for (const [name, made] of Object.entries(checks))
      compared.set(name, (compared.get(name) ?? 0) + (made?.checked ?? 0));
    for (const [name, times] of Object.entries(faults)) struck.set(name, (struck.get(name) ?? 0) + times);
  }
  const own = [...compared.keys()].filter((name) => !invariantNames.some((known) => known === name));
  return `<section aria-labelledby="counts"><h2 id="counts">What was compared and injected</h2>
<div class="columns">${countTable('Comparisons by invariant', [...invariantNames, ...own], compared)}${countTable('Faults injected', faultKindNames, struck)}</div></section>`;
}

function countTable(title: string, names: readonly string[], counts: ReadonlyMap<string, number>): string {
  const empty = names.filter((name) => (counts.get(name) ?? 0) === 0).length;
  const rows = names.map((name) => {
    const count = counts.get(name) ?? 0;
    return `<tr class="${count === 0 ? 'empty' : ''}"><th scope="row">${escaped(name)}</th><td>${count === 0 ? 'none' : grouped(count)}</td></tr>`;
  });
  return `<table><caption>${title}: ${empty} of ${names.length} empty</caption><tbody>${rows.join('')}</tbody></table>`;
}

/** Most empty cells of a table that are named; the others are counted. */
const emptyCellsMax = 120;

function coverageSection({ coverage }: Campaign): string {
  if (coverage === undefined) return '';
  const { novelty, empty } = coverage;
  const tables = coverage.tables.map(({ name, title, reached, excused, empty: cells }) => {
    const count = reached + excused + cells.length;
    const shown = cells.slice(0, emptyCellsMax).map(escaped).join(', ');
    const more = cells.length > emptyCellsMax ? `, and ${grouped(cells.length - emptyCellsMax)} more` : '';
    const summary = `${escaped(name)} (${escaped(title)}): ${grouped(reached)} of ${grouped(count)} cells reached, ${grouped(cells.length)} empty, ${grouped(excused)} excused`;
    return cells.length === 0
      ? `<p>${summary}</p>`
      : `<details><summary>${summary}</summary><p class="cells">${shown}${more}</p></details>`;
  });
  const chance =
    novelty === undefined
      ? ''
      : ` The chance that one more run reaches a new cell is ${(novelty.chance * 100).toFixed(0)} % (${(novelty.low * 100).toFixed(0)} to ${(novelty.high * 100).toFixed(0)} %).`;
  return `<section aria-labelledby="coverage"><h2 id="coverage">Coverage</h2>
<p>${many(empty, 'cell')} that no run reached and nothing excuses.${chance}</p>
${tables.join('\n')}</section>`;
}

function mutantsSection(mutants: readonly MutantRow[] | undefined): string {
  if (mutants === undefined) return '';
  const rows = mutants.map(
    ({ name, title, noticed, broken }) =>
      `<tr class="${noticed ? '' : 'bad'}"><th scope="row">${escaped(name)}</th><td>${noticed ? 'noticed' : 'MISSED'}</td><td class="text">${escaped(title)}</td><td class="text">${escaped(brokenText(broken))}</td></tr>`,
  );
  const noticed = mutants.filter((one) => one.noticed).length;
  return `<section aria-labelledby="mutants"><h2 id="mutants">Mutants: ${noticed} of ${mutants.length} noticed</h2>
<div class="wide" tabindex="0" role="region" aria-labelledby="mutants"><table><thead><tr><th scope="col">mutant</th><th scope="col">verdict</th><th scope="col">what its engine does wrong</th><th scope="col">what broke</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div></section>`;
}

function brokenText(broken: MutantRow['broken']): string {
  const parts = Object.entries(broken).map(([name, seed]) => (seed === 0 ? name : `${name} in seed ${seed}`));
  return parts.length === 0 ? 'nothing' : parts.join(', ');
}

const style = `
*{box-sizing:border-box}
html{background:var(--surface);color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}
body{margin:0}
header{display:flex;align-items:center;gap:12px;padding:10px 24px;border-bottom:1px solid var(--edge);background:var(--raised)}
header span{color:var(--muted)}
header .badge{padding:1px 10px;border-radius:10px;font-weight:600}
.badge.passed{color:var(--good);background:var(--good-soft)}
.badge.failed{color:var(--bad);background:var(--bad-soft)}
main{max-width:1200px;margin:0 auto;padding:18px 24px 40px}
h1{font-size:24px;line-height:1.25;margin:8px 0}
h2{font-size:18px;margin:28px 0 8px}
h3{font-size:15px;margin:0 0 4px}
.figures,footer,caption{color:var(--muted)}
footer{padding:16px 24px;border-top:1px solid var(--edge);font-size:13px}
a{color:var(--accent)}
code{overflow-wrap:anywhere;font-size:13px}
article{border:1px solid var(--edge);border-left:4px solid var(--bad);border-radius:6px;padding:10px 14px;margin:10px 0}
article p,article ul{margin:4px 0}
.evidence{overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:3px 10px;text-align:right;border-bottom:1px solid var(--edge);white-space:nowrap}
th:first-child,td.text{text-align:left}
td.text{white-space:normal;min-width:200px}
tbody th{font-weight:400}
thead th{color:var(--muted);font-weight:600}
tr.bad th,tr.bad td{background:var(--bad-soft)}
tr.warn th,tr.warn td{background:var(--warn-soft)}
tr.empty th,tr.empty td{color:var(--warn)}
caption{text-align:left;padding:6px 0}
.cells{color:var(--warn);font-size:13px;margin:4px 0 12px 16px}
summary{cursor:pointer;padding:2px 0}
.columns{display:flex;flex-wrap:wrap;gap:32px;align-items:flex-start}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media (max-width:600px){main{padding:12px 14px 30px}header{padding:10px 14px}}
`;

/** Describes a scenario as text: its cluster, its clients, its faults and its invariants. */
import { fillAfter, fillLines, fillList } from '../../reports/columns.ts';
import { grouped, many } from '../../reports/numbers.ts';
import { invariantTable } from '../check/invariants.ts';
import { faultKinds } from '../faults/fault-table.ts';
import type { FaultDraw, LoadShape, Range, Scenario } from '../plan/scenario.ts';

/** A paragraph for each part, with no line longer than `columns` where words allow. */
export function describeScenario(scenario: Scenario, columns: number): readonly string[] {
  const { description, stormMs, calmMs, settleMsMax, repairedBy, settings = {} } = scenario;
  const part = (label: string, items: readonly string[]): string =>
    fillAfter(`  ${label}: `, (indent) => fillList(items, indent, columns));
  const own = Object.entries(settings).map(([name, value]) => `${name} ${String(value)}`);
  return [
    ...fillLines(description, '  ', columns),
    part('cluster', clusterWords(scenario)),
    part('load', loadWords(scenario.load)),
    ...moreLoads(scenario).map(([label, items]) => part(label, items)),
    part('time', [
      `storm ${durationOf(stormMs * 1000)}`,
      `calm ${durationOf(calmMs * 1000)}`,
      `final reads within ${durationOf(settleMsMax * 1000)}`,
      ...(repairedBy === undefined ? [] : ['replicas become equal before anybody reads']),
    ]),
    ...(own.length === 0 ? [] : [part('settings', own)]),
    ...faultLines(scenario.faults, columns),
    ...invariantLines(scenario.invariants, columns),
  ];
}

function clusterWords({ cluster, levels }: Scenario): readonly string[] {
  const { datacenters, racks, nodesPerRack, spares = [] } = cluster;
  const where = ({ datacenter, rack, replaces }: (typeof spares)[number]): string =>
    `${datacenter}/${rack}${replaces === undefined ? '' : `, replaces ${replaces}`}`;
  return [
    many(datacenters, 'datacenter'),
    typeof racks === 'number' ? `${many(racks, 'rack')} each` : `${racks.join(' and ')} racks`,
    `${many(nodesPerRack, 'node')} per rack`,
    ...spares.map((spare) => `spare ${spare.name} (${where(spare)})`),
    ...(levels === undefined
      ? []
      : [...weighted('reads at ', levels.read), ...weighted('writes at ', levels.write)]),
  ];
}

function loadWords(load: LoadShape): readonly string[] {
  return [
    many(load.clients, 'client'),
    `${rangeOf(load.operations)} operations (${weightWords(load.kinds)})`,
    `${many(load.keys, 'key')} (${load.siblingKeys} with siblings)`,
    ...weighted('copies ', load.needs),
    `values of ${rangeOf(load.valueBytes)} bytes`,
    `pauses of ${durationsOf(load.thinkUs)}`,
    `${rangeOf(load.malformedInput)} bursts of malformed input`,
    `${rangeOf(load.scrapes)} scrapes`,
  ];
}

function moreLoads({ load, redis, jobs }: Scenario): readonly (readonly [string, readonly string[]])[] {
  const { transactions } = load;
  const sorts: (readonly [string, readonly string[]])[] = [];
  if (transactions !== undefined) {
    const { clients, count, kinds, thinkUs } = transactions;
    sorts.push(['transactions', sortOf(clients, rangeOf(count), kinds, thinkUs)]);
  }
  if (redis !== undefined) {
    const { clients, operations, kinds, thinkUs } = redis;
    sorts.push(['Redis', sortOf(clients, rangeOf(operations), kinds, thinkUs)]);
  }
  if (jobs !== undefined) {
    const { clients, count, kinds, thinkUs } = jobs;
    sorts.push(['jobs', sortOf(clients, rangeOf(count), kinds, thinkUs)]);
  }
  return sorts;
}

function sortOf(
  clients: number,
  count: string,
  kinds: Readonly<Record<string, number>>,
  thinkUs: Range,
): readonly string[] {
  return [many(clients, 'client'), ...weighted(`${count} of `, kinds), `pauses of ${durationsOf(thinkUs)}`];
}

function faultLines(faults: readonly FaultDraw[], columns: number): readonly string[] {
  if (faults.length === 0) return ['  faults: none'];
  const width = Math.max(...faults.map(({ kind }) => kind.length));
  const lines = faults.map((draw) =>
    fillAfter(`    ${draw.kind.padEnd(width)}  `, (indent) => fillList(drawWords(draw), indent, columns)),
  );
  return ['  faults:', ...lines];
}

/** How many faults of a kind a seed draws, when, where and for how long. */
export function drawWords(draw: FaultDraw): readonly string[] {
  const { count, forUs, params = {}, choices = {}, targets, atUs, group, sideMax, after, always } = draw;
  return [
    rangeOf(count),
    always === true ? 'in every seed' : 'in half of the seeds',
    ...(forUs === undefined ? [] : [`each for ${durationsOf(forUs)}`]),
    ...(atUs === undefined ? [] : [`from ${durationOf(atUs[0])} to ${durationOf(atUs[1])} of the storm`]),
    ...(targets === undefined ? [] : [`at ${targets.join(' or ')}`]),
    ...(group === undefined ? [] : [`all of a ${group}`]),
    ...(sideMax === undefined ? [] : [`at most ${many(sideMax, 'node')} on a side`]),
    ...Object.entries(params).map(([name, range]) => `${name} ${rangeOf(range)}`),
    ...Object.entries(choices).map(([name, of]) => `${name} ${of.join(' or ')}`),
    ...(after === undefined
      ? []
      : [
          `half of them after ${after.event}`,
          `number ${rangeOf(after.nth)} at ${after.host ?? 'the target'}`,
          `by at most ${durationOf(after.delayUs[1])}`,
        ]),
  ];
}

function invariantLines(floors: Scenario['invariants'], columns: number): readonly string[] {
  const rows = invariantTable.flatMap((row) => {
    const floor = floors[row.name];
    return floor === undefined ? [] : [{ ...row, floor: grouped(floor) }];
  });
  const width = Math.max(...rows.map(({ name }) => name.length));
  const digits = Math.max(...rows.map(({ floor }) => floor.length));
  return [
    '  invariants, each with the comparisons that a run makes at least:',
    ...rows.map(({ name, floor, promise }) =>
      fillAfter(`    ${name.padEnd(width)}  ${floor.padStart(digits)}  `, (indent) =>
        fillLines(promise, indent, columns),
      ),
    ),
  ];
}

/** The values that a fault kind's parameters may have: `keeps nothing or some`, `oneIn 3 to 100`. */
export function parameterWords(kind: keyof typeof faultKinds): readonly string[] {
  return Object.entries(faultKinds[kind].params).map(([name, range]) =>
    range.kind === 'choice'
      ? `${name} ${range.of.join(' or ')}`
      : `${name} ${rangeOf([range.min, range.max])}`,
  );
}

/** Names with their weights, as items of a list that begins with `label`. */
function weighted(label: string, weights: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(weights).map(
    ([word, weight], index) => `${index === 0 ? label : ''}${word} ${weight}`,
  );
}

function weightWords(weights: Readonly<Record<string, number>>): string {
  return Object.entries(weights)
    .map(([word, weight]) => `${word} ${weight}`)
    .join(', ');
}

function rangeOf([least, most]: Range): string {
  return least === most ? grouped(least) : `${grouped(least)} to ${grouped(most)}`;
}

const units = [
  ['s', 1_000_000],
  ['ms', 1_000],
] as const;

/** A duration in the largest unit that needs at most one decimal. */
function durationOf(us: number): string {
  const [unit, size] = units.find(([, one]) => us !== 0 && (us * 10) % one === 0 && us >= one) ?? ['us', 1];
  return us === 0 ? '0' : `${grouped(us / size)} ${unit}`;
}

function durationsOf([least, most]: Range): string {
  return least === most ? durationOf(least) : `${durationOf(least)} to ${durationOf(most)}`;
}

/**
 * A campaign: the results of one `lockstep-sim run` as a file that outlives it (`campaign.json`; its schema is published
 * as sim/docs/campaign.schema.json), and its comparison with the campaign before. Plain data; fields are named as
 * `--json` names them.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { CoverageSummary, TableCoverage } from '../coverage/coverage.ts';
import { jsonOf } from '../plan/json-text.ts';
import type { Failure, ScenarioSummary, Shrunk, Summary } from './result.ts';
import { brokenInvariant } from './broken.ts';
import type { FailureCluster } from './signature.ts';

/** Version of this format. */
export const campaignFormat = 1;

/** One campaign, as its file holds it. */
export interface Campaign {
  readonly format: typeof campaignFormat;
  /** Version of Lockstep. */
  readonly version: string;
  /** Arguments of `lockstep-sim`. */
  readonly command: readonly string[];
  /** Real time when it began (ISO 8601), and how long it took, in milliseconds. */
  readonly started_at: string;
  readonly wall_ms: number;
  readonly passed: boolean;
  readonly interrupted?: true;
  /** Only where the time was limited. */
  readonly for_ms?: number;
  readonly not_reached?: readonly string[];
  readonly scenarios: readonly CampaignScenario[];
  /** What the runs reached of the tables of coverage (sim/coverage). */
  readonly coverage?: CampaignCoverage;
  /** Failures of all scenarios by signature, the most frequent first. */
  readonly clusters: readonly CampaignCluster[];
}

/** The runs of one scenario. */
export interface CampaignScenario {
  readonly name: string;
  readonly seeds: number;
  readonly passed: number;
  readonly failed: number;
  readonly unknown: number;
  readonly events: number;
  readonly operations: number;
  readonly virtual_ms: number;
  /** Milliseconds of real time, summed over the threads. */
  readonly wall_ms: number;
  readonly checks: ScenarioSummary['checks'];
  readonly faults: ScenarioSummary['struck'];
  readonly failed_seeds?: readonly number[];
  readonly broken?: ScenarioSummary['broken'];
  readonly failure?: CampaignFailure;
}

/** The failure of a scenario that was looked into. */
export interface CampaignFailure {
  readonly seed: number;
  readonly invariant?: string;
  readonly reason?: string;
  readonly at_us?: number;
  readonly replay: string;
  readonly shrunk?: {
    readonly runs: number;
    readonly minimal: boolean;
    readonly operations: number;
    readonly faults: number;
  };
  readonly page?: string;
  readonly kept?: readonly string[];
}

/** Failures of one signature over all scenarios. */
export interface CampaignCluster {
  readonly signature: string;
  readonly count: number;
  readonly example: string;
  readonly scenarios: readonly {
    readonly name: string;
    readonly count: number;
    readonly seeds: readonly number[];
  }[];
}

/** Coverage, with the cells that no run reached. */
export interface CampaignCoverage extends CoverageSummary {
  readonly tables: readonly {
    readonly name: string;
    readonly title: string;
    /** Numbers of cells; `empty` names those that no run reached and nothing excuses. */
    readonly reached: number;
    readonly excused: number;
    readonly empty: readonly string[];
  }[];
}

/** How and when the campaign was made. */
export interface CampaignMaking {
  readonly command: readonly string[];
  readonly startedAt: string;
  readonly wallMs: number;
}

/** The campaign of a summary. */
export function campaignOf(summary: Summary, { command, startedAt, wallMs }: CampaignMaking): Campaign {
  const { passed, limit, interrupted, scenarios, coverage, coverageTables = [] } = summary;
  return {
    ...{
      format: campaignFormat,
      version,
      command,
      started_at: startedAt,
      wall_ms: Math.round(wallMs),
      passed,
    },
    ...(interrupted === true ? { interrupted } : {}),
    ...(limit === undefined ? {} : { for_ms: limit.forMs, not_reached: limit.notReached }),
    scenarios: scenarios.map(scenarioOf),
    ...(coverage === undefined ? {} : { coverage: coverageOf(coverage, coverageTables) }),
    clusters: clustersOver(scenarios),
  };
}

function coverageOf(summary: CoverageSummary, tables: readonly TableCoverage[]): CampaignCoverage {
  return {
    ...summary,
    tables: tables.map(({ name, title, reached, excused, empty }) => ({
      ...{ name, title, reached: reached.length, excused: excused.length },
      empty: empty.map((cell) => cell.join(' / ')),
    })),
  };
}

function scenarioOf(one: ScenarioSummary): CampaignScenario {
  return {
    ...{ name: one.name, seeds: one.seeds, passed: one.passed, failed: one.failed, unknown: one.unknown },
    ...{ events: one.events, operations: one.operations, virtual_ms: one.virtualMs, wall_ms: one.wallMs },
    ...{ checks: one.checks, faults: one.struck },
    ...(one.failure === undefined
      ? {}
      : { failed_seeds: one.failedSeeds, broken: one.broken, failure: failureOf(one.failure) }),
  };
}

function failureOf({ result, shrunk, replay, page, kept }: Failure): CampaignFailure {
  const broken = brokenInvariant(result);
  const [reason] = broken?.reasons ?? [];
  return {
    seed: result.seed,
    ...(broken === undefined ? {} : { invariant: broken.invariant }),
    ...(reason === undefined ? {} : { reason }),
    ...(broken?.firstBad === undefined ? {} : { at_us: broken.firstBad.atUs }),
    replay: ['lockstep-sim', ...replay].join(' '),
    ...(shrunk === undefined ? {} : { shrunk: shrunkOf(shrunk) }),
    ...(page === undefined ? {} : { page }),
    ...(kept === undefined ? {} : { kept }),
  };
}

function shrunkOf({ runs, minimal, operations, faults }: Shrunk): NonNullable<CampaignFailure['shrunk']> {
  return { runs, minimal, operations: operations[1], faults: faults[1] };
}

function clustersOver(scenarios: readonly ScenarioSummary[]): readonly CampaignCluster[] {
  const all = new Map<string, { name: string; cluster: FailureCluster }[]>();
  for (const { name, clusters } of scenarios) {
    for (const cluster of clusters) {
      const others = all.get(cluster.signature) ?? [];
      all.set(cluster.signature, [...others, { name, cluster }]);
    }
  }
  return [...all]
    .map(([signature, parts]) => ({
      signature,
      count: parts.reduce((sum, { cluster }) => sum + cluster.count, 0),
      example: parts[0]?.cluster.example ?? '',
      scenarios: parts.map(({ name, cluster: { count, seeds } }) => ({ name, count, seeds })),
    }))
    .toSorted((left, right) => right.count - left.count);
}

/** Reads a campaign's file. Throws `BadRequest`: what is no campaign, and which format it has otherwise. */
export function parseCampaign(text: string): Campaign {
  const value = jsonOf(text, 'campaign', 'BadRequest');
  const { format, scenarios, clusters } = (value ?? {}) as Partial<Record<keyof Campaign, unknown>>;
  if (format !== campaignFormat) {
    const detail = `this version (${version}) reads campaigns of format ${campaignFormat}, not ${format === undefined ? 'none' : JSON.stringify(format)}`;
    throw new LockstepError('BadRequest', detail);
  }
  if (!Array.isArray(scenarios) || !Array.isArray(clusters))
    throw new LockstepError('BadRequest', 'the campaign has no lists "scenarios" and "clusters"');
  if (!scenarios.every(isScenario) || !clusters.every(isCluster))
    throw new LockstepError('BadRequest', 'the campaign has a scenario or a cluster without its fields');
  return value as Campaign;
}

/** Whether it has what a comparison reads. */
function isScenario(value: unknown): boolean {
  const { name, events, wall_ms } = (value ?? {}) as Partial<Record<keyof CampaignScenario, unknown>>;
  return typeof name === 'string' && typeof events === 'number' && typeof wall_ms === 'number';
}

function isCluster(value: unknown): boolean {
  const { signature, count, example, scenarios } = (value ?? {}) as Partial<CampaignCluster>;
  const isPlace = (place: unknown): boolean => {
    const { name, seeds } = (place ?? {}) as Partial<CampaignCluster['scenarios'][number]>;
    return typeof name === 'string' && Array.isArray(seeds);
  };
  return (
    typeof signature === 'string' &&
    typeof count === 'number' &&
    typeof example === 'string' &&
    Array.isArray(scenarios) &&
    scenarios.every(isPlace)
  );
}

/** What differs between two campaigns. */
export interface CampaignComparison {
  /** When the campaign before began. */
  readonly since: string;
  /** Signatures that only this campaign has, that both have, and that only the one before has. */
  readonly appeared: readonly CampaignCluster[];
  readonly stayed: readonly CampaignCluster[];
  readonly gone: readonly CampaignCluster[];
  /** Events per second of a thread over the scenarios that both ran: this campaign's divided by the other's. */
  readonly speed: number | undefined;
  readonly newScenarios: readonly string[];
  readonly missingScenarios: readonly string[];
}

/** Compares a campaign with the one before. */
export function compareCampaigns(before: Campaign, now: Campaign): CampaignComparison {
  const had = new Set(before.clusters.map(({ signature }) => signature));
  const has = new Set(now.clusters.map(({ signature }) => signature));
  const namesOf = ({ scenarios }: Campaign): ReadonlySet<string> =>
    new Set(scenarios.map(({ name }) => name));
  const [ran, runs] = [namesOf(before), namesOf(now)];
  const speedOf = ({ scenarios }: Campaign): number => {
    const both = scenarios.filter(({ name }) => ran.has(name) && runs.has(name));
    const events = both.reduce((sum, one) => sum + one.events, 0);
    const wallMs = both.reduce((sum, one) => sum + one.wall_ms, 0);
    return wallMs === 0 ? 0 : events / wallMs;
  };
  const [slower, faster] = [speedOf(before), speedOf(now)];
  return {
    since: before.started_at,
    appeared: now.clusters.filter(({ signature }) => !had.has(signature)),
    stayed: now.clusters.filter(({ signature }) => had.has(signature)),
    gone: before.clusters.filter(({ signature }) => !has.has(signature)),
    speed: slower === 0 || faster === 0 ? undefined : faster / slower,
    newScenarios: [...runs].filter((name) => !ran.has(name)),
    missingScenarios: [...ran].filter((name) => !runs.has(name)),
  };
}

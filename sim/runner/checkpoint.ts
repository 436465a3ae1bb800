/**
 * How far a campaign has come, as a file beside its plans: a process that ends early goes on from it (`run --resume`),
 * and the parts of a campaign that several machines ran are merged from theirs (`lockstep-sim merge`). Its size depends
 * on the number of scenarios and of different failures, not on the number of seeds.
 */
import { LockstepError } from '../../engine/base/errors.ts';
import { version } from '../../engine/base/version.ts';
import type { CoverageCounts } from '../coverage/coverage.ts';
import { jsonOf } from '../plan/json-text.ts';
import type { SeedRange } from './seed-ranges.ts';
import { commonSeed } from './seed-ranges.ts';
import type { Tally } from './tally.ts';

/** Version of this format. */
export const checkpointFormat = 1;

/** A part I/N of a campaign: of the seeds from the first on, every N-th, beginning with the I-th (0 to N-1). */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** The whole campaign. */
export const wholeCampaign: Shard = { index: 0, count: 1 };

/** What a campaign runs. Two processes run parts of one campaign only if all of this is equal, but for `shard.index`. */
export interface CampaignIdentity {
  /** Version of Lockstep, and SHA-256 of its build: results of different engines do not add up. */
  readonly version: string;
  readonly build: string;
  readonly firstSeed: number;
  readonly shard: Shard;
  /** The mutant, or the patch by the hash of its text. */
  readonly mutant?: string;
  /** The module with the user's scenarios and invariants. */
  readonly ownFile?: string;
}

/** One scenario of a checkpoint. */
export interface ScenarioCheckpoint {
  readonly name: string;
  /** The seeds that are run and added up. */
  readonly seeds: readonly SeedRange[];
  readonly tally: Tally;
  /** Arguments of `lockstep-sim` that replay the tally's first failure from its plan file, once that is written. */
  readonly replay?: readonly string[];
}

/** All of the file. */
export interface Checkpoint extends CampaignIdentity {
  readonly format: typeof checkpointFormat;
  /** When the campaign began (ISO 8601), and how long its processes have run, in milliseconds of real time. */
  readonly startedAt: string;
  readonly wallMs: number;
  readonly scenarios: readonly ScenarioCheckpoint[];
  readonly coverage: CoverageCounts;
}

/** Reads a checkpoint. Throws `BadRequest`: what is no checkpoint, or is one of another format. */
export function parseCheckpoint(text: string): Checkpoint {
  const value = jsonOf(text, 'checkpoint', 'BadRequest');
  const { format } = (value ?? {}) as Record<string, unknown>;
  if (format !== checkpointFormat) {
    const found = format === undefined ? 'none' : JSON.stringify(format);
    const detail = `this version (${version}) reads checkpoints of format ${checkpointFormat}, not ${found}`;
    throw new LockstepError('BadRequest', detail);
  }
  const wrong = wrongPartOf(value as Record<string, unknown>);
  if (wrong === undefined) return value as Checkpoint;
  throw new LockstepError('BadRequest', `the checkpoint's ${wrong}; the file was altered or is incomplete`);
}

/** The first part that is not as a checkpoint has it, and what is expected. */
function wrongPartOf(parts: Record<string, unknown>): string | undefined {
  const { shard, firstSeed, scenarios, coverage, wallMs } = parts;
  const text = ['version', 'build', 'startedAt'].find((name) => typeof parts[name] !== 'string');
  if (text !== undefined) return `${text} is no text`;
  const optional = ['mutant', 'ownFile'].find(
    (name) => parts[name] !== undefined && typeof parts[name] !== 'string',
  );
  if (optional !== undefined) return `${optional} is no text`;
  if (!Number.isSafeInteger(firstSeed)) return 'firstSeed is no whole number';
  if (!Number.isFinite(wallMs)) return 'wallMs is no number';
  if (!isShard(shard)) return 'shard is no index below a count';
  if (!Array.isArray((coverage as Partial<CoverageCounts> | null)?.cells))
    return 'coverage has no list of cells';
  if (!Array.isArray(scenarios)) return 'scenarios are no list';
  const at = scenarios.findIndex((one) => !isScenario(one));
  return at < 0 ? undefined : `scenarios[${at}] lacks its name, its ranges of seeds, or its tally`;
}

function isShard(value: unknown): value is Shard {
  const { index, count } = (value ?? {}) as Partial<Shard>;
  return Number.isSafeInteger(index) && Number.isSafeInteger(count) && (index ?? 0) < (count ?? 0);
}

function isRecord(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function isScenario(value: unknown): boolean {
  const { name, seeds, tally } = (value ?? {}) as Partial<ScenarioCheckpoint>;
  const isRange = (range: unknown): boolean =>
    Array.isArray(range) && range.length === 2 && range.every(Number.isSafeInteger);
  return (
    typeof name === 'string' &&
    Array.isArray(seeds) &&
    seeds.every(isRange) &&
    isRecord(tally?.verdicts) &&
    isRecord(tally?.clusters)
  );
}

/** The names and values by which `given` is not the campaign of `saved`; `shard.index` counts if `sameShard`. */
export function identityDifference(
  saved: CampaignIdentity,
  given: CampaignIdentity,
  sameShard: boolean,
): string | undefined {
  const shardOf = ({ index, count }: Shard): string => (sameShard ? `${index}/${count}` : `of ${count}`);
  const rows = [
    ['version', saved.version, given.version],
    ['build', saved.build.slice(0, 12), given.build.slice(0, 12)],
    ['--first-seed', saved.firstSeed, given.firstSeed],
    ['--shard', shardOf(saved.shard), shardOf(given.shard)],
    ['--mutant', saved.mutant ?? 'none', given.mutant ?? 'none'],
    ['--scenarios', saved.ownFile ?? 'none', given.ownFile ?? 'none'],
  ] as const;
  const found = rows.find(([, left, right]) => left !== right);
  return found === undefined ? undefined : `${found[0]} is ${found[1]} in one and ${found[2]} in the other`;
}

/** A seed of a scenario that both checkpoints ran. */
export function commonRun(left: Checkpoint, right: Checkpoint): string | undefined {
  for (const { name, seeds } of left.scenarios) {
    const others = right.scenarios.find((one) => one.name === name)?.seeds ?? [];
    const seed = commonSeed(seeds, others, left.shard.count);
    if (seed !== undefined) return `${name}, seed ${seed}`;
  }
  return undefined;
}

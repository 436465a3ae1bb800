/** `lockstep-sim merge`: sums up the parts of one campaign from their checkpoints. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';

import { LockstepError } from '../../engine/base/errors.ts';
import { Coverage } from '../coverage/coverage.ts';
import type { Checkpoint } from '../runner/checkpoint.ts';
import { commonRun, identityDifference } from '../runner/checkpoint.ts';
import type { Failure, RunResult } from '../runner/result.ts';
import { summarizeAll } from '../runner/result.ts';
import type { Tally } from '../runner/tally.ts';
import { addTally, emptyTally, summaryOf } from '../runner/tally.ts';
import { checkpointName, readCheckpoint } from './checkpoint-file.ts';
import type { RanCampaign } from './run-command.ts';

/** The whole campaign. */
export interface MergedCampaign extends RanCampaign {
  /** Which parts are not among the directories, as a sentence; undefined: none. */
  readonly missing: string | undefined;
}

interface Part {
  readonly directory: string;
  readonly checkpoint: Checkpoint;
}

/**
 * Reads `checkpoint.json` of every directory. Throws `NotFound` for a directory without one, and `BadRequest` for parts
 * of different campaigns, or which ran the same seed.
 */
export async function mergeCampaigns(directories: readonly string[]): Promise<MergedCampaign> {
  const parts: Part[] = [];
  for (const directory of directories) {
    const checkpoint = await readCheckpoint(directory);
    if (checkpoint === undefined) {
      const detail = `${directory} holds no ${checkpointName}; lockstep-sim run --out ${directory} writes it`;
      throw new LockstepError('NotFound', detail);
    }
    mustFit(parts, { directory, checkpoint });
    parts.push({ directory, checkpoint });
  }
  const tallies = new Map<string, Tally>();
  const coverage = new Coverage();
  for (const { checkpoint } of parts) {
    coverage.addCounts(checkpoint.coverage);
    for (const { name, tally } of checkpoint.scenarios) {
      const sum = tallies.get(name) ?? emptyTally();
      addTally(sum, tally);
      tallies.set(name, sum);
    }
  }
  const summaries = [...tallies].map(([name, tally]) =>
    summaryOf(name, tally, failureOf(parts, name, tally)),
  );
  const summary = summarizeAll(summaries, undefined, false, coverage.summary);
  return {
    summary: { ...summary, coverageTables: coverage.tables },
    startedAt: parts.map(({ checkpoint }) => checkpoint.startedAt).sort()[0] ?? '',
    // The parts ran side by side.
    wallMs: Math.max(...parts.map(({ checkpoint }) => checkpoint.wallMs)),
    missing: missingParts(parts),
  };
}

/** Throws `BadRequest` unless the part belongs to the campaign of the others and adds new seeds. */
function mustFit(others: readonly Part[], { directory, checkpoint }: Part): void {
  for (const other of others) {
    const difference = identityDifference(other.checkpoint, checkpoint, false);
    const both = commonRun(other.checkpoint, checkpoint);
    if (difference === undefined && both === undefined) continue;
    const why = difference ?? `both ran ${both}`;
    const detail = `${other.directory} and ${directory} are not parts of one campaign: ${why}`;
    throw new LockstepError('BadRequest', detail);
  }
}

function missingParts(parts: readonly Part[]): string | undefined {
  const count = parts[0]?.checkpoint.shard.count ?? 1;
  const there = new Set(parts.map(({ checkpoint }) => checkpoint.shard.index));
  const missing: string[] = [];
  for (let index = 0; index < count; index++) if (!there.has(index)) missing.push(`${index}/${count}`);
  if (missing.length === 0) return undefined;
  const shown = missing.length > 10 ? [...missing.slice(0, 10), `${missing.length - 10} more`] : missing;
  return `not all parts of the campaign are here: ${shown.join(', ')}`;
}

/** The failure of the scenario's smallest seed, replayed from the plan file in the part's directory. */
function failureOf(parts: readonly Part[], name: string, { firstFailure }: Tally): Failure | undefined {
  if (firstFailure === undefined) return undefined;
  for (const { directory, checkpoint } of parts) {
    const { replay } = checkpoint.scenarios.find((one) => one.name === name) ?? {};
    if (replay?.[1] !== undefined && basename(replay[1]).startsWith(`${name}-${firstFailure.seed}.`))
      return filesOf(firstFailure, directory, replay);
  }
  return replayOfSeed(firstFailure);
}

/** The part may have been written on another machine: its files lie in the directory that was given. */
function filesOf(result: RunResult, directory: string, replay: readonly string[]): Failure {
  const [command = 'replay', file = '', ...more] = replay;
  const plan = join(directory, basename(file));
  if (!file.endsWith('.json') || !existsSync(plan)) return replayOfSeed(result);
  const page = plan.replace(/(\.min)?\.json$/, '.html');
  const failure = { result, shrunk: undefined, replay: [command, plan, ...more] };
  return existsSync(page) ? { ...failure, page } : failure;
}

function replayOfSeed(result: RunResult): Failure {
  const replay = ['replay', result.scenario, '--seed', String(result.seed)];
  return { result, shrunk: undefined, replay };
}

/** Writes a campaign's files, and tells GitHub Actions of its failures. */
import { existsSync } from 'node:fs';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import process from 'node:process';

import { LockstepError } from '../../engine/base/errors.ts';
import { campaignAnnotations } from '../../reports/campaign/annotations.ts';
import type { MutantRow } from '../../reports/campaign/campaign-page.ts';
import { renderCampaignPage } from '../../reports/campaign/campaign-page.ts';
import { campaignJunit } from '../../reports/campaign/junit.ts';
import { campaignMarkdown } from '../../reports/campaign/markdown.ts';
import { jsonOf } from '../plan/json-text.ts';
import type { Campaign, CampaignComparison } from '../runner/campaign.ts';
import { compareCampaigns, parseCampaign } from '../runner/campaign.ts';
import { campaignBytesMax, readText } from './read-text.ts';

/** The file of the campaign's page in its directory. */
export const campaignPageFile = 'index.html';

/** What was written. */
export interface WrittenCampaign {
  readonly page: string;
  /** Undefined: no campaign lay in the directory before. */
  readonly comparison: CampaignComparison | undefined;
  /** Why a file of the directory was not used. */
  readonly notes: readonly string[];
}

/**
 * Writes `campaign.json`, `index.html`, `junit.xml` and `summary.md` into the directory. Compares with the campaign whose
 * `campaign.json` lies there; shows the mutants of a `mutants.json` there.
 */
export async function writeCampaign(campaign: Campaign, directory: string): Promise<WrittenCampaign> {
  const file = (name: string): string => join(directory, name);
  const notes: string[] = [];
  const before = await readIfThere(file('campaign.json'), parseCampaign, notes);
  const mutants = await readIfThere(file('mutants.json'), parseMutants, notes);
  const comparison = before === undefined ? undefined : compareCampaigns(before, campaign);
  await mkdir(directory, { recursive: true });
  await writeFile(file('campaign.json'), `${JSON.stringify(campaign, undefined, 2)}\n`);
  const linkOf = (page: string): string => relative(directory, page);
  await writeFile(file(campaignPageFile), renderCampaignPage(campaign, { comparison, mutants }, linkOf));
  await writeFile(file('junit.xml'), campaignJunit(campaign));
  await writeFile(file('summary.md'), campaignMarkdown(campaign, comparison));
  return { page: file(campaignPageFile), comparison, notes };
}

/** A file that cannot be used must not cost a campaign of hours its report: it is named in a note. */
async function readIfThere<T>(
  file: string,
  parse: (text: string) => T,
  notes: string[],
): Promise<T | undefined> {
  if (!existsSync(file)) return undefined;
  try {
    return parse(await readText(file, { what: 'file', bytesMax: campaignBytesMax, code: 'BadRequest' }));
  } catch (error) {
    notes.push(`${file} is not used: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

/** The output of `lockstep-sim mutants --json`. */
function parseMutants(text: string): readonly MutantRow[] {
  const { mutants } = (jsonOf(text, 'matrix of mutants', 'BadRequest') ?? {}) as {
    readonly mutants?: unknown;
  };
  const isRow = (row: unknown): row is MutantRow =>
    typeof row === 'object' && row !== null && 'name' in row && 'noticed' in row && 'broken' in row;
  if (Array.isArray(mutants) && mutants.every(isRow)) return mutants;
  throw new LockstepError('BadRequest', 'what lockstep-sim mutants --json prints is expected');
}

/** Whether the command runs in a job of GitHub Actions. */
export function onGithub(): boolean {
  return process.env['GITHUB_ACTIONS'] === 'true';
}

/** Lines that annotate the change; appends the summary to that of the job, if there is one. */
export async function tellGithub(
  campaign: Campaign,
  comparison: CampaignComparison | undefined,
): Promise<readonly string[]> {
  const { GITHUB_STEP_SUMMARY: summary } = process.env;
  if (summary !== undefined && summary !== '')
    await appendFile(summary, `${campaignMarkdown(campaign, comparison)}\n`);
  return campaignAnnotations(campaign);
}

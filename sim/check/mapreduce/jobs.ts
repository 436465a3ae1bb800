/**
 * `wasm-purity` (INV28), jobs return existing data. A job over named keys reports each key once, in the order in
 * which they were named. Each value that it found was written by some client before the job ended, and that write
 * was not certainly refused. A count equals the number of the inputs. A bucket's job names no key twice. After the
 * calm a job finds of each key exactly the values that the reads after the calm returned in one of the datacenters,
 * and omits no key of which all of them returned a value, but for values that a pruned context may have brought back
 * (evidence/prunings.ts). A job that follows links finds those of exactly these values (`value-links.ts`). Each job,
 * key and value is one comparison.
 *
 * A job finds each key that a majority of a datacenter's replicas had acknowledged before it (`held-keys.ts`).
 *
 * Skipped: failed jobs, and after the calm keys with a write of unknown outcome.
 */
import type { History } from '../../evidence/history.ts';
import { byKey, describeOperation, isWrite } from '../../evidence/history.ts';
import type { FoundKey, JobRecord } from '../../evidence/jobs.ts';
import { describeJob } from '../../evidence/jobs.ts';
import { linkTagOf } from '../../evidence/value-links.ts';
import type { Prunings } from '../../evidence/prunings.ts';
import { nothingPruned } from '../../evidence/prunings.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';
import type { JobSurroundings } from './held-keys.ts';
import { describeShown, heldThroughout, shownAfterCalm, staysUntil } from './held-keys.ts';

/** Checks the jobs against the history of single operations; without `around`, a missing key is judged after the calm alone. */
export function checkJobs(
  history: History,
  jobs: readonly JobRecord[],
  around?: JobSurroundings,
): CheckReport {
  const tally = new Tally('wasm-purity');
  const known = byKey(history);
  for (const job of jobs) {
    if (job.outcome !== 'ok') {
      tally.skip();
      continue;
    }
    checkJob(job, known, around?.prunings ?? nothingPruned, tally);
    if (around !== undefined && job.kind === 'objects') checkHeld(job, known, around, tally);
  }
  return tally.report();
}

/** No key is reported as missing that a majority held throughout. */
function checkHeld(
  job: JobRecord,
  known: ReadonlyMap<string, History>,
  around: JobSurroundings,
  tally: Tally,
): void {
  if (around.diskLosses.lostBetween(0, job.completedUs) > 0) {
    tally.skip();
    return;
  }
  const isHeld = heldThroughout(job, around);
  for (const { key, tags } of job.found) {
    const held = isHeld(known.get(key) ?? []);
    if (held === undefined) continue;
    tally.compare(tags.length > 0, job.completedUs, () => {
      return `${describeJob(job)}: it did not find ${key}, of which a majority held ${describeOperation(held)}`;
    });
  }
}

function checkJob(
  job: JobRecord,
  known: ReadonlyMap<string, History>,
  prunings: Prunings,
  tally: Tally,
): void {
  const { kind, keys, completedUs, counted, found } = job;
  if (kind === 'count') {
    tally.compare(counted.length === 1 && counted[0] === keys.length, completedUs, () => {
      return `${describeJob(job)}: it counts ${JSON.stringify(counted)}, of ${keys.length} inputs`;
    });
    return;
  }
  const names = found.map(({ key }) => key);
  const whole =
    kind === 'objects' || kind === 'links'
      ? names.join() === keys.join()
      : new Set(names).size === names.length && names.every((name) => name.startsWith(keys[0] ?? ''));
  tally.compare(whole, completedUs, () => {
    return `${describeJob(job)}: asked for ${keys.join(' ')}, it tells of ${names.join(' ')}`;
  });
  for (const one of found) checkFound(one, job, known.get(one.key) ?? [], prunings, tally);
  if (job.final && kind === 'whole') checkNothingMissing(job, known, prunings, tally);
}

function checkFound(
  { key, tags }: FoundKey,
  job: JobRecord,
  history: History,
  prunings: Prunings,
  tally: Tally,
): void {
  const writes = history.filter(isWrite);
  for (const tag of tags) {
    const write = writes.find((one) => one.tag === tag);
    const possible = write !== undefined && write.outcome !== 'fail' && write.invokedUs <= job.completedUs;
    tally.compare(possible, job.completedUs, () => {
      return `${describeJob(job)}: it found ${tag} under ${key}, which no client had written there by then`;
    });
  }
  const shown = job.final ? shownAfterCalm(history) : undefined;
  if (shown === undefined) return;
  const stays = staysUntil(job.completedUs, history, prunings);
  const found = tags.filter(stays).toSorted().join();
  const wanted = (values: readonly string[]): readonly string[] =>
    job.kind === 'links' ? values.filter((tag) => linkTagOf(tag) !== undefined) : values;
  const same = shown.some((values) => wanted(values).filter(stays).toSorted().join() === found);
  tally.compare(same, job.completedUs, () => {
    return `${describeJob(job)}: it found ${tags.join(' ')} under ${key}, reads after the calm ${describeShown(shown)}`;
  });
}

/** After the calm, a bucket's job omits no key of which the reads of every datacenter return a value. */
function checkNothingMissing(
  job: JobRecord,
  known: ReadonlyMap<string, History>,
  prunings: Prunings,
  tally: Tally,
): void {
  const names = new Set(job.found.map(({ key }) => key));
  for (const [key, history] of known) {
    const stays = staysUntil(job.completedUs, history, prunings);
    const isShown = shownAfterCalm(history)?.every((values) => values.some(stays)) === true;
    if (!key.startsWith(job.keys[0] ?? '') || !isShown) continue;
    tally.compare(names.has(key), job.completedUs, () => `${describeJob(job)}: it left out ${key}`);
  }
}

/**
 * `wasm-purity` (INV28), jobs return existing data. A job over named keys reports each key once, in the order in which
 * they were named. Each value that it found was written by some client before the job ended, and that write was not
 * certainly refused. A count equals the number of the inputs. A bucket's job names no key twice. After the calm a job
 * finds exactly the values that the reads after the calm returned. Each job, key and value is one comparison.
 *
 * A job finds each key that a majority of a datacenter's replicas had acknowledged before it, unless some client may
 * have deleted the key, a disk has lost data, or as many nodes as hold copies were disturbed meanwhile, or were not
 * called NORMAL by the job's node.
 *
 * Skipped: failed jobs, and after the calm keys with a write of unknown outcome.
 */
import type { History, WriteOperation } from '../../evidence/history.ts';
import { byKey, describeOperation, isRead, isWrite } from '../../evidence/history.ts';
import type { FoundKey, JobRecord } from '../../evidence/jobs.ts';
import { describeJob } from '../../evidence/jobs.ts';
import type { Opinions } from '../../evidence/opinions.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** What the nodes of a run thought of each other, and which disks lost data. */
export interface JobSurroundings {
  readonly nodes: readonly string[];
  readonly opinions: Pick<Opinions, 'between'>;
  readonly diskLosses: { lostBetween(fromUs: number, toUs: number): number };
  /** Disturbances of a node, or (`node` empty) of the network. */
  readonly disturbances: readonly { readonly node: string; readonly fromUs: number; readonly toUs: number }[];
}

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
    checkJob(job, known, tally);
    if (around !== undefined && job.kind === 'objects') checkHeld(job, known, around, tally);
  }
  return tally.report();
}

/** No key is reported as missing that a majority held throughout. */
function checkHeld(
  job: JobRecord,
  known: ReadonlyMap<string, History>,
  { nodes, opinions, diskLosses, disturbances }: JobSurroundings,
  tally: Tally,
): void {
  const { node, invokedUs, completedUs, found } = job;
  if (diskLosses.lostBetween(0, completedUs) > 0) {
    tally.skip();
    return;
  }
  const isDisturbed = (peer: string): boolean => {
    if (
      disturbances.some(
        (one) => (one.node === peer || one.node === '') && one.fromUs <= completedUs && one.toUs >= invokedUs,
      )
    )
      return true;
    const states = opinions.between(node, peer, invokedUs, completedUs);
    return peer !== node && (states.size > 1 || !states.has('NORMAL'));
  };
  const disturbed = nodes.filter(isDisturbed).length;
  for (const { key, tags } of found) {
    const writes = (known.get(key) ?? []).filter(isWrite);
    const mayBeGone = writes.some(
      ({ kind, outcome, invokedUs: begunUs }) =>
        kind === 'delete' && outcome !== 'fail' && begunUs <= completedUs,
    );
    const held = writes.find((write) => isHeldBefore(write, invokedUs) && write.durableCopies > disturbed);
    if (held === undefined || mayBeGone) continue;
    tally.compare(tags.length > 0, completedUs, () => {
      return `${describeJob(job)}: it did not find ${key}, of which a majority held ${describeOperation(held)}`;
    });
  }
}

function isHeldBefore(write: WriteOperation, atUs: number): boolean {
  const { kind, outcome, need, copies, durableCopies, completedUs } = write;
  const isMajority = need * 2 > copies && durableCopies * 2 > copies;
  return kind === 'put' && outcome === 'ok' && isMajority && (completedUs ?? Infinity) < atUs;
}

function checkJob(job: JobRecord, known: ReadonlyMap<string, History>, tally: Tally): void {
  const { kind, keys, completedUs, counted, found } = job;
  if (kind === 'count') {
    tally.compare(counted.length === 1 && counted[0] === keys.length, completedUs, () => {
      return `${describeJob(job)}: it counts ${JSON.stringify(counted)}, of ${keys.length} inputs`;
    });
    return;
  }
  const names = found.map(({ key }) => key);
  const whole =
    kind === 'objects'
      ? names.join() === keys.join()
      : new Set(names).size === names.length && names.every((name) => name.startsWith(keys[0] ?? ''));
  tally.compare(whole, completedUs, () => {
    return `${describeJob(job)}: asked for ${keys.join(' ')}, it tells of ${names.join(' ')}`;
  });
  for (const one of found) checkFound(one, job, known.get(one.key) ?? [], tally);
  if (job.final && kind === 'whole') checkNothingMissing(job, known, tally);
}

function checkFound({ key, tags }: FoundKey, job: JobRecord, history: History, tally: Tally): void {
  const writes = history.filter(isWrite);
  for (const tag of tags) {
    const write = writes.find((one) => one.tag === tag);
    const possible = write !== undefined && write.outcome !== 'fail' && write.invokedUs <= job.completedUs;
    tally.compare(possible, job.completedUs, () => {
      return `${describeJob(job)}: it found ${tag} under ${key}, which nobody wrote there by then`;
    });
  }
  const shown = job.final ? shownAfterCalm(history) : undefined;
  if (shown === undefined) return;
  const same = [...tags].sort().join() === [...shown].sort().join();
  tally.compare(same, job.completedUs, () => {
    return `${describeJob(job)}: it found ${tags.join(' ')} under ${key}, reads after the calm ${shown.join(' ')}`;
  });
}

/** After the calm, a bucket's job omits no key of which reads return a value. */
function checkNothingMissing(job: JobRecord, known: ReadonlyMap<string, History>, tally: Tally): void {
  const names = new Set(job.found.map(({ key }) => key));
  for (const [key, history] of known) {
    if (!key.startsWith(job.keys[0] ?? '') || (shownAfterCalm(history)?.length ?? 0) === 0) continue;
    tally.compare(names.has(key), job.completedUs, () => `${describeJob(job)}: it left out ${key}`);
  }
}

/**
 * The tags that the last read after the calm returned; undefined without such a read, or if a later write may have
 * changed them.
 */
function shownAfterCalm(history: History): readonly string[] | undefined {
  if (history.some((one) => isWrite(one) && one.outcome === 'unknown')) return undefined;
  return history.filter(isRead).findLast((one) => one.final && one.outcome === 'ok')?.values;
}

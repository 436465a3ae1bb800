/**
 * `data-integrity` (INV15), corruption is never served. It has three parts. Once a disk has been altered (a bit
 * flipped, a write or read misdirected, a log cut), every value that a client reads equals, byte for byte, a value that
 * some client wrote. A node that reads flipped bytes of a log reports that file as damaged. No node reports an
 * untouched file as damaged, unless a read of that file has failed in the same incarnation.
 *
 * Each value read after the first alteration, each flipped range that was read, and each report is one comparison.
 * Skipped: values read before the first alteration, and ranges read by an incarnation that ended within `reportUs`,
 * before it could report them.
 */
import type { History } from '../../evidence/history.ts';
import { describeOperation, isRead } from '../../evidence/history.ts';
import { invariant } from '../invariant.ts';
import type { CheckReport } from '../report.ts';
import { Tally } from '../report.ts';

/** A part of a file, at an instant of virtual time. */
export interface FileRange {
  readonly node: string;
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly atUs: number;
}

/** A flipped range that an incarnation read. */
export interface HandedRange extends FileRange {
  readonly life: number;
  /** End of that incarnation; undefined if it did not end. */
  readonly endedUs: number | undefined;
}

/** A range that an incarnation reported as damaged. */
export interface DamageReport extends FileRange {
  readonly life: number;
}

/** A file of which an incarnation's read failed (`read-error`). */
export interface FailedRead {
  readonly node: string;
  readonly life: number;
  readonly path: string;
  readonly atUs: number;
}

/** The evidence of one run. */
export interface CorruptionRecords {
  /** Ranges that faults altered, by any fault kind. */
  readonly altered: readonly FileRange[];
  /** Flipped bytes of logs that a read returned. */
  readonly handed: readonly HandedRange[];
  /** Ranges that nodes reported as damaged, or cut as torn. */
  readonly reports: readonly DamageReport[];
  /** The first failed read of each file by each incarnation. */
  readonly failedReads: readonly FailedRead[];
}

/** Longest time from reading a range to the report of its damage, in virtual microseconds. */
const reportUs = 1_000_000;

/** What clients read, and what the disks show. */
export interface CorruptionEvidence {
  readonly history: History;
  readonly corruption: CorruptionRecords;
}

/** The row of `data-integrity`. */
export const dataIntegrityRow = invariant({
  name: 'data-integrity',
  code: 'INV15',
  promise: 'corrupt bytes are never served as data',
  gravity: 'data',
  breach: 'corrupt bytes are served as data',
  needs: [],
  everydayFloor: 0,
  check: ({ history, corruption }: CorruptionEvidence) => checkCorruption(history, corruption),
});

/** Checks values, flipped ranges and damage reports. */
export function checkCorruption(history: History, records: CorruptionRecords): CheckReport {
  const tally = new Tally('data-integrity');
  checkValues(history, records, tally);
  for (const range of records.handed) checkHanded(range, records, tally);
  for (const report of records.reports) checkReport(report, records, tally);
  return tally.report();
}

function checkValues(history: History, { altered }: CorruptionRecords, tally: Tally): void {
  const firstUs = altered.reduce((least, { atUs }) => Math.min(least, atUs), Infinity);
  for (const read of history.filter(isRead)) {
    const atUs = read.completedUs ?? read.invokedUs;
    for (const tag of read.values) {
      if (atUs < firstUs) tally.skip();
      // Without a tag, the text says what is wrong with the value (workload/traced-value.ts).
      else tally.compare(!tag.startsWith('('), atUs, () => `${describeOperation(read)}: it shows ${tag}`);
    }
  }
}

function checkHanded(range: HandedRange, { reports }: CorruptionRecords, tally: Tally): void {
  const { node, life, path, from, atUs, endedUs } = range;
  const said = reports.some((report) => report.node === node && report.life === life && report.path === path);
  if (!said && endedUs !== undefined && endedUs - atUs < reportUs) tally.skip();
  else
    tally.compare(
      said,
      atUs,
      () => `${node}, life ${life}, read ${path} at ${from}, which had rotted, and said nothing`,
    );
}

function checkReport(report: DamageReport, { altered, failedReads }: CorruptionRecords, tally: Tally): void {
  const { node, life, path, from, atUs } = report;
  // A fault altered that file or the whole disk, or the node cannot read it.
  const caused =
    altered.some((range) => range.node === node && range.atUs <= atUs && isOf(range.path, path)) ||
    failedReads.some(
      (read) => read.node === node && read.life === life && read.path === path && read.atUs <= atUs,
    );
  tally.compare(
    caused,
    atUs,
    () => `${node}, life ${life}, calls ${path} damaged at ${from}, which nothing has touched`,
  );
}

/** Whether what befell `altered` shows in the file at `path`: files are written under a new name first. */
function isOf(altered: string, path: string): boolean {
  return altered === '' || altered === path || altered === `${path}.new`;
}

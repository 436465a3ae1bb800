/**
 * `data-integrity` (INV15), corruption is never served: once a disk has been altered (a bit flipped, a write or read
 * gone astray, a log cut), every value that a client reads is byte for byte what some client wrote; a node that was
 * handed flipped bytes of a log calls that file damaged; and none calls a file damaged that nothing was done to. Each
 * value read after the first alteration, each handed range and each report is one comparison. Skipped: values read
 * before, and what was handed to a life that ended within `reportUs`, before it could say anything.
 */
import type { History } from '../evidence/history.ts';
import { describeOperation, isRead } from '../evidence/history.ts';
import type { CheckReport } from './report.ts';
import { Tally } from './report.ts';

/** Part of a file, at an instant. */
export interface FileRange {
  readonly node: string;
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly atUs: number;
}

export interface HandedRange extends FileRange {
  readonly life: number;
  /** When that life ended; undefined: it did not. */
  readonly endedUs: number | undefined;
}

export interface DamageReport extends FileRange {
  readonly life: number;
}

export interface CorruptionRecords {
  /** What faults altered, by whatever means. */
  readonly altered: readonly FileRange[];
  /** Flipped bytes of logs that a read handed out. */
  readonly handed: readonly HandedRange[];
  /** What nodes called damaged, or cut as torn. */
  readonly reports: readonly DamageReport[];
}

/** What a life takes at most from reading a range to saying what is wrong with it. */
const reportUs = 1_000_000;

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
      // What is no tag says what is wrong with the value (workload/traced-value.ts).
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

function checkReport(report: DamageReport, { altered }: CorruptionRecords, tally: Tally): void {
  const { node, life, path, from, atUs } = report;
  // Something was done to that file, or to the whole disk.
  const caused = altered.some((range) => range.node === node && (range.path === path || range.path === ''));
  tally.compare(
    caused,
    atUs,
    () => `${node}, life ${life}, calls ${path} damaged at ${from}, which nothing has touched`,
  );
}

/** Renders the operations of a recorded run as CSV (RFC 4180), a row each, in the order of their calls. Pure. */
import type { Recording } from '../../sim/record/recording.ts';

/** The columns. Times are microseconds of virtual time; `completed_us` is empty if no answer came. */
export const operationColumns = [
  ...['id', 'client', 'node', 'invoked_us', 'completed_us', 'outcome', 'about', 'text'],
] as const;

/** The file's text, with a line of names. */
export function operationsCsv({ operations, lanes, subjects }: Recording): string {
  const rows = operations.map(({ id, lane, node, invokedUs, completedUs, outcome, about, text }) => [
    ...[id, lanes[lane]?.name ?? '', lanes[node]?.name ?? '', String(invokedUs)],
    ...[completedUs < 0 ? '' : String(completedUs), outcome],
    ...[about.map((at) => subjects[at] ?? '').join(' '), text],
  ]);
  return [operationColumns, ...rows].map((row) => `${row.map(field).join(',')}\r\n`).join('');
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

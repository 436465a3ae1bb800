/**
 * Formats what the commands print: tables, and colours if the output is a terminal and NO_COLOR is not set.
 */
import { Chalk } from 'chalk';

/** Colours text by its meaning. Without colours each method returns the text as it is. */
export interface Painter {
  good(text: string): string;
  bad(text: string): string;
  strong(text: string): string;
  quiet(text: string): string;
}

/** The painter for one output stream. */
export function painterFor(stream: { readonly isTTY?: boolean }): Painter {
  const coloured = stream.isTTY === true && (process.env['NO_COLOR'] ?? '') === '';
  const chalk = new Chalk({ level: coloured ? 1 : 0 });
  return { good: chalk.green, bad: chalk.red, strong: chalk.bold, quiet: chalk.dim };
}

/** Columns aligned by width, two spaces between them; the first row is the heading. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)));
  }
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

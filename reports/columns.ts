/** Fits text into the columns of a terminal: fills lines, or cuts a single line. */

/** Width that every terminal has. */
export const columnsMin = 80;

/** The text over as many lines as needed, each beginning with `indent`; breaks at spaces only. */
export function fillLines(text: string, indent: string, columns = columnsMin): readonly string[] {
  return fillItems(text.split(/\s+/), ' ', indent, columns);
}

/**
 * A comma-separated list over as many lines as needed; breaks between items only, so that numbers stay with their
 * names.
 */
export function fillList(items: readonly string[], indent: string, columns = columnsMin): readonly string[] {
  return fillItems(
    items.map((item, index) => (index === items.length - 1 ? item : `${item},`)),
    ' ',
    indent,
    columns,
  );
}

/** The first line begins with `label`; the others are indented to its end. */
export function fillAfter(label: string, lines: (indent: string) => readonly string[]): string {
  const indent = ' '.repeat(label.length);
  const [first = indent, ...rest] = lines(indent);
  return [label + first.slice(indent.length), ...rest].join('\n');
}

/** One line of at most `columns` characters; an ellipsis marks a cut. */
export function cutLine(line: string, columns = columnsMin): string {
  return line.length <= columns ? line : `${line.slice(0, columns - 1).trimEnd()}…`;
}

function fillItems(items: readonly string[], by: string, indent: string, columns: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const item of items) {
    if (line !== '' && indent.length + line.length + by.length + item.length > columns) {
      lines.push(indent + line);
      line = item;
    } else line = line === '' ? item : `${line}${by}${item}`;
  }
  return line === '' ? lines : [...lines, indent + line];
}

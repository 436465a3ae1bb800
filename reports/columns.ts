/** Text within the columns of a terminal: lines are filled, or cut where one line is all there is. */

/** Columns that every terminal has. */
export const columnsMin = 80;

/** The items over as many lines as they take, each begun by `indent`; an item is broken only where it has a space. */
export function fillLines(text: string, indent: string, columns = columnsMin): readonly string[] {
  return fillItems(text.split(/\s+/), ' ', indent, columns);
}

/** A list, separated by commas, over as many lines as it takes; no item is broken, so that numbers stay with their names. */
export function fillList(items: readonly string[], indent: string, columns = columnsMin): readonly string[] {
  return fillItems(
    items.map((item, index) => (index === items.length - 1 ? item : `${item},`)),
    ' ',
    indent,
    columns,
  );
}

/** `label` begins the first line, the others begin below its end. */
export function fillAfter(label: string, lines: (indent: string) => readonly string[]): string {
  const indent = ' '.repeat(label.length);
  const [first = indent, ...rest] = lines(indent);
  return [label + first.slice(indent.length), ...rest].join('\n');
}

/** One line of at most so many columns; what is cut away is shown by an ellipsis. */
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

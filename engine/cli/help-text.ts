/** Fits the text behind a command's options into the 80 columns that every terminal has. */

const columns = 80;

/**
 * The text with every paragraph filled anew. Lines that begin with spaces are kept: examples, whose explanation goes to
 * a line of its own where both do not fit, and tables. A line `Exit code: …` begins a paragraph.
 */
export function foldedHelp(text: string): string {
  const lines: string[] = [];
  let paragraph = '';
  const end = (): void => {
    if (paragraph !== '') lines.push(...filled(paragraph));
    paragraph = '';
  };
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith(' ') || line.startsWith('Exit code')) end();
    if (line === '') lines.push('');
    else if (line.startsWith(' ')) lines.push(...shortened(line));
    else paragraph = paragraph === '' ? line : `${paragraph} ${line}`;
  }
  end();
  return lines.join('\n');
}

function filled(text: string, indent = ''): readonly string[] {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    if (line !== indent && line.length + 1 + word.length > columns) {
      lines.push(line);
      line = indent;
    }
    line += line === indent ? word : ` ${word}`;
  }
  return [...lines, line];
}

function shortened(line: string): readonly string[] {
  const parts = line.length <= columns ? null : /^( +\S.*?\S) {2,}(\S.*)$/.exec(line);
  return parts === null ? [line] : [parts[1] ?? '', ...filled(parts[2] ?? '', '      ')];
}

/** Gathers the words of an option that may be repeated, in their order. For commander, with `[]` as the default. */
export function gather(word: string, known: readonly string[]): readonly string[] {
  return [...known, word];
}

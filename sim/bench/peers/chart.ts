/** Draws the results of `bench peers` as one SVG file: a panel for each figure, a group of bars for each workload. */
import { figure } from '../figures.ts';

/** One panel: a value for each workload and contender. */
export interface Panel {
  readonly title: string;
  /** By workload, then by contender; NaN for none. */
  readonly values: readonly (readonly number[])[];
}

const colours = [
  ...['#0b6e4f', '#3d5a98', '#c8553d', '#e0a458', '#6b4e71', '#4c9f9b'],
  ...['#8a9a5b', '#b5838d', '#5c677d', '#1d2d44', '#bc6c25', '#90be6d'],
];
const barWidth = 26;
const gap = 28;
const panelHeight = 220;
const left = 16;
/** What a letter of 12 px takes in the mean, in px. */
const letterWidth = 6.4;
/** Room below a panel, for the names of the workloads, in px. */
const namesHeight = 64;

/** The chart. Bars are drawn on a logarithmic scale, and each has its value above it. */
export function chartOf(
  title: string,
  workloads: readonly string[],
  contenders: readonly string[],
  panels: readonly Panel[],
): string {
  const groupWidth = contenders.length * barWidth + gap;
  const width = Math.max(640, left * 2 + workloads.length * groupWidth);
  const top = 48 + 18 * contenders.length;
  const height = top + panels.length * (panelHeight + namesHeight);
  const legend = contenders.map((name, index) => {
    const y = 44 + 18 * index;
    return `<rect x="${left}" y="${y}" width="12" height="12" fill="${colourOf(index)}"/><text x="${left + 20}" y="${y + 10}">${escaped(name)}</text>`;
  });
  const drawn = panels.map((panel, index) =>
    panelOf(panel, workloads, groupWidth, top + index * (panelHeight + namesHeight)),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    `<text x="${left}" y="26" font-size="16" font-weight="bold">${escaped(title)}</text>`,
    ...legend,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function panelOf(
  { title, values }: Panel,
  workloads: readonly string[],
  groupWidth: number,
  top: number,
): string {
  const known = values.flat().filter((value) => Number.isFinite(value) && value > 0);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const scale = (value: number): number => {
    const share = most > least ? Math.log(value / least) / Math.log(most / least) : 1;
    return 8 + share * (panelHeight - 60);
  };
  const bottom = top + panelHeight;
  const parts = [`<text x="${left}" y="${top + 20}" font-weight="bold">${escaped(title)}</text>`];
  values.forEach((row, workload) => {
    const start = left + workload * groupWidth;
    row.forEach((value, contender) => {
      if (!Number.isFinite(value) || value <= 0) return;
      const [x, tall] = [start + contender * barWidth, scale(value)];
      parts.push(
        `<rect x="${x}" y="${(bottom - tall).toFixed(1)}" width="${barWidth - 3}" height="${tall.toFixed(1)}" fill="${colourOf(contender)}"/>`,
        `<text x="${x + barWidth / 2}" y="${(bottom - tall - 4).toFixed(1)}" font-size="8" text-anchor="middle">${figure(value)}</text>`,
      );
    });
    wrapped(workloads[workload] ?? '', Math.floor((groupWidth - 4) / letterWidth)).forEach((line, index) => {
      parts.push(`<text x="${start}" y="${bottom + 16 + 14 * index}">${escaped(line)}</text>`);
    });
  });
  return parts.join('\n');
}

/** The words in lines of at most `most` letters; a longer word has a line of its own. */
function wrapped(text: string, most: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function colourOf(index: number): string {
  return colours[index % colours.length] ?? '#000000';
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

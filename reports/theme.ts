/** The colours of all pages, each in its light and its dark form: the one place for both themes. */

/** Names of custom properties, and their values in the light and in the dark theme. Text on its ground meets WCAG AA. */
const colours: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  surface: ['#ffffff', '#12151a'],
  raised: ['#f5f6f8', '#1b2027'],
  ink: ['#16191f', '#e8eaee'],
  muted: ['#565e6c', '#a3abb8'],
  line: ['#c9ced6', '#3d4550'],
  edge: ['#dde1e7', '#2a313a'],
  accent: ['#1d5fd1', '#7fb0ff'],
  'accent-ink': ['#ffffff', '#0b1424'],
  bad: ['#b3261e', '#ff8a80'],
  good: ['#1a7440', '#63cf8e'],
  warn: ['#8a5a00', '#f0b849'],
  band: ['#f6d5d2', '#4d2320'],
  'bad-soft': ['#fdeeed', '#2b1716'],
  'good-soft': ['#e8f5ed', '#12261a'],
  'warn-soft': ['#fdf3dd', '#2a2110'],
  'm-object': ['#1d5fd1', '#7fb0ff'],
  'm-transaction': ['#7b2fbf', '#cf9bff'],
  'm-repair': ['#0b7285', '#5cc8d8'],
  'm-gossip': ['#7a828e', '#8b94a1'],
  'm-client': ['#5b6470', '#aab3bf'],
  'm-other': ['#8a5a00', '#f0b849'],
};

/** The rules that set them: by the system's theme, unless the page's root has one of its own (`data-theme`). */
export function themeCss(): string {
  const [light, dark] = [0, 1].map((theme) =>
    Object.entries(colours)
      .map(([name, values]) => `--${name}:${values[theme] ?? ''}`)
      .join(';'),
  );
  return `:root{${light}}
@media (prefers-color-scheme:dark){:root:not([data-theme='light']){${dark}}}
:root[data-theme='dark']{${dark}}
`;
}

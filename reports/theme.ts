/** The head of all pages, and their colours, each in its light and its dark form: the one place for both themes. */
import { escaped } from './markup.ts';

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

/**
 * A page up to its body. `policy`: the directives of its content security policy beside those of every page, which load
 * nothing and allow inline styles and images alone.
 */
export function documentHead(title: string, style: string, policy = ''): string {
  const directives = `default-src 'none'; ${policy}style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="${directives}">
<link rel="icon" href="data:,">
<title>${escaped(title)}</title>
<style>${themeCss()}${style}</style>
</head>`;
}

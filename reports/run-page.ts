/**
 * Renders one recorded run as a single HTML file: verdict, plan and replay line as markup, which need no JavaScript;
 * the recording, the simulator and the page's script as data and text beside them. The file loads nothing.
 */
import type { Recording } from '../sim/record/recording.ts';
import { escaped } from './markup.ts';
import { documentHead } from './theme.ts';
import { verdictText } from './verdict.ts';

/** What a page is made of. */
export interface PageParts {
  readonly recording: Recording;
  /** The recording as JSON, compressed by gzip, in base64. */
  readonly recordingData: string;
  /** The bundled simulator, compressed by gzip, in base64; undefined for a page that cannot run it. */
  readonly engineData: string | undefined;
  /** Why the page cannot run the simulator; empty if it can. */
  readonly engineMissing: string;
  /** The script and the style sheet of `reports/page`. */
  readonly script: string;
  readonly style: string;
  /** The command that replays the run; empty for the playground. */
  readonly replay: string;
  /** The sentences of `explain`; none if it was not asked. */
  readonly cause: readonly string[];
  readonly playground: boolean;
}

/** The page as text. */
export function renderPage(parts: PageParts): string {
  const { recording, playground } = parts;
  const words = verdictText(recording);
  const title = playground ? 'Lockstep playground' : words.title;
  const policy = `script-src 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:; worker-src blob:; `;
  return `${documentHead(title, parts.style, policy)}
<body${playground ? ' class="playground"' : ''}>
<header>
<div class="brand"><strong>Lockstep</strong> <span>${playground ? 'playground' : 'run report'}</span></div>
<p id="badge" class="badge ${words.verdict}">${words.verdict}</p>
<button id="theme" type="button" hidden>Theme</button>
</header>
<main>
<section aria-labelledby="title" class="verdict">
<h1 id="title">${escaped(words.title)}</h1>
<p id="meaning">${escaped(words.meaning)}</p>
<p id="evidence" class="evidence"${words.evidence === '' ? ' hidden' : ''}>${escaped(words.evidence)}</p>
${causeList(parts.cause)}
<p id="figures" class="figures">${escaped(words.figures)}</p>
${parts.replay === '' ? '' : replayLine(parts.replay)}
</section>
<div id="app" hidden></div>
<section id="static-plan" aria-labelledby="static-plan-title">
<h2 id="static-plan-title">What the plan does</h2>
${sentenceList(recording)}
</section>
<noscript><p>This page draws the run and can run it again with JavaScript. What it says above needs none.</p></noscript>
</main>
<footer>Plan format ${recording.plan.format}, digest <code id="digest">${recording.result.digest}</code></footer>
<script type="application/octet-stream" id="recording-data">${parts.recordingData}</script>
<script type="application/octet-stream" id="engine-data" data-missing="${escaped(parts.engineMissing)}">${parts.engineData ?? ''}</script>
<script>${parts.script.replaceAll('</script', '<\\/script')}</script>
</body>
</html>
`;
}

function causeList(lines: readonly string[]): string {
  const items = lines.map((line) => `<li>${escaped(line)}</li>`).join('\n');
  return `<section id="cause" class="cause" aria-labelledby="cause-title"${lines.length === 0 ? ' hidden' : ''}>
<h2 id="cause-title">How it came about</h2>
<ul>
${items}
</ul>
</section>`;
}

function replayLine(command: string): string {
  return `<div class="replay"><code id="replay" tabindex="0">${escaped(command)}</code><button id="copy" type="button" hidden>Copy</button></div>`;
}

/** Sentences shown without JavaScript; the rest is counted. */
const sentencesMax = 60;

function sentenceList({ sentences }: Recording): string {
  if (sentences.length === 0) {
    return '<p>No fault and no operation: the cluster starts, and the reads after the calm find the violation.</p>';
  }
  const items = sentences
    .slice(0, sentencesMax)
    .map(({ id, text }) => `<li><b>${id}</b> ${escaped(text)}</li>`);
  const more = sentences.length - items.length;
  return `<ol class="sentences">\n${items.join('\n')}\n</ol>${more > 0 ? `<p>… and ${more} more.</p>` : ''}`;
}

/**
 * The console: a page for people over this node's endpoints (`engine/console/`), and what it shows of the node and the
 * cluster. `console-objects.ts` has what it shows of data.
 *
 * The page's policy lets it load its own script and style sheet and ask this listener alone; no other page may frame it.
 * The guard (`http-guard.ts`) judges its requests as it does those of any client, so the page can do what the client's
 * role allows. A request of another site's page changes nothing.
 */
import { asLockstepError, LockstepError } from '../../base/errors.ts';
import type { Permit } from '../../auth/permit.ts';
import type { HttpResponse } from '../../io/http.ts';
import type { GuardedRoute } from '../http-guard.ts';
import type { ConsoleOverview, ConsoleVersions, NodeReport } from './console-answers.ts';
import { jsonAnswer, problemAnswer } from './problems.ts';

/** The files of the page. */
export interface ConsolePage {
  readonly script: string;
  readonly style: string;
}

/** What the console shows of the node; `node/` implements it. */
export interface ConsoleSource {
  report(): NodeReport;
  /** Asks every member, which takes seconds if one does not answer. */
  versions(): Promise<ConsoleVersions>;
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of the page and of its files. */
const pageHeaders = {
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // The page belongs to the build of the node that serves it.
  'Cache-Control': 'no-store',
};

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console/page.css">
<title>Lockstep console</title>
</head>
<body>
<div id="app"><noscript><p>The console needs JavaScript. The same facts: lockstep status, lockstep doctor.</p></noscript></div>
<script src="/console/page.js"></script>
</body>
</html>
`;

/** The routes of this module. Without `page` they serve the facts alone. */
export function consoleRoutes(source: ConsoleSource, page: ConsolePage | undefined): readonly GuardedRoute[] {
  const file = (path: string, type: string, bodyOf: (files: ConsolePage) => string): GuardedRoute => {
    return {
      method: 'GET',
      path,
      handle: () => (page === undefined ? noPage() : pageFile(type, bodyOf(page))),
    };
  };
  return [
    file('/console', 'text/html; charset=utf-8', () => html),
    file('/console/page.js', 'text/javascript; charset=utf-8', ({ script }) => script),
    file('/console/page.css', 'text/css; charset=utf-8', ({ style }) => style),
    { method: 'GET', path: '/console/overview', handle: (_, permit) => overview(source, permit) },
    { method: 'GET', path: '/console/versions', handle: () => versions(source) },
  ];
}

function pageFile(type: string, body: string): HttpResponse {
  return { status: 200, headers: { ...pageHeaders, 'Content-Type': type }, body };
}

function noPage(): HttpResponse {
  const detail = 'this node was started without the files of the console; npm run build makes them';
  return problemAnswer(new LockstepError('NotFound', detail));
}

function overview(source: ConsoleSource, { role, isLimited }: Permit): HttpResponse {
  const answer: ConsoleOverview = {
    ...source.report(),
    // What concerns the whole cluster is out of reach of every limited credential.
    client: { role, may_act: role === 'admin' && !isLimited },
  };
  return withoutCache(jsonAnswer(200, answer));
}

async function versions(source: ConsoleSource): Promise<HttpResponse> {
  try {
    return withoutCache(jsonAnswer(200, await source.versions()));
  } catch (error) {
    return problemAnswer(asLockstepError(error));
  }
}

function withoutCache(answer: HttpResponse): HttpResponse {
  return { ...answer, headers: { ...answer.headers, 'Cache-Control': 'no-store' } };
}

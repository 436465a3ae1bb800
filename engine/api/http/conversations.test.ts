/**
 * Replays conversations with the HTTP interface from text files. A line `> ` belongs to a request, a line `< ` to its
 * answer. `$NAME` in a request stands for a header of an earlier answer, stored by a line `= NAME Header`.
 * `LOCKSTEP_GOLDEN=write` rewrites the answers.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { HttpResponse } from '../../io/http.ts';
import { LockstepError } from '../../base/errors.ts';
import type { ErrorCode } from '../../base/errors.ts';
import { TestingClient, textOfAnswer } from './client.fixture.ts';

for (const name of ['objects', 'conditions', 'siblings', 'links', 'properties', 'bad-requests']) {
  test(`the answers match ${name}.txt`, async () => {
    const path = new URL(`testdata/${name}.txt`, import.meta.url);
    const written = readFileSync(path, 'utf8');
    const happened = await hold(written);
    if (process.env['LOCKSTEP_GOLDEN'] === 'write') writeFileSync(path, happened);
    expect(happened).toBe(readFileSync(path, 'utf8'));
  });
}

/** The file's text with its answers replaced by the actual ones. */
async function hold(file: string): Promise<string> {
  const client = new TestingClient();
  const kept = new Map<string, string>();
  const lines: string[] = [];
  let request: string[] = [];
  let answer: HttpResponse | undefined;
  const flush = async (): Promise<void> => {
    if (request.length === 0) return;
    answer = await ask(client, request, kept);
    lines.push(...describe(answer));
    request = [];
  };
  for (const line of file.split('\n')) {
    if (line.startsWith('<')) continue;
    if (!line.startsWith('>')) await flush();
    lines.push(line);
    if (line.startsWith('>')) request.push(line.slice(2));
    const [mark, name = '', header = ''] = line.split(' ');
    if (mark === '=') kept.set(name, answer?.headers[header]?.replaceAll('"', '') ?? `no ${header}`);
    if (mark === '!')
      client.dispatcher.failure = name === 'none' ? undefined : new LockstepError(name as ErrorCode);
    if (mark === '~') {
      client.dispatcher.wallMs += Number(name);
      client.clock.aheadMs += Number(name);
    }
  }
  await flush();
  return lines.join('\n');
}

function ask(
  client: TestingClient,
  request: readonly string[],
  kept: ReadonlyMap<string, string>,
): Promise<HttpResponse> {
  const filled = request.map((line) =>
    line.replace(/\$([A-Z]+)/g, (_, name: string) => kept.get(name) ?? '?'),
  );
  const [method = '', target = ''] = filled[0]?.split(' ') ?? [];
  const blank = filled.indexOf('');
  const headerLines = filled.slice(1, blank === -1 ? undefined : blank);
  const headers = headerLines.map((line) => [
    line.slice(0, line.indexOf(':')),
    line.slice(line.indexOf(':') + 2),
  ]);
  const body = blank === -1 ? '' : filled.slice(blank + 1).join('\n');
  return client.call({ method, target, headers: Object.fromEntries(headers), body });
}

function describe(answer: HttpResponse): string[] {
  const headers = Object.entries(answer.headers).map(([name, value]) => `< ${name}: ${value}`);
  const text = textOfAnswer(answer);
  const body = text === '' ? [] : ['<', ...text.split(/\r?\n/).map((line) => `< ${line}`.trimEnd())];
  return [`< ${answer.status}`, ...headers, ...body];
}

/** `lockstep transactions resolve` shows what every member knows, and decides only after the operator confirms. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, expect, test, vi } from 'vitest';

import { runLockstep } from '../program.ts';
import { knowledgeTable } from './transactions-command.ts';

const members = [
  { node: 'n1', role: 'coordinator', knows: 'unreachable' },
  { node: 'n2', role: 'branch', knows: 'undecided' },
  { node: 'n3', role: 'branch', knows: 'committed' },
] as const;

afterEach(() => void vi.restoreAllMocks());

async function resolve(...more: readonly string[]): Promise<{ code: number; asked: string[]; said: string }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method ?? ''} ${request.url ?? ''}`);
    request.resume();
    response.end(JSON.stringify(request.method === 'GET' ? { members } : { outcome: 'heuristic' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  const words = ['transactions', 'resolve', 'n1-0-1', 'commit', '--node', `127.0.0.1:${port}`, ...more];
  let said = '';
  for (const stream of ['log', 'error'] as const) {
    vi.spyOn(console, stream).mockImplementation((text: unknown) => void (said += `${String(text)}\n`));
  }
  const code = await runLockstep(['node', 'lockstep', ...words]);
  server.close();
  return { code, asked, said };
}

test('the table has one line for the coordinator and one for every branch', () => {
  expect(knowledgeTable('n1-0-1', members)).toBe(
    `
of n1-0-1  as           knows
n1         coordinator  (it does not answer)
n2         branch       that it is not decided yet, or holds a prepared branch of it
n3         branch       that it is committed`.trimStart(),
  );
});

test('without a terminal nothing is decided, except with --yes, after the table was printed', async () => {
  const unasked = await resolve();
  expect([unasked.code, unasked.asked]).toEqual([2, ['GET /transactions/n1-0-1?members=true']]);
  expect(unasked.said).toContain('add --yes');
  const decided = await resolve('--yes');
  expect([decided.code, decided.asked]).toEqual([
    0,
    ['GET /transactions/n1-0-1?members=true', 'POST /transactions/n1-0-1/resolve'],
  ]);
  expect(decided.said).toContain('that it is committed');
});

test('as many transactions as there may be in doubt are listed', async () => {
  const one = { role: 'branch', state: 'prepared', coordinator: 'n1', branches: ['n1', 'n2'], age_ms: 1 };
  const transactions = Array.from({ length: 12_000 }, (_, at) => ({ transaction_id: `n1-0-${at}`, ...one }));
  const server = createServer((_, response) => response.end(JSON.stringify({ transactions })));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  let said = '';
  vi.spyOn(console, 'log').mockImplementation((text: unknown) => void (said += String(text)));
  const words = ['transactions', 'list', '--json', '--node', `127.0.0.1:${port}`];
  expect(await runLockstep(['node', 'lockstep', ...words])).toBe(0);
  server.close();
  expect(JSON.parse(said)).toEqual({ transactions });
});

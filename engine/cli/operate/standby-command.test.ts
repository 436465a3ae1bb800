/** `lockstep standby` against a node whose answers the test sets. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { runLockstep } from '../program.ts';
import { calmView, testingMember } from './cluster-views.fixture.ts';

let server: Server;
let status: number;
let body: string;
let asked: string[];
let address: string;
const said: string[] = [];

beforeEach(async () => {
  asked = [];
  said.length = 0;
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.statusCode = status;
    response.end(body);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  address = `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`;
  for (const method of ['log', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((...words) => void said.push(words.join(' ')));
  }
});

afterEach(() => {
  vi.restoreAllMocks();
  server.close();
});

const lockstep = (...words: readonly string[]): Promise<number> =>
  runLockstep(['node', 'lockstep', 'standby', ...words, '--node', address]);

test('the command prints that the node is in STANDBY and how it returns, and that it has returned', async () => {
  status = 200;
  body = JSON.stringify({ ...calmView, members: [testingMember('n1', { state: 'STANDBY' })] });
  expect(await lockstep()).toBe(0);
  expect(said.at(-1)).toContain('n1 is in STANDBY: it takes writes and serves no client');
  expect(said.at(-1)).toContain(`standby --node http://${address} --return takes it back`);
  expect(await lockstep('--return')).toBe(0);
  expect(said.at(-1)).toBe('n1 serves clients again');
  expect(asked).toEqual(['POST /cluster/standby', 'POST /cluster/standby?return=true']);
});

test('--json prints the answer of the node unchanged', async () => {
  status = 200;
  body = JSON.stringify(calmView);
  expect(await lockstep('--json')).toBe(0);
  expect(JSON.parse(said.at(-1) ?? '')).toEqual(calmView);
});

test('a refusal is printed with its reason, and the exit code is 1', async () => {
  status = 409;
  body = JSON.stringify({ code: 'Conflict', detail: 'reads at a quorum need 2 of the 3 copies in dc1' });
  expect(await lockstep()).toBe(1);
  expect(said.at(-1)).toContain('refused: reads at a quorum need 2 of the 3 copies in dc1');
});

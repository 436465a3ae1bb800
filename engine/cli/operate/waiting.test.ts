/** Commands with `--wait` against a node whose answers the test sets. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import type { ClusterView, MemberView } from '../../node/node.ts';
import { runLockstep } from '../program.ts';
import { calmView as calm, testingMember } from './cluster-views.fixture.ts';

type Answer = Partial<ClusterView> | 'gone' | 'refused' | 'no node';

let server: Server;
/** The node's next answers; it repeats the last one. */
let answers: Answer[];
let asked: string[];
let address: string;
const said: string[] = [];

beforeEach(async () => {
  asked = [];
  said.length = 0;
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.method === 'POST') {
      response.statusCode = 202;
      response.end();
      return;
    }
    if (request.url !== '/cluster') {
      response.end('{"transactions":[]}');
      return;
    }
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    if (answer === 'gone') {
      request.socket.destroy();
      server.close();
      return;
    }
    if (answer === 'refused') response.statusCode = 401;
    if (answer === 'refused' || answer === 'no node') response.end('who are you?');
    else response.end(JSON.stringify({ ...calm, ...answer }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const bound = server.address();
  address = `127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`;
  for (const method of ['log', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((...words) => void said.push(words.join(' ')));
  }
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said.push(String(text).trimEnd());
    return true;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  server.close();
});

/** A view in which the answering node is in a ring change or in another state. */
function self(state: string, move: MemberView['move']): MemberView {
  return testingMember('n1', { state, move });
}

function moved(left: number): ClusterView['transfer'] {
  return { ...calm.transfer, ranges: 40, ranges_left: left };
}

const lockstep = (...words: readonly string[]): Promise<number> =>
  runLockstep(['node', 'lockstep', ...words, '--node', address]);

test('leave --wait waits until the node has handed over its ranges and stopped', async () => {
  answers = [
    {},
    { members: [self('LEAVING', 'copying')], transfer: moved(30) },
    { members: [self('LEAVING', 'switching')] },
    'gone',
  ];
  expect(await lockstep('leave', '--wait')).toBe(0);
  expect(asked.filter((line) => line.startsWith('POST'))).toEqual(['POST /cluster/leave']);
  expect(said).toEqual([
    'n1 is LEAVING: copying; n1 has moved 10 of 40 ranges',
    'n1 is LEAVING: switching',
    `http://${address} has left: it has handed over what it owned, and answers no more`,
  ]);
});

test('leave --wait does not ask a leaving node again, and fails if the node dies before it has left', async () => {
  answers = [{ members: [self('LEAVING', 'copying')] }, { members: [self('LEAVING', 'copying')] }, 'gone'];
  expect(await lockstep('leave', '--wait')).toBe(1);
  expect(asked.filter((line) => line.startsWith('POST'))).toEqual([]);
  expect(said.at(-1)).toContain('is gone, and was not seen to have handed over what it owns');
});

test('status --wait waits until every member is NORMAL and no ring change is under way', async () => {
  answers = [
    { members: [self('NORMAL', 'switching')] },
    { members: [self('NORMAL', 'none'), testingMember('n2', { state: 'DOWN' })] },
    {},
  ];
  expect(await lockstep('status', '--wait')).toBe(0);
  expect(said.slice(0, 2)).toEqual(['n1 is NORMAL: switching', 'silent: n2']);
  expect(said.at(-1)).toContain('nothing is silent, moves, or is in doubt here');
});

test('at the timeout the error says what the cluster still waits for', async () => {
  answers = [{ members: [self('STANDBY', 'none')] }];
  expect(await lockstep('status', '--wait', '--timeout', '1s')).toBe(1);
  expect(said.at(-1)).toContain('after 1 s: n1 is STANDBY');
});

test('a final refusal ends the wait at once, and so does a listener that is not a node', async () => {
  answers = ['refused'];
  expect(await lockstep('status', '--wait')).toBe(1);
  expect(said.at(-1)).toContain('show a token that has the right');
  answers = ['no node'];
  expect(await lockstep('status', '--wait')).toBe(1);
  expect(said.at(-1)).toContain('answers no JSON');
  expect(asked).toHaveLength(2);
});

test('an invalid timeout, or one without --wait, is refused with what is allowed', async () => {
  answers = [{}];
  expect(await lockstep('leave', '--timeout', '5s')).toBe(2);
  expect(said.join('\n')).toContain('--timeout goes with --wait');
  expect(asked).toEqual([]);
  expect(await lockstep('status', '--wait', '--timeout', 'soon')).toBe(2);
  expect(said.join('\n')).toContain('"soon" is not a duration; write a number with ms, s, m or h');
  said.length = 0;
  expect(await lockstep('status', '--wait', '--timeout', '30')).toBe(2);
  expect(said.join('\n')).toContain('"30" has no unit; write a number with ms, s, m or h');
  expect(await lockstep('status', '--wait', '--timeout', '25h')).toBe(2);
  expect(said.join('\n')).toContain('at most 24h');
});

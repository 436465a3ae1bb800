import { expect, test } from 'vitest';
import { LockstepError } from '../../base/errors.ts';
import { PhaseError } from '../../mapreduce/phase-error.ts';
import type { ClientReply, ClientRequest } from './client-codec.ts';
import { TestingServer } from './server.fixture.ts';

const job = JSON.stringify({ inputs: 'b', query: [{ map: { name: 'Riak.mapValues' } }] });

function request(text = job, contentType = 'application/json'): ClientRequest {
  const message = { request: Buffer.from(text), content_type: Buffer.from(contentType) };
  return { kind: 'mapReduce', message };
}

function textOf(reply: ClientReply): string {
  if (reply.kind === 'failed') return `${reply.code}: ${reply.text}`;
  if (reply.kind !== 'mapReduced') return reply.kind;
  const { phase, response, done } = reply.message;
  return done === true ? 'done' : `${phase} ${Buffer.from(response ?? []).toString()}`;
}

async function ask(testing: TestingServer, ...requests: ClientRequest[]): Promise<string[]> {
  const peer = testing.join();
  await peer.request(...requests);
  return peer.replies().map(textOf);
}

test('results come by phase, and the last frame is marked done', async () => {
  const testing = await TestingServer.start();
  testing.jobs.batches = [
    { phase: 0, values: ['a', 1] },
    { phase: 1, values: [{ b: 2 }] },
  ];
  expect(await ask(testing, request(), { kind: 'ping' })).toEqual([
    '0 ["a",1]',
    '1 [{"b":2}]',
    'done',
    'pong',
  ]);
});

test('a failed job names phase and input, and the connection stays usable', async () => {
  const testing = await TestingServer.start();
  testing.jobs.batches = [{ phase: 0, values: [1] }];
  testing.jobs.failure = new PhaseError('WasmTrap', 1, 'unreachable', ['b', 'k']);
  const failed = '{"phase":1,"error":"unreachable","input":["b","k"],"type":"WasmTrap"}';
  expect(await ask(testing, request(), { kind: 'ping' })).toEqual(['0 [1]', `WasmTrap: ${failed}`, 'pong']);
  testing.jobs.batches = [];
  testing.jobs.failure = new LockstepError('Timeout');
  expect(await ask(testing, request())).toEqual(['Timeout: timeout']);
});

test('a malformed job is refused and counted', async () => {
  const testing = await TestingServer.start();
  const [missing, erlang, other] = await ask(
    testing,
    request('{}'),
    request(job, 'application/x-erlang-binary'),
    request(job, 'text/plain'),
  );
  expect(missing).toContain(
    'BadRequest: BadRequest: The post body was missing the "inputs" or "query" field.',
  );
  expect(erlang).toContain(
    'a job is application/json, not "application/x-erlang-binary", of which no terms are read',
  );
  expect(other).toContain('a job is application/json, not "text/plain"');
  expect([testing.jobs.refusals, testing.jobs.started.length]).toEqual([3, 0]);
});

test('a client that disconnects ends its job at once', async () => {
  const testing = await TestingServer.start();
  testing.jobs.stuck = true;
  const peer = testing.join();
  await peer.request(request());
  expect([testing.jobs.started.length, testing.jobs.ended]).toEqual([1, 0]);
  await peer.reset();
  expect(testing.jobs.ended).toBe(1);
});

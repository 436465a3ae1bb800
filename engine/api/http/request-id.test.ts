import { expect, test } from 'vitest';

import { TestingClient } from './client.fixture.ts';

const object = '/buckets/b/keys/k';

test.each([
  ['GET', object, 404],
  ['PUT', object, 204],
  ['GET', '/nowhere', 404],
  ['POST', '/ping', 405],
])('%s %s gives the id of the request back with its answer (%i)', async (method, target, status) => {
  const client = new TestingClient();
  const headers = { 'X-Request-Id': '4bf92f3577b34da6/a.b:c=', 'Content-Type': 'text/plain' };
  const answer = await client.call({ method, target, headers, body: 'x' });
  expect(answer.status).toBe(status);
  expect(answer.headers['X-Request-Id']).toBe('4bf92f3577b34da6/a.b:c=');
  expect((await client.call({ method, target, body: 'x' })).headers).not.toHaveProperty('X-Request-Id');
});

test.each(['', 'a b', 'a\tb', 'é', 'x'.repeat(129), '"}', 'a,b'])(
  'an id of another form is ignored: %j',
  async (id) => {
    const answer = await new TestingClient().call({
      method: 'GET',
      target: object,
      headers: { 'X-Request-Id': id },
    });
    expect(answer.headers).not.toHaveProperty('X-Request-Id');
  },
);

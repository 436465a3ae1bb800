/**
 * Tests a write over a copy that a replica has lost: the replica doubts its copy until other replicas have given it what
 * was lost.
 */
import { expect, test } from 'vitest';

import { MemberHarness, second } from './member-harness.ts';

const path = '/buckets/b/keys/k';

test('a quorum does not miss what a replica has lost, although the key was written again', async () => {
  const harness = new MemberHarness('lost-keys', 3, { aae_enabled: false, hinted_handoff: false });
  await harness.startAll();
  const { cluster } = harness;
  const put = async (node: string, key: string, value: string): Promise<number> =>
    (await harness.ask(node, 'PUT', `/buckets/b/keys/${key}`, value)).status;
  const props = JSON.stringify({ props: { allow_mult: true } });
  const json = { 'content-type': 'application/json' };
  expect((await harness.ask('n1', 'PUT', '/buckets/b/props', props, json)).status).toBe(204);

  // n1 and n3 hold the first value.
  cluster.crash('n2', 'keepAll', 'silent');
  expect(await put('n3', 'k', 'the first value')).toBe(204);
  expect(await put('n3', 'last', 'x')).toBe(204);
  await harness.start('n2');
  // It rots at n1, and n3 is away.
  cluster.crash('n1', 'keepAll', 'silent');
  const { disk } = cluster.host('n1');
  for (const [file, bytes] of disk.durableFiles()) {
    const at = bytes.indexOf('the first value');
    if (at >= 0) expect(disk.rot(file, at, 3)).toBe(true);
  }
  await harness.start('n1');
  expect(await harness.until(() => harness.allAre('NORMAL'), 20 * second)).toBe(true);
  cluster.crash('n3', 'keepAll', 'silent');
  await harness.pass(second);

  // Without a context: it stands beside the first value.
  expect(await put('n2', 'k', 'the second value')).toBe(204);
  for (const node of ['n1', 'n2']) expect((await harness.ask(node, 'GET', path)).status).toBe(503);
  await harness.pass(3 * second);
  expect((await harness.ask('n2', 'GET', path)).status).toBe(503);

  await harness.start('n3');
  await harness.pass(5 * second);
  cluster.crash('n3', 'keepAll', 'silent');
  await harness.pass(second);
  const { status, body } = await harness.ask('n2', 'GET', `${path}`);
  expect(status).toBe(300);
  expect(
    body
      .toString()
      .split('\n')
      .filter((line) => line !== '').length,
  ).toBe(3);
  expect(harness.world.failures).toEqual([]);
});

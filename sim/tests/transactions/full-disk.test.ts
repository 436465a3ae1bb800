/** Tests that a primary whose disk is full reports so, to its own clients and to those of other nodes. */
import { expect, test } from 'vitest';

import { assert } from '../../../engine/base/assert.ts';
import type { PlanNode } from '../../plan/plan-node.ts';
import { Cluster } from '../../world/cluster/cluster.ts';
import { World } from '../../world/world.ts';

const second = 1_000_000;

test.each([1, 3])(
  'a transaction whose primary, of %d nodes, has a full disk aborts as disk_full',
  async (count) => {
    const world = new World({ seed: `full-${count}`, logLevel: 'info' });
    const names = Array.from({ length: count }, (_, index) => `n${index + 1}`);
    const nodes: PlanNode[] = names.map((name, index) => ({
      name,
      datacenter: 'dc1',
      rack: `r${index + 1}`,
    }));
    const cluster = new Cluster(world, nodes, {});
    const operator = world.addHost('operator');
    operator.boot();
    const client = world.httpClient(operator);
    const ask = async (node: string, method: 'PUT' | 'POST', path: string, body: string): Promise<string> => {
      const headers = { 'Content-Type': method === 'PUT' ? 'text/plain' : 'application/json' };
      const asking = client.request(
        cluster.address(node, 'http'),
        { method, path, headers, body },
        20 * second,
      );
      await world.runUntil(asking, 30 * second);
      const answer = await asking;
      return `${answer.status} ${answer.body.toString()}`;
    };
    for (const name of names) cluster.start(name);
    await world.runUntil(() => names.every((name) => cluster.serves(name)), 30 * second);
    await world.run({ untilUs: world.nowUs + second });

    const { disk } = cluster.host('n1');
    disk.setCapacity(disk.usedBytes);
    const failed: string[] = [];
    world.trace.on('store.failed', ({ host }) => void failed.push(host));
    for (let key = 0; key < 20 && !failed.includes('n1'); key++)
      await ask('n1', 'PUT', `/buckets/b/keys/fill${key}`, 'x'.repeat(8000));
    assert(failed.includes('n1'), 'the disk of n1 is not full');

    const answers: string[] = [];
    for (const node of names)
      for (let key = 0; key < 12; key++) {
        const operations = [{ op: 'put', bucket: 'b', key: `t${key}`, value: 'v' }];
        answers.push(await ask(node, 'POST', '/transactions', JSON.stringify({ operations })));
      }
    const refused = answers.filter((answer) => answer.startsWith('409'));
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expect(answer).toContain('"reason":"disk_full"');
      expect(answer).toContain('the disk of n1 is full');
    }
    if (count > 1) expect(answers.filter((answer) => answer.startsWith('200')).length).toBeGreaterThan(0);
    expect(world.failures).toEqual([]);
  },
);

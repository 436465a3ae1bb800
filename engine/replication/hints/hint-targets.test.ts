import { expect, test } from 'vitest';

import type { NodeId, Token } from '../../base/ids.ts';
import { byteStringOf } from '../../base/ids.ts';
import { defaultType, objectKey } from '../../base/object-key.ts';
import type { Hint } from './hint-codec.ts';
import type { HintOutcome } from './hint-targets.ts';
import { HintWays } from './hint-targets.ts';

const [n1, n2, n3, former] = ['n1', 'n2', 'n3', 'former'] as [NodeId, NodeId, NodeId, NodeId];
const key = objectKey(defaultType, byteStringOf('b'), byteStringOf('k')).packed;
const hint: Hint = { token: 7 as Token, writtenMs: 0, object: Buffer.from('v') };

/** What becomes of a hint for `peer` that n1 hands on when it leaves, and who was asked for what. */
async function handOn(peer: NodeId, away: readonly NodeId[]): Promise<readonly [HintOutcome, ...string[]]> {
  const asked: string[] = [];
  const ways = new HintWays(
    { nowMs: 0 },
    {
      request: (node, { kind }, _timeoutUs, onReply) => {
        asked.push(`${kind} ${node}`);
        if (away.includes(node)) return 'closed';
        onReply({ kind: 'written' });
        return 'ok';
      },
    },
    {
      self: n1,
      members: () => [n2, n3],
      isRoutable: (node) => !away.includes(node),
      settledView: () => undefined,
      owners: () => [n2],
      isFormer: () => false,
      takeHere: () => 'closed',
    },
    1000,
  );
  return [await ways.toAnybody(peer, key, hint), ...asked];
}

test('a hint that its replica does not take goes to another node', async () => {
  expect(await handOn(n2, [])).toEqual(['delivered', 'mergeObject n2']);
  expect(await handOn(n2, [n2])).toEqual(['handedOn', 'keepHint n3']);
  expect(await handOn(n2, [n2, n3])).toEqual(['here']);
});

test('so does a hint of a former member that the owners of its key do not take', async () => {
  expect(await handOn(former, [])).toEqual(['delivered', 'mergeObject n2']);
  expect(await handOn(former, [n2])).toEqual(['handedOn', 'mergeObject n2', 'keepHint n3']);
});

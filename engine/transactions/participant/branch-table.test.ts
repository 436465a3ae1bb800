/** The table finds the branches that a search through all of them would find. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ByteString, NodeId } from '../../base/ids.ts';
import { Branch } from './branch.ts';
import { BranchTable } from './branch-table.ts';
import type { Xid } from '../formats/xid.ts';

function branchOf(xid: Xid, clientId: string): Branch {
  const named = { clientId, clientDigest: '' as ByteString };
  const order = {
    coordinator: 'n1' as NodeId,
    level: 'DC_ONE' as const,
    branches: [],
    operations: [],
    ...named,
  };
  return new Branch(xid, order, [], 0, 'prepared', 0);
}

const clientIds = ['', 'a', 'b'];
const steps = fc.array(
  fc.record({ number: fc.nat({ max: 9 }), clientId: fc.constantFrom(...clientIds), added: fc.boolean() }),
  { maxLength: 60 },
);

test('branches are found by transaction and by idempotency key, oldest first, until they are deleted', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const table = new BranchTable();
      const model = new Map<Xid, Branch>();
      for (const { number, clientId, added } of all) {
        const xid = `x${number}` as Xid;
        if (!added) {
          table.delete(xid);
          model.delete(xid);
        } else if (!model.has(xid)) {
          const branch = branchOf(xid, clientId);
          table.add(branch);
          model.set(xid, branch);
        }
        expect(table.get(xid)).toBe(model.get(xid));
        expect(table.has(xid)).toBe(model.has(xid));
        for (const name of clientIds.slice(1)) {
          const named = [...model.values()].filter(({ order }) => order.clientId === name);
          expect(table.named(name)).toEqual(named);
        }
      }
      expect(table.named('')).toEqual([]);
      expect(new Set(table.all)).toEqual(new Set(model.values()));
    }),
  );
});

/** The index by name holds what a look at every branch would find. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { BranchTable } from './branch-table.ts';
import type { Xid } from './xid.ts';

interface Entry {
  readonly xid: Xid;
  readonly order: { readonly clientId: string };
}

const clientIds = ['', 'a', 'b'];
const steps = fc.array(
  fc.record({ number: fc.nat({ max: 9 }), clientId: fc.constantFrom(...clientIds), added: fc.boolean() }),
  { maxLength: 60 },
);

test('branches are found by transaction and by name, oldest first, until they are deleted', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const table = new BranchTable<Entry>();
      const model = new Map<Xid, Entry>();
      for (const { number, clientId, added } of all) {
        const xid = `x${number}` as Xid;
        if (!added) {
          table.delete(xid);
          model.delete(xid);
        } else if (!model.has(xid)) {
          const branch = { xid, order: { clientId } };
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

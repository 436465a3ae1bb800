import fc from 'fast-check';
import { expect, it } from 'vitest';

import { NameTable } from './name-table.ts';

it('a name matches its bytes, whatever was looked up before', () => {
  const names = fc.array(fc.uint8Array({ maxLength: 4 }), { maxLength: 300 });
  fc.assert(
    fc.property(names, (runs) => {
      const table = new NameTable();
      // Short names repeat; longer names with the same bytes must not be confused with them.
      for (const run of runs.flatMap((short) => [short, Buffer.alloc(short.length * 12, short), short])) {
        const bytes = Buffer.concat([Buffer.from('<'), run, Buffer.from('>')]);
        expect(table.get(bytes, 1, 1 + run.length)).toBe(Buffer.from(run).toString('latin1'));
      }
    }),
  );
});

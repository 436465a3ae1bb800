/** Tests that the browser's buffers search as those of Node.js do, whatever their place in memory. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { Buffer as BrowserBuffer } from './node/buffer.ts';

/** Few values, mostly zeros, so that much is found and much is passed over. */
const byte = fc.constantFrom(0, 0, 0, 1, 2);

it('indexOf finds what that of Node.js finds', () => {
  fc.assert(
    fc.property(
      fc.array(byte, { maxLength: 48 }),
      fc.array(byte, { minLength: 1, maxLength: 3 }),
      fc.nat(7),
      fc.integer({ min: -2, max: 50 }),
      (bytes, wanted, offset, from) => {
        const memory = new Uint8Array(offset + bytes.length + 8);
        memory.set(bytes, offset);
        const ours = BrowserBuffer.from(memory.buffer, offset, bytes.length);
        const theirs = Buffer.from(memory.buffer, offset, bytes.length);
        const found = ours.indexOf(BrowserBuffer.from(Uint8Array.from(wanted)), from);
        expect(found).toBe(theirs.indexOf(Buffer.from(wanted), from));
      },
    ),
  );
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { ConfigDocument } from './document.ts';
import { nestingMax, readDocument, readPlainJson } from './document.ts';
import { FaultList } from './faults.ts';

/** The value read from a text, and whether it had faults. */
function read(text: string): readonly [ConfigDocument | undefined, boolean] {
  const faults = new FaultList();
  return [readDocument(text, 'pool.json', faults), faults.empty];
}

describe('a document in the form of JSON.stringify', () => {
  it('has the same meaning as YAML', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 })), (keys) => {
        const text = JSON.stringify({ pool: keys });
        // Any other form is parsed as YAML.
        expect(readPlainJson(`${text}\n`, nestingMax)).toBeUndefined();
        expect(read(text)).toEqual(read(`${text}\n`));
      }),
      { numRuns: 50 },
    );
  });

  it('is parsed as YAML if a key is duplicated, if it is truncated, and if it nests deeply', () => {
    const deep = `{"pool":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    for (const text of ['{"pool":{"name":"a","name":"b"}}', '{"pool":{"name":"a"}', deep]) {
      expect(readPlainJson(text, nestingMax)).toBeUndefined();
      expect(read(text)).toEqual([undefined, false]);
    }
  });
});

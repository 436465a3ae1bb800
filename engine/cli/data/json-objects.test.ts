import fc from 'fast-check';
import { expect, test } from 'vitest';

import { jsonObjects } from './object-client.ts';

async function collect(chunks: readonly string[]): Promise<unknown[]> {
  async function* stream(): AsyncGenerator<string, void, undefined> {
    for (const chunk of chunks) yield await Promise.resolve(chunk);
  }
  const found: unknown[] = [];
  for await (const one of jsonObjects(stream())) found.push(one);
  return found;
}

test('objects are found wherever the stream is cut', async () => {
  const objects = [{ keys: ['}{"', 'a\\"'] }, {}, { deep: { er: [{ x: '\\' }] } }];
  const text = objects.map((one) => JSON.stringify(one)).join('');
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length), { maxLength: 8 }), async (cuts) => {
      const places = [0, ...cuts.toSorted((left, right) => left - right), text.length];
      const chunks = places.slice(1).map((end, index) => text.slice(places[index], end));
      expect(await collect(chunks)).toEqual(objects);
    }),
    { numRuns: 50 },
  );
});

test('a stream that ends within an object is refused', async () => {
  await expect(collect(['{"keys":[]}{"keys"'])).rejects.toThrow('ended within an object');
});

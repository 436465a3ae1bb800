import fc from 'fast-check';
import { expect, test } from 'vitest';

import { bucketEndsSeconds, NativeHistogram } from './native-histogram.ts';

function histogram(): NativeHistogram {
  return new NativeHistogram({ name: 'a_seconds', help: 'A.', labels: ['protocol', 'operation'] });
}

test('a bucket counts the values up to its end, and the open one all of them', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20_000_000 })), (values) => {
      const one = histogram();
      for (const value of values) one.record(value, 'http', 'get');
      const samples = one.collect();
      fc.pre(values.length > 0);
      const ends = [...bucketEndsSeconds, Infinity];
      ends.forEach((end, index) => {
        expect(samples[index]).toEqual({
          labels: { protocol: 'http', operation: 'get', le: end === Infinity ? '+Inf' : String(end) },
          value: values.filter((value) => value <= Math.round(end * 1e6)).length,
          suffix: '_bucket',
        });
      });
      const sum = values.reduce((total, value) => total + value, 0) / 1e6;
      expect(samples.slice(ends.length).map(({ suffix, value }) => [suffix, value])).toEqual([
        ['_sum', sum],
        ['_count', values.length],
      ]);
    }),
  );
});

test('each combination of labels has its own series, published from its first value on', () => {
  const one = histogram();
  expect(one.collect()).toEqual([]);
  expect(
    histogram()
      .begin('http', 'get')
      .collect()
      .map(({ value }) => value),
  ).toEqual(Array(18).fill(0));
  one.record(1, 'http', 'get');
  one.record(2, 'http', 'put');
  one.record(3, 'http', 'get');
  const counts = one.collect().filter(({ suffix }) => suffix === '_count');
  expect(counts.map(({ labels, value }) => [labels['operation'], value])).toEqual([
    ['get', 2],
    ['put', 1],
  ]);
});

test('a fraction or a negative duration is refused', () => {
  expect(() => histogram().record(0.5)).toThrow('whole numbers');
  expect(() => histogram().record(-1)).toThrow('whole numbers');
});

/** Laws of what a node traces. */
import { expect, test } from 'vitest';

import { TestLog } from '../api/testing/test-io.fixture.ts';
import type { NodeId } from '../base/ids.ts';
import { defaultConfig } from '../config/config.ts';
import { RealRandom } from '../real/random.ts';
import { Tracer } from './tracer.ts';

test('a node whose ports export no spans says so if it is to trace, and traces nothing', () => {
  const log = new TestLog();
  const io = { random: new RealRandom(), log };
  const config = defaultConfig('shop', { name: 'n1' as NodeId });
  expect(Tracer.of(io, config)).toBeUndefined();
  expect(log.names).toEqual([]);
  expect(Tracer.of(io, { ...config, otelEndpoint: 'http://127.0.0.1:4318/v1/traces' })).toBeUndefined();
  expect(log.names).toEqual(['tracing.export.unavailable']);
});

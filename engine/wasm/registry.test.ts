import { expect, test } from 'vitest';

import { TestLog } from '../api/testing/test-io.fixture.ts';
import { WasmMetrics } from './metrics.ts';
import { ModuleCache } from './module-cache.ts';
import { wasmLimitDefaults } from './module-limits.ts';
import { Registry } from './registry.ts';
import { phaseText, wasmOf } from './wat.fixture.ts';

test('when as many ids are known as may be, a deleted id takes a module again, and a new one is refused', async () => {
  const log = new TestLog();
  const metrics = new WasmMetrics();
  const registry = new Registry({
    log,
    metrics,
    cache: new ModuleCache(wasmLimitDefaults, metrics, log),
    shelf: { load: () => Promise.resolve([]), save: () => Promise.resolve() },
    routedBy: () => [],
  });
  for (let count = 0; count < 4096; count++)
    await registry.take({ id: `m${count}`, version: 2, content: undefined, disputed: false });
  const bytes = wasmOf(phaseText('(i32.const 0)'));
  await expect(registry.put('new', bytes)).rejects.toMatchObject({ code: 'TooLarge' });
  expect(await registry.put('m7', bytes)).toMatchObject({ outcome: 'created', entry: { version: 3 } });
});

/** The same seed gives the same run: again, after others, with and without a trace, and compiled in another thread. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { compileModule } from '../../../engine/real/compiled-modules.fixture.ts';
import type { Storm } from './storm.fixture.ts';
import { storm } from './storm.fixture.ts';

describe('a storm', () => {
  it('repeats for the same seed, after others too, and differs for another seed', async () => {
    const first = await storm(7);
    expect(first.failures).toEqual([]);
    expect(first.events).toBeGreaterThan(5000);
    const others = [await storm(8), await storm(9)];
    expect(others.map(({ digest }) => digest)).not.toContain(first.digest);
    expect(await storm(7)).toEqual(first);
  });

  it('is the same whether it is recorded or not', async () => {
    const lines: string[] = [];
    const recorded = await storm(7, (line) => void lines.push(line));
    expect(recorded).toEqual(await storm(7));
    expect(lines.length).toBeGreaterThan(5000);
    for (const name of ['net.delivered', 'net.stalled', 'disk.file.synced', 'host.crashed', 'log.written']) {
      expect(lines.some((line) => line.includes(` ${name} `))).toBe(true);
    }
  });

  it('is the same compiled, in a thread of its own', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'lockstep-storm-'));
    try {
      await compileModule('sim/world/core/storm.fixture.ts', directory);
      const program = join(directory, 'storm.js');
      await writeFile(program, threadProgram);
      expect(await answerOf<Storm>(program)).toEqual(await storm(7));
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

const threadProgram = `
import { parentPort } from 'node:worker_threads';
import { storm } from './sim/world/core/storm.fixture.js';
parentPort.postMessage(await storm(7));
`;

async function answerOf<T>(program: string): Promise<T> {
  const worker = new Worker(program);
  try {
    return await new Promise<T>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
  } finally {
    await worker.terminate();
  }
}

/** What the harnesses of all doors share on the machine: time passes by itself, and temporary directories. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Harness } from '../io/law.contract.ts';
import { realClock } from './clock.ts';

/** A harness that only waits; `close` runs the given releases, last first. */
export function machineHarness(releases: (() => unknown)[] = []): Harness {
  return {
    clock: realClock,
    settle: (conversation) => conversation,
    close: async () => {
      for (const release of releases.toReversed()) await release();
    },
  };
}

export async function makeTemporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'lockstep-test-'));
}

export async function removeDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
}

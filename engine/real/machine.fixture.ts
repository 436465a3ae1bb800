/** What the harnesses of all ports on a machine share: real time, and temporary directories. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Harness } from '../io/law.contract.ts';
import { realClock } from './clock.ts';

/** A harness that only waits; `close` runs `releases`, the last one first. */
export function machineHarness(releases: (() => unknown)[] = []): Harness {
  return {
    clock: realClock,
    settle: (conversation) => conversation,
    close: async () => {
      for (const release of releases.toReversed()) await release();
    },
  };
}

/** Makes an empty temporary directory. */
export async function makeTemporaryDirectory(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'lockstep-test-'));
}

/** Removes a directory with its content. */
export async function removeDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
}

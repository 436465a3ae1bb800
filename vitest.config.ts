import { defineConfig } from 'vitest/config';
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

import { compilerFlags } from './sim/runner/pool/compiler-flags.ts';

/** Files that take longest, so that none of them is left over when the other worker has nothing to do any more. */
const longest = [
  'scenarios/scenarios.test.ts',
  'scenarios/kept-plans.test.ts',
  'sim/cli/cli.test.ts',
  'sim/explore/crash-points.test.ts',
  'sim/tests/cluster/detection.test.ts',
  'sim/world/core/determinism.test.ts',
];

/** Without a cache of earlier runs, which a fresh clone has not, the size of a file stands for the time it takes. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = longest.findIndex((name) => moduleId.endsWith(name));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).toSorted((left, right) => rank(left) - rank(right));
  }
}

export default defineConfig({
  test: {
    include: ['{engine,sim,scenarios,reports}/**/*.test.ts'],
    setupFiles: ['.ci/properties.js'],
    pool: 'forks',
    maxWorkers: 2,
    // Modules keep no state (sim/runner/run.test.ts), so one loaded and warm engine serves all files of a worker: 0.72 of the time.
    isolate: false,
    // Runs make much garbage that dies at once: with room for it from the beginning less is copied: 0.96 of the time.
    execArgv: ['--max-semi-space-size=32', '--min-semi-space-size=32', ...compilerFlags],
    // Only a hang is to meet a limit: on a machine with ten times the work that it has processors for, all takes ten times as long.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    sequence: { sequencer: LongestFirst },
  },
});

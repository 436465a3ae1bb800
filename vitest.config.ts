import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{engine,sim,scenarios,reports}/**/*.test.ts'],
    setupFiles: ['.ci/properties.js'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});

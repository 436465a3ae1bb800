import type { Scenario } from '../sim/plan/scenario.ts';
import { redisScripts } from './redis-scripts.ts';
import { redisLoad } from './redis-shared.ts';

export const redisWatchedScripts: Scenario = {
  ...redisScripts,
  name: 'redis-watched-scripts',
  description:
    'Redis clients run Lua scripts while they watch a key, with and without MULTI, and write that key in between, while nodes are partitioned away, crash and lose power: WATCH keeps a script from running only between MULTI and EXEC',
  redis: {
    ...redisLoad,
    operations: [120, 180],
    counters: 2,
    accounts: 4,
    kinds: { watched: 60, incr: 10, snapshot: 20, read: 10 },
  },
};

import { expect, it } from 'vitest';

import { World } from '../../world/world.ts';
import { checkClockUse } from './clock-use.ts';

it('no-ambient-time counts incarnations that use their clock port, and accuses one that uses the machine (negative control)', async () => {
  const world = new World({ seed: 1 });
  const fine = world.addHost('n1').boot();
  const sly = world.addHost('n2').boot();
  world.addHost('n3').boot();
  fine.spawn('work', () => Promise.resolve(void fine.clock.nowUs()));
  await world.run({ untilUs: 1000 });
  expect(checkClockUse(world.clockUses())).toMatchObject({ ok: true, checked: 1 });
  sly.clock.after(10, () => void (Date.now() + Math.random()));
  await world.run({ untilUs: 2000 });
  const report = checkClockUse(world.clockUses());
  expect(report).toMatchObject({ ok: false, checked: 2 });
  expect(report.firstBad?.text).toBe(
    'n2, life 1, called Date.now, Math.random of the machine and not its doors',
  );
  expect(report.firstBad?.atUs).toBeGreaterThan(0);
});

import { describe, expect, it } from 'vitest';

import { drive } from './driver.ts';

describe('what turns the world', () => {
  it('rejects when a step throws, and takes no other', async () => {
    const listeners = process.listenerCount('unhandledRejection');
    let steps = 0;
    const driven = {
      step: () => {
        steps += 1;
        if (steps === 3) throw new Error('a step that nobody foresaw');
        return true;
      },
      outside: () => undefined,
      unhandled: () => undefined,
    };
    await expect(drive(driven)).rejects.toThrow('a step that nobody foresaw');
    expect(steps).toBe(3);
    expect(process.listenerCount('unhandledRejection')).toBe(listeners);
  });
});

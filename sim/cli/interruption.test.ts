import { expect, it } from 'vitest';

import { Interruption } from './interruption.ts';

it('a limit of time may be a fraction of milliseconds', () => {
  const interruption = new Interruption();
  try {
    expect(interruption.orAfter(23_456.75).aborted).toBe(false);
  } finally {
    interruption.forget();
  }
});

import { setTimeout as pass } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

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

it('a limit of time holds over a collection of garbage', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const interruption = new Interruption();
  try {
    const signal = interruption.orAfter(300);
    // The turn must end before what it made can be collected.
    await pass(20);
    collect();
    for (let waits = 0; waits < 500 && !signal.aborted; waits++) await pass(20);
    expect(signal.aborted).toBe(true);
  } finally {
    interruption.forget();
  }
});

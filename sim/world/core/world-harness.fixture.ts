/** What the harnesses of all ports' laws share in the world. */
import { expect } from 'vitest';
import type { Clock } from '../../../engine/io/clock.ts';
import type { Harness } from '../../../engine/io/law.contract.ts';
import type { World } from '../world.ts';

/** Longer than any law's conversation: 200 virtual days. */
const budgetUs = 200 * 86_400 * 1_000_000;

/** Runs the world until a law's conversation is over. A law may leave only the failures that it is about. */
export function worldHarness(world: World, clock: Clock, expectedFailures: readonly string[] = []): Harness {
  return {
    clock,
    settle: async (conversation) => {
      const end = await world.runUntil(conversation, budgetUs);
      if (end !== 'reached') throw new Error(`the conversation never ends: the world is ${end}`);
      return conversation;
    },
    close: async () => {
      const unexpected = world.failures.filter(({ what }) => !expectedFailures.includes(what));
      expect(unexpected).toEqual([]);
    },
  };
}

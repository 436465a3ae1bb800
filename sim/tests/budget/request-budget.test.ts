/** Holds `engine/docs/budget.md`: what one put and one get cost three nodes, counted in a world. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';

import type { BudgetProtocol, RequestCost } from './request-counter.fixture.ts';
import { RequestCounter } from './request-counter.fixture.ts';

const page = readFileSync('engine/docs/budget.md', 'utf8');
/** The rows of the page's table: operation, protocol, and six numbers. */
const rows = page
  .split('\n')
  .filter((line) => /^\| (put|get) /.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()));

/** The page's row for an operation. */
function budgetOf(operation: string, protocol: string): RequestCost {
  const row = rows.find((cells) => cells[1] === operation && cells[2] === protocol) ?? [];
  const [
    messages = NaN,
    messageBytes = NaN,
    syncs = NaN,
    bytesWritten = NaN,
    timers = NaN,
    clockReadings = NaN,
  ] = row
    .slice(3)
    .filter((cell) => cell !== '')
    .map(Number);
  return { messages, messageBytes, syncs, bytesWritten, timers, clockReadings };
}

/** What of a cost is counted exactly, and what is bounded. */
function exact({ messages, syncs, timers, clockReadings }: RequestCost): object {
  return { messages, syncs, timers, clockReadings };
}

describe('the budget of', () => {
  const protocols: readonly BudgetProtocol[] = ['HTTP', 'binary', 'Redis'];
  const counter = new RequestCounter();
  beforeAll(async () => counter.start());

  it.each(protocols)('one put and one get over %s is what they cost', async (protocol) => {
    const costs = await counter.costs(protocol);
    for (const operation of ['put', 'get'] as const) {
      const budget = budgetOf(operation, protocol);
      const cost = costs[operation];
      expect([operation, exact(cost)]).toEqual([operation, exact(budget)]);
      // Numbers within messages and records have variable lengths.
      for (const field of ['messageBytes', 'bytesWritten'] as const) {
        expect([operation, field, cost[field] <= budget[field] ? 'held' : cost[field]]).toEqual([
          operation,
          field,
          'held',
        ]);
        expect([operation, field, cost[field] >= budget[field] * 0.9 ? 'near' : cost[field]]).toEqual([
          operation,
          field,
          'near',
        ]);
      }
    }
    expect(counter.world.failures).toEqual([]);
  });

  it('a get is exceeded by one more read, with its questions to two peers', async () => {
    const { get } = await counter.costs('Redis', () => counter.readElsewhere());
    const budget = budgetOf('get', 'Redis');
    expect(get.messages).toBe(budget.messages + 4);
    expect(get.messageBytes).toBeGreaterThan(budget.messageBytes);
  });
});

/** Holds `engine/docs/budget.md`: what one put and one get cost three nodes, counted in a world. */
import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';

import type { BudgetProtocol, RequestCost } from './request-counter.fixture.ts';
import { RequestCounter } from './request-counter.fixture.ts';

const page = readFileSync('engine/docs/budget.md', 'utf8');
/** The rows of the page's table: operation, protocol, and six numbers. */
const rows = page
  .split('\n')
  .filter((line) => /^\| (put|get|16 puts|16 gets) /.test(line))
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

/** Of what a cost differs from its budget: nothing if the budget is held. */
function excess(cost: RequestCost, budget: RequestCost): readonly string[] {
  const exact = ['messages', 'syncs'] as const;
  const bounds = [
    // Numbers within messages and records have variable lengths.
    ['messageBytes', 0.9 * budget.messageBytes],
    ['bytesWritten', 0.9 * budget.bytesWritten],
    // The order in which the replicas answer decides whether some steps are taken.
    ['timers', budget.timers - 1],
    ['clockReadings', budget.clockReadings - 2],
  ] as const;
  return [
    ...exact.filter((field) => cost[field] !== budget[field]),
    // A comparison with a number that the page lacks is false.
    ...bounds
      .filter(([field, least]) => !(cost[field] <= budget[field] && cost[field] >= least))
      .map(([field]) => field),
  ].map((field) => `${field}: ${cost[field]}, and the page says ${budget[field]}`);
}

describe('the budget of', () => {
  const protocols: readonly BudgetProtocol[] = ['HTTP', 'binary', 'Redis'];
  const counter = new RequestCounter();
  beforeAll(async () => counter.start());

  it.each(protocols)('one put and one get over %s is what they cost', async (protocol) => {
    const costs = await counter.costs(protocol);
    for (const operation of ['put', 'get'] as const) {
      const differences = excess(costs[operation], budgetOf(operation, protocol));
      expect([operation, differences]).toEqual([operation, []]);
    }
    expect(counter.world.failures).toEqual([]);
  });

  it('a Redis pipeline of 16 writes, or reads, is the messages and syncs of one', async () => {
    const { puts, gets } = await counter.pipelineCosts(16);
    expect(excess(puts, budgetOf('16 puts', 'Redis'))).toEqual([]);
    expect(excess(gets, budgetOf('16 gets', 'Redis'))).toEqual([]);
  });

  it('a get is exceeded by one more read, with its question to a peer', async () => {
    const { get } = await counter.costs('Redis', () => counter.readElsewhere());
    const budget = budgetOf('get', 'Redis');
    expect(get.messages).toBe(budget.messages + 2);
    expect(get.messageBytes).toBeGreaterThan(budget.messageBytes);
  });
});

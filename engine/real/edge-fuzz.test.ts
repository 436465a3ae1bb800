/**
 * Runs arbitrary clients against the HTTP port (`edge-fuzz.contract.ts`). `LOCKSTEP_FUZZ_REQUESTS=1000000` runs more
 * requests than a run of all tests has time for; `LOCKSTEP_FUZZ_SEED` selects others.
 */
import { expect, it } from 'vitest';
import { RequestBudget } from '../api/session/request-budget.ts';
import { serviceOf } from '../io/http-serving.contract.ts';
import { Dice, converse, fuzzRoutes } from './edge-fuzz.contract.ts';
import { logInto } from './http-harness.fixture.ts';
import { createRealHttp } from './http.ts';

const requestCount = Number(process.env['LOCKSTEP_FUZZ_REQUESTS'] ?? 4000);
const seed = Number(process.env['LOCKSTEP_FUZZ_SEED'] ?? 1);
const clientCount = 16;

it(
  'whatever clients send, each sound request is answered in its order, and no exception leaves the edge',
  { timeout: 600_000 + 5 * requestCount },
  async () => {
    const handled: string[] = [];
    const counted: string[] = [];
    const logged: string[] = [];
    const escaped: unknown[] = [];
    const hear = (error: unknown): void => void escaped.push(error);
    process.on('uncaughtException', hear);
    const bodyBudget = new RequestBudget(1024 * 1024);
    const limits = { bodyBudget, requestTimeoutMs: 600_000, answerTimeoutMs: 600_000 };
    const service = { ...serviceOf(fuzzRoutes(handled), counted), ...limits };
    const listener = await createRealHttp(logInto(logged)).serve('127.0.0.1:0', service);
    const faults: string[] = [];
    const outcome = { requests: 0, answers: 0 };
    const client = async (number: number): Promise<void> => {
      const dice = new Dice(seed * clientCount + number);
      for (let round = 0; outcome.requests < requestCount && faults.length + escaped.length === 0; round++) {
        const fault = await converse(listener.address, dice, `c${number}r${round}`, handled, outcome);
        if (fault !== undefined) faults.push(fault);
        if (number === 0) handled.splice(0, Math.max(0, handled.length - 10_000));
      }
    };
    try {
      await Promise.all(Array.from({ length: clientCount }, (_, number) => client(number)));
    } finally {
      process.off('uncaughtException', hear);
      await listener.close(1000);
    }
    expect(faults).toEqual([]);
    expect(escaped).toEqual([]);
    expect(logged).toEqual([]);
    expect(outcome.answers).toBeGreaterThan(outcome.requests / 3);
    const opened = counted.filter((event) => event === 'opened').length;
    expect(counted.length).toBe(2 * opened);
    // No body may still be counted.
    expect(bodyBudget.hasRoomFor(1024 * 1024)).toBe(true);
  },
);

import { describe, expect, it } from 'vitest';

import type { Clock, Timer } from '../../io/clock.ts';
import type { TransactionOutcome } from '../formats/outcomes.ts';
import type { Xid } from '../formats/xid.ts';
import { TimelyOutcome } from './timely-outcome.ts';

const xid = 'n1-0-1' as Xid;
const committed: TransactionOutcome = { kind: 'committed', xid, operationCount: 1, branches: [] };

function harness(isDurable: boolean) {
  const timers: (() => void)[] = [];
  let cancelled = 0;
  const clock: Pick<Clock, 'after'> = {
    after: (_, fire): Timer => {
      timers.push(fire);
      return { cancel: () => (cancelled += 1) };
    },
  };
  const kept: TransactionOutcome[] = [];
  const remembered = {
    keepAs: (_: string, outcome: TransactionOutcome) => void kept.push(outcome),
    keepUnknown: (one: Xid) => void kept.push({ kind: 'inDoubt', xid: one }),
  };
  const timely = new TimelyOutcome(clock as Clock, xid, 100_000, remembered, () => {
    if (isDurable) timely.end(xid, committed);
    return isDurable;
  });
  return { timely, kept, expire: () => timers.forEach((fire) => fire()), cancelled: () => cancelled };
}

describe('the outcome of a transaction that its coordinator carries out itself', () => {
  it('reaches the client as it comes within the time', async () => {
    const { timely, kept, cancelled } = harness(false);
    timely.end(xid, committed);
    expect(await timely.told).toEqual(committed);
    expect([kept, cancelled()]).toEqual([[], 1]);
  });

  it('is concluded without the silent replicas once the time is up and the write is durable', async () => {
    const { timely, kept, expire } = harness(true);
    expire();
    expect(await timely.told).toEqual(committed);
    expect(kept).toEqual([]);
  });

  it('is in doubt once the time is up before the write is durable, and kept for questions when it comes', async () => {
    const { timely, kept, expire } = harness(false);
    expire();
    expect(await timely.told).toEqual({ kind: 'inDoubt', xid });
    expect([timely.isLate, kept]).toEqual([true, [{ kind: 'inDoubt', xid }]]);
    timely.end(xid, committed);
    expect(kept.at(-1)).toEqual(committed);
  });
});

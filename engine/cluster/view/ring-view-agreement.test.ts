import { describe, expect, it } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import type { Clock } from '../../io/clock.ts';
import { Agreement } from './ring-view-agreement.ts';

const [n2, n3] = ['n2', 'n3'] as [NodeId, NodeId];

/** A clock whose timers fire when the test calls `fire`. */
function manualClock(): { readonly clock: Clock; readonly expire: () => void; readonly armed: () => number } {
  const timers = new Set<() => void>();
  const clock: Clock = {
    nowUs: () => 0,
    wallMs: () => 0,
    after: (_, fire) => {
      timers.add(fire);
      return { cancel: () => void timers.delete(fire) };
    },
  };
  const expire = (): void => {
    for (const fire of [...timers]) {
      timers.delete(fire);
      fire();
    }
  };
  return { clock, expire, armed: () => timers.size };
}

describe('an agreement', () => {
  function harness(): ReturnType<typeof manualClock> & {
    readonly agreement: Agreement;
    readonly heard: string[];
    readonly asked: string[];
    readonly see: (view: string) => void;
  } {
    const hand = manualClock();
    const [heard, asked]: [string[], string[]] = [[], []];
    let view = 'v1';
    const agreement = new Agreement(
      hand.clock,
      () => view,
      (peer) => void asked.push(peer),
    );
    return { ...hand, agreement, heard, asked, see: (seen) => void (view = seen) };
  }

  it('follows from the view that the peer itself states, and ends when either view changes', () => {
    const { agreement, see } = harness();
    expect(agreement.agrees(n2)).toBe(false);
    agreement.said(n2, 'v1');
    expect([agreement.agrees(n2), agreement.agrees(n3)]).toEqual([true, false]);
    see('v2');
    expect(agreement.agrees(n2)).toBe(false);
  });

  it('refuses what waits when the node stops, and what comes after, and leaves no timer', () => {
    const { agreement, heard, armed } = harness();
    const wait = (): void => agreement.await(n2, false, (error) => void heard.push(error?.code ?? 'ok'));
    wait();
    agreement.stop();
    wait();
    expect([heard, armed()]).toEqual([['ShuttingDown', 'ShuttingDown'], 0]);
  });

  it('runs what waits for it, whichever side catches up, and asks the peer once meanwhile', () => {
    const { agreement, heard, asked, see, armed } = harness();
    const wait = (peer: NodeId): void => {
      agreement.await(peer, false, (error) => void heard.push(`${peer} ${error?.code ?? 'ok'}`));
    };
    agreement.said(n2, 'v2');
    agreement.said(n3, 'v0');
    for (const peer of [n2, n2, n3]) wait(peer);
    expect([heard, asked]).toEqual([[], ['n2', 'n3']]);
    see('v2');
    agreement.changed();
    expect(heard).toEqual(['n2 ok', 'n2 ok']);
    agreement.said(n3, 'v2');
    expect(heard).toEqual(['n2 ok', 'n2 ok', 'n3 ok']);
    expect(armed()).toBe(0);
  });

  it('refuses what waited for too long, and everything at the stop', () => {
    const { agreement, heard, expire, armed } = harness();
    agreement.await(n2, false, (error) => void heard.push(error?.code ?? 'ok'));
    expire();
    agreement.await(n2, false, (error) => void heard.push(error?.code ?? 'ok'));
    agreement.stop();
    expect([heard, armed()]).toEqual([['Overloaded', 'ShuttingDown'], 0]);
  });
});

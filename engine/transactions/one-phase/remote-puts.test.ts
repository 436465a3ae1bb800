import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { NodeId } from '../../base/ids.ts';
import type { PutState } from './remote-puts.ts';
import { PutOutcomes } from './remote-puts.ts';
import type { Xid } from '../formats/xid.ts';
import { makeXid } from '../formats/xid.fixture.ts';

const epochs = ['0123456789ab', 'ba9876543210'];
/** One asker's id is a prefix of another's. */
const nodes = ['n1', 'n2', 'n1-0123456789ab'] as NodeId[];
const counted = fc.record({
  node: fc.constantFrom(...nodes),
  epoch: fc.constantFrom(...epochs),
  count: fc.integer({ min: 1, max: 12 }),
  late: fc.boolean(),
});
const states: readonly PutState[] = ['running', 'committed', 'aborted', 'doubtful', 'refused'];
const countMax = 8;

/** Transaction ids of several askers, in the sequence in which their messages arrive; some overtake others. */
function arrivals(bursts: readonly (typeof counted extends fc.Arbitrary<infer T> ? T : never)[]): Xid[] {
  const counters = new Map<string, number>();
  const names: Xid[] = [];
  const held: Xid[] = [];
  for (const { node, epoch, count, late } of bursts) {
    for (let index = 0; index < count; index++) {
      const counter = (counters.get(node + epoch) ?? 0) + 1;
      counters.set(node + epoch, counter);
      const name = makeXid(node, epoch, counter);
      if (late && index === 0) held.push(name);
      else names.push(name);
    }
    if (held.length > 2) names.push(...held.splice(0));
  }
  return [...names, ...held];
}

describe('put outcomes', () => {
  it('reports every put by its state or as forgotten, never as one that did not come', () => {
    const bursts = fc.array(counted, { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(bursts, fc.array(fc.constantFrom(...states), { minLength: 1 }), (given, said) => {
        const memory = new PutOutcomes(countMax);
        const all = new Map<Xid, PutState>();
        for (const [index, name] of arrivals(given).entries()) {
          const state = said[index % said.length] ?? 'running';
          // A put that never came may be reported as forgotten once others of its asker are, but as nothing else.
          expect([undefined, 'forgotten']).toContain(memory.state(name));
          memory.set(name, state);
          all.set(name, state);
        }
        for (const [known, was] of all) expect([was, 'forgotten']).toContain(memory.state(known));
        for (const [known, was] of [...all].slice(-countMax / 2)) expect(memory.state(known)).toBe(was);
      }),
    );
  });

  it('knows that a put never came, however many others it has dropped', () => {
    const memory = new PutOutcomes(countMax);
    const name = (counter: number): Xid => makeXid(nodes[0] as NodeId, epochs[0] as string, counter);
    for (let counter = 1; counter <= 100; counter++) memory.set(name(counter), 'committed');
    expect(memory.state(name(1))).toBe('forgotten');
    expect(memory.state(name(100))).toBe('committed');
    expect(memory.state(name(101))).toBe(undefined);
    expect(memory.state(makeXid(nodes[1] as NodeId, epochs[0] as string, 1))).toBe(undefined);
  });

  it('drops the asker that has been silent the longest, and recognizes a new asker', () => {
    const memory = new PutOutcomes(4096);
    const name = (asker: number, counter: number): Xid =>
      makeXid(`m${asker}` as NodeId, '0123456789ab', counter);
    for (let asker = 0; asker < 300; asker++) {
      memory.set(name(asker, 7), 'aborted');
      memory.set(name(0, 7 + asker), 'committed');
    }
    expect(memory.state(name(1, 7))).toBe('aborted');
    expect(memory.mayHaveBeen(name(1, 8))).toBe(true);
    expect(memory.mayHaveBeen(name(0, 1000))).toBe(false);
    expect(memory.mayHaveBeen(name(299, 8))).toBe(false);
    // Its first put must be applied, however many askers there were before.
    expect(memory.state(name(300, 1))).toBe(undefined);
  });

  it('takes no put of an asker that was dropped, and came back, for one that never came', () => {
    const memory = new PutOutcomes(countMax);
    const name = (asker: number, counter: number): Xid =>
      makeXid(`m${asker}` as NodeId, '0123456789ab', counter);
    memory.set(name(0, 7), 'committed');
    for (let asker = 1; asker <= 300; asker++) memory.set(name(asker, 1), 'committed');
    expect([memory.state(name(0, 7)), memory.mayHaveBeen(name(0, 7))]).toEqual([undefined, true]);
    memory.set(name(0, 8), 'committed');
    expect(memory.state(name(0, 7))).toBe('forgotten');
    expect(memory.state(name(0, 9))).toBe(undefined);
  });
});

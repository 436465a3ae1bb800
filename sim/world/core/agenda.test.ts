import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { present } from '../../../engine/base/assert.ts';
import type { Ticket } from './agenda.ts';
import { Agenda } from './agenda.ts';

interface Entry {
  readonly atUs: number;
  readonly order: number;
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('schedule' as const), atUs: fc.nat(20) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }) },
);

describe('the agenda', () => {
  it('gives items by instant, and those of one instant in the order of scheduling', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 300 }), (instants) => {
        const agenda = new Agenda<Entry>();
        const entries = instants.map((atUs, order) => ({ atUs, order }));
        for (const entry of entries) agenda.schedule(entry.atUs, entry);
        const sorted = entries.toSorted((left, right) => left.atUs - right.atUs || left.order - right.order);
        expect(takeAll(agenda)).toEqual(sorted);
      }),
      { numRuns: 200 },
    );
  });

  it('is a sorted list from which anything can be cancelled', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const agenda = new Agenda<Entry>();
        const tickets: Ticket[] = [];
        let model: Entry[] = [];
        for (const [order, action] of steps.entries()) {
          if (action.kind === 'schedule') {
            const entry = { atUs: action.atUs, order: tickets.length };
            tickets.push(agenda.schedule(entry.atUs, entry));
            model = insert(model, entry);
          } else if (action.kind === 'take') {
            expect(agenda.take()).toEqual(model.shift());
          } else if (tickets.length > 0) {
            const victim = action.which % tickets.length;
            const known = model.some((entry) => entry.order === victim);
            expect(agenda.cancel(present(tickets[victim], 'a ticket'))).toBe(known);
            model = model.filter((entry) => entry.order !== victim);
          }
          expect([order, agenda.length, agenda.nextUs]).toEqual([
            order,
            model.length,
            model[0]?.atUs ?? Infinity,
          ]);
        }
        expect(takeAll(agenda)).toEqual(model);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps its order when most of what it held was cancelled', () => {
    const agenda = new Agenda<Entry>();
    const kept: Entry[] = [];
    for (let order = 0; order < 20_000; order++) {
      const entry = { atUs: (order * 7919) % 1009, order };
      const ticket = agenda.schedule(entry.atUs, entry);
      if (order % 10 === 0) kept.push(entry);
      else agenda.cancel(ticket);
    }
    expect(agenda.length).toBe(2000);
    expect(takeAll(agenda)).toEqual(
      kept.toSorted((left, right) => left.atUs - right.atUs || left.order - right.order),
    );
  });

  it('forgets whatever a condition names', () => {
    const agenda = new Agenda<Entry>();
    for (let order = 0; order < 100; order++) agenda.schedule(100 - order, { atUs: 100 - order, order });
    agenda.cancelWhere(({ order }) => order % 2 === 0);
    expect(takeAll(agenda).map(({ order }) => order)).toEqual(
      Array.from({ length: 50 }, (_, index) => 99 - 2 * index),
    );
  });

  it('takes whole microseconds only', () => {
    const agenda = new Agenda<Entry>();
    for (const atUs of [0.5, -1, NaN, Infinity, 2 ** 53]) {
      expect(() => agenda.schedule(atUs, { atUs, order: 0 })).toThrow('whole number');
    }
  });
});

function takeAll(agenda: Agenda<Entry>): Entry[] {
  const taken: Entry[] = [];
  for (let next = agenda.take(); next !== undefined; next = agenda.take()) taken.push(next);
  return taken;
}

function insert(sorted: readonly Entry[], entry: Entry): Entry[] {
  const place = sorted.findIndex(({ atUs }) => atUs > entry.atUs);
  return place < 0 ? [...sorted, entry] : [...sorted.slice(0, place), entry, ...sorted.slice(place)];
}

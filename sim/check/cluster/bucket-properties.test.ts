import { expect, it } from 'vitest';

import type { BucketChange, BucketEffect, BucketStatement } from '../../evidence/bucket-changes.ts';
import { markedProperties, unmarked } from '../../evidence/bucket-changes.ts';
import { checkBucketProperties } from './bucket-properties.ts';

const bucket = 'marked0';

function change(mark: number, node: string, atUs: number, more: Partial<BucketChange> = {}): BucketChange {
  const id = `b${mark}`;
  const times = { invokedUs: atUs, completedUs: atUs + 5 };
  return { id, kind: 'set', bucket, mark, node, ...times, outcome: 'ok', ...more };
}

function states(node: string, seen: BucketStatement['seen']): BucketStatement {
  return { node, bucket, atUs: 99, seen };
}

function verdict(
  changes: readonly BucketChange[],
  seen: readonly BucketStatement['seen'][],
  { undisturbed = false, effects = [] as readonly BucketEffect[] } = {},
): boolean {
  const statements = seen.map((one, index) => states(`n${index + 1}`, one));
  return checkBucketProperties({ changes, statements, effects }, undisturbed).ok;
}

const [one, two] = [markedProperties(1), markedProperties(2)];

it('holds where all nodes state one change, whole, that no later one of its node replaces', () => {
  expect(verdict([change(1, 'n1', 0), change(2, 'n1', 10)], [two, two])).toBe(true);
  expect(verdict([], [unmarked, unmarked])).toBe(true);
  expect(verdict([change(1, 'n1', 0), change(2, 'n1', 10, { kind: 'reset' })], [unmarked])).toBe(true);
  expect(verdict([change(1, 'n1', 0, { outcome: 'unknown' })], [one])).toBe(true);
});

it('breaks over different statements, silence, mixtures, and what nobody set', () => {
  const made = [change(1, 'n1', 0), change(2, 'n1', 1)];
  expect(verdict(made, [one, two])).toBe(false);
  expect(verdict(made, [one, undefined])).toBe(false);
  expect(verdict(made, [{ ...one, big_vclock: two.big_vclock }])).toBe(false);
  expect(verdict([change(1, 'n1', 0, { outcome: 'fail' })], [one])).toBe(false);
});

it('breaks over acknowledged changes that are gone', () => {
  expect(verdict([change(1, 'n1', 0)], [unmarked])).toBe(false);
  expect(verdict([change(1, 'n1', 0), change(2, 'n1', 10)], [one])).toBe(false);
  expect(verdict([change(1, 'n1', 0), change(2, 'n1', 10, { kind: 'reset' })], [one])).toBe(false);
});

it('knows no order of changes through different nodes, except in a run without faults', () => {
  const made = [change(1, 'n1', 0), change(2, 'n2', 10)];
  expect(verdict(made, [one])).toBe(true);
  expect(verdict(made, [one], { undisturbed: true })).toBe(false);
});

it('breaks if siblings are kept otherwise than the properties say', () => {
  const effects = (allowMult: boolean, values: number | undefined): readonly BucketEffect[] => [
    { bucket, atUs: 9, node: 'n1', allowMult, values },
  ];
  expect(verdict([], [unmarked], { effects: effects(true, 1) })).toBe(false);
  expect(verdict([], [unmarked], { effects: effects(false, 2) })).toBe(false);
  expect(verdict([], [unmarked], { effects: effects(true, 2) })).toBe(true);
  expect(verdict([], [unmarked], { effects: effects(false, undefined) })).toBe(true);
});

it('breaks if a node states as before what it has acknowledged to replace', () => {
  const setAt = (
    node: string,
    before: BucketStatement['seen'],
    after: BucketStatement['seen'],
  ): BucketChange => change(2, node, 10, { before, after });
  const judged = (changes: readonly BucketChange[], forgetful: readonly string[] = []): boolean =>
    checkBucketProperties({ changes, statements: [], effects: [], forgetful }, false).ok;
  expect(judged([setAt('n1', one, two)])).toBe(true);
  expect(judged([setAt('n1', one, one)])).toBe(false);
  expect(judged([setAt('n1', one, one)], ['n1'])).toBe(true);
  expect(judged([setAt('n1', one, undefined)])).toBe(true);
  // A change of another node's may follow at once.
  expect(judged([setAt('n1', one, markedProperties(3))])).toBe(true);
  const reset = change(3, 'n2', 12, { kind: 'reset' });
  expect(judged([setAt('n1', unmarked, unmarked)])).toBe(false);
  expect(judged([setAt('n1', unmarked, unmarked), reset])).toBe(true);
});

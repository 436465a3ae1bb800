/**
 * A family whose children (one per combination of label values) are found without allocating, so that counting a
 * failure costs little even while failures rain. Children stand in the order in which they were first used.
 */
import { assert } from '../base/assert.ts';
import type { Family, FamilySource, FamilyType, Labels, Sample } from './family.ts';

type LabelValue = string | number;

/** One child: its labels are fixed, its value is counted up or set. */
export interface Child extends Sample {
  readonly labels: Labels;
  value: number;
}

export class LabelledFamily implements FamilySource {
  readonly name: string;
  readonly help: string;
  readonly type: FamilyType;
  readonly labels: readonly string[];
  readonly #tree = new Map<LabelValue, Map<LabelValue, Map<LabelValue, Child>>>();
  #children: Child[] = [];

  constructor(family: Family) {
    assert(family.labels.length <= 3, 'a labelled family has at most three labels');
    this.name = family.name;
    this.help = family.help;
    this.type = family.type;
    this.labels = family.labels;
  }

  /** The child of these label values, made at 0 when it is new. Values beyond the family's labels are left out. */
  child(first: LabelValue = '', second: LabelValue = '', third: LabelValue = ''): Child {
    return this.#tree.get(first)?.get(second)?.get(third) ?? this.#makeChild(first, second, third);
  }

  /** Removes every child whose first label has this value. For gauges: a counter never goes away. */
  removeAll(first: LabelValue): void {
    assert(this.type === 'gauge', 'the children of a counter stay');
    this.#tree.delete(first);
    const name = this.labels[0] ?? '';
    this.#children = this.#children.filter((child) => child.labels[name] !== first);
  }

  collect(): readonly Sample[] {
    return this.#children;
  }

  #makeChild(first: LabelValue, second: LabelValue, third: LabelValue): Child {
    const values = [first, second, third];
    const labels = Object.fromEntries(this.labels.map((name, index) => [name, values[index] ?? '']));
    const child = { labels: Object.freeze(labels), value: 0 };
    const seconds = this.#tree.get(first) ?? new Map<LabelValue, Map<LabelValue, Child>>();
    const thirds = seconds.get(second) ?? new Map<LabelValue, Child>();
    this.#tree.set(first, seconds.set(second, thirds.set(third, child)));
    this.#children.push(child);
    return child;
  }
}

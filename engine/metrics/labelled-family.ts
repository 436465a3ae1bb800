/**
 * A family with one child per combination of label values. Finding a child allocates nothing, so counting a failure is
 * cheap even when failures are frequent. Children are published in the order of their first use.
 *
 * Children are looked up by the first label and then scanned: few share it (the states that a peer has changed between,
 * the levels of a rack), so a family with a child per peer costs little for each.
 */
import { assert } from '../base/assert.ts';
import type { Family, FamilySource, FamilyType, Labels, Sample } from './family.ts';

type LabelValue = string | number;

/** One child: fixed labels, and a value that callers increment or set. */
export class Child implements Sample {
  readonly labels: Labels;
  value = 0;
  readonly #second: LabelValue;
  readonly #third: LabelValue;

  constructor(labels: Labels, second: LabelValue, third: LabelValue) {
    this.labels = labels;
    this.#second = second;
    this.#third = third;
  }

  /** Whether the second and third label have these values. */
  has(second: LabelValue, third: LabelValue): boolean {
    return this.#second === second && this.#third === third;
  }
}

/** The family; at most three labels (`AssertionError` otherwise). */
export class LabelledFamily implements FamilySource {
  readonly name: string;
  readonly help: string;
  readonly type: FamilyType;
  readonly labels: readonly string[];
  /** Children by the first label's value, usually one each. */
  readonly #byFirst = new Map<LabelValue, Child | Child[]>();
  #children: Child[] = [];

  constructor(family: Family) {
    assert(family.labels.length <= 3, 'a labelled family has at most three labels');
    this.name = family.name;
    this.help = family.help;
    this.type = family.type;
    this.labels = family.labels;
  }

  /** The child with these label values, created at 0 if new. Values beyond the family's labels are ignored. */
  child(first: LabelValue = '', second: LabelValue = '', third: LabelValue = ''): Child {
    const known = this.#byFirst.get(first);
    if (known instanceof Child) {
      if (known.has(second, third)) return known;
    } else if (known !== undefined) {
      for (const child of known) if (child.has(second, third)) return child;
    }
    return this.#makeChild(first, second, third);
  }

  /**
   * Removes every child whose first label has this value. Gauges only: a counter's children stay (`AssertionError`).
   */
  removeAll(first: LabelValue): void {
    assert(this.type === 'gauge', 'the children of a counter stay');
    this.#byFirst.delete(first);
    const name = this.labels[0] ?? '';
    this.#children = this.#children.filter((child) => child.labels[name] !== first);
  }

  /** The live children. */
  collect(): readonly Sample[] {
    return this.#children;
  }

  #makeChild(first: LabelValue, second: LabelValue, third: LabelValue): Child {
    const values = [first, second, third];
    const labels = Object.fromEntries(this.labels.map((name, index) => [name, values[index] ?? '']));
    const child = new Child(Object.freeze(labels), second, third);
    const known = this.#byFirst.get(first);
    if (known === undefined) this.#byFirst.set(first, child);
    else if (known instanceof Child) this.#byFirst.set(first, [known, child]);
    else known.push(child);
    this.#children.push(child);
    return child;
  }
}

/**
 * Counts the answers to one request: a pure, one-shot vote.
 *
 * Every target answers once, with a success or a failure; a second answer of the same target is ignored. The vote is
 * decided once: as soon as every group has its successes (`met`), or some group can no longer get them (`impossible`).
 * Answers after that are `late`; they may still feed read repair.
 */
import { failAssertion, present } from '../base/assert.ts';
import type { DispatchPlan } from './plan.ts';

/** The state of the vote after an answer. */
export type Verdict = 'pending' | 'met' | 'impossible' | 'late';

/** The count for one plan. */
export class Tally {
  readonly #plan: DispatchPlan;
  /** Per target. */
  readonly #answered: boolean[];
  /** Per group: the successes that count. Under `agree`: the size of the largest class of equal answers. */
  readonly #counted: number[];
  /** Per group: targets that have not answered. */
  readonly #pending: number[];
  /** Under `agree`, per group: all successes, equal or not. */
  readonly #successes: number[] | undefined;
  /** Under `agree`, per group and equality class: the number of answers. */
  readonly #classes: number[][] | undefined;
  #outstanding: number;
  #decided = false;

  constructor(plan: DispatchPlan) {
    this.#plan = plan;
    this.#answered = plan.targets.map(() => false);
    this.#outstanding = plan.targets.length;
    this.#counted = plan.groups.map(() => 0);
    this.#pending = plan.groups.map(() => 0);
    this.#classes = plan.agree ? plan.groups.map(() => []) : undefined;
    this.#successes = plan.agree ? plan.groups.map(() => 0) : undefined;
    for (const { group } of plan.targets) {
      if (group >= 0) this.#pending[group] = (this.#pending[group] ?? 0) + 1;
    }
    for (let group = 0; group < plan.groups.length; group++) {
      const needed = this.missing(group);
      if (needed < 1 || needed > this.pending(group))
        failAssertion('a group needs 1 to all of its targets', needed, this.pending(group));
    }
  }

  /** This vote continued under `plan`: the same plan with further targets, and with groups that may need more. */
  extended(plan: DispatchPlan): Tally {
    const tally = new Tally(plan);
    tally.#answered.splice(0, this.#answered.length, ...this.#answered);
    for (const [index, answered] of this.#answered.entries()) {
      const { group } = present(plan.targets[index], 'a target of before');
      if (!answered) continue;
      tally.#outstanding -= 1;
      if (group >= 0) tally.#pending[group] = (tally.#pending[group] ?? 0) - 1;
    }
    for (const [group, counted] of this.#counted.entries()) tally.#counted[group] = counted;
    return tally;
  }

  /** Whether the vote is decided. */
  get decided(): boolean {
    return this.#decided;
  }

  /** Targets that have not answered. */
  get outstanding(): number {
    return this.#outstanding;
  }

  /** Successes that a group still lacks. */
  missing(group: number): number {
    return present(this.#plan.groups[group], 'a group').needed - (this.#counted[group] ?? 0);
  }

  /** Targets of a group that have not answered. */
  pending(group: number): number {
    return this.#pending[group] ?? 0;
  }

  /**
   * Counts the answer of target `index`. Under `agree`, `equality` is the number of its class of equal answers (0 and
   * up; the caller compares the bytes).
   */
  answer(index: number, success: boolean, equality = 0): Verdict {
    const target = present(this.#plan.targets[index], 'an answering target');
    if (this.#answered[index] === false) {
      this.#answered[index] = true;
      this.#outstanding -= 1;
      if (target.group >= 0) this.#count(target.group, success, equality);
    }
    if (this.#decided) return 'late';
    const verdict = this.#judge();
    this.#decided = verdict !== 'pending';
    return verdict;
  }

  /**
   * Under `agree`, after `impossible`: whether enough targets of every group have answered or still may, so that the
   * vote failed only because answers are not equal.
   */
  get disagrees(): boolean {
    if (this.#successes === undefined) return false;
    for (let group = 0; group < this.#plan.groups.length; group++) {
      const { needed } = present(this.#plan.groups[group], 'a group');
      if ((this.#successes[group] ?? 0) + this.pending(group) < needed) return false;
    }
    return true;
  }

  /** Under `agree`: the class of equal answers that meets the group's need; undefined while none does. */
  agreed(group: number): number | undefined {
    const { needed } = present(this.#plan.groups[group], 'a group');
    const found = this.#classes?.[group]?.findIndex((size) => size >= needed) ?? -1;
    return found < 0 ? undefined : found;
  }

  /** `2 of 2 in dc1 and 1 of 2 in dc2`: the successes of each group and its need, for error texts. */
  describe(): string {
    return this.#plan.groups
      .map((group, index) => `${this.#counted[index] ?? 0} of ${group.needed} in ${group.datacenter}`)
      .join(' and ');
  }

  /**
   * `2 of 2 in dc1 and at most 1 of 2 in dc2`: as `describe`, for a vote that is `impossible`; counts the targets that
   * may still succeed as well.
   */
  describeReach(): string {
    return this.#plan.groups
      .map((group, index) => {
        const most = this.pending(index) > 0 ? 'at most ' : '';
        return `${most}${this.#reach(index)} of ${group.needed} in ${group.datacenter}`;
      })
      .join(' and ');
  }

  /** For an `impossible` vote: the targets that can succeed, and the need, of the first group that falls short. */
  votes(): { readonly got: number; readonly needed: number } {
    const groups = this.#plan.groups.map(({ needed }, index) => ({ got: this.#reach(index), needed }));
    return present(groups.find(({ got, needed }) => got < needed) ?? groups[0], 'a group');
  }

  /** Targets of a group that have succeeded, or still may. */
  #reach(group: number): number {
    return ((this.#successes ?? this.#counted)[group] ?? 0) + this.pending(group);
  }

  #count(group: number, success: boolean, equality: number): void {
    const left = (this.#pending[group] ?? 0) - 1;
    this.#pending[group] = left;
    if (left < 0 || this.#outstanding < 0)
      failAssertion('a target answers once', group, left, this.#outstanding);
    if (!success) return;
    const classes = this.#classes?.[group];
    if (classes === undefined) {
      this.#counted[group] = (this.#counted[group] ?? 0) + 1;
    } else {
      const size = (classes[equality] ?? 0) + 1;
      classes[equality] = size;
      if (this.#successes !== undefined) this.#successes[group] = (this.#successes[group] ?? 0) + 1;
      this.#counted[group] = Math.max(this.#counted[group] ?? 0, size);
    }
  }

  #judge(): Verdict {
    let verdict: Verdict = 'met';
    for (let index = 0; index < this.#counted.length; index++) {
      const missing = (this.#plan.groups[index]?.needed ?? 0) - (this.#counted[index] ?? 0);
      if (missing > (this.#pending[index] ?? 0)) return 'impossible';
      if (missing > 0) verdict = 'pending';
    }
    return verdict;
  }
}

/**
 * Parses and evaluates the part of PromQL that `reports/alerts.yaml` uses: numbers, `time()`, selectors with equality
 * matchers, `increase` and `min_over_time` over a range, `sum by`, arithmetic, comparisons as filters, `or`, and `and` with `on`. Anything else throws. (Source: Prometheus, "Querying", and `promql/functions.go` for the extrapolation.)
 */
import { assert, present } from '../../../engine/base/assert.ts';

/** Labels by name; the metric's name is no label here. */
export type Labels = ReadonlyMap<string, string>;

/** One sample of a series; NaN: the series ended here (its target did not answer). */
export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

/** A series and its samples in the order of time. */
export interface Series {
  readonly labels: Labels;
  readonly samples: readonly Sample[];
}

/** One element of a result. */
export interface Element {
  readonly labels: Labels;
  readonly value: number;
}

/** Where expressions read: the series of a metric. */
export type SeriesOf = (metric: string) => readonly Series[];

type Value = number | readonly Element[];

/** An expression at an instant. */
export type Expression = (series: SeriesOf, nowMs: number) => Value;

/** How far back an instant selector looks for a sample. */
const lookBackMs = 5 * 60_000;
const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const tokenPattern = /\s*(\d+[smhd]\b|\d+(?:\.\d+)?|[A-Za-z_]\w*|"[^"]*"|==|!=|>=|<=|[-+*/<>(){}[\],=])/y;

/** Parses an expression. Throws for what it does not know. */
export function parsePromql(text: string): Expression {
  const parser = new Parser(text);
  const expression = parser.or();
  parser.mustEnd();
  return expression;
}

/** An expression whose value must be a vector, as an alert's is. */
export function vectorOf(value: Value): readonly Element[] {
  assert(typeof value !== 'number', 'a vector');
  return value;
}

class Parser {
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(text: string) {
    tokenPattern.lastIndex = 0;
    while (tokenPattern.lastIndex < text.trimEnd().length) {
      const from = tokenPattern.lastIndex;
      const [, token] = tokenPattern.exec(text) ?? [];
      if (token === undefined) throw new Error(`no PromQL that this evaluator knows: ${text.slice(from)}`);
      this.#tokens.push(token);
    }
  }

  mustEnd(): void {
    assert(this.#at === this.#tokens.length, `nothing after the expression: ${this.#tokens[this.#at]}`);
  }

  or(): Expression {
    let left = this.#and();
    while (this.#takes('or')) left = either(left, this.#and());
    return left;
  }

  #and(): Expression {
    let left = this.#comparison();
    while (this.#takes('and')) {
      const on = this.#takes('on') ? this.#names() : undefined;
      left = both(left, this.#comparison(), on);
    }
    return left;
  }

  #comparison(): Expression {
    let left = this.#binary(['+', '-'], () => this.#binary(['*', '/'], () => this.#primary()));
    for (let sign = this.#oneOf(comparisons); sign !== undefined; sign = this.#oneOf(comparisons)) {
      left = applied(
        sign,
        left,
        this.#binary(['+', '-'], () => this.#binary(['*', '/'], () => this.#primary())),
      );
    }
    return left;
  }

  #binary(signs: readonly string[], operand: () => Expression): Expression {
    let left = operand();
    for (let sign = this.#oneOf(signs); sign !== undefined; sign = this.#oneOf(signs)) {
      left = applied(sign, left, operand());
    }
    return left;
  }

  #primary(): Expression {
    const token = this.#next();
    if (/^\d/.test(token)) return () => Number(token);
    if (token === '(') {
      const inner = this.or();
      this.#must(')');
      return inner;
    }
    if (token === 'time') {
      this.#must('(');
      this.#must(')');
      return (_series, nowMs) => nowMs / 1000;
    }
    if (token === 'sum') {
      this.#must('by');
      const names = this.#names();
      return summed(this.#primary(), names);
    }
    if (token === 'increase' || token === 'min_over_time') {
      this.#must('(');
      const [metric, matchers] = [this.#next(), this.#matchers()];
      this.#must('[');
      const rangeMs = durationOf(this.#next());
      this.#must(']');
      this.#must(')');
      return overRange(token === 'increase' ? increase : least, metric, matchers, rangeMs);
    }
    return selected(token, this.#matchers());
  }

  #matchers(): Labels {
    const matchers = new Map<string, string>();
    if (!this.#takes('{')) return matchers;
    while (!this.#takes('}')) {
      const name = this.#next();
      this.#must('=');
      matchers.set(name, this.#next().slice(1, -1));
      this.#takes(',');
    }
    return matchers;
  }

  #names(): readonly string[] {
    const names: string[] = [];
    this.#must('(');
    while (!this.#takes(')')) {
      names.push(this.#next());
      this.#takes(',');
    }
    return names;
  }

  #next(): string {
    const token = present(this.#tokens[this.#at], 'an expression that ends too early');
    this.#at += 1;
    return token;
  }

  #takes(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #oneOf(tokens: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at];
    return token !== undefined && tokens.includes(token) ? this.#next() : undefined;
  }

  #must(token: string): void {
    assert(this.#takes(token), `${token} before ${this.#tokens[this.#at] ?? 'the end'}`);
  }
}

/** `5m` in milliseconds. */
export function durationOf(text: string): number {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  return Number(count) * present(units[unit ?? ''], `the duration ${text}`);
}

const comparisons = ['==', '!=', '>', '<', '>=', '<='];

function calculated(sign: string, left: number, right: number): number | boolean {
  switch (sign) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return left / right;
    case '==':
      return left === right;
    case '!=':
      return left !== right;
    case '>':
      return left > right;
    case '<':
      return left < right;
    case '>=':
      return left >= right;
    default:
      return left <= right;
  }
}

/** Arithmetic; a comparison keeps the elements of its left side for which it holds. */
function applied(sign: string, left: Expression, right: Expression): Expression {
  return (series, nowMs) => {
    const [a, b] = [left(series, nowMs), right(series, nowMs)];
    if (typeof a === 'number' && typeof b === 'number') return Number(calculated(sign, a, b));
    const elements = typeof a === 'number' ? vectorOf(b) : a;
    return elements.flatMap((element) => {
      const other =
        typeof a === 'number' || typeof b === 'number' ? undefined : sameLabels(b, element.labels);
      if (typeof a !== 'number' && typeof b !== 'number' && other === undefined) return [];
      const [x, y] = [
        typeof a === 'number' ? a : element.value,
        typeof b === 'number' ? b : (other?.value ?? element.value),
      ];
      const value = calculated(sign, x, y);
      if (typeof value === 'number') return [{ labels: element.labels, value }];
      return value ? [element] : [];
    });
  };
}

function sameLabels(
  elements: readonly Element[],
  labels: Labels,
  on?: readonly string[],
): Element | undefined {
  const wanted = nameOf(labels, on);
  return elements.find((element) => nameOf(element.labels, on) === wanted);
}

/** A text that is equal for equal labels; of `on` only. */
export function nameOf(labels: Labels, on?: readonly string[]): string {
  const names = [...labels.keys()].filter((name) => on?.includes(name) !== false).sort();
  return names.map((name) => `${name}=${labels.get(name)}`).join(',');
}

function both(left: Expression, right: Expression, on: readonly string[] | undefined): Expression {
  return (series, nowMs) => {
    const others = vectorOf(right(series, nowMs));
    const own = vectorOf(left(series, nowMs));
    return own.filter(({ labels }) => sameLabels(others, labels, on) !== undefined);
  };
}

function either(left: Expression, right: Expression): Expression {
  return (series, nowMs) => {
    const own = vectorOf(left(series, nowMs));
    const others = vectorOf(right(series, nowMs));
    return [...own, ...others.filter(({ labels }) => sameLabels(own, labels) === undefined)];
  };
}

function summed(of: Expression, names: readonly string[]): Expression {
  return (series, nowMs) => {
    const sums = new Map<string, Element>();
    for (const { labels, value } of vectorOf(of(series, nowMs))) {
      const group = new Map([...labels].filter(([name]) => names.includes(name)));
      const name = nameOf(group);
      sums.set(name, { labels: group, value: (sums.get(name)?.value ?? 0) + value });
    }
    return [...sums.values()];
  };
}

function matching(series: SeriesOf, metric: string, matchers: Labels): readonly Series[] {
  return series(metric).filter(({ labels }) =>
    [...matchers].every(([name, value]) => labels.get(name) === value),
  );
}

function selected(metric: string, matchers: Labels): Expression {
  return (series, nowMs) =>
    matching(series, metric, matchers).flatMap(({ labels, samples }) => {
      const last = samples.findLast(({ atMs }) => atMs <= nowMs);
      if (last === undefined || Number.isNaN(last.value) || nowMs - last.atMs > lookBackMs) return [];
      return [{ labels, value: last.value }];
    });
}

type OverRange = (samples: readonly Sample[], fromMs: number, toMs: number) => number | undefined;

function overRange(of: OverRange, metric: string, matchers: Labels, rangeMs: number): Expression {
  return (series, nowMs) =>
    matching(series, metric, matchers).flatMap(({ labels, samples }) => {
      const from = samples.findLastIndex(({ atMs }) => atMs <= nowMs - rangeMs) + 1;
      const within = samples.slice(from).filter(({ atMs, value }) => atMs <= nowMs && !Number.isNaN(value));
      const value = of(within, nowMs - rangeMs, nowMs);
      return value === undefined ? [] : [{ labels, value }];
    });
}

const least: OverRange = (samples) =>
  samples.length === 0 ? undefined : Math.min(...samples.map(({ value }) => value));

/** How much a counter grew, extrapolated to the ends of the range as Prometheus does it. */
const increase: OverRange = (samples, fromMs, toMs) => {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || samples.length < 2) return undefined;
  let grown = last.value - first.value;
  for (const [index, { value }] of samples.entries()) {
    const before = samples[index - 1];
    // A counter that begins again was reset.
    if (before !== undefined && value < before.value) grown += before.value;
  }
  const sampledMs = last.atMs - first.atMs;
  const meanMs = sampledMs / (samples.length - 1);
  const reach = (gapMs: number): number => (gapMs >= 1.1 * meanMs ? meanMs / 2 : gapMs);
  let beforeMs = reach(first.atMs - fromMs);
  if (grown > 0) beforeMs = Math.min(beforeMs, sampledMs * (first.value / grown));
  return grown * ((sampledMs + beforeMs + reach(toMs - last.atMs)) / sampledMs);
};

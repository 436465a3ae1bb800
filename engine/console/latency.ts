/** Charts of this node's requests: how many a second, and their percentiles, poll by poll. */
import type { ConsoleLatencies } from '../api/http/console-answers.ts';
import { draw, h, table } from './dom.ts';
import { countText, latencyText } from './numbers.ts';
import type { Interval } from './percentiles.ts';
import { intervalOf, summed } from './percentiles.ts';

/** Polls that a chart shows at most, and the fewest that its width stands for. */
const pointsMax = 100;
const pointsMin = 20;

interface Poll {
  readonly atMs: number;
  readonly latencies: ConsoleLatencies;
}

interface Line {
  readonly className: string;
  readonly name: string;
  readonly values: readonly (number | undefined)[];
}

/** The panel's content. It keeps the last polls, from which it draws what the operator has chosen. */
export class LatencyCharts {
  readonly element: HTMLElement;
  readonly #choice = h('select', { id: 'latency-choice', onchange: () => this.#draw() });
  readonly #charts = h('div', { class: 'charts' });
  readonly #recent = h('div');
  #polls: readonly Poll[] = [];
  #choices = '';

  constructor() {
    const label = h('label', { for: 'latency-choice' }, 'Requests');
    this.element = h('div', {}, h('p', {}, label, ' ', this.#choice), this.#charts, this.#recent);
  }

  /** Takes in one poll. */
  add(atMs: number, latencies: ConsoleLatencies): void {
    this.#polls = [...this.#polls, { atMs, latencies }].slice(-pointsMax - 1);
    const names = latencies.series.map(({ protocol, operation }) => `${protocol} ${operation}`).sort();
    if (names.join() !== this.#choices || this.#choice.options.length === 0) {
      this.#choices = names.join();
      const { value } = this.#choice;
      this.#choice.replaceChildren(
        h('option', { value: '' }, 'all'),
        ...names.map((name) => h('option', { value: name }, name)),
      );
      this.#choice.value = names.includes(value) ? value : '';
    }
    this.#draw();
  }

  /** The node did not answer: what follows does not continue what was. */
  clear(): void {
    this.#polls = [];
  }

  #draw(): void {
    const chosen = this.#choice.value;
    const intervals: Interval[] = [];
    const rates: number[] = [];
    this.#polls.forEach((poll, index) => {
      const before = this.#polls[index - 1];
      if (before === undefined) return;
      const of = ({ latencies }: Poll): readonly number[] =>
        summed(latencies, (protocol, operation) => chosen === '' || `${protocol} ${operation}` === chosen);
      const interval = intervalOf(poll.latencies.ends, of(before), of(poll));
      intervals.push(interval);
      rates.push((1000 * interval.requests) / Math.max(1, poll.atMs - before.atMs));
    });
    const p50 = { className: 'p50', name: 'median', values: intervals.map((one) => one.p50) };
    const p99 = { className: 'p99', name: '99th percentile', values: intervals.map((one) => one.p99) };
    this.#charts.replaceChildren(
      chart('Requests a second', [{ className: 'rate', name: 'requests a second', values: rates }], (value) =>
        countText(value),
      ),
      chart('Latency', [p99, p50], latencyText),
    );
    this.#recent.replaceChildren(...recentTable(this.#polls.at(-1)?.latencies));
  }
}

function recentTable(latencies: ConsoleLatencies | undefined): readonly HTMLElement[] {
  if (latencies === undefined) return [];
  const { mean, p95, p99, p999, max, count } = latencies.recent;
  const cells = [mean, p95, p99, p999, max].map((us) => latencyText(us / 1e6));
  const heads = ['Requests', 'Mean', '95 %', '99 %', '99.9 %', 'Longest'];
  return [table('All requests of the last five to ten minutes', heads, [[countText(count), ...cells]])];
}

const width = 480;
const height = 120;

/** One chart: a line per series, the largest value as the scale, and the last values as text. */
function chart(title: string, lines: readonly Line[], text: (value: number) => string): HTMLElement {
  const all = lines.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const top = Math.max(...all, Number.MIN_VALUE);
  const last = lines.map(({ name, values }) => {
    const value = values.findLast((one) => one !== undefined);
    return `${name}: ${value === undefined ? 'no requests' : text(value)}`;
  });
  const paths = lines.map(({ className, values }) =>
    draw('path', { d: pathOf(values, top), class: `line ${className}`, fill: 'none' }),
  );
  const legend = lines.map(({ className }, index) =>
    h('span', {}, h('i', { class: `swatch ${className}`, 'aria-hidden': 'true' }), last[index] ?? ''),
  );
  const drawing = draw(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${title}. ${last.join('; ')}` },
    draw('path', { d: `M 0 ${height - 1} H ${width} M 0 1 H ${width}`, class: 'grid', fill: 'none' }),
    ...paths,
  );
  const scale = all.length === 0 ? 'the first polls are taken' : `up to ${text(top)}`;
  return h(
    'figure',
    {},
    h('figcaption', {}, h('strong', {}, title), ` ${scale}`),
    drawing,
    h('div', { class: 'keys' }, ...legend),
  );
}

/** A line from left to right, broken where there is no value. A value between two gaps is a short stroke. */
function pathOf(values: readonly (number | undefined)[], top: number): string {
  const step = width / Math.max(pointsMin, values.length);
  const begin = width - values.length * step;
  let path = '';
  let isDown = false;
  values.forEach((value, index) => {
    if (value === undefined) {
      isDown = false;
      return;
    }
    const x = begin + index * step;
    const y = (height - 2 - (value / top) * (height - 6)).toFixed(1);
    path += isDown ? `L ${(x + step).toFixed(1)} ${y} ` : `M ${x.toFixed(1)} ${y} h ${step.toFixed(1)} `;
    isDown = true;
  });
  return path;
}

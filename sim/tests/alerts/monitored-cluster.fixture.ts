/**
 * A cluster in the world that a Prometheus server watches: it scrapes every node's statistics listener at an interval
 * of virtual time and evaluates the alert rules of `reports/alerts.yaml` over what it read.
 */
import { readFileSync } from 'node:fs';

import { parse } from 'yaml';

import { present } from '../../../engine/base/assert.ts';
import { parseExposition } from '../../check/metrics/exposition-text.ts';
import { epochMs } from '../../world/core/clock.ts';
import { MemberHarness, second } from '../cluster/member-harness.ts';
import type { Element, Expression, Labels, Sample, Series } from './promql.ts';
import { durationOf, nameOf, parsePromql, vectorOf } from './promql.ts';

/** An alert rule. */
export interface AlertRule {
  readonly name: string;
  readonly expression: Expression;
  /** How long the expression must hold before the alert fires. */
  readonly forMs: number;
}

interface WrittenRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
}

/** The rules of a file; `edit` may change an expression's text. */
export function alertRules(edit: (expr: string) => string = (expr) => expr): readonly AlertRule[] {
  const text = readFileSync(new URL('../../../reports/alerts.yaml', import.meta.url), 'utf8');
  const { groups } = parse(text) as {
    readonly groups: readonly { readonly rules: readonly WrittenRule[] }[];
  };
  return groups.flatMap(({ rules }) =>
    rules.map(({ alert, expr, for: held = '0s' }) => ({
      name: alert,
      expression: parsePromql(edit(expr)),
      forMs: durationOf(held),
    })),
  );
}

interface OpenSeries {
  readonly labels: Labels;
  readonly samples: Sample[];
}

/** The cluster, the server's samples, and what the rules found in them. */
export class MonitoredCluster extends MemberHarness {
  /** Alerts that have fired, with the instances for which they did: `LockstepPeerDown n1`. */
  readonly fired = new Set<string>();
  /** Evaluations of all rules so far. */
  evaluations = 0;
  readonly #rules: readonly AlertRule[];
  readonly #series = new Map<string, Map<string, OpenSeries>>();
  readonly #since = new Map<string, number>();

  constructor(
    seed: string,
    count: number,
    settings: Readonly<Record<string, unknown>> = {},
    rules: readonly AlertRule[] = alertRules(),
  ) {
    super(seed, count, settings);
    this.#rules = rules;
  }

  /** Names of the alerts that have fired, each once. */
  get alerts(): readonly string[] {
    return [...new Set([...this.fired].map((text) => present(text.split(' ')[0], 'a name')))].sort();
  }

  /**
   * Lets `us` of virtual time pass. Every `intervalUs` runs `act`, scrapes all nodes and evaluates all rules; ends early
   * once `alert` has fired.
   */
  async observe(us: number, { act, alert, intervalUs = 15 * second }: ObserveOptions = {}): Promise<void> {
    const endUs = this.world.nowUs + us;
    for (let dueUs = this.world.nowUs; dueUs <= endUs; dueUs += intervalUs) {
      if (this.world.nowUs < dueUs) await this.pass(dueUs - this.world.nowUs);
      await act?.();
      for (const name of this.cluster.names) await this.#scrape(name);
      this.#evaluate();
      if (alert !== undefined && this.alerts.includes(alert)) return;
    }
  }

  /** Sends `count` writes through a node at once and waits for none of them. */
  flood(node: string, count: number, valueBytes = 1): void {
    const host = this.world.hosts.find(({ name }) => name === 'flood') ?? this.world.addHost('flood');
    if (!host.alive) host.boot();
    const client = this.world.httpClient(host);
    for (let index = 0; index < count; index++) {
      const request = {
        method: 'PUT' as const,
        path: `/buckets/b/keys/f${index}`,
        headers: { 'content-type': 'text/plain' },
        body: 'v'.repeat(valueBytes),
      };
      client.request(this.cluster.address(node, 'http'), request, 5 * second).catch(() => undefined);
    }
  }

  /** Writes keys through a node, one after the other; what becomes of them does not matter. */
  async write(node: string, prefix: string, count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      // A node that hangs or is down gives no answer.
      await this.ask(node, 'PUT', `/buckets/b/keys/${prefix}${index}`, 'v').catch(() => undefined);
    }
  }

  get #nowMs(): number {
    return epochMs + this.world.nowUs / 1000;
  }

  async #scrape(instance: string): Promise<void> {
    let text: string | undefined;
    if (this.cluster.serves(instance)) {
      try {
        text = await this.look(instance, '/metrics');
      } catch {
        // The node died or hangs: its series end.
      }
    }
    const atMs = this.#nowMs;
    const read = new Set<OpenSeries>();
    for (const { samples } of text === undefined ? [] : parseExposition(text)) {
      for (const { name, labels, value } of samples) {
        const series = this.#openSeries(name, new Map([...labels, ['instance', instance]]));
        series.samples.push({ atMs, value });
        read.add(series);
      }
    }
    for (const all of this.#series.values()) {
      for (const series of all.values()) {
        const { labels, samples } = series;
        if (labels.get('instance') !== instance || read.has(series)) continue;
        if (!Number.isNaN(samples.at(-1)?.value)) samples.push({ atMs, value: NaN });
      }
    }
  }

  #openSeries(metric: string, labels: Labels): OpenSeries {
    const all = this.#series.get(metric) ?? new Map<string, OpenSeries>();
    this.#series.set(metric, all);
    const name = nameOf(labels);
    const known = all.get(name);
    if (known !== undefined) return known;
    const series = { labels, samples: [] };
    all.set(name, series);
    return series;
  }

  #evaluate(): void {
    const nowMs = this.#nowMs;
    const seriesOf = (metric: string): readonly Series[] => [...(this.#series.get(metric)?.values() ?? [])];
    this.evaluations += 1;
    for (const { name, expression, forMs } of this.#rules) {
      const active = new Map<string, Element>();
      for (const element of vectorOf(expression(seriesOf, nowMs))) {
        active.set(`${name} ${nameOf(element.labels)}`, element);
      }
      for (const [key, { labels }] of active) {
        const sinceMs = this.#since.get(key) ?? nowMs;
        this.#since.set(key, sinceMs);
        if (nowMs - sinceMs >= forMs) this.fired.add(`${name} ${labels.get('instance')}`);
      }
      for (const key of this.#since.keys()) {
        if (key.startsWith(`${name} `) && !active.has(key)) this.#since.delete(key);
      }
    }
  }
}

/** How a cluster is observed. */
export interface ObserveOptions {
  readonly act?: () => Promise<unknown>;
  /** Ends the observation when it fires. */
  readonly alert?: string;
  /** Between two scrapes, in microseconds. */
  readonly intervalUs?: number;
}

/**
 * `/metrics`: the text exposition format 0.0.4, written by prom-client from a registry of this node's own, without
 * default metrics. The registry keeps no numbers: its metrics answer with the samples of the snapshot being rendered.
 * Rendering takes microtasks only, no timers and no I/O, so it is the same in both worlds.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';

import { assert } from '../base/assert.ts';
import type { CollectedFamily, Family, Sample } from './family.ts';
import { familiesOf } from './snapshot-families.ts';
import type { StatsSnapshot } from './snapshot.ts';

type Rendered = Promise<MetricObjectWithValues<MetricValue<string>>>;

/** A gauge whose samples are given from outside. */
class SampledGauge extends Gauge {
  #samples: readonly Sample[] = [];

  show(samples: readonly Sample[]): void {
    this.#samples = samples;
  }

  override async get(): Rendered {
    return { ...(await super.get()), values: [...this.#samples] };
  }
}

/** A counter whose samples are given from outside. */
class SampledCounter extends Counter {
  #samples: readonly Sample[] = [];

  show(samples: readonly Sample[]): void {
    this.#samples = samples;
  }

  override async get(): Rendered {
    return { ...(await super.get()), values: [...this.#samples] };
  }
}

export const expositionContentType: string = Registry.PROMETHEUS_CONTENT_TYPE;

export class Exposition {
  readonly #registry = new Registry();
  readonly #registered = new Map<string, SampledGauge | SampledCounter>();
  /** Settled when the text before this one is done. */
  #last: Promise<unknown> = Promise.resolve();

  /** The whole text. Texts are made one after the other. */
  render(snapshot: StatsSnapshot): Promise<string> {
    const text = this.#last.then(() => this.#render(snapshot));
    this.#last = text.catch(() => undefined);
    return text;
  }

  #render(snapshot: StatsSnapshot): Promise<string> {
    const families = familiesOf(snapshot);
    for (const collected of families) this.#show(collected);
    // Families come and never go, so a name used twice is the only way to have fewer of them.
    assert(this.#registered.size === families.length, 'every family has a name of its own');
    return this.#registry.metrics();
  }

  #show({ family, samples }: CollectedFamily): void {
    const metric = this.#registered.get(family.name) ?? this.#register(family);
    metric.show(samples);
  }

  #register(family: Family): SampledGauge | SampledCounter {
    const options = {
      name: family.name,
      help: family.help,
      labelNames: family.labels,
      registers: [this.#registry],
    };
    const metric = family.type === 'counter' ? new SampledCounter(options) : new SampledGauge(options);
    this.#registered.set(family.name, metric);
    return metric;
  }
}
